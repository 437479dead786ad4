"""Kernels of tunnel choice for one pair: exact link-disjoint paths, then the paths that overlap them least.

Disjoint paths: Suurballe's and Bhandari's successive shortest paths (Bhandari, "Survivable Networks", 1999, chapter 3)
with Johnson's potentials. A physical link is used in one direction at most. The paths are as many as the maximum flow
allows, up to the wanted number, and of least total cost.

Fill: while there are fewer paths than wanted, add the path, not yet chosen, with the least (overlap, cost), where
overlap counts a link once for every chosen path that runs over it. When the best one is chosen already, Lawler's
partition ("A procedure for computing the K best solutions", 1972) finds the best of the others.
"""

from __future__ import annotations

from te_solver.compiled import kernel
from te_solver.network import BoolArray, Graph, IntArray
from te_solver.search import FAR, NO_ARC, Scratch, search


@kernel
def trace(graph: Graph, last_arc: IntArray, target: int, path: IntArray) -> int:
    """Arcs of the path that a search found, in walking order; their number."""
    size = 0
    node = target
    while last_arc[node] != NO_ARC:
        path[size] = last_arc[node]
        node = graph.src[last_arc[node]]
        size += 1
    for place in range(size // 2):
        path[place], path[size - 1 - place] = path[size - 1 - place], path[place]
    return size


@kernel
def use_arc(graph: Graph, scratch: Scratch, arc: int) -> None:
    """Take an arc in the residual network: its reverse then undoes it, at minus its cost."""
    back = graph.reverse[arc]
    scratch.closed[arc] = True
    scratch.closed[back] = False
    scratch.weight[back] = -graph.cost[arc]


@kernel
def free_link(graph: Graph, scratch: Scratch, arc: int) -> None:
    """Both directions of a link as they were."""
    for one in (arc, graph.reverse[arc]):
        scratch.closed[one] = False
        scratch.weight[one] = graph.cost[one]


@kernel
def augment(graph: Graph, scratch: Scratch, used: BoolArray, target: int) -> None:
    """Send one more unit along the path just found."""
    node = target
    while scratch.last_arc[node] != NO_ARC:
        arc = scratch.last_arc[node]
        node = graph.src[arc]
        back = graph.reverse[arc]
        if used[back]:
            used[back] = False
            free_link(graph, scratch, back)
        else:
            used[arc] = True
            use_arc(graph, scratch, arc)


@kernel
def raise_potentials(scratch: Scratch, target: int) -> None:
    """Keep reduced costs of used paths at zero after a search that stopped at the target."""
    reach = scratch.distance[target]
    for node in range(len(scratch.potential)):
        scratch.potential[node] += min(scratch.distance[node], reach)


@kernel
def split_flow(graph: Graph, used: BoolArray, source: int, target: int, path: IntArray) -> int:
    """Take one path out of the used arcs, the lowest arc first at every node; its number of arcs."""
    size = 0
    node = source
    while node != target:
        for place in range(graph.first[node], graph.first[node + 1]):
            arc = graph.order[place]
            if used[arc]:
                used[arc] = False
                path[size] = arc
                size += 1
                node = graph.dst[arc]
                break
    return size


@kernel
def path_cost(graph: Graph, path: IntArray, size: int) -> int:
    """Sum of the arcs' costs."""
    total = 0
    for place in range(size):
        total += graph.cost[path[place]]
    return total


@kernel
def sort_paths(graph: Graph, paths: IntArray, sizes: IntArray, count: int) -> None:
    """Cheapest first; equal ones keep their order."""
    for place in range(1, count):
        here = place
        while here > 0 and path_cost(graph, paths[here], sizes[here]) < path_cost(
            graph, paths[here - 1], sizes[here - 1]
        ):
            for arc in range(paths.shape[1]):
                paths[here, arc], paths[here - 1, arc] = paths[here - 1, arc], paths[here, arc]
            sizes[here], sizes[here - 1] = sizes[here - 1], sizes[here]
            here -= 1


@kernel
def find_disjoint(
    graph: Graph, scratch: Scratch, used: BoolArray, source: int, target: int, paths: IntArray, sizes: IntArray
) -> int:
    """Fill `paths` with link-disjoint paths of least total cost; how many there are. All scratch is left clean."""
    scratch.potential[:] = 0
    count = 0
    while count < len(sizes) and search(graph, scratch, source, target, FAR):
        raise_potentials(scratch, target)
        augment(graph, scratch, used, target)
        count += 1
    for number in range(count):
        sizes[number] = split_flow(graph, used, source, target, paths[number])
    for number in range(count):
        for place in range(sizes[number]):
            free_link(graph, scratch, paths[number, place])
    scratch.potential[:] = 0
    sort_paths(graph, paths, sizes, count)
    return count


@kernel
def is_chosen(paths: IntArray, sizes: IntArray, count: int, path: IntArray, size: int) -> bool:
    """Whether a path is one of the first `count`."""
    for number in range(count):
        if sizes[number] == size:
            same = True
            for place in range(size):
                if paths[number, place] != path[place]:
                    same = False
                    break
            if same:
                return True
    return False


@kernel
def close_prefix(graph: Graph, scratch: Scratch, path: IntArray, deviation: int, source: int) -> int:
    """Close the nodes of `path` before its `deviation`-th arc; the node where it deviates."""
    node = source
    for place in range(deviation):
        scratch.node_closed[node] = True
        node = graph.dst[path[place]]
    return node


@kernel
def starts_alike(paths: IntArray, sizes: IntArray, number: int, path: IntArray, deviation: int) -> bool:
    """Whether the chosen path `number` begins with the first `deviation` arcs of `path` and goes on."""
    if sizes[number] <= deviation:
        return False
    alike = True
    for place in range(deviation):
        alike = alike and paths[number, place] == path[place]
    return alike


@kernel
def best_other(
    graph: Graph,
    scratch: Scratch,
    source: int,
    target: int,
    paths: IntArray,
    sizes: IntArray,
    count: int,
    best: IntArray,
    spur: IntArray,
) -> int:
    """Cheapest simple path by `scratch.weight` that is not among the first `count` paths, in `best`; its arcs, or 0.

    Every other path leaves the tree of the chosen ones somewhere: all points of leaving are tried.
    """
    best_size, best_weight = 0, FAR
    for number in range(count):
        ahead = 0
        for deviation in range(sizes[number]):
            tried = False
            for earlier in range(number):
                tried = tried or starts_alike(paths, sizes, earlier, paths[number], deviation)
            if not tried:
                node = close_prefix(graph, scratch, paths[number], deviation, source)
                for other in range(count):
                    if starts_alike(paths, sizes, other, paths[number], deviation):
                        scratch.closed[paths[other, deviation]] = True
                if search(graph, scratch, node, target, best_weight - ahead):
                    best_weight = ahead + scratch.distance[target]
                    size = trace(graph, scratch.last_arc, target, spur)
                    best[:deviation] = paths[number, :deviation]
                    best[deviation : deviation + size] = spur[:size]
                    best_size = deviation + size
                for other in range(count):
                    if starts_alike(paths, sizes, other, paths[number], deviation):
                        scratch.closed[paths[other, deviation]] = False
                for place in range(deviation):
                    scratch.node_closed[graph.src[paths[number, place]]] = False
            ahead += scratch.weight[paths[number, deviation]]
    return best_size


@kernel
def add_overlap(graph: Graph, scratch: Scratch, path: IntArray, size: int, penalty: int) -> None:
    """Make the links of a path dearer by `penalty`, both directions."""
    for place in range(size):
        scratch.weight[path[place]] += penalty
        scratch.weight[graph.reverse[path[place]]] += penalty


@kernel
def fill(
    graph: Graph,
    scratch: Scratch,
    source: int,
    target: int,
    paths: IntArray,
    sizes: IntArray,
    count: int,
    best: IntArray,
    spur: IntArray,
    penalty: int,
) -> int:
    """Add least-overlap paths until there are enough or no others; how many there are then."""
    for number in range(count):
        add_overlap(graph, scratch, paths[number], sizes[number], penalty)
    found = count
    while found < len(sizes):
        size = 0
        if search(graph, scratch, source, target, FAR):
            size = trace(graph, scratch.last_arc, target, best)
            if is_chosen(paths, sizes, found, best, size):
                size = best_other(graph, scratch, source, target, paths, sizes, found, best, spur)
        if size == 0:
            break
        paths[found, :size] = best[:size]
        sizes[found] = size
        add_overlap(graph, scratch, best, size, penalty)
        found += 1
    for number in range(found):
        add_overlap(graph, scratch, paths[number], sizes[number], -penalty)
    return found
