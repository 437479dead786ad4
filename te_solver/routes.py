"""Next hops in a topology without some of its links: shortest-path or minimum spanning trees.

For one set of failed links all destinations are solved together: one all-pairs distance matrix,
then one vectorised choice of the next link. Ties go to the lowest neighbour (node order), then
the lowest key, so the trees are the same on every machine.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mininet_topos.errors import BadInputError
from mininet_topos.topology import Link, LinkId, Topology
from te_solver.choices import METRICS, ROUTES

IntArray = NDArray[np.int32]
FloatArray = NDArray[np.float64]
NO_LINK = -1
_US_PER_MS = 1000
_HOP_SCALE = 1024  # delay counts first, hops break ties; both stay exact integers in a double


class ResidualRoutes:
    """Trees towards every destination of `topology`, for any set of failed links.

    Parameters
    ----------
    routes : {"spt", "mst"}
        Shortest-path trees, or the paths of one minimum spanning tree (SD-FAST section III.A).
    metric : {"hops", "delay"}
        Cost of a link: 1, or its `delay_ms` (all links must have one), hops as the tie-break.

    Raises
    ------
    BadInputError
        Unknown `routes` or `metric`, or metric "delay" with a link whose delay is unknown.
    """

    def __init__(self, topology: Topology, routes: str = "spt", metric: str = "hops") -> None:
        if routes not in ROUTES:
            raise BadInputError(f"unknown routes {routes!r}; use one of {', '.join(ROUTES)}")
        self.topology, self.metric = topology, metric
        self.links: tuple[Link, ...] = tuple(link for node in topology.node_names for link in topology.links_from[node])
        self._spanning = routes == "mst"
        order = topology.index_of
        self._src = np.array([order[link.src] for link in self.links], dtype=np.int32)
        self._dst = np.array([order[link.dst] for link in self.links], dtype=np.int32)
        self._cost = np.array([link_cost(link, metric) for link in self.links], dtype=np.float64)
        numbers = {link_id: number for number, link_id in enumerate(topology.link_ids)}
        self.link_number = np.array([numbers[topology.link_id(link.direction)] for link in self.links], dtype=np.int32)
        self._numbers = numbers
        self._cache: dict[frozenset[LinkId], IntArray] = {}

    def next_links(self, failed: frozenset[LinkId] = frozenset()) -> IntArray:
        """Next link of every node towards every destination.

        Parameters
        ----------
        failed
            Links that carry nothing (both directions).

        Returns
        -------
        int array, shape (nodes, nodes)
            `[v, t]` is an index into `links`, or `NO_LINK` where t is v itself or out of reach.
        """
        if failed not in self._cache:
            self._cache[failed] = self._choose(self._live(failed))
        return self._cache[failed]

    def distances(self, failed: frozenset[LinkId] = frozenset()) -> FloatArray:
        """Cost of the chosen paths, shape (nodes, nodes); infinity where there is none."""
        return self._distances(self._live(failed))

    def cost(self, link: int) -> float:
        """Cost of a link by its index in `links`."""
        return float(self._cost[link])

    def _live(self, failed: frozenset[LinkId]) -> NDArray[np.bool_]:
        gone = np.zeros(len(self._numbers) + 1, dtype=bool)
        gone[[self._numbers[link_id] for link_id in failed]] = True
        live: NDArray[np.bool_] = ~gone[self.link_number]
        return live & self._tree_links(live) if self._spanning else live

    def _tree_links(self, live: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Links of the minimum spanning forest; equal costs are distinguished by link number."""
        nodes = len(self.topology.nodes)
        rank = np.empty(len(self._numbers))
        cost = np.full(len(self._numbers), np.inf)
        np.minimum.at(cost, self.link_number, self._cost)
        rank[np.lexsort((np.arange(len(cost)), cost))] = np.arange(1, len(cost) + 1)
        weight = np.full((nodes, nodes), np.inf)
        np.minimum.at(weight, (self._src[live], self._dst[live]), rank[self.link_number[live]])
        weight[~np.isfinite(weight)] = 0
        from scipy.sparse import csr_matrix  # long to import, where no routes are computed
        from scipy.sparse.csgraph import minimum_spanning_tree

        tree = minimum_spanning_tree(csr_matrix(weight)).data
        chosen = np.isin(rank, tree)
        in_tree: NDArray[np.bool_] = chosen[self.link_number]
        return in_tree

    def _distances(self, live: NDArray[np.bool_]) -> FloatArray:
        nodes = len(self.topology.nodes)
        weight = np.full((nodes, nodes), np.inf)
        np.minimum.at(weight, (self._src[live], self._dst[live]), self._cost[live])
        weight[~np.isfinite(weight)] = 0
        from scipy.sparse import csr_matrix
        from scipy.sparse.csgraph import dijkstra

        found: FloatArray = dijkstra(csr_matrix(weight))
        return found

    def _choose(self, live: NDArray[np.bool_]) -> IntArray:
        nodes = len(self.topology.nodes)
        chosen = np.full((nodes, nodes), NO_LINK, dtype=np.int32)
        if not len(self.links):
            return chosen
        distance = self._distances(live)
        through = self._cost[:, None] + distance[self._dst]
        usable = (through == distance[self._src]) & np.isfinite(through) & live[:, None]
        count = len(self.links)
        index = np.where(usable, np.arange(count, dtype=np.int32)[:, None], count)
        starts = np.flatnonzero(np.r_[True, self._src[1:] != self._src[:-1]])  # links are grouped by source
        first = np.minimum.reduceat(index, starts, axis=0)
        chosen[self._src[starts]] = np.where(first < count, first, NO_LINK)
        np.fill_diagonal(chosen, NO_LINK)
        return chosen


def link_cost(link: Link, metric: str) -> int:
    """Cost of a link for shortest paths: 1, or its delay to a microsecond and, among equals, a hop.

    Raises
    ------
    BadInputError
        Unknown metric, or a delay that is unknown.
    """
    if metric == "hops":
        return 1
    if metric not in METRICS:
        raise BadInputError(f"unknown metric {metric!r}; use one of {', '.join(METRICS)}")
    if link.delay_ms is None:
        raise BadInputError(f"link {link.direction} has no delay_ms; give every link one, or use metric 'hops'")
    return round(link.delay_ms * _US_PER_MS) * _HOP_SCALE + 1
