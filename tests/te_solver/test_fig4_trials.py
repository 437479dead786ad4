"""Kuijia's Figure 4 as trials of a campaign: the numbers are those of `armor te sweep`."""

from __future__ import annotations

from dataclasses import replace

import pytest

pytest.importorskip("cvxpy")
pytest.importorskip("matplotlib")

from experiments.campaign.computed.ladder import Level, climb
from experiments.campaign.order import trial_row
from experiments.campaign.parameters import plain
from experiments.campaign.values import CampaignPlan
from experiments.figures.kuijia import fig4
from experiments.figures.kuijia.fig4 import FIGURE, trials
from experiments.loadgen.computed import run_sweep

PLAN = CampaignPlan(quick=True, seed=1, rounds=1)


def levels_of(distance_points: float, least_points: float | None = None) -> list[dict]:
    least = distance_points if least_points is None else least_points
    level = {"satisfied": 0.9, "rescaling": 0.03, "precomputed": 0.02, "kuijia": 0.02 + distance_points / 100}
    return [{"demand_mbps": mbps, **level, "least_distance": least / 100} for mbps in (800.0, 1000.0)]


def fake_rows(distance_points: float) -> list[dict]:
    return [{**trial_row(trial, quick=True), "levels": levels_of(distance_points)} for trial in trials(PLAN)]


def test_trials_are_the_units_of_the_sweep():
    full = trials(CampaignPlan(quick=False, seed=3))
    assert [trial.parameters.to_json() for trial in full] == [parameters.to_json() for _, parameters in fig4.units(3)]
    assert len({trial.trial_id for trial in full}) == len(full) == 200
    assert {trial.round for trial in full} == set(range(1, 11))


@pytest.mark.slow
def test_a_row_holds_what_the_unit_computes():
    first = trials(PLAN)[0]
    row = run_sweep(first)
    assert row == plain(climb(first.parameters))


@pytest.mark.parametrize(
    ("points", "verdicts"),
    [
        (0.05, ("holds", "by construction")),
        (0.2, ("differs", "by construction")),
        (-1e-6, ("holds", "by construction")),
        (-1e-3, ("holds", "differs")),
    ],
)
def test_weights_are_close_within_a_tenth_of_a_point_and_none_beat_the_optimum(points, verdicts):
    largest, smallest, vertex = FIGURE.claims(fake_rows(points))
    assert (largest.measured, smallest.measured) == (pytest.approx(points), pytest.approx(points))
    assert ((largest.verdict, smallest.verdict), vertex.verdict) == (verdicts, "measured")


def test_one_failure_at_which_the_optimum_is_beaten_differs_whatever_the_means_are():
    rows = fake_rows(0.05)
    rows[0]["levels"] = levels_of(0.05, least_points=-0.01)
    largest, smallest, _vertex = FIGURE.claims(rows)
    assert (largest.verdict, smallest.verdict) == ("holds", "differs")
    assert smallest.measured == pytest.approx(-0.01)


def test_runs_of_one_graph_are_one_observation():
    many = trials(CampaignPlan(quick=True, seed=1, rounds=10))
    points = {0: 0.02, 1: 0.06}
    rows = [{**trial_row(trial, quick=True), "levels": levels_of(points[trial.parameters.graph])} for trial in many]
    largest, *_ = FIGURE.claims(rows)
    # Two graphs, however many runs: quantile 0.975 of Student's t with 1 degree of freedom, deviation 0.02 / root of 2.
    assert (largest.measured, largest.verdict) == (pytest.approx(0.04), "undecided")
    assert largest.high - largest.measured == pytest.approx(12.706 * 0.02, rel=1e-3)
    of_one = [row for row in rows if row["parameters"]["graph"] == 0]
    assert FIGURE.claims(of_one)[0].verdict == "undecided"


def test_a_half_finished_sweep_is_drawn_from_what_both_sides_have():
    rows = [
        row for row in fake_rows(0.05) if (row["parameters"]["base_point"], row["parameters"]["graph"]) != ("vertex", 1)
    ]
    assert len(FIGURE.table(rows).rows) == 2
    assert len(FIGURE.draw(rows, "unfinished").axes) == 2
    of_one_side = [row for row in rows if row["parameters"]["base_point"] == "centre"]
    assert FIGURE.table(of_one_side).rows == ()
    assert len(FIGURE.draw(of_one_side, "").axes) == 2
    assert [claim.verdict for claim in FIGURE.claims(of_one_side)] == ["holds", "by construction", "no data"]


def test_intervals_are_students():
    losses = [0.01, 0.02, 0.06]
    own = next(trial.parameters for trial in trials(PLAN) if trial.parameters.base_point == "centre")
    rows = [
        (replace(own, graph=graph), Level(800.0, 1.0, **dict.fromkeys(fig4.SCHEMES, loss), least_distance=0.0))
        for graph, loss in enumerate(losses)
    ]
    mean, half = fig4.means(rows, "centre")[800.0]["kuijia"]
    assert mean == pytest.approx(3.0)
    # Quantile 0.975 of Student's t with 2 degrees of freedom, times the standard deviation over the root of 3.
    assert half == pytest.approx(4.3027 * 2.6458 / 3**0.5, rel=1e-4)
    assert fig4.means(rows[:1], "centre")[800.0]["kuijia"] == (1.0, 0.0)
