"""Which cases a verification asks about: ordered pairs and the failures that hit their primary path."""

from __future__ import annotations

from itertools import combinations
from math import comb

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import dijkstra

from mininet_topos.errors import BadInputError

MAX_SETS = 1_000_000


def failure_masks(n_links: int, failures: int, sample: int | None, seed: int) -> list[int]:
    """Sets of exactly `failures` failed links, as masks.

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
    if not 1 <= failures <= n_links:
        raise BadInputError(f"--failures is {failures}; this topology has {n_links} links, so use 1..{n_links}")
    if sample is not None and sample < 1:
        raise BadInputError(f"--sample is {sample}; use 1 or more")
    all_sets = comb(n_links, failures)
    if sample is None and all_sets > MAX_SETS:
        raise BadInputError(f"{failures} of {n_links} links can fail in {all_sets:,} ways; draw some with --sample N")
    if sample is None or sample >= all_sets:
        return [sum(1 << number for number in chosen) for chosen in combinations(range(n_links), failures)]
    generator = np.random.default_rng(seed)
    drawn: dict[int, None] = {}
    while len(drawn) < sample:
        chosen = generator.choice(n_links, size=failures, replace=False)
        drawn[sum(1 << int(number) for number in chosen)] = None
    return list(drawn)


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
