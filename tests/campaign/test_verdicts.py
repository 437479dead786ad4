"""Verdicts against their definitions, one table of cases for each."""

from __future__ import annotations

import itertools
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.campaign.statistics import Estimate
from experiments.campaign.verdicts import (
    AtLeast,
    AtMost,
    Band,
    Claim,
    ClaimResult,
    Exactly,
    Within,
    around,
    count_verdicts,
    judge,
    judge_difference,
    judge_order,
    overall,
)

CASES: list[tuple[Band, float | str | None, float, str]] = [
    (around(-54, 15), -54, -54, "holds"),
    (around(-54, 15), -54, -39, "holds"),
    (around(-54, 15), -54, -69, "holds"),
    (around(-54, 15), -54, -38.9, "direction"),
    (around(-54, 15), -54, -95, "direction"),
    (around(-54, 15), -54, 3, "differs"),
    (around(-54, 15), -54, 0, "differs"),
    (AtMost(-73), -73, -80, "holds"),
    (AtMost(-73), -73, -20, "direction"),
    (AtMost(-73), -73, 20, "differs"),
    (AtLeast(99), 99, 99, "holds"),
    (AtLeast(99), 99, 12, "direction"),
    (Exactly(0), 0, 0, "holds"),
    (Exactly(0), 0, 1, "differs"),
    (AtMost(0.1), "close", 0.2, "differs"),
    (AtMost(0.1), None, 0.2, "differs"),
]


@pytest.mark.parametrize(("band", "paper", "measured", "verdict"), CASES)
def test_a_value_is_judged_by_band_and_sign(
    band: Band, paper: float | str | None, measured: float, verdict: str
) -> None:
    result = judge(Claim("delay", "%", paper, band), Estimate(measured, measured - 1, measured + 1))
    assert result.verdict == verdict
    assert (result.measured, result.low, result.high) == (measured, measured - 1, measured + 1)
    assert result.band == str(band)


@given(st.floats(-100, 100), st.floats(0, 50), st.floats(-100, 100))
def test_a_verdict_is_one_of_three_and_holds_means_in_the_band(paper: float, points: float, measured: float) -> None:
    result = judge(Claim("x", "%", paper, around(paper, points)), Estimate(measured, None, None))
    assert (result.verdict == "holds") == (paper - points <= measured <= paper + points)
    assert result.verdict in ("holds", "direction", "differs")
    if result.verdict == "direction":
        assert paper * measured >= 0


def test_a_ratio_has_no_change_at_one() -> None:
    claim = Claim("extra delay", "ratio", 0.67, Within(0.59, 0.75), neutral=1.0)
    assert judge(claim, Estimate(0.9, 0.8, 0.95)).verdict == "direction"
    assert judge(claim, Estimate(1.1, 1.0, 1.2)).verdict == "differs"


def test_a_direction_whose_interval_allows_no_change_says_so() -> None:
    claim = Claim("delay", "%", -54, around(-54, 15))
    doubtful, sure, single = (
        judge(claim, e) for e in (Estimate(-5, -20, 10), Estimate(-5, -9, -1), Estimate(-5, None, None))
    )
    assert doubtful.verdict == sure.verdict == single.verdict == "direction"
    assert doubtful.note is not None
    assert sure.note is None
    assert single.note is not None


def test_a_claim_without_a_band_is_measured() -> None:
    assert judge(Claim("delay", "ms", "some"), Estimate(3.0, 2.0, 4.0)).verdict == "measured"


def test_nothing_measured_is_no_data_and_never_holds() -> None:
    for band in (None, AtLeast(-1e9)):
        assert judge(Claim("delay", "ms", 1.0, band), None).verdict == "no data"
    assert judge_order("t", "Mbit/s", {"cb": Estimate(1, 0, 2), "cbc": None}).verdict == "no data"


def test_an_order_needs_disjoint_intervals() -> None:
    apart = {"cb": Estimate(1, 0.5, 1.5), "cbc": Estimate(2, 1.6, 2.4), "sdfast": Estimate(3, 2.5, 3.5)}
    touching = {**apart, "cbc": Estimate(2, 1.5, 2.4)}
    unknown = {**apart, "cbc": Estimate(2, None, None)}
    swapped = {**apart, "cb": Estimate(2.45, 2.42, 2.48)}
    verdicts = [judge_order("t", "Mbit/s", values).verdict for values in (apart, touching, unknown, swapped)]
    assert verdicts == ["holds", "direction", "direction", "differs"]


@pytest.mark.parametrize(
    ("estimate", "verdict"),
    [
        (Estimate(2.0, 0.5, 3.5), "holds"),
        (Estimate(2.0, -0.5, 4.5), "direction"),
        (Estimate(2.0, None, None), "direction"),
        (Estimate(0.0, -1.0, 1.0), "differs"),
        (Estimate(-2.0, -3.0, -1.0), "differs"),
        (None, "no data"),
    ],
)
def test_a_difference_holds_when_its_interval_lies_above_zero(estimate: Estimate | None, verdict: str) -> None:
    assert judge_difference("this less that", "points", "in this order", estimate).verdict == verdict


def test_only_one_order_of_three_disjoint_intervals_holds() -> None:
    estimates = {"a": Estimate(1, 0.9, 1.1), "b": Estimate(2, 1.9, 2.1), "c": Estimate(3, 2.9, 3.1)}
    for order in itertools.permutations(estimates):
        found = judge_order("t", "ms", {name: estimates[name] for name in order})
        assert (found.verdict == "holds") == (order == ("a", "b", "c"))
        assert str(found.measured).startswith("a 1 [0.9, 1.1] < b")


def _result(verdict: str) -> ClaimResult:
    return ClaimResult("n", "u", None, None, None, None, verdict)


@pytest.mark.parametrize(
    ("verdicts", "worst"),
    [
        (["holds", "holds"], "holds"),
        (["holds", "measured"], "holds"),
        (["holds", "direction"], "direction"),
        (["direction", "no data"], "no data"),
        (["no data", "differs"], "differs"),
        (["measured"], "measured"),
    ],
)
def test_a_figure_is_as_good_as_its_worst_claim(verdicts: list[str], worst: str) -> None:
    assert overall(map(_result, verdicts)) == worst


def test_every_verdict_is_counted() -> None:
    counts = count_verdicts(map(_result, ["holds", "differs", "holds"]))
    assert counts == {"holds": 2, "direction": 0, "differs": 1, "measured": 0, "no data": 0}


def test_a_result_is_json_with_the_keys_that_are_promised() -> None:
    result = judge(Claim("delay", "%", -54.0, around(-54, 15)), Estimate(-50.0, -52.0, -48.0)).with_note("one")
    value = json.loads(json.dumps(result.with_note("two").to_json()))
    assert {"name", "unit", "paper", "measured", "low", "high", "verdict"} <= set(value)
    assert value["note"] == "one; two"
