"""Kernels of path search: Dijkstra over integer costs, with potentials, closed arcs and closed nodes.

Keys of the heap are `distance * nodes + node`, so equal distances are settled in node order on every machine.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from te_solver.compiled import kernel
from te_solver.network import BoolArray, Graph, IntArray

FAR = np.int64(1) << 60
NO_ARC = -1


class Scratch(NamedTuple):
    """Working arrays of one search: distances, last arcs, potentials, weights (CLOSED or a cost), closed nodes."""

    distance: IntArray
    last_arc: IntArray
    potential: IntArray
    weight: IntArray
    closed: BoolArray
    node_closed: BoolArray
    heap: IntArray


def scratch_for(graph: Graph) -> Scratch:
    """Fresh working arrays; weights are the arcs' costs, nothing is closed."""
    nodes, arcs = len(graph.first) - 1, len(graph.src)
    return Scratch(
        np.empty(nodes, np.int64),
        np.empty(nodes, np.int64),
        np.zeros(nodes, np.int64),
        graph.cost.copy(),
        np.zeros(arcs, np.bool_),
        np.zeros(nodes, np.bool_),
        np.empty(arcs + nodes + 1, np.int64),
    )


@kernel
def push(heap: IntArray, size: int, key: int) -> int:
    """Add a key to a binary heap; the new size."""
    place = size
    while place > 0:
        parent = (place - 1) // 2
        if heap[parent] <= key:
            break
        heap[place] = heap[parent]
        place = parent
    heap[place] = key
    return size + 1


@kernel
def sift(heap: IntArray, size: int) -> None:
    """Restore the heap's order after its first key was taken; `size` counts the keys left."""
    key = heap[size]
    place = 0
    while True:
        child = 2 * place + 1
        if child >= size:
            break
        if child + 1 < size and heap[child + 1] < heap[child]:
            child += 1
        if heap[child] >= key:
            break
        heap[place] = heap[child]
        place = child
    heap[place] = key


@kernel
def search(graph: Graph, scratch: Scratch, source: int, target: int, limit: int) -> bool:
    """Cheapest path by reduced weights; fills `distance` and `last_arc`.

    Nodes not settled when the target is have a distance of at least the target's. Paths of `limit` or more are not
    followed.
    """
    nodes = len(graph.first) - 1
    distance, last_arc, potential = scratch.distance, scratch.last_arc, scratch.potential
    distance[:] = FAR
    distance[source] = 0
    last_arc[source] = NO_ARC
    size = push(scratch.heap, 0, source)
    while size > 0:
        reached, node = divmod(scratch.heap[0], nodes)
        size -= 1
        sift(scratch.heap, size)
        if reached > distance[node]:
            continue
        if node == target:
            return True
        for place in range(graph.first[node], graph.first[node + 1]):
            arc = graph.order[place]
            neighbour = graph.dst[arc]
            if scratch.closed[arc] or scratch.node_closed[neighbour]:
                continue
            there = reached + scratch.weight[arc] + potential[node] - potential[neighbour]
            if there < distance[neighbour] and there < limit:
                distance[neighbour] = there
                last_arc[neighbour] = arc
                size = push(scratch.heap, size, there * nodes + neighbour)
    return False
