"""Hash ranges: which slots of a flow's hash belong to whom, and the masked matches that say so.

A share ends at the nearest slot, so what anybody gets of a partition differs from its weight by less than one slot:
1/1024 of a pair's flows.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate

from mininet_topos.errors import BadInputError
from ryu_apps.plan.masked_blocks import masked_blocks

N_SLOTS = 1024


@dataclass(frozen=True, slots=True)
class HashRange:
    """Half-open interval of slots."""

    first: int
    stop: int

    @property
    def size(self) -> int:
        """How many slots."""
        return self.stop - self.first

    def __contains__(self, slot: int) -> bool:
        return self.first <= slot < self.stop


WHOLE = HashRange(0, N_SLOTS)


def partition(ranges: Sequence[HashRange], weights: Sequence[float]) -> tuple[tuple[HashRange, int], ...]:
    """Partition slots into parts of the sizes that weights ask for, each at the nearest slot.

    Parameters
    ----------
    ranges
        What is partitioned, in this order, as if it were one piece.
    weights
        Any scale; all 0 means equal parts.

    Returns
    -------
    tuple of (HashRange, int)
        Every slot once, in the order of `ranges`, each with the position of the weight that gets it. Part k has the
        size `weights[k] / sum(weights)` of the whole, to less than one slot.

    Raises
    ------
    BadInputError
        No weights, or one that is negative or no number.

    Examples
    --------
    >>> partition([HashRange(0, 10)], [3, 2])
    ((HashRange(first=0, stop=6), 0), (HashRange(first=6, stop=10), 1))
    """
    if not weights or not all(math.isfinite(weight) and weight >= 0 for weight in weights):
        raise BadInputError(f"splitting weights {tuple(weights)} cannot be used; give at least one, none below 0")
    known = weights if any(weights) else [1.0] * len(weights)
    sums = list(accumulate(known))
    whole = sum(part.size for part in ranges)
    ends = [math.floor(whole * each / sums[-1] + 0.5) for each in sums]
    return tuple(_deal(ranges, ends))


def _deal(ranges: Sequence[HashRange], ends: Sequence[int]) -> Iterator[tuple[HashRange, int]]:
    """Parts of the ranges; part k ends once `ends[k]` slots have been dealt."""
    dealt, owner = 0, 0
    for part in ranges:
        first = part.first
        while first < part.stop:
            while ends[owner] <= dealt:
                owner += 1
            stop = min(part.stop, first + ends[owner] - dealt)
            yield HashRange(first, stop), owner
            dealt += stop - first
            first = stop


def masked_slots(slots: HashRange) -> tuple[tuple[int, int], ...]:
    """A range as (value, mask) of the slot number: aligned blocks, as few as there are."""
    return masked_blocks(slots.first, slots.stop, N_SLOTS)
