"""Where the nodes stand in a picture: on the map, in the usual drawing, or by the hops between them.

Positions are (x, y) with y upwards, in no unit; drawing scales them. Nothing here is random.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from mininet_topos import catalogue_data as data
from mininet_topos import toy
from mininet_topos.catalogue import CATALOGUE
from mininet_topos.connectivity import simple_graph
from mininet_topos.errors import TopologyError
from mininet_topos.generators import generate, specified, waxman_places
from mininet_topos.topology import Node, Topology

Points = NDArray[np.float64]

SAVED: dict[str, tuple[tuple[float, float], ...]] = {
    "usnet": data.USNET_POSITIONS,
    "gscale": data.GSCALE_POSITIONS,
    **toy.POSITIONS,
}
STRESS_ROUNDS = 150
# Maps of many nodes give crowded regions more room: how much of it, by the number of nodes.
LOOSENED = ((40, 150), (0.0, 0.5))
# A map is used when at least this part of the nodes has a place.
KNOWN_PART = 0.5


def positions(topology: Topology) -> Points:
    """Positions of the nodes, in node order.

    On a map (Mercator) when at least half of the nodes have a place; the others stand between their neighbours.
    Else as drawn for bundled and generated topologies; else so that distances fit the hops between nodes.

    Returns
    -------
    array, shape (nodes, 2)
    """
    known = [node.latitude is not None and node.longitude is not None for node in topology.nodes]
    if sum(known) >= KNOWN_PART * len(known):
        return _loosened(_between_neighbours(topology, _mercator(topology.nodes), np.array(known)))
    drawn = _drawn(topology)
    return np.array(drawn, dtype=float) if drawn is not None else _by_hops(topology)


def _drawn(topology: Topology) -> tuple[tuple[float, float], ...] | list[tuple[float, float]] | None:
    """Positions of the usual drawing, if this is the topology that was drawn and not just one of its name."""
    bundled = CATALOGUE.get(topology.name) or toy.TOYS.get(topology.name)
    if bundled is not None and bundled().link_ids == topology.link_ids:
        return SAVED.get(topology.name)
    family, numbers = specified(topology.name) or ("", ())
    place = GENERATED.get(family)
    if place is None or not _is_generated(topology):
        return None
    return place(topology.name, numbers)


def _is_generated(topology: Topology) -> bool:
    try:
        return generate(topology.name).link_ids == topology.link_ids
    except TopologyError:  # a file may call its topology "ring:1"
        return False


def _ring(_name: str, numbers: tuple[int, ...]) -> list[tuple[float, float]]:
    """Clockwise from the top."""
    turns = [2 * math.pi * k / numbers[0] for k in range(numbers[0])]
    return [(math.sin(turn), math.cos(turn)) for turn in turns]


def _grid(_name: str, numbers: tuple[int, ...]) -> list[tuple[float, float]]:
    rows, columns = numbers
    return [(float(column), -float(row)) for row in range(rows) for column in range(columns)]


def _fat_tree(_name: str, numbers: tuple[int, ...]) -> list[tuple[float, float]]:
    """Core above, then the aggregation and the edge row of each pod."""
    arity, half = numbers[0], numbers[0] // 2
    width = arity * half - 1
    cores = half * half
    places = [(width * (core + 0.5) / cores, 2.4) for core in range(cores)]
    for pod in range(arity):
        places += [(pod * half + column, row) for row in (1.2, 0.0) for column in range(half)]
    return places


def _waxman(name: str, numbers: tuple[int, ...]) -> list[tuple[float, float]]:
    return waxman_places(name, *numbers)


GENERATED: dict[str, Callable[[str, tuple[int, ...]], list[tuple[float, float]]]] = {
    "ring": _ring,
    "grid": _grid,
    "fattree": _fat_tree,
    "waxman": _waxman,
}


def _mercator(nodes: tuple[Node, ...]) -> Points:
    """Map positions in radians, cut where the longitudes leave the widest gap; NaN where a place is unknown."""
    degrees = np.array([(node.longitude, node.latitude) for node in nodes], dtype=float)
    longitudes = np.unique(np.mod(degrees[~np.isnan(degrees[:, 0]), 0], 360.0))
    gaps = np.diff(longitudes, append=longitudes[0] + 360.0)
    west = longitudes[(int(np.argmax(gaps)) + 1) % len(longitudes)]
    x = np.radians(np.mod(degrees[:, 0] - west, 360.0))
    y = np.arctanh(np.sin(np.radians(np.clip(degrees[:, 1], -85.0, 85.0))))
    return np.column_stack([x, y])


def _between_neighbours(topology: Topology, points: Points, known: NDArray[np.bool_]) -> Points:
    """Fill unknown points by the mean of their neighbours, from the known ones outwards; the rest at the centre."""
    points = points.copy()
    points[~known] = points[known].mean(axis=0)
    settled = known.copy()
    for _ in range(len(points)):
        if settled.all():
            break
        for number in np.flatnonzero(~settled):
            near = {topology.index_of[link.dst] for link in topology.links_from[topology.node_names[number]]}
            placed = [neighbour for neighbour in sorted(near) if settled[neighbour]]
            if placed:
                # Off the line between two neighbours, lest the link between them hides the node.
                points[number] = points[placed].mean(axis=0) + 0.01
                settled[number] = True
    return points


def _loosened(points: Points) -> Points:
    """Shift coordinates towards even spacing, each axis for itself, so that order (west of, north of) stays."""
    part = float(np.interp(len(points), *LOOSENED))
    extent = np.ptp(points, axis=0)
    if part == 0.0 or not extent.all():
        return points
    even = points.copy()
    for axis in (0, 1):
        _, ranks = np.unique(points[:, axis], return_inverse=True)
        even[:, axis] = points[:, axis].min() + ranks / ranks.max() * extent[axis]
    loosened: Points = (1 - part) * points + part * even
    return loosened


def _by_hops(topology: Topology) -> Points:
    """Positions whose distances fit the hops, each part of the network for itself, parts side by side."""
    graph = simple_graph(topology)
    points = np.zeros((len(topology.nodes), 2))
    left = 0.0
    for part in sorted(nx.connected_components(graph), key=len, reverse=True):
        names = [name for name in topology.node_names if name in part]
        hops = np.asarray(nx.floyd_warshall_numpy(graph.subgraph(part), nodelist=names))
        placed = _flat(_stress_layout(hops))
        numbers = [topology.index_of[name] for name in names]
        points[numbers] = placed - [placed[:, 0].min() - left, placed[:, 1].mean()]
        left = points[numbers, 0].max() + 1.0
    return points


def _stress_layout(distances: Points) -> Points:
    """Points in the plane whose distances fit the given ones, by stress majorization (SMACOF) with weights d^-2.

    Gansner, Koren, North, "Graph drawing by stress majorization", GD 2004; start: classical scaling.
    """
    count = len(distances)
    if count == 1:
        return np.zeros((1, 2))
    centring = np.eye(count) - 1.0 / count
    values, vectors = np.linalg.eigh(-0.5 * centring @ distances**2 @ centring)
    points: Points = vectors[:, [-1, -2]] * np.sqrt(np.maximum(values[[-1, -2]], 1e-9))
    # Nodes that are alike to everybody would start, and stay, on one spot: a fixed spiral separates them.
    turns = np.arange(count) * 2.4
    points += 0.05 * np.column_stack([np.cos(turns), np.sin(turns)])
    safe = distances + np.eye(count)
    weights = (1.0 - np.eye(count)) / safe**2
    laplacian = np.diag(weights.sum(axis=1)) - weights
    inverse = np.linalg.pinv(laplacian)
    for _ in range(STRESS_ROUNDS):
        apart = np.linalg.norm(points[:, None] - points[None, :], axis=2) + np.eye(count)
        pull = -weights * distances / np.maximum(apart, 1e-9)
        np.fill_diagonal(pull, 0.0)
        np.fill_diagonal(pull, -pull.sum(axis=1))
        points = inverse @ (pull @ points)
    return points


def _flat(points: Points) -> Points:
    """Turn the points so that their longer axis lies along x, the first node on the left."""
    centred = points - points.mean(axis=0)
    _, axes = np.linalg.eigh(centred.T @ centred)
    turned: Points = centred @ axes[:, ::-1]
    turned[:, turned[0] > 0] *= -1.0
    return turned
