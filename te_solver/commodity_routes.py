"""Routers: the next link of a commodity at a node, given the set of links known to have failed.

Two planners share this interface. `TreeRouter` routes by destination, one tree per (destination,
failed set). `PairRouter` is the planner of the SD-FAST paper (section III.A): every pair has a
primary route, and at each switch of it a backup that goes on without the failed link and without
the switches already passed, or, where there is none, back to the switch before (crankback).

A failed set is a bit mask over link numbers (bit i = i-th of `Topology.link_ids`); nodes and
destinations are positions in `Topology.nodes`.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple, Protocol

import networkx as nx

from mininet_topos.errors import BadInputError
from mininet_topos.topology import Direction
from te_solver.routes import NO_LINK, ResidualRoutes

PLANNERS = ("tree", "pair")


class Commodity(NamedTuple):
    """Traffic with one destination and, for the pair planner, one source (else None)."""

    source: int | None
    destination: int


class Router(Protocol):
    """What a recovery scheme asks of a planner."""

    residual: ResidualRoutes

    @property
    def commodities(self) -> tuple[Commodity, ...]:
        """All commodities, in a fixed order."""

    def start_nodes(self, commodity: Commodity) -> tuple[int, ...]:
        """Nodes where an untagged packet of the commodity may enter the network."""

    def next_link(self, commodity: Commodity, failed: int, node: int) -> int:
        """Index into `residual.links`, or `NO_LINK`. For a fixed `failed` the links form a tree."""


class TreeRouter:
    """Routes by destination: the tree towards it in the topology without the failed links."""

    def __init__(self, residual: ResidualRoutes) -> None:
        self.residual = residual
        self._ids = residual.topology.link_ids
        self._nodes = tuple(range(len(residual.topology.nodes)))
        self._tables: dict[int, list[list[int]]] = {}

    @property
    def commodities(self) -> tuple[Commodity, ...]:
        """One commodity per destination."""
        return tuple(Commodity(None, node) for node in self._nodes)

    def start_nodes(self, commodity: Commodity) -> tuple[int, ...]:
        """Every node but the destination."""
        return tuple(node for node in self._nodes if node != commodity.destination)

    def next_link(self, commodity: Commodity, failed: int, node: int) -> int:
        """Next link on the tree towards the destination without the `failed` links."""
        return self.table(failed)[node][commodity.destination]

    def table(self, failed: int) -> list[list[int]]:
        """Next links of all nodes towards all destinations, as nested lists `[node][destination]`."""
        if failed not in self._tables:
            gone = frozenset(link for number, link in enumerate(self._ids) if failed >> number & 1)
            self._tables[failed] = self.residual.next_links(gone).tolist()
        return self._tables[failed]


class PairRouter:
    """Routes by (source, destination): primary route, and a backup port at every switch of it.

    With two or more failed links the tree of `TreeRouter` takes over: it is loop-free for any set.
    """

    def __init__(self, residual: ResidualRoutes) -> None:
        self.residual = residual
        self._trees = TreeRouter(residual)
        self._graph = _networkx_of(residual)
        self._index = {link.direction: number for number, link in enumerate(residual.links)}
        self._detours: dict[tuple[Commodity, int], dict[int, int]] = {}
        self._primaries: dict[Commodity, dict[int, int]] = {}

    @property
    def commodities(self) -> tuple[Commodity, ...]:
        """One commodity per ordered pair."""
        nodes = range(len(self.residual.topology.nodes))
        return tuple(Commodity(source, target) for target in nodes for source in nodes if source != target)

    def start_nodes(self, commodity: Commodity) -> tuple[int, ...]:
        """The source."""
        assert commodity.source is not None
        return (commodity.source,)

    def next_link(self, commodity: Commodity, failed: int, node: int) -> int:
        """Next link by the primary (nothing failed), the backup ports (one link), or the tree."""
        primary = self._primary(commodity)
        if failed == 0:
            return primary.get(node, NO_LINK)
        if failed & (failed - 1) or not self._crosses(primary, failed):
            return self._trees.next_link(commodity, failed, node)
        key = commodity, failed
        if key not in self._detours:
            self._detours[key] = self._detour(commodity, failed)
        return self._detours[key].get(node, NO_LINK)

    def _primary(self, commodity: Commodity) -> dict[int, int]:
        if commodity not in self._primaries:
            start = self.start_nodes(commodity)[0]
            self._primaries[commodity] = dict(self._follow(start, commodity.destination, 0))
        return self._primaries[commodity]

    def _follow(self, node: int, target: int, failed: int) -> Iterator[tuple[int, int]]:
        """(node, next link) along the tree; nothing at all when the target is out of reach."""
        table = self._trees.table(failed)
        order = self.residual.topology.index_of
        while node != target and (link := table[node][target]) != NO_LINK:
            yield node, link
            node = order[self.residual.links[link].dst]

    def _crosses(self, route: dict[int, int], failed: int) -> bool:
        numbers = self.residual.link_number
        return any(failed >> int(numbers[link]) & 1 for link in route.values())

    def _detour(self, commodity: Commodity, failed: int) -> dict[int, int]:
        """Next links once the one failed link of the primary is known (section III.A, recursively)."""
        primary = self._primary(commodity)
        nodes = list(primary)
        numbers = self.residual.link_number
        broken = next(i for i, node in enumerate(nodes) if failed >> int(numbers[primary[node]]) & 1)
        for turn in range(broken, -1, -1):
            onward = self._alternative(nodes[turn], commodity.destination, failed, nodes[:turn])
            if onward is not None:
                forward = {node: primary[node] for node in nodes[:turn]}
                back = {nodes[i]: self._reverse(primary[nodes[i - 1]]) for i in range(turn + 1, broken + 1)}
                return {**forward, **back, **onward}
        return {}

    def _alternative(self, node: int, target: int, failed: int, passed: list[int]) -> dict[int, int] | None:
        """Cheapest path without the failed link and without the switches already passed."""
        on_tree = dict(self._follow(node, target, failed))
        if not on_tree:
            return None
        if not set(passed) & set(on_tree):
            return on_tree
        numbers = self.residual.link_number
        gone = [edge for edge in self._graph.edges(keys=True) if failed >> int(numbers[edge[2]]) & 1]
        view = nx.restricted_view(self._graph, passed, gone)
        try:
            path = nx.dijkstra_path(view, node, target, weight="cost")
        except nx.NetworkXNoPath:
            return None
        return {a: self._cheapest(view, a, b) for a, b in pairwise(path)}

    def _cheapest(self, view: nx.Graph[int], a: int, b: int) -> int:
        return min((int(key) for key in view[a][b]), key=lambda link: (self.residual.cost(link), link))

    def _reverse(self, link: int) -> int:
        here = self.residual.links[link]
        return self._index[Direction(here.dst, here.src, here.key)]


def make_router(planner: str, residual: ResidualRoutes) -> Router:
    """Router of a planner name.

    Raises
    ------
    BadInputError
        `planner` is not one of `PLANNERS`.
    """
    if planner not in PLANNERS:
        raise BadInputError(f"unknown planner {planner!r}; use one of {', '.join(PLANNERS)}")
    return TreeRouter(residual) if planner == "tree" else PairRouter(residual)


def _networkx_of(residual: ResidualRoutes) -> nx.MultiDiGraph[int]:
    graph: nx.MultiDiGraph[int] = nx.MultiDiGraph()
    order = residual.topology.index_of
    graph.add_nodes_from(range(len(order)))
    for number, link in enumerate(residual.links):
        graph.add_edge(order[link.src], order[link.dst], key=number, cost=residual.cost(number))
    return graph
