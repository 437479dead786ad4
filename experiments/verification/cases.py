"""Which cases a verification asks about: ordered pairs and the failures that hit their primary path."""

from __future__ import annotations

from itertools import combinations
from math import comb

import numpy as np
from numpy.typing import NDArray

from mininet_topos.errors import BadInputError


def failure_masks(n_links: int, failures: int, sample: int | None, seed: int) -> list[int]:
    """Sets of exactly `failures` failed links, as masks.

    Parameters
    ----------
    n_links, failures : int
    sample : int or None
        None: all sets, in lexicographic order. Else that many different sets drawn at random (all of them when there
        are no more).
    seed : int
        Seed of the draw.

    Raises
    ------
    BadInputError
        `failures` is not between 1 and the number of links, or `sample` is not positive.
    """
    if not 1 <= failures <= n_links:
        raise BadInputError(f"--failures is {failures}; this topology has {n_links} links, so use 1..{n_links}")
    if sample is not None and sample < 1:
        raise BadInputError(f"--sample is {sample}; use 1 or more")
    if sample is None or sample >= comb(n_links, failures):
        return [sum(1 << number for number in chosen) for chosen in combinations(range(n_links), failures)]
    generator = np.random.default_rng(seed)
    drawn: dict[int, None] = {}
    while len(drawn) < sample:
        chosen = generator.choice(n_links, size=failures, replace=False)
        drawn[sum(1 << int(number) for number in chosen)] = None
    return list(drawn)


class Residual:
    """Hop distances without a set of links, for stretch and for "are the two still joined"."""

    def __init__(self, ends: list[tuple[int, int]], n_nodes: int) -> None:
        self._ends, self._n_nodes = ends, n_nodes
        self._known: dict[int, NDArray[np.float64]] = {}

    def distances(self, failed: int) -> NDArray[np.float64]:
        """`[a][b]` in hops; infinity where a and b are not joined."""
        if failed not in self._known:
            self._known[failed] = self._solve(failed)
        return self._known[failed]

    def _solve(self, failed: int) -> NDArray[np.float64]:
        from scipy.sparse import csr_matrix
        from scipy.sparse.csgraph import dijkstra

        matrix = np.zeros((self._n_nodes, self._n_nodes))
        for number, (a, b) in enumerate(self._ends):
            if not failed >> number & 1:
                matrix[a, b] = matrix[b, a] = 1
        found: NDArray[np.float64] = dijkstra(csr_matrix(matrix), unweighted=True)
        return found
