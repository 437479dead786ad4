"""Kinds of trials: found by folder, run by name, and every trial carries what decides its outcome as plain JSON."""

from __future__ import annotations

import dataclasses
import json
from functools import cache

import pytest

from experiments.campaign.act.discovery import find_figures, find_kinds, make_runners
from experiments.campaign.act.engine import SessionRunner
from experiments.campaign.kinds.lossless import LosslessParameters
from experiments.campaign.kinds.verify import VerifyParameters
from experiments.campaign.order import first_difference
from experiments.campaign.values import CampaignPlan, TestbedSettings, Trial, parameters_of
from mininet_topos.errors import BadInputError

FIGURES = find_figures()


@cache  # and not while tests are collected, which every process does: some draw networks
def quick(name: str) -> tuple[Trial, ...]:
    return tuple(FIGURES[name].trials(CampaignPlan(True, 1)))


def test_every_trial_has_a_kind_that_its_folder_holds_and_every_kind_has_a_trial() -> None:
    assert {trial.kind for name in FIGURES for trial in quick(name)} == set(find_kinds())


@pytest.mark.parametrize("name", FIGURES)
def test_a_trial_survives_json_so_that_a_stored_one_can_be_compared(name) -> None:
    trial = quick(name)[0]
    assert json.loads(json.dumps(trial.to_json())) == trial.to_json()
    assert find_kinds()[trial.kind].seconds(trial) > 0


def test_a_parameter_that_changed_is_named_when_a_campaign_goes_on() -> None:
    (trial, *_) = quick("x-lossless")
    other = dataclasses.replace(trial, parameters=dataclasses.replace(trial.parameters, slots=1))
    assert "parameters" in str(first_difference([trial.to_json()], [other.to_json()]))


def test_parameters_of_another_kind_are_refused() -> None:
    (trial, *_) = quick("x-coverage")
    assert isinstance(parameters_of(trial, VerifyParameters), VerifyParameters)
    with pytest.raises(BadInputError, match="has VerifyParameters, not LosslessParameters"):
        parameters_of(trial, LosslessParameters)


def test_kinds_share_sessions_where_they_name_one_runner(tmp_path) -> None:
    pytest.importorskip("mininet")
    trials = [quick(name)[0] for name in FIGURES]
    runners = make_runners(trials, TestbedSettings(tmp_path, True, 20, print))
    assert set(runners) == {trial.kind for trial in trials}
    assert runners["mixed"] is runners["download"] is runners["flow"]
    assert isinstance(runners["mixed"], SessionRunner)
    assert not isinstance(runners["verify"], SessionRunner)
