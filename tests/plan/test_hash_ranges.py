"""Slots fail without gaps or overlaps, to the nearest slot, and said as masks."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mininet_topos.errors import BadInputError
from ryu_apps.plan.hash_ranges import N_SLOTS, WHOLE, HashRange, masked_slots, partition
from tests.plan.kuijia.strategies import WEIGHTS


@st.composite
def ranges(draw: st.DrawFn) -> list[HashRange]:
    """Disjoint ranges in order, as what a failed tunnel held may be."""
    bounds = sorted(draw(st.lists(st.integers(0, N_SLOTS), max_size=8, unique=True)))
    return [HashRange(first, stop) for first, stop in zip(bounds[::2], bounds[1::2], strict=False)]


def slots_of(parts: list[HashRange]) -> list[int]:
    return [slot for part in parts for slot in range(part.first, part.stop)]


@given(ranges(), WEIGHTS)
def test_a_partition_deals_every_slot_once_and_in_order(whole: list[HashRange], weights: list[float]) -> None:
    parts = partition(whole, weights)
    assert slots_of([part for part, _ in parts]) == slots_of(whole)
    assert all(part.size > 0 for part, _ in parts)
    owners = [owner for _, owner in parts]
    assert owners == sorted(owners)


@given(ranges(), WEIGHTS)
def test_a_share_differs_from_its_weight_by_less_than_one_slot(whole: list[HashRange], weights: list[float]) -> None:
    size = sum(part.size for part in whole)
    known = weights if any(weights) else [1.0] * len(weights)
    dealt = partition(whole, weights)
    for number, weight in enumerate(known):
        share = sum(part.size for part, owner in dealt if owner == number)
        assert abs(share - size * weight / math.fsum(known)) <= 1 + 1e-9
        assert share == 0 or weight > 0


def test_a_border_is_the_nearest_slot() -> None:
    assert [part.stop for part, _ in partition([WHOLE], [2, 1])] == [683, N_SLOTS]
    assert [part.stop for part, _ in partition([WHOLE], [1, 2])] == [341, N_SLOTS]


@given(WEIGHTS, st.floats(0.001, 1000))
def test_only_the_proportions_of_weights_count(weights: list[float], scale: float) -> None:
    one, other = (partition([WHOLE], each) for each in (weights, [weight * scale for weight in weights]))
    sizes = [[part.size for part, _ in parts] for parts in (one, other)]
    # A border in the middle between two slots may be rounded either way after scaling.
    assert [owner for _, owner in one] == [owner for _, owner in other]
    assert all(abs(first - second) <= 1 for first, second in zip(*sizes, strict=True))


@given(st.integers(0, N_SLOTS), st.integers(0, N_SLOTS))
def test_masks_take_exactly_the_slots_of_the_range_each_once(first: int, stop: int) -> None:
    slots = HashRange(min(first, stop), max(first, stop))
    blocks = masked_slots(slots)
    for slot in range(N_SLOTS):
        assert sum(slot & mask == value for value, mask in blocks) == (slot in slots)


def fewest_blocks(slots: HashRange) -> int:
    """The smallest number of aligned blocks: split where the range crosses a block's middle (brute force)."""

    def needed(first: int, size: int) -> int:
        if slots.stop <= first or first + size <= slots.first:
            return 0
        if slots.first <= first and first + size <= slots.stop:
            return 1
        return needed(first, size // 2) + needed(first + size // 2, size // 2)

    return needed(0, N_SLOTS)


@given(st.integers(0, N_SLOTS), st.integers(0, N_SLOTS))
def test_masks_are_as_few_as_can_be(first: int, stop: int) -> None:
    slots = HashRange(min(first, stop), max(first, stop))
    assert len(masked_slots(slots)) == fewest_blocks(slots)


def test_half_three_tenths_and_a_fifth_need_eleven_matches() -> None:
    parts = partition([WHOLE], [0.5, 0.3, 0.2])
    assert [(part.first, part.stop) for part, _ in parts] == [(0, 512), (512, 819), (819, 1024)]
    assert sum(len(masked_slots(part)) for part, _ in parts) == 11


def test_all_slots_are_one_match_of_no_bits() -> None:
    assert masked_slots(WHOLE) == ((0, 0),)


@pytest.mark.parametrize("weights", [[], [1.0, -0.1], [math.nan], [math.inf, 1.0]])
def test_weights_that_mean_nothing_are_refused(weights: list[float]) -> None:
    with pytest.raises(BadInputError, match="splitting weights"):
        partition([WHOLE], weights)
