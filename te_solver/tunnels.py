"""Tunnels: the paths that a pair's traffic may be split over.

Kinds
-----
disjoint
    Link-disjoint paths, as many as there are up to k, of least total cost; then least-overlap paths (disjoint.py).
k-shortest
    The k cheapest simple paths (Yen, "Finding the K shortest loopless paths", 1971).
spt, mst
    The one path along the shortest-path tree, or along the minimum spanning tree (routes.py).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mininet_topos.errors import BadInputError
from te_solver.choices import TUNNEL_KINDS
from te_solver.compiled import kernel
from te_solver.disjoint import best_other, fill, find_disjoint, sort_paths, trace
from te_solver.network import Graph, IntArray, Network
from te_solver.routes import NO_LINK, ResidualRoutes
from te_solver.search import FAR, Scratch, scratch_for, search
from te_solver.values import Demand, Problem, TunnelSet

DEFAULT_COUNT = 3
# Room for keys `distance * nodes + node` and for sums of two distances.
LARGEST_DISTANCE = 1 << 59


def to_problem(
    network: Network,
    demands: Sequence[Demand],
    count: int = DEFAULT_COUNT,
    kind: str = "disjoint",
    metric: str = "hops",
) -> Problem:
    """Demands together with their tunnels; demands of one pair (different priorities) get the same paths."""
    order = network.topology.index_of
    pairs = np.array([(order[d.src], order[d.dst]) for d in demands], dtype=np.int64).reshape(-1, 2)
    return Problem(find_tunnels(network, pairs, count, kind, metric), tuple(demands))


def find_tunnels(
    network: Network, pairs: IntArray, count: int = DEFAULT_COUNT, kind: str = "disjoint", metric: str = "hops"
) -> TunnelSet:
    """Tunnels of every pair, the same on every machine.

    Parameters
    ----------
    pairs : int array, shape (pairs, 2)
        Source and destination as node positions.
    count
        How many tunnels a pair gets at most; fewer where there are no more simple paths, none where there is no path.
    kind : {"disjoint", "k-shortest", "spt", "mst"}
    metric : {"hops", "delay"}

    Raises
    ------
    BadInputError
        Unknown kind or metric, `count` below 1, or delays too long to count in.
    """
    if kind not in TUNNEL_KINDS:
        raise BadInputError(f"unknown kind of tunnels {kind!r}; use one of {', '.join(TUNNEL_KINDS)}")
    if count < 1:
        raise BadInputError(f"{count} tunnels a pair were asked for; give at least 1")
    if kind in ("spt", "mst"):
        return _tree_tunnels(network, pairs, kind, metric)
    graph = network.graph(metric)
    penalty = _penalty(graph, count)
    run = _all_disjoint if kind == "disjoint" else _all_shortest
    owner, starts, arcs, disjoint = run(graph, scratch_for(graph), pairs, count, penalty)
    return TunnelSet(network, pairs, np.searchsorted(owner, np.arange(len(pairs) + 1)), starts, arcs, disjoint)


def _penalty(graph: Graph, count: int) -> int:
    """More than any simple path costs, so that overlap comes before cost."""
    nodes = len(graph.first) - 1
    dearest = int(graph.cost.max()) * nodes + 1
    if dearest * count * nodes * nodes > LARGEST_DISTANCE:
        raise BadInputError(
            f"{nodes} nodes with delays of up to {graph.cost.max() // 1024 / 1000:g} ms are too many to rank tunnels "
            "by delay; use metric 'hops'"
        )
    return dearest


@kernel
def _grown(array: IntArray, needed: int) -> IntArray:
    """The array, copied into a longer one when it is full."""
    if needed <= len(array):
        return array
    longer = np.empty(max(needed, 2 * len(array)), np.int64)
    longer[: len(array)] = array
    return longer


@kernel
def _all_disjoint(
    graph: Graph, scratch: Scratch, pairs: IntArray, count: int, penalty: int
) -> tuple[IntArray, IntArray, IntArray, IntArray]:
    nodes = len(graph.first) - 1
    used = np.zeros(len(graph.src), np.bool_)
    paths, sizes = np.empty((count, nodes + 1), np.int64), np.zeros(count, np.int64)
    best, spur = np.empty(nodes + 1, np.int64), np.empty(nodes + 1, np.int64)
    owner, starts = np.empty(len(pairs) * count, np.int64), np.zeros(len(pairs) * count + 1, np.int64)
    arcs, disjoint = np.empty(16 * count, np.int64), np.zeros(len(pairs), np.int64)
    tunnels, entries = 0, 0
    for pair in range(len(pairs)):
        source, target = pairs[pair]
        found = find_disjoint(graph, scratch, used, source, target, paths, sizes)
        disjoint[pair] = found
        if 0 < found < count:
            found = fill(graph, scratch, source, target, paths, sizes, found, best, spur, penalty)
        for number in range(found):
            size = sizes[number]
            arcs = _grown(arcs, entries + size)
            arcs[entries : entries + size] = paths[number, :size]
            entries += size
            owner[tunnels] = pair
            tunnels += 1
            starts[tunnels] = entries
    return owner[:tunnels].copy(), starts[: tunnels + 1].copy(), arcs[:entries].copy(), disjoint


@kernel
def _all_shortest(
    graph: Graph, scratch: Scratch, pairs: IntArray, count: int, _penalty: int
) -> tuple[IntArray, IntArray, IntArray, IntArray]:
    nodes = len(graph.first) - 1
    paths, sizes = np.empty((count, nodes + 1), np.int64), np.zeros(count, np.int64)
    best, spur = np.empty(nodes + 1, np.int64), np.empty(nodes + 1, np.int64)
    owner, starts = np.empty(len(pairs) * count, np.int64), np.zeros(len(pairs) * count + 1, np.int64)
    arcs, disjoint = np.empty(16 * count, np.int64), np.zeros(len(pairs), np.int64)
    tunnels, entries = 0, 0
    for pair in range(len(pairs)):
        source, target = pairs[pair]
        found = 0
        size = trace(graph, scratch.last_arc, target, best) if search(graph, scratch, source, target, FAR) else 0
        while size > 0 and found < count:
            paths[found, :size] = best[:size]
            sizes[found] = size
            found += 1
            if found < count:
                size = best_other(graph, scratch, source, target, paths, sizes, found, best, spur)
        sort_paths(graph, paths, sizes, found)
        disjoint[pair] = min(found, 1)
        for number in range(found):
            size = sizes[number]
            arcs = _grown(arcs, entries + size)
            arcs[entries : entries + size] = paths[number, :size]
            entries += size
            owner[tunnels] = pair
            tunnels += 1
            starts[tunnels] = entries
    return owner[:tunnels].copy(), starts[: tunnels + 1].copy(), arcs[:entries].copy(), disjoint


def _tree_tunnels(network: Network, pairs: IntArray, kind: str, metric: str) -> TunnelSet:
    routes = ResidualRoutes(network.topology, kind, metric)
    table = routes.next_links()
    position = {link: number for number, link in enumerate(network.links)}
    arc_of = [position[link] for link in routes.links]
    index_of = network.topology.index_of
    arcs: list[int] = []
    starts, owner = [0], []
    for pair, (source, target) in enumerate(pairs.tolist()):
        node = source
        while node != target and (step := int(table[node, target])) != NO_LINK:
            arcs.append(arc_of[step])
            node = index_of[routes.links[step].dst]
        if node == target and source != target:
            owner.append(pair)
            starts.append(len(arcs))
    pair_starts = np.searchsorted(np.array(owner, dtype=np.int64), np.arange(len(pairs) + 1))
    reached = np.diff(pair_starts)
    return TunnelSet(
        network, pairs, pair_starts, np.array(starts, dtype=np.int64), np.array(arcs, dtype=np.int64), reached
    )
