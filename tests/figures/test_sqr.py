"""SQR's ids on rows that are known: how claims are judged and what is drawn."""

from __future__ import annotations

from typing import Any

import pytest

from experiments.campaign.order import trial_row
from experiments.campaign.values import CampaignPlan, Trial
from experiments.figures.sqr import fig9, fig13, fig14_latency, setup
from tests.figures.found import FIGURES

QUICK = CampaignPlan(quick=True, seed=1, rounds=2)


def measured(trial: Trial) -> dict[str, float]:
    assert trial.variant is not None
    given = trial.parameters.to_json()
    if given["what"] == setup.FIG9:
        lost = 0 if trial.variant == setup.SQR else int(given["detection_ms"] * 20)
        return {"lost": lost, "duplicated": 100 if trial.variant == setup.SQR else 0, "reordered": 0}
    if given["what"] == setup.FIG13:
        return {"window": given["rate_pps"] * given["delta_ms"] / 1000, "rate_pps": given["rate_pps"]}
    extra = 0 if trial.variant == setup.PLAIN else 200
    return {"first_node_ns": 100 + extra, "second_node_ns": 100, "whole_ns": 10_000 + extra}


def rows_of(figure_id: str) -> list[dict[str, Any]]:
    return [
        {**trial_row(trial, True), "trial": trial.trial_id, "status": "ok", "parameters": trial.parameters.to_json()}
        | measured(trial)
        for trial in FIGURES[figure_id].trials(QUICK)
    ]


def test_one_lost_packet_breaks_the_claim_that_none_is_lost() -> None:
    rows = rows_of(setup.FIG9)
    assert [result.verdict for result in fig9.FIGURE.claims(rows)][:2] == ["holds", "holds"]
    assert [result.measured for result in fig9.FIGURE.claims(rows)][2:] == [each * 20 for each in setup.DETECTION_MS]
    assert rows[-1]["variant"] == "sqr"
    rows[-1] = {**rows[-1], "lost": 1}
    assert fig9.FIGURE.claims(rows)[0].verdict == "differs"


def test_a_window_a_tenth_off_the_formula_breaks_the_claim() -> None:
    rows = rows_of(setup.FIG13)
    assert {result.verdict for result in fig13.FIGURE.claims(rows)} == {"by construction"}
    off = [{**row, "window": 1.2 * row["window"]} for row in rows]
    assert {result.verdict for result in fig13.FIGURE.claims(off)} == {"direction"}


def test_costs_are_differences_and_shares_of_the_same_round() -> None:
    rows = rows_of(setup.LATENCY)
    assert [result.measured for result in fig14_latency.ADDED.claims(rows)] == [pytest.approx(200)] * 4
    assert [result.measured for result in fig14_latency.WHOLE.claims(rows)] == [pytest.approx(102)] * 2


OWN = [figure for figure in FIGURES.values() if figure.id in (setup.FIG9, setup.FIG13, "sqr-fig14", setup.LATENCY)]


@pytest.mark.parametrize("figure", OWN, ids=lambda figure: figure.id)
def test_without_rows_nothing_is_claimed_and_pictures_still_draw(figure: Any) -> None:
    assert {result.verdict for result in figure.claims([])} == {"no data"}
    for rows in ([], rows_of(figure.id if figure.id != "sqr-fig14" else setup.LATENCY)):
        assert figure.draw(rows, "a caption").axes
        table = figure.table(rows)
        assert all(len(row) == len(table.header) for row in table.rows)
