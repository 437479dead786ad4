"""Sets of failed links and their tag ids."""

from __future__ import annotations

from itertools import combinations
from math import comb

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mininet_topos.errors import PlanLimitError
from ryu_apps.plan.failure_sets import MAX_TAG_ID, FailureSets, default_max_failures, sets_up_to

SPACES = st.tuples(st.integers(0, 12), st.integers(0, 3))


@given(SPACES)
def test_every_set_has_one_id_and_every_id_one_set(space):
    sets = FailureSets(*space)
    expected = {frozenset(chosen) for size in range(space[1] + 1) for chosen in combinations(range(space[0]), size)}
    assert {frozenset(sets.numbers(tag_id)) for tag_id in range(len(sets.masks))} == expected
    assert len(sets.masks) == len(expected) == 1 + sets_up_to(*space)
    assert all(sets.masks[tag_id] == mask for mask, tag_id in sets.tag_id_of.items())


@given(SPACES)
def test_ids_rise_with_the_size_of_the_set(space):
    sizes = [mask.bit_count() for mask in FailureSets(*space).masks]
    assert sizes == sorted(sizes)


@given(SPACES, st.data())
def test_adding_a_link_gives_the_union_or_nothing(space, data):
    sets = FailureSets(*space)
    tag_id = data.draw(st.integers(0, len(sets.masks) - 1))
    for number in range(space[0]):
        union = {*sets.numbers(tag_id), number}
        larger = sets.with_link(tag_id, number)
        assert (larger is None) == (len(union) > space[1])
        assert larger is None or set(sets.numbers(larger)) == union


@given(SPACES, st.data())
def test_subsets_and_containing_sets_are_what_their_names_say(space, data):
    sets = FailureSets(*space)
    tag_id = data.draw(st.integers(0, len(sets.masks) - 1))
    chosen = set(sets.numbers(tag_id))
    everything = range(len(sets.masks))
    assert set(sets.subsets(tag_id)) == {other for other in everything if set(sets.numbers(other)) < chosen}
    assert sets.subsets(tag_id) == sets.subsets(tag_id)
    for number in range(space[0]):
        assert set(sets.containing(number)) == {other for other in everything if number in sets.numbers(other)}


def test_two_failures_are_planned_for_up_to_89_links():
    assert [default_max_failures(count) for count in (1, 31, 89, 90, 4094)] == [2, 2, 2, 1, 1]
    assert comb(89, 2) + 89 <= MAX_TAG_ID < comb(90, 2) + 90


@pytest.mark.parametrize(("n_links", "size"), [(4095, 1), (90, 2), (31, 4)])
def test_more_sets_than_a_tag_holds_are_refused_with_the_repair(n_links, size):
    with pytest.raises(PlanLimitError, match=rf"{n_links} links have .*--max-failures {size - 1}"):
        FailureSets(n_links, size)


def test_a_negative_number_of_failures_is_refused():
    with pytest.raises(PlanLimitError, match="max_failures is -1"):
        FailureSets(3, -1)
