"""Kinds of trials: found by folder, run by name, and every trial carries what decides its outcome as plain JSON."""

from __future__ import annotations

import dataclasses
import json

import pytest

from experiments.campaign.act.discovery import find_figures, find_kinds, make_runners
from experiments.campaign.act.engine import SessionRunner
from experiments.campaign.kinds.lossless import LosslessParameters
from experiments.campaign.kinds.verify import VerifyParameters
from experiments.campaign.order import first_difference
from experiments.campaign.values import CampaignPlan, TestbedSettings, parameters_of
from mininet_topos.errors import BadInputError

QUICK = {name: figure.trials(CampaignPlan(True, 1)) for name, figure in find_figures().items()}
TRIALS = [trials[0] for trials in QUICK.values()]


def test_every_trial_has_a_kind_that_its_folder_holds_and_every_kind_has_a_trial() -> None:
    assert {trial.kind for trials in QUICK.values() for trial in trials} == set(find_kinds())


@pytest.mark.parametrize("trial", TRIALS, ids=lambda trial: trial.kind)
def test_a_trial_survives_json_so_that_a_stored_one_can_be_compared(trial) -> None:
    assert json.loads(json.dumps(trial.to_json())) == trial.to_json()
    assert find_kinds()[trial.kind].seconds(trial) > 0


def test_a_parameter_that_changed_is_named_when_a_campaign_goes_on() -> None:
    (trial, *_) = QUICK["x-lossless"]
    other = dataclasses.replace(trial, parameters=dataclasses.replace(trial.parameters, slots=1))
    assert "parameters" in str(first_difference([trial.to_json()], [other.to_json()]))


def test_parameters_of_another_kind_are_refused() -> None:
    (trial, *_) = QUICK["x-coverage"]
    assert isinstance(parameters_of(trial, VerifyParameters), VerifyParameters)
    with pytest.raises(BadInputError, match="has VerifyParameters, not LosslessParameters"):
        parameters_of(trial, LosslessParameters)


def test_kinds_share_sessions_where_they_name_one_runner(tmp_path) -> None:
    pytest.importorskip("mininet")
    runners = make_runners(TRIALS, TestbedSettings(tmp_path, True, 20, print))
    assert set(runners) == {trial.kind for trial in TRIALS}
    assert runners["mixed"] is runners["download"] is runners["flow"]
    assert isinstance(runners["mixed"], SessionRunner)
    assert not isinstance(runners["verify"], SessionRunner)
