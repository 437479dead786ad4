"""Trials that the interpreter decides."""

from __future__ import annotations

import json

import pytest

from experiments.campaign.kinds.verify import VerifyParameters
from experiments.campaign.values import Trial, Variant
from experiments.testbed.trials.verifying import options_of, verify_row
from mininet_topos.errors import BadInputError
from ryu_apps.schemes import route_schemes


def trial(variant, topology="gscale", failures=1, seed=1, **parameters):
    """A trial without pairs, load or windows."""
    return Trial(
        "t", "verify", topology, variant, 1, failures, (), (), None, None, seed, VerifyParameters(**parameters)
    )


def counted(row):
    """Everything but times."""
    return {name: value for name, value in row["result"].items() if "seconds" not in name and name != "cases_per_s"}


@pytest.mark.parametrize("scheme", route_schemes())
def test_every_scheme_gives_a_row_that_is_plain_json_and_keeps_its_promise(scheme):
    row = verify_row(trial(Variant(scheme), "figure2"))
    result = row["result"]
    assert json.loads(json.dumps(row)) == row
    assert (result["scheme"], result["topology"], result["failures"], result["holds"]) == (scheme, "figure2", 1, True)
    assert result["cases"] > 0
    assert result["flows"]["most"] >= result["flows"]["mean"] > 0


def test_the_variant_decides_mode_and_planner():
    result = verify_row(trial(Variant("sdfast", "agent", "pair")))["result"]
    assert (result["mode"], result["planner"]) == ("agent", "pair")
    assert verify_row(trial(Variant("cbc", control_delay_ms=5)))["result"]["mode"] == "none"
    assert options_of(Variant("ffg")).planner == "tree"


def test_a_sample_is_drawn_by_the_seed_of_the_trial():
    rows = [verify_row(trial(Variant("cb"), failures=3, seed=seed, sample=10)) for seed in (1, 1, 2)]
    assert rows[0]["result"]["failure_sets"] == 10
    assert counted(rows[0]) == counted(rows[1]) != counted(rows[2])


def test_a_trial_may_plan_for_more_failures():
    assert verify_row(trial(Variant("sdfast", "learned"), "square", max_failures=3))["result"]["max_failures"] == 3


def test_a_trial_without_an_variant_is_refused_by_name():
    with pytest.raises(BadInputError, match="trial t names no scheme"):
        verify_row(trial(None))
