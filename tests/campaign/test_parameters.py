"""Parameters of trials and typed rows: what is written reads back equal, and what is wrong is refused."""

from __future__ import annotations

import json

import pytest

from experiments.campaign.act.discovery import find_figures
from experiments.campaign.kinds.paths import JitterParameters
from experiments.campaign.kinds.te_schemes import KIND, SchemeOutcome, SchemesParameters, read_rows
from experiments.campaign.order import trial_row
from experiments.campaign.parameters import plain
from experiments.campaign.values import CampaignPlan
from experiments.figures.beyond import te_schemes
from mininet_topos.errors import BadInputError

JITTER = JitterParameters("x", 1.0, 5, 2.0, 3.0, settle_s=0.7)
OUTCOME = SchemeOutcome(0.9, 0.1, 0.0, 0.5)


def stored(value: object) -> dict:
    return dict(json.loads(json.dumps(value)))


@pytest.mark.parametrize("name", find_figures())
def test_parameters_of_every_trial_read_back_equal(name: str) -> None:
    for trial in find_figures()[name].trials(CampaignPlan(quick=True, seed=1)):
        assert type(trial.parameters).from_json(stored(trial.parameters.to_json())) == trial.parameters


def test_what_an_earlier_version_did_not_write_has_its_default() -> None:
    early = {key: value for key, value in JITTER.to_json().items() if key != "settle_s"}
    assert JitterParameters.from_json(early).settle_s == 0.3


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"packets": None}, "JitterParameters.packets is None, not a int"),
        ({"packets": True}, "packets is True"),
        ({"jitter_ms": "1"}, "jitter_ms is '1', not a float"),
        ({"speed": 3}, "JitterParameters has no 'speed'"),
    ],
)
def test_other_values_are_refused_by_name(change: dict, words: str) -> None:
    with pytest.raises(BadInputError, match=words):
        JitterParameters.from_json(JITTER.to_json() | change)
    with pytest.raises(BadInputError, match="needs a 'base_delay_ms'"):
        JitterParameters.from_json({"what": "x"})


def test_typed_rows_are_the_good_ones_of_their_kind() -> None:
    trial = te_schemes.trials(CampaignPlan(quick=True, seed=1))[0]
    measured = {"optimum_mbps": 8.0, "asked_mbps": 9.0, "schemes": {"kuijia": plain(OUTCOME)}}
    rows = [{**trial_row(trial, True), **measured}, {**trial_row(trial, True), "status": "failed"}, {"kind": "verify"}]
    (row,) = read_rows([stored(each) for each in rows])
    assert (row.topology, row.parameters, row.schemes) == (trial.topology, trial.parameters, {"kuijia": OUTCOME})
    assert isinstance(row.parameters, SchemesParameters)
    assert rows[0]["kind"] == KIND.name
