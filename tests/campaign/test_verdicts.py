"""Verdicts against their definitions, one table of cases for each."""

from __future__ import annotations

import itertools
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.campaign.statistics import Estimate
from experiments.campaign.verdicts import (
    CHANGE,
    COUNT,
    MARGIN,
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

CHANGES: list[tuple[Band, float | str | None, Estimate, str]] = [
    (around(-54, 15), -54, Estimate(-54, -60, -48), "holds"),
    (around(-54, 15), -54, Estimate(-39, -50, -28), "holds"),
    (around(-54, 15), -54, Estimate(-54, -120, 12), "undecided"),
    (around(-54, 15), -54, Estimate(-54, None, None), "undecided"),
    (around(-54, 15), -54, Estimate(-38.9, -50, -1), "direction"),
    (around(-54, 15), -54, Estimate(-38.9, -80, 1), "undecided"),
    (around(-54, 15), -54, Estimate(-95, -99, -90), "direction"),
    (around(-54, 15), -54, Estimate(3, 1, 5), "differs"),
    (around(-54, 15), -54, Estimate(3, -20, 26), "differs"),
    (around(-54, 15), -54, Estimate(3, -60, 66), "undecided"),
    (AtMost(-73), -73, Estimate(-80, -90, -70), "holds"),
    (AtMost(-73), -73, Estimate(-80, None, -70), "holds"),
    (AtMost(-73), -73, Estimate(-80, -90, None), "undecided"),
    (AtMost(-73), -73, Estimate(-20, -30, -10), "direction"),
    (AtMost(-73), -73, Estimate(20, 10, 30), "differs"),
    (AtMost(-1), "degrades", Estimate(-0.5, -0.9, -0.1), "differs"),
    # The quick sqr-fig11 that held before intervals were asked.
    (AtLeast(1.5), "3 to 4", Estimate(1.5, -1.71, 4.71), "undecided"),
    (AtLeast(0), "larger", Estimate(2, 0.5, 3.5), "holds"),
    (AtLeast(0), "larger", Estimate(2, 0.0, 4.0), "undecided"),
]
MARGINS: list[tuple[Band, Estimate, str]] = [
    (Within(-10, 10), Estimate(0, -10, 10), "holds"),
    (Within(-10, 10), Estimate(0, -10.1, 9), "undecided"),
    (Within(-10, 10), Estimate(11, 5, 17), "undecided"),
    (Within(-10, 10), Estimate(11, 10.1, 12), "differs"),
    (Within(-10, 10), Estimate(0, None, None), "undecided"),
    (Within(-10, 10), Estimate(0, None, 5), "undecided"),
    (AtMost(3), Estimate(1, -2, 3), "holds"),
    (AtMost(3), Estimate(1, None, 3), "holds"),
    (Exactly(0), Estimate(0, 0, 0), "holds"),
    (Exactly(0), Estimate(1, -2, 4), "differs"),
    (Exactly(0), Estimate(0, None, None), "undecided"),
    (Exactly(0), Estimate(1, 0.5, 1.5), "differs"),
]
COUNTS: list[tuple[Band, float | None, float, str]] = [
    (Exactly(0), None, 0, "holds"),
    (Exactly(0), None, 1, "differs"),
    (AtLeast(99), 99, 12, "direction"),
    (AtLeast(1), "one", 0, "differs"),
]


@st.composite
def estimates(draw: st.DrawFn) -> Estimate:
    """A value with an interval around it, one bound of it, or none."""
    value = draw(st.floats(-100, 100))
    below, above = (draw(st.none() | st.floats(0, 100)) for _ in range(2))
    return Estimate(value, None if below is None else value - below, None if above is None else value + above)


def wider(estimate: Estimate, below: float, above: float) -> Estimate:
    """The same value with a wider interval; a bound that is missing stays so."""
    value, low, high = estimate
    return Estimate(value, None if low is None else low - below, None if high is None else high + above)


@pytest.mark.parametrize(("band", "paper", "estimate", "verdict"), CHANGES)
def test_a_change_is_judged_by_band_sign_and_interval(
    band: Band, paper: float | str | None, estimate: Estimate, verdict: str
) -> None:
    result = judge(Claim("delay", "%", paper, band), estimate)
    assert result.verdict == verdict
    assert (result.measured, result.low, result.high) == estimate
    assert result.band == str(band)
    assert (result.note is not None) == (verdict == "undecided" or estimate.low == -20)


@pytest.mark.parametrize(("band", "estimate", "verdict"), MARGINS)
def test_an_equality_or_a_bound_asks_for_the_whole_interval(band: Band, estimate: Estimate, verdict: str) -> None:
    assert judge(Claim("loss", "%", 0.0, band, asks=MARGIN), estimate).verdict == verdict


@pytest.mark.parametrize(("band", "paper", "value", "verdict"), COUNTS)
def test_a_count_of_all_cases_needs_no_interval(band: Band, paper: float | None, value: float, verdict: str) -> None:
    assert judge(Claim("loops", "cases", paper, band, asks=COUNT), Estimate(value, None, None)).verdict == verdict


@given(st.floats(1, 100), st.sampled_from([-1, 1]), st.floats(0, 2), estimates())
def test_an_interval_that_admits_no_change_never_holds_and_never_gives_a_direction(
    paper: float, sign: int, share: float, estimate: Estimate
) -> None:
    claim = Claim("x", "%", sign * paper, around(sign * paper, min(share, 0.999) * paper))
    result = judge(claim, estimate)
    low, high = estimate[1:]
    if (low is None and high is None) or ((low is None or low <= 0) and (high is None or high >= 0)):
        assert result.verdict in ("undecided", "differs")
    if result.verdict == "holds":
        assert claim.band is not None
        assert claim.band.holds(estimate.value)
    if result.verdict == "direction":
        assert sign * estimate.value > 0


@given(
    st.sampled_from([CHANGE, MARGIN]),
    st.floats(1, 90),
    st.floats(0, 9),
    estimates(),
    st.floats(0, 50),
    st.floats(0, 50),
)
def test_a_wider_interval_decides_nothing_that_was_open(
    asks: str, low: float, width: float, estimate: Estimate, below: float, above: float
) -> None:
    claim = Claim("x", "%", low, Within(low, low + width), asks=asks)
    before, after = judge(claim, estimate), judge(claim, wider(estimate, below, above))
    assert before.verdict != "undecided" or after.verdict == "undecided"
    assert after.verdict != "holds" or before.verdict == "holds"


@given(estimates(), st.floats(-50, 50), st.floats(0, 50))
def test_a_margin_holds_exactly_when_the_interval_lies_in_it(estimate: Estimate, low: float, width: float) -> None:
    verdict = judge(Claim("x", "%", "equal", Within(low, low + width), asks=MARGIN), estimate).verdict
    inside = None not in estimate[1:] and low <= estimate.low <= estimate.high <= low + width  # type: ignore[operator]
    assert (verdict == "holds") == inside
    assert verdict in ("holds", "undecided", "differs")


@pytest.mark.parametrize("band", [Within(-5, 5), AtMost(0.1), AtLeast(-1.0), Exactly(0.0)])
def test_a_change_whose_band_admits_no_change_is_refused(band: Band) -> None:
    with pytest.raises(ValueError, match="no change"):
        Claim("loss", "%", 0.0, band)
    Claim("loss", "%", 0.0, band, asks=MARGIN)


@given(estimates())
def test_what_is_true_by_construction_never_holds_and_still_can_differ(estimate: Estimate) -> None:
    result = judge(Claim("K log2(n)", "us", "46", AtMost(1.0), by_construction="a formula"), estimate)
    assert result.verdict == ("by construction" if estimate.value <= 1 else "differs")
    assert result.note == "a formula"


def test_a_ratio_has_no_change_at_one() -> None:
    claim = Claim("extra delay", "ratio", 0.67, Within(0.59, 0.75), neutral=1.0)
    assert judge(claim, Estimate(0.9, 0.8, 0.95)).verdict == "direction"
    assert judge(claim, Estimate(1.1, 1.05, 1.2)).verdict == "differs"
    assert judge(claim, Estimate(0.67, 0.3, 1.04)).verdict == "undecided"


def test_a_claim_without_a_band_is_measured() -> None:
    assert judge(Claim("delay", "ms", "some"), Estimate(3.0, 2.0, 4.0)).verdict == "measured"


def test_nothing_measured_is_no_data_and_never_holds() -> None:
    for band in (None, AtLeast(-1e9)):
        assert judge(Claim("delay", "ms", 1.0, band, asks=MARGIN), None).verdict == "no data"
    assert judge_order("t", "Mbit/s", {"cb": Estimate(1, 0, 2), "cbc": None}).verdict == "no data"


def test_an_order_needs_disjoint_intervals() -> None:
    apart = {"cb": Estimate(1, 0.5, 1.5), "cbc": Estimate(2, 1.6, 2.4), "sdfast": Estimate(3, 2.5, 3.5)}
    touching = {**apart, "cbc": Estimate(2, 1.5, 2.4)}
    unknown = {**apart, "cbc": Estimate(2, None, None)}
    swapped = {**apart, "cb": Estimate(4, 3.6, 4.4)}
    verdicts = [judge_order("t", "Mbit/s", values).verdict for values in (apart, touching, unknown, swapped)]
    assert verdicts == ["holds", "undecided", "undecided", "differs"]


@pytest.mark.parametrize(
    ("estimate", "verdict"),
    [
        (Estimate(2.0, 0.5, 3.5), "holds"),
        (Estimate(2.0, -0.5, 4.5), "undecided"),
        (Estimate(2.0, None, None), "undecided"),
        (Estimate(0.0, -1.0, 1.0), "undecided"),
        (Estimate(-2.0, -3.0, -1.0), "differs"),
        (None, "no data"),
    ],
)
def test_a_difference_holds_when_its_interval_lies_above_zero(estimate: Estimate | None, verdict: str) -> None:
    assert judge_difference("this less that", "points", "in this order", estimate).verdict == verdict


def test_only_one_order_of_three_disjoint_intervals_holds() -> None:
    found_of = {"a": Estimate(1, 0.9, 1.1), "b": Estimate(2, 1.9, 2.1), "c": Estimate(3, 2.9, 3.1)}
    for order in itertools.permutations(found_of):
        found = judge_order("t", "ms", {name: found_of[name] for name in order})
        assert (found.verdict == "holds") == (order == ("a", "b", "c"))
        assert str(found.measured).startswith("a 1 [0.9, 1.1] < b")
        formula = judge_order("t", "ms", {name: found_of[name] for name in order}, "a formula")
        assert (formula.verdict == "by construction") == (found.verdict == "holds")


def _result(verdict: str) -> ClaimResult:
    return ClaimResult("n", "u", None, None, None, None, verdict)


@pytest.mark.parametrize(
    ("verdicts", "worst"),
    [
        (["holds", "holds"], "holds"),
        (["holds", "measured"], "holds"),
        (["holds", "direction"], "direction"),
        (["holds", "by construction"], "holds"),
        (["direction", "undecided", "holds"], "undecided"),
        (["undecided", "no data"], "no data"),
        (["direction", "no data"], "no data"),
        (["no data", "differs"], "differs"),
        (["measured"], "measured"),
    ],
)
def test_a_figure_is_as_good_as_its_worst_claim(verdicts: list[str], worst: str) -> None:
    assert overall(map(_result, verdicts)) == worst


def test_every_verdict_is_counted() -> None:
    counts = count_verdicts(map(_result, ["holds", "differs", "holds"]))
    others = dict.fromkeys(("direction", "undecided", "by construction", "measured", "no data"), 0)
    assert counts == {"holds": 2, "differs": 1, **others}


def test_a_result_is_json_with_the_keys_that_are_promised() -> None:
    result = judge(Claim("delay", "%", -54.0, around(-54, 15)), Estimate(-50.0, -52.0, -48.0)).with_note("one")
    value = json.loads(json.dumps(result.with_note("two").to_json()))
    assert {"name", "unit", "paper", "measured", "low", "high", "verdict"} <= set(value)
    assert value["note"] == "one; two"
