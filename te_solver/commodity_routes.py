"""Routers: the next link of a commodity at a node, given the set of links known to have failed.

Three planners share this interface. `TreeRouter` routes by destination, one tree per (destination,
failed set). `PairRouter` is the planner of the SD-FAST paper (section III.A): every pair has a
primary route, and at each switch of it a backup that goes on without the failed link and without
the switches already passed, or, where there is none, back to the switch before (crankback).
`TunnelRouter` (tunnel_router.py) takes its routes from the tunnels of traffic engineering.

A failed set is a bit mask over link numbers (bit i = i-th of `Topology.link_ids`); nodes and
destinations are positions in `Topology.nodes`.
"""

from __future__ import annotations

from collections.abc import Iterator
from heapq import heappop, heappush
from math import inf
from typing import Protocol

from mininet_topos.topology import Direction
from te_solver.commodity import Commodity
from te_solver.routes import NO_LINK, ResidualRoutes


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
        return tuple(Commodity(node) for node in self._nodes)

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
        order = residual.topology.index_of
        self._leaving: list[list[tuple[int, int, float, int]]] = [[] for _ in order]
        self._entering: list[list[tuple[int, float, int]]] = [[] for _ in order]
        for index, (link, number) in enumerate(zip(residual.links, residual.link_number.tolist(), strict=True)):
            src, dst, cost = order[link.src], order[link.dst], residual.cost(index)
            self._leaving[src].append((index, dst, cost, number))
            self._entering[dst].append((src, cost, number))
        self._index = {link.direction: number for number, link in enumerate(residual.links)}
        self._bypasses: dict[tuple[Commodity, int], dict[int, int]] = {}
        self._primaries: dict[Commodity, dict[int, int]] = {}

    @property
    def commodities(self) -> tuple[Commodity, ...]:
        """One commodity per ordered pair."""
        nodes = range(len(self.residual.topology.nodes))
        return tuple(Commodity(target, source) for target in nodes for source in nodes if source != target)

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
        if key not in self._bypasses:
            self._bypasses[key] = self._bypass(commodity, failed)
        return self._bypasses[key].get(node, NO_LINK)

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

    def _bypass(self, commodity: Commodity, failed: int) -> dict[int, int]:
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
        return self._around(node, target, failed, frozenset(passed))

    def _around(self, node: int, target: int, failed: int, passed: frozenset[int]) -> dict[int, int] | None:
        """Next links of the cheapest path; ties as in `ResidualRoutes`: the lowest neighbour, then the lowest key."""
        distance = self._distances(target, node, failed, passed)
        if node not in distance:
            return None
        onward = {}
        while node != target:
            onward[node], node = next(
                (link, end)
                for link, end, cost, number in self._leaving[node]
                if not failed >> number & 1 and cost + distance.get(end, inf) == distance[node]
            )
        return onward

    def _distances(self, target: int, source: int, failed: int, passed: frozenset[int]) -> dict[int, float]:
        """Distances to the target (Dijkstra) of all nodes that are not farther than the source."""
        settled: dict[int, float] = {}
        waiting = [(0.0, target)]
        while waiting and source not in settled:
            distance, node = heappop(waiting)
            if node in settled:
                continue
            settled[node] = distance
            for before, cost, number in self._entering[node]:
                if before not in settled and before not in passed and not failed >> number & 1:
                    heappush(waiting, (distance + cost, before))
        return settled

    def _reverse(self, link: int) -> int:
        here = self.residual.links[link]
        return self._index[Direction(here.dst, here.src, here.key)]
