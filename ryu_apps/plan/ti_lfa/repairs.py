"""Repairs of TI-LFA: the path that a switch takes once a link of its has failed, as a list of segments.

Sources: RFC 9855 (TI-LFA, link protection), RFC 7490 (P and Q space), RFC 5286 (a neighbour that needs no label). A
*node segment* leads to a switch along the primary routes, an *adjacency segment* over one link. A node is in P space
where the primary route to it avoids the failed link, and in Q space where its own route to the destination does.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from te_solver.routes import NO_LINK, ResidualRoutes

MOST_LABELS = 3
"""Open vSwitch's limit in the userspace datapath (FLOW_MAX_MPLS_LABELS)."""


@dataclass(frozen=True, slots=True)
class Segment:
    """To a node along primary routes; with `link`, by that link of the node before it."""

    node: int
    link: int | None = None


@dataclass(frozen=True, slots=True)
class Repair:
    """What a switch does with packets whose link has failed: the link that it sends them by, and segments from there.

    `segments` come first to last; none: the neighbour's own route avoids the failed link.
    """

    link: int
    segments: tuple[Segment, ...]


class Repairs:
    """Finds repairs; links are positions in `ResidualRoutes.links`, nodes positions in the topology."""

    def __init__(self, residual: ResidualRoutes) -> None:
        self._residual = residual
        order = residual.topology.index_of
        self._ends = [order[link.dst] for link in residual.links]
        self._numbers = residual.link_number.tolist()
        self._table = residual.next_links().tolist()
        self._after: dict[int, list[list[int]]] = {}
        self._masks: dict[tuple[int, int], int] = {}

    def all(self) -> dict[tuple[int, int], Repair]:
        """Repair of the primary link of every (node, destination) that has one with at most `MOST_LABELS` labels."""
        pairs = ((node, to, link) for node, row in enumerate(self._table) for to, link in enumerate(row))
        found = {(node, to): self._repair(node, to, link) for node, to, link in pairs if link != NO_LINK}
        return {pair: repair for pair, repair in found.items() if repair is not None}

    def _repair(self, node: int, destination: int, primary: int) -> Repair | None:
        failed = self._numbers[primary]
        path = self._path(self._table_after(failed), node, destination)
        nodes = [node, *(self._ends[link] for link in path)]
        best: dict[int, Repair] = {}
        for end in range(1, len(nodes)):
            offers = list(self._first(nodes, path[0], end, failed))
            for start, repair in best.items():
                offers += [
                    Repair(repair.link, (*repair.segments, segment))
                    for segment in self._onward(nodes, path, start, end, failed=failed)
                ]
            best[end] = min(offers, key=_labels)
        in_q_space = [best[at] for at in best if not self._crosses(nodes[at], destination, failed)]
        chosen = min(in_q_space, key=_labels, default=None)
        return None if chosen is None or _labels(chosen) > MOST_LABELS else chosen

    def _first(self, nodes: list[int], link: int, end: int, failed: int) -> Iterator[Repair]:
        """To a node of the path in one go; a neighbour needs no label (penultimate-hop popping)."""
        if end == 1:
            yield Repair(link, ())
        if not self._crosses(nodes[0], nodes[end], failed):
            route = self._table[nodes[0]][nodes[end]]
            yield Repair(route, () if self._ends[route] == nodes[end] else (Segment(nodes[end]),))

    def _onward(self, nodes: list[int], path: list[int], start: int, end: int, *, failed: int) -> Iterator[Segment]:
        """From one node of the path to another by one segment."""
        if not self._crosses(nodes[start], nodes[end], failed):
            yield Segment(nodes[end])
        elif end == start + 1:
            yield Segment(nodes[end], path[start])

    def _crosses(self, node: int, target: int, failed: int) -> bool:
        """Whether the primary route crosses a link, by its number, or there is none."""
        if (node, target) not in self._masks:
            route = self._path(self._table, node, target)
            mask = sum(1 << self._numbers[link] for link in route)
            self._masks[node, target] = mask if route or node == target else -1
        return bool(self._masks[node, target] >> failed & 1)

    def _table_after(self, failed: int) -> list[list[int]]:
        if failed not in self._after:
            link_id = self._residual.topology.link_ids[failed]
            self._after[failed] = self._residual.next_links(frozenset([link_id])).tolist()
        return self._after[failed]

    def _path(self, table: list[list[int]], node: int, target: int) -> list[int]:
        path = []
        while (link := table[node][target]) != NO_LINK:
            path.append(link)
            node = self._ends[link]
        return path


def _labels(repair: Repair) -> int:
    return len(repair.segments)
