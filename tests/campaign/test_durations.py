"""Estimated durations."""

from __future__ import annotations

import pytest

from experiments.campaign.durations import (
    CALIBRATION_S,
    campaign_seconds,
    estimates,
    needs_network,
    total_seconds,
    trial_seconds,
)
from tests.campaign.fakes import trial, trials


def test_every_trial_has_an_estimate_and_the_first_of_a_session_carries_its_network() -> None:
    found = estimates(trials(rounds=1, arms="a", most_failures=2))
    first, *rest = found.values()
    assert len(found) == 3
    assert all(value.seconds < first.seconds for value in rest)


def test_a_campaign_is_its_trials_and_the_calibration() -> None:
    wanted = trials()
    assert campaign_seconds(wanted) == pytest.approx(total_seconds(estimates(wanted).values()) + CALIBRATION_S)


def test_what_the_interpreter_decides_needs_no_network() -> None:
    decided = [trial(1, "a", kind="verify")]
    assert not needs_network(decided)
    assert needs_network([*decided, trial(1, "a")])
    assert campaign_seconds(decided) == trial_seconds(decided[0])
