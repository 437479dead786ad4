"""Arc-disjoint arborescences towards one node, grown arc by arc (Lovász, "On two minimax theorems in graph", 1976).

An arborescence is a tree whose arcs lead to the root. A link is two arcs, one each way, which may belong to different
arborescences. Where every node has k arc-disjoint paths to the root, k spanning arborescences exist (Edmonds 1973): an
arc may join the one that grows if each node keeps k - 1 paths without it, and some arc always may.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import NamedTuple

MOST = 3
"""Arborescences to a root at most: circular order survives one failure fewer than there are up to this number."""


class Arc(NamedTuple):
    """One direction of a link, between node positions."""

    tail: int
    head: int
    cost: float


@dataclass(frozen=True, slots=True)
class Packing:
    """Arborescences towards one root.

    Attributes
    ----------
    trees
        The arc of every node in each arborescence, as an index; nodes that are not in it are left out.
    inner
        Nodes with two arc-disjoint paths to the root, and the root. Each of the first `full` arborescences spans them;
        the first one also spans every other node that reaches the root.
    full
        At least 1. Arborescences beyond these span what they can.
    """

    trees: tuple[dict[int, int], ...]
    inner: frozenset[int]
    full: int


def pack(n_nodes: int, arcs: Sequence[Arc], root: int) -> Packing:
    """Arborescences towards a root, each along the cheapest arcs that leave the next ones whole."""
    graph = _Graph(n_nodes, arcs, root)
    paths = [MOST if node == root else graph.paths(node, MOST) for node in range(n_nodes)]
    inner = frozenset(node for node in range(n_nodes) if paths[node] > 1)
    full = min((paths[node] for node in inner), default=1) if len(inner) > 1 else 1
    grown = (graph.grow(inner, max(full - number, 0)) for number in range(1, MOST + 1))
    return Packing(tuple(tree for tree in grown if tree), inner, full)


class _Graph:
    """Arcs that no arborescence has yet."""

    def __init__(self, n_nodes: int, arcs: Sequence[Arc], root: int) -> None:
        self._arcs, self._root = arcs, root
        self._free = [True] * len(arcs)
        self._from: list[list[int]] = [[] for _ in range(n_nodes)]
        self._to: list[list[int]] = [[] for _ in range(n_nodes)]
        for number, arc in enumerate(arcs):
            self._from[arc.tail].append(number)
            self._to[arc.head].append(number)

    def grow(self, inner: frozenset[int], left: int) -> dict[int, int]:
        """Take an arborescence out of the free arcs, nearest nodes first.

        Parameters
        ----------
        inner, left
            These nodes keep so many paths to the root. Who loses one to an arc does so together with the arc's tail,
            so that alone is looked at. An arc once refused stays refused: what is free only shrinks.
        """
        tree: dict[int, int] = {}
        waiting: list[tuple[float, int]] = []
        self._offer(waiting, self._root, 0.0)
        while waiting:
            distance, number = heappop(waiting)
            node = self._arcs[number].tail
            if node == self._root or node in tree:
                continue
            self._free[number] = False
            if node not in inner or self.paths(node, left) == left:
                tree[node] = number
                self._offer(waiting, node, distance)
            else:
                self._free[number] = True
        return tree

    def _offer(self, waiting: list[tuple[float, int]], node: int, distance: float) -> None:
        for number in self._to[node]:
            if self._free[number]:
                heappush(waiting, (distance + self._arcs[number].cost, number))

    def paths(self, node: int, most: int) -> int:
        """Arc-disjoint paths of free arcs from a node to the root, counted up to `most` (Ford and Fulkerson 1956)."""
        used: set[int] = set()
        for found in range(most):
            way = self._augmenting(node, used)
            if way is None:
                return found
            used.symmetric_difference_update(way)
        return most

    def _augmenting(self, start: int, used: set[int]) -> list[int] | None:
        """Arcs of a path to the root that runs along free arcs and back along used ones."""
        came_by: dict[int, tuple[int, int]] = {start: (start, -1)}
        waiting = [start]
        for node in waiting:
            if node == self._root:
                return _way_back(came_by, node)
            steps = [(self._arcs[arc].head, arc) for arc in self._from[node] if self._free[arc] and arc not in used]
            steps += [(self._arcs[arc].tail, arc) for arc in self._to[node] if arc in used]
            for far, arc in steps:
                if far not in came_by:
                    came_by[far] = node, arc
                    waiting.append(far)
        return None


def _way_back(came_by: dict[int, tuple[int, int]], node: int) -> list[int]:
    way = []
    while came_by[node][1] >= 0:
        node, arc = came_by[node]
        way.append(arc)
    return way
