"""Order of trials, by its laws."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.campaign.order import failed_trials, first_difference, in_order, remaining, sessions, trial_row
from experiments.campaign.values import CampaignPlan, Trial, Variant
from tests.campaign.fakes import trial, trials

SOME_TRIALS = st.lists(
    st.builds(trial, st.integers(1, 3), st.sampled_from("abc"), st.integers(0, 1), st.sampled_from(["mixed", "verify"]))
)


@given(SOME_TRIALS)
def test_every_trial_stands_once(some: list[Trial]) -> None:
    assert sorted(one.trial_id for one in in_order(some)) == sorted({one.trial_id for one in some})


@given(SOME_TRIALS)
def test_rounds_never_go_back_and_networks_are_built_once(some: list[Trial]) -> None:
    ordered = in_order(some)
    rounds = [one.round for one in ordered]
    assert rounds == sorted(rounds)
    networks = [group[0].session_key for group in sessions([one for one in ordered if one.kind == "mixed"])]
    assert len(networks) == len(set(networks))


@given(SOME_TRIALS)
def test_ordering_twice_changes_nothing(some: list[Trial]) -> None:
    assert in_order(in_order(some)) == in_order(some)


def test_the_variants_take_turns_in_every_round() -> None:
    variants = [group[0].variant for group in sessions(in_order(trials()))]
    assert variants == [Variant("a"), Variant("b"), Variant("c")] * 2


def test_two_trials_of_one_name_are_refused() -> None:
    one = trial(1, "a")
    with pytest.raises(ValueError, match="two different trials"):
        in_order([one, replace(one, seed=2)])


def test_a_trial_remains_until_it_is_good_or_was_tried_twice() -> None:
    wanted = [trial(1, variant) for variant in "abcd"]
    names = [one.trial_id for one in wanted]
    rows = [
        {"trial": names[0], "status": "ok"},
        {"trial": names[1], "status": "failed", "error": "x"},
        {"trial": names[2], "status": "failed", "error": "x"},
        {"trial": names[2], "status": "failed", "error": "y"},
    ]
    assert remaining(wanted, rows) == (wanted[1], wanted[3])
    assert failed_trials([one.trial_id for one in wanted], rows) == {
        names[1]: "x",
        names[2]: "y",
        names[3]: "it has not run yet",
    }


def test_differences_of_trial_lists_are_named() -> None:
    stored = [one.to_json() for one in trials()]
    assert first_difference(stored, stored) is None
    assert "not stored" in str(first_difference(stored[1:], stored))
    assert "no longer" in str(first_difference(stored, stored[1:]))
    assert "another order" in str(first_difference(stored, stored[::-1]))
    changed = [{**stored[0], "pairs": [["h2", "h4"]]}, *stored[1:]]
    assert "pairs" in str(first_difference(stored, changed))


def test_variants_are_named_by_what_tells_them_apart() -> None:
    names = [
        Variant("sdfast", "agent", "pair").name,
        Variant("sdfast", "learned").name,
        Variant("cbc", control_delay_ms=0).name,
        Variant("ffg_restoration", control_delay_ms=2.5).name,
        Variant("cb").name,
    ]
    assert names == ["sdfast-agent-pair", "sdfast-learned-tree", "cbc-0ms", "ffg_restoration-2.5ms", "cb"]


def test_a_trial_without_network_has_the_same_columns() -> None:
    bare = replace(trial(1, "a", kind="verify"), variant=None, load=None, timing=None)
    assert trial_row(bare, True).keys() == trial_row(trial(1, "a"), True).keys()
    assert bare.session_key.capacity_mbps is None


def test_what_was_asked_for_can_be_compared() -> None:
    assert CampaignPlan(True, 1) == CampaignPlan(True, 1, None)
