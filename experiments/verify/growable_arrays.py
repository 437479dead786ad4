"""Arrays that grow, and numbers for codes: the small tools under the fast walker."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


class GrowableArray:
    """A numpy array that can be appended to; `values` is the part in use.

    Parameters
    ----------
    columns
        None: one-dimensional. Else rows of this many columns, more on demand.
    fill
        What unused columns hold.
    """

    def __init__(self, dtype: type, columns: int | None = None, fill: int = 0) -> None:
        self._held: NDArray[Any] = np.empty(64 if columns is None else (64, columns), dtype=dtype)
        self._fill, self._length = fill, 0

    def __len__(self) -> int:
        return self._length

    @property
    def values(self) -> NDArray[Any]:
        """The elements so far; a view, valid until the next `extend`."""
        return self._held[: self._length]

    def extend(self, added: NDArray[Any]) -> None:
        """Append elements (rows); fewer columns are filled up, more columns widen the array."""
        if self._held.ndim == 2:
            added = self._fit(added)
        needed = self._length + len(added)
        if needed > len(self._held):
            shape = (max(needed, 2 * len(self._held)), *self._held.shape[1:])
            larger = np.empty(shape, dtype=self._held.dtype)
            larger[: self._length] = self.values
            self._held = larger
        self._held[self._length : needed] = added
        self._length = needed

    def _fit(self, added: NDArray[Any]) -> NDArray[Any]:
        lacking = self._held.shape[1] - added.shape[1]
        if lacking < 0:
            self._held = np.pad(self._held, ((0, 0), (0, -lacking)), constant_values=self._fill)
        elif lacking > 0:
            added = np.pad(added, ((0, 0), (0, lacking)), constant_values=self._fill)
        return added


class Interner:
    """Numbers for integer codes, in order of first appearance."""

    def __init__(self) -> None:
        self._codes = GrowableArray(np.int64)
        self._sorted: Ints = np.empty(0, dtype=np.int64)
        self._order: Ints = np.empty(0, dtype=np.int64)

    def __len__(self) -> int:
        return len(self._codes)

    @property
    def codes(self) -> Ints:
        """Code of every number."""
        return self._codes.values

    def find(self, codes: Ints) -> Ints:
        """Numbers of codes; -1 for those that have none."""
        if not len(self._sorted):
            return np.full(len(codes), -1, dtype=np.int64)
        place = np.minimum(np.searchsorted(self._sorted, codes), len(self._sorted) - 1)
        return np.where(self._sorted[place] == codes, self._order[place], -1)

    def intern(self, codes: Ints) -> Ints:
        """Numbers of codes; new codes get the next free numbers."""
        numbers = self.find(codes)
        if (numbers < 0).any():
            self._add(np.unique(codes[numbers < 0]))
            numbers = self.find(codes)
        return numbers

    def _add(self, added: Ints) -> None:
        numbers = np.arange(len(self._codes), len(self._codes) + len(added))
        self._codes.extend(added)
        place = np.searchsorted(self._sorted, added)
        self._sorted = np.insert(self._sorted, place, added)
        self._order = np.insert(self._order, place, numbers)


def join(left: Ints, right: Ints) -> tuple[Ints, Ints]:
    """Index pairs (i, j) with `left[i] == right[j]`, ordered by i."""
    order = np.argsort(right, kind="stable")
    ordered = right[order]
    first = np.searchsorted(ordered, left, side="left")
    counts = np.searchsorted(ordered, left, side="right") - first
    return np.repeat(np.arange(len(left)), counts), order[ranges(first, counts)]


def ranges(first: Ints, counts: Ints) -> Ints:
    """Concatenation of `first[i], first[i] + 1, ... ` (`counts[i]` numbers each).

    Examples
    --------
    >>> ranges(np.array([5, 0]), np.array([2, 3])).tolist()
    [5, 6, 0, 1, 2]
    """
    total = int(counts.sum())
    starts = np.repeat(first - np.cumsum(counts) + counts, counts)
    return starts + np.arange(total)


def padded(owners: Ints, values: Ints, n_owners: int, fill: int = -1) -> Ints:
    """Values by owner as rows of a table; `owners` ascend, short rows are filled up.

    Examples
    --------
    >>> padded(np.array([0, 2, 2]), np.array([7, 8, 9]), 3).tolist()
    [[7, -1], [-1, -1], [8, 9]]
    """
    counts = np.bincount(owners, minlength=n_owners)
    table = np.full((n_owners, max(1, int(counts.max(initial=0)))), fill, dtype=np.int64)
    within = np.arange(len(owners)) - np.repeat(np.cumsum(counts) - counts, counts)
    table[owners, within] = values
    return table


def concatenated(parts: Iterable[Ints]) -> Ints:
    """One array of many; empty when there are none."""
    held = list(parts)
    return np.concatenate(held) if held else np.empty(0, dtype=np.int64)
