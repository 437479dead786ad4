"""Estimated durations."""

from __future__ import annotations

import pytest

from experiments.campaign.act.discovery import find_kinds
from experiments.campaign.durations import (
    CALIBRATION_S,
    campaign_seconds,
    estimates,
    needs_network,
    total_seconds,
)
from tests.campaign.fakes import trial, trials

KINDS = find_kinds()


def test_every_trial_has_an_estimate_and_the_first_of_a_session_carries_its_network() -> None:
    found = estimates(trials(rounds=1, variants="a", most_failures=2), KINDS)
    first, *rest = found.values()
    assert len(found) == 3
    assert all(value.seconds < first.seconds for value in rest)


def test_a_campaign_is_its_trials_and_the_calibration() -> None:
    wanted = trials()
    together = total_seconds(estimates(wanted, KINDS).values())
    assert campaign_seconds(wanted, KINDS) == pytest.approx(together + CALIBRATION_S)


def test_what_the_interpreter_decides_needs_no_network() -> None:
    decided = [trial(1, "a", kind="verify")]
    assert not needs_network(decided, KINDS)
    assert needs_network([*decided, trial(1, "a")], KINDS)
    assert campaign_seconds(decided, KINDS) == KINDS["verify"].seconds(decided[0])
