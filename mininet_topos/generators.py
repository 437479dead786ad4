"""Generators of topologies from a short specification, such as `ring:8`, `grid:4x5`, `fattree:4`, `random:30:45:7`.

The random ones take their seed from the specification and draw from one bit stream (PCG64) only by `random()`, so
that the same text gives the same topology with every version of Python.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass

import networkx as nx
import numpy as np

from mininet_topos.build import from_edges, numbered_nodes, two_way
from mininet_topos.errors import TopologyError
from mininet_topos.geometry import fibre_delay_ms
from mininet_topos.topology import Link, Node, Topology

# The random families look at every pair of nodes.
MAX_NODES = 2_000
MAX_SEED = 2**63 - 1

# Waxman, "Routing of multipoint connections", IEEE JSAC 6(9), 1988: P(u, v) = BETA exp(-distance / (ALPHA diameter)).
# ALPHA is for WAXMAN_NODES and goes with the distance between neighbours, so that the mean degree does not grow.
WAXMAN_ALPHA = 0.15
WAXMAN_BETA = 0.6
WAXMAN_NODES = 40
WAXMAN_SQUARE_KM = 1000.0

Edges = list[tuple[int, int]]


@dataclass(frozen=True)
class Generator:
    """A family of topologies: how its specification looks, what it is, and the function of its numbers."""

    pattern: str
    usage: str
    about: str
    make: Callable[[str, tuple[int, ...]], Topology]


def generate(spec: str) -> Topology:
    """Topology of a specification, which becomes its name.

    Raises
    ------
    TopologyError
        Unknown family, or numbers that the family cannot use.
    """
    family = spec.partition(":")[0]
    if family not in GENERATORS:
        raise TopologyError(f"{spec!r} names no generator; known: {', '.join(g.usage for g in GENERATORS.values())}")
    found = specified(spec)
    if found is None:
        raise TopologyError(f"{spec!r} is no {family} specification; write it as {GENERATORS[family].usage}")
    return GENERATORS[family].make(spec, found[1])


def specified(spec: str) -> tuple[str, tuple[int, ...]] | None:
    """Family and numbers of a specification (a missing seed is 0); None when it is none."""
    family, _, rest = spec.partition(":")
    match = re.fullmatch(GENERATORS[family].pattern, rest) if family in GENERATORS else None
    return None if match is None else (family, tuple(int(text) for text in match.groups(default="0")))


def ring(name: str, count: int) -> Topology:
    """Cycle of `count` nodes, at least 3."""
    _check_count(name, count, minimum=3)
    return from_edges(name, _plain(count), [(k, k % count + 1) for k in range(1, count + 1)])


def grid(name: str, rows: int, columns: int) -> Topology:
    """Rectangle of rows x columns nodes, numbered row by row."""
    _check_count(name, rows * columns, minimum=2)
    edges: Edges = []
    for node in range(1, rows * columns + 1):
        if node % columns:
            edges.append((node, node + 1))
        if node + columns <= rows * columns:
            edges.append((node, node + columns))
    return from_edges(name, _plain(rows * columns), edges)


def fat_tree(name: str, arity: int) -> Topology:
    """Fat tree of `arity`-port switches: (k/2)^2 core switches, then k pods of k/2 aggregation and k/2 edge switches.

    Al-Fares, Loukissas, Vahdat, "A scalable, commodity data center network architecture", SIGCOMM 2008, section 3.

    Raises
    ------
    TopologyError
        An odd number of ports, or fewer than two.
    """
    half = arity // 2
    _check_count(name, half * half + 2 * half * arity, minimum=5)
    if arity % 2:
        raise TopologyError(f"{name!r} has arity {arity}; a fat tree needs an even number of ports a switch")
    labels = [f"core{number}" for number in range(1, half * half + 1)]
    edges: Edges = []
    for pod in range(arity):
        first = len(labels) + 1
        labels += [f"pod{pod + 1}-{tier}{number}" for tier in ("agg", "edge") for number in range(1, half + 1)]
        for upper in range(half):
            edges += [(upper * half + core, first + upper) for core in range(1, half + 1)]
            edges += [(first + upper, first + half + lower) for lower in range(half)]
    return from_edges(name, numbered_nodes(labels), edges)


def random_connected(name: str, count: int, links: int, seed: int) -> Topology:
    """Connected graph of `count` nodes: a tree grown by random attachment, then random further links, none parallel.

    Raises
    ------
    TopologyError
        Too few nodes, or a number of links that they cannot take.
    """
    _check_count(name, count, minimum=2)
    if not count - 1 <= links <= count * (count - 1) // 2:
        raise TopologyError(
            f"{name!r} asks for {links} links; {count} nodes take {count - 1} to {count * (count - 1) // 2} links"
        )
    draw = _stream(name, seed)
    edges = {(1 + int(draw() * (node - 1)), node) for node in range(2, count + 1)}
    absent = [(a, b) for a in range(1, count + 1) for b in range(a + 1, count + 1) if (a, b) not in edges]
    for place in range(links - len(edges)):
        # Fisher-Yates, only as far as needed.
        chosen = place + int(draw() * (len(absent) - place))
        absent[place], absent[chosen] = absent[chosen], absent[place]
    return from_edges(name, _plain(count), sorted({*edges, *absent[: links - (count - 1)]}))


def waxman(name: str, count: int, seed: int) -> Topology:
    """Waxman's random graph on a square of 1,000 km, its parts joined by their shortest gaps; delay by distance."""
    _check_count(name, count, minimum=2)
    draw = _stream(name, seed)
    places = waxman_places(name, count, seed)
    for _ in range(2 * count):  # the places come first in the stream
        draw()
    reach_km = WAXMAN_ALPHA * math.sqrt(WAXMAN_NODES / count) * WAXMAN_SQUARE_KM * math.sqrt(2)
    graph: nx.Graph[int] = nx.Graph()
    graph.add_nodes_from(range(count))
    for a in range(count):
        for b in range(a + 1, count):
            if draw() < WAXMAN_BETA * math.exp(-math.dist(places[a], places[b]) / reach_km):
                graph.add_edge(a, b)
    _join_parts(graph, places)
    nodes = _plain(count)
    links: list[Link] = []
    for a, b in sorted((min(edge), max(edge)) for edge in graph.edges):
        delay_ms = fibre_delay_ms(math.dist(places[a], places[b]))
        links += two_way(nodes[a].name, nodes[b].name, delay_ms=delay_ms)
    return Topology(name, nodes, tuple(links))


def waxman_places(name: str, count: int, seed: int) -> list[tuple[float, float]]:
    """Places (x, y) in km of the nodes of `waxman` with the same numbers."""
    draw = _stream(name, seed)
    return [(draw() * WAXMAN_SQUARE_KM, draw() * WAXMAN_SQUARE_KM) for _ in range(count)]


GENERATORS = {
    "ring": Generator(r"([0-9]{1,19})", "ring:NODES", "a cycle", lambda name, n: ring(name, *n)),
    "grid": Generator(
        r"([0-9]{1,19})x([0-9]{1,19})", "grid:ROWSxCOLUMNS", "a rectangle", lambda name, n: grid(name, *n)
    ),
    "fattree": Generator(
        r"([0-9]{1,19})", "fattree:PORTS", "a data centre of equal switches", lambda name, n: fat_tree(name, *n)
    ),
    "random": Generator(
        r"([0-9]{1,19}):([0-9]{1,19})(?::([0-9]{1,19}))?",
        "random:NODES:LINKS:SEED",
        "a random connected graph",
        lambda name, n: random_connected(name, *n),
    ),
    "waxman": Generator(
        r"([0-9]{1,19})(?::([0-9]{1,19}))?",
        "waxman:NODES:SEED",
        "a random graph of near neighbours",
        lambda name, n: waxman(name, *n),
    ),
}


def _plain(count: int) -> tuple[Node, ...]:
    return numbered_nodes([f"s{number}" for number in range(1, count + 1)])


def _check_count(name: str, count: int, minimum: int) -> None:
    if not minimum <= count <= MAX_NODES:
        raise TopologyError(f"{name!r} has {count} nodes; give {minimum} to {MAX_NODES}")


def _stream(name: str, seed: int) -> Callable[[], float]:
    if seed > MAX_SEED:
        raise TopologyError(f"{name!r} has seed {seed}; give one up to {MAX_SEED}")
    return np.random.default_rng(seed).random


def _join_parts(graph: nx.Graph[int], places: list[tuple[float, float]]) -> None:
    """Join the part of node 0 to the nearest other node, until there is one part."""
    while True:
        near = nx.node_connected_component(graph, 0)
        far = [node for node in graph if node not in near]
        if not far:
            return
        graph.add_edge(
            *min(((a, b) for a in near for b in far), key=lambda ends: math.dist(places[ends[0]], places[ends[1]]))
        )
