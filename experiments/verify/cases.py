"""Which cases a verification asks about: ordered pairs and the failures that hit their primary path."""

from __future__ import annotations

from functools import reduce
from itertools import combinations
from math import comb
from operator import or_

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import dijkstra

from experiments.verify.wiring import bits
from mininet_topos.errors import BadInputError
from mininet_topos.topology import Topology

MAX_SETS = 1_000_000


def failure_masks(n_links: int, failures: int, sample: int | None, seed: int, what: str = "links") -> list[int]:
    """Sets of exactly `failures` failed links (or of `what` else fails), as masks.

    Parameters
    ----------
    sample
        None: all sets, in lexicographic order. Else that many different sets drawn at random (all of them when there
        are no more).
    seed
        Seed of the draw.

    Raises
    ------
    BadInputError
        `failures` is not between 1 and the number of links, `sample` is not positive, or there are too many sets.
    """
    if n_links == 0:
        raise BadInputError(f"this topology has no {what} that could fail")
    if not 1 <= failures <= n_links:
        raise BadInputError(f"--failures is {failures}; this topology has {n_links} {what}, so use 1..{n_links}")
    if sample is not None and sample < 1:
        raise BadInputError(f"--sample is {sample}; use 1 or more")
    all_sets = comb(n_links, failures)
    if min(sample or all_sets, all_sets) > MAX_SETS:
        raise BadInputError(
            f"{failures} of {n_links} {what} can fail in {all_sets:,} ways; draw at most {MAX_SETS:,} with --sample N"
        )
    if sample is None or sample >= all_sets:
        return [sum(1 << number for number in chosen) for chosen in combinations(range(n_links), failures)]
    generator = np.random.default_rng(seed)
    if all_sets < 2 * sample:  # drawing one after another would meet the same ones again and again
        every = [sum(1 << number for number in chosen) for chosen in combinations(range(n_links), failures)]
        return [every[at] for at in generator.permutation(all_sets)[:sample].tolist()]
    drawn: dict[int, None] = {}
    while len(drawn) < sample:
        chosen = generator.choice(n_links, size=failures, replace=False)
        drawn[sum(1 << int(number) for number in chosen)] = None
    return list(drawn)


def node_masks(topology: Topology, failures: int, sample: int | None, seed: int) -> list[int]:
    """All links of exactly `failures` failed switches, as masks of links; equal ones once (see `failure_masks`)."""
    nodes, links = topology.node_names, topology.link_ids
    links_of = [sum(1 << number for number, link in enumerate(links) if node in (link.a, link.b)) for node in nodes]
    drawn = failure_masks(len(nodes), failures, sample, seed, "switches")
    return list(dict.fromkeys(reduce(or_, (links_of[node] for node in bits(mask))) for mask in drawn))


class Residual:
    """Hop distances without a set of links, for stretch and for "are the two still joined".

    Parameters
    ----------
    ends : list of (int, int)
        Node positions at the ends of every link.
    """

    def __init__(self, ends: list[tuple[int, int]], n_nodes: int) -> None:
        self._ends, self._n_nodes = np.array(ends, dtype=np.int64).reshape(-1, 2), n_nodes

    def distances(self, failed: list[int]) -> NDArray[np.float64]:
        """`[a][b]` in hops without these link numbers; infinity where a and b are not joined."""
        a, b = np.delete(self._ends, failed, axis=0).T
        graph = coo_matrix((np.ones(len(a)), (a, b)), shape=(self._n_nodes, self._n_nodes)).tocsr()
        found: NDArray[np.float64] = dijkstra(graph, directed=False, unweighted=True)
        return found
