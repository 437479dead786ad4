"""SQR's ids with TCP on rows that are known: which flows count, how claims are judged, what is drawn."""

from __future__ import annotations

from typing import Any

import pytest

from experiments.campaign.figure import PaperFigure
from experiments.campaign.order import trial_row
from experiments.campaign.values import CampaignPlan, Trial, Variant
from experiments.figures.sqr import fig11, fig12, flow_measures, flow_setup, x_why_timeouts
from tests.figures.found import FIGURES

QUICK = CampaignPlan(quick=True, seed=1, rounds=2)
IDS = ("sqr-fig3", "sqr-fig7", "sqr-fig8", "sqr-fig10", "sqr-fig11", "sqr-fig12", x_why_timeouts.ID)
SIZES = [5_000, 20_000, 80_000]
FLOWS = 300
NORMAL_MS = 0.5
# By variant: completion times of hit flows in turn (of three sizes), and how long after its failure each began.
HIT_MS = {
    "sb": [1000.5, 62.5, 1012.0],
    "sb-sqr": [10.5, 9.0, 11.0],
    "lrr": [1000.5, 10.5, 1005.0],
    "lrr-sqr": [1.5, 1.0, 2.0],
}
AFTER_MS = [-0.2, 2.0, 3.0]


def flows_row(variant: str) -> dict[str, Any]:
    times = [NORMAL_MS] * FLOWS
    hits = []
    for turn in range(0 if variant == "no-failure" else 9):
        number, after, took = 3 * turn * 10 + turn % 3, AFTER_MS[turn % 3], HIT_MS[variant][turn % 3]
        times[number] = took
        hits.append([number, after, took - 0.2, 0 if variant.endswith("sqr") else 1])
    return {
        "flows": FLOWS,
        "unfinished": 0,
        "sizes_bytes": [SIZES[number % 3] for number in range(FLOWS)],
        "completion_ms": times,
        "hits": hits,
        "outages_ms": [10.0, 10.1] if variant.startswith("sb") else [0.4, 0.5],
    }


def stream_row(variant: str) -> dict[str, Any]:
    at_ms = [float(each) for each in range(-50, 100, 2)]
    return {
        "timeouts": 1 if variant == "sb" else 0,
        "loss_probes": 0,
        "retransmits": 150 if variant == "sb" else 0,
        "stalled_ms": 60.0 if variant == "sb" else 11.0,
        "rate_mbps": 190.0,
        "cwnd_at_failure": 160,
        "smallest_cwnd": 16 if variant == "sb" else 160,
        "at_ms": at_ms,
        "cwnd_segments": [160] * len(at_ms),
        "sent_bytes": [25_000 * place for place in range(len(at_ms))],
    }


def row_of(trial: Trial) -> dict[str, Any]:
    assert trial.variant is not None
    own = stream_row if trial.parameters.what in (flow_setup.STREAM, x_why_timeouts.ID) else flows_row
    shared = {**trial_row(trial, True), "parameters": trial.parameters.to_json()}
    return {**shared, **own(trial.variant.name)}


def rows_of(figure_id: str) -> list[dict[str, Any]]:
    return [row_of(trial) for trial in FIGURES[figure_id].trials(QUICK)]


def stored(rows: list[dict[str, Any]], variant: Variant, workload: str | None = None) -> list[dict[str, Any]]:
    return [row for row in rows if row["variant"] == variant.name and workload in (None, row["parameters"]["workload"])]


def claims_of(figure_id: str, rows: list[dict[str, Any]]) -> dict[str, Any]:
    return {claim.name: claim for claim in FIGURES[figure_id].claims(rows)}


def first(figure_id: str, rows: list[dict[str, Any]]) -> Any:
    return FIGURES[figure_id].claims(rows)[0]


@pytest.mark.parametrize("figure", [FIGURES[each] for each in IDS], ids=lambda figure: figure.id)
def test_without_rows_nothing_is_claimed_and_pictures_still_draw(figure: PaperFigure) -> None:
    assert {result.verdict for result in figure.claims([])} == {"no data"}
    for rows in ([], rows_of(figure.id)):
        assert figure.draw(rows, "a caption").axes
        table = figure.table(rows)
        assert all(len(row) == len(table.header) for row in table.rows)


def test_figures_of_short_flows_share_their_trials_and_variants_take_turns() -> None:
    shared = [FIGURES[each].trials(QUICK) for each in ("sqr-fig8", "sqr-fig10", "sqr-fig11", "sqr-fig12")]
    assert all(trials == shared[0] for trials in shared)
    one_round = [trial for trial in shared[0] if trial.round == 1]
    assert len({trial.seed for trial in one_round}) == 1
    variants = [
        trial.variant.name for trial in one_round if trial.variant and trial.parameters.workload == "web-search"
    ]
    assert variants == [variant.name for variant in flow_setup.ALL_VARIANTS]


def test_flows_away_from_every_timer_break_the_claim_of_clusters() -> None:
    rows = rows_of("sqr-fig3")
    assert (first("sqr-fig3", rows).measured, first("sqr-fig3", rows).verdict) == (100.0, "holds")
    for hit in rows[0]["hits"][:6]:
        rows[0]["completion_ms"][hit[0]] = 300.0
    found = first("sqr-fig3", rows)
    assert found.verdict == "undecided"
    assert found.measured == pytest.approx(100 * (3 / 9 + 1) / 2)


def test_hit_flows_that_sent_nothing_again_are_none_of_the_clusters() -> None:
    rows = rows_of("sqr-fig3")
    for row in rows:
        row["hits"].append([1, -0.1, 0.2, 0])
    assert first("sqr-fig3", rows).measured == 100.0


def test_one_time_out_with_sqr_breaks_the_claim() -> None:
    rows = rows_of("sqr-fig7")
    assert first("sqr-fig7", rows).verdict == "holds"
    assert claims_of("sqr-fig7", rows)["smallest congestion window after the failure, SB' alone"].measured == 10.0
    rows[-1].update(timeouts=1, cwnd_at_failure=None)  # the sender got no processor before the failure
    assert rows[-1]["variant"] == "sb-sqr"
    assert first("sqr-fig7", rows).verdict == "differs"


def test_a_long_flow_without_sqr_is_the_control() -> None:
    rows = rows_of("sqr-fig7")
    for row in rows:
        row.update(timeouts=int(row["variant"] == "sb"))
    control = "time-outs a round without SQR"
    windows = [f"smallest congestion window after the failure, {label}" for label in ("SB' alone", "SB' + SQR")]
    assert {claims_of("sqr-fig7", rows)[name].verdict for name in (control, *windows)} == {"holds"}
    for row in rows:
        row.update(timeouts=0, smallest_cwnd=7 * row["cwnd_at_failure"] // 10)
    assert {claims_of("sqr-fig7", rows)[name].verdict for name in (control, *windows)} == {"differs"}


def test_recovery_time_is_that_of_flows_that_were_under_way() -> None:
    rows = rows_of("sqr-fig8")
    own = stored(rows, flow_setup.SB_SQR)
    assert flow_measures.recoveries_ms(flow_measures.ROWS.read(own)) == [pytest.approx(10.3)] * 12
    found = first("sqr-fig8", rows)
    assert found.verdict == "by construction"
    assert claims_of("sqr-fig8", rows)["recovery times above the route failure time"].measured == 100.0
    for row in own:
        for hit in row["hits"]:
            hit[2] = 5.0
    assert first("sqr-fig8", rows).verdict == "differs"


def test_what_a_failure_adds_is_held_to_the_same_flow_without_failures() -> None:
    rows = rows_of("sqr-fig10")
    found = claims_of("sqr-fig10", rows)
    # 10 ms of a path that was down for 10.05.
    share = found["added to the completion time of hit flows, median, SB' + SQR"].measured
    assert share == pytest.approx(10 / 10.05)
    assert found["the same in milliseconds"].measured == pytest.approx(10.0)
    assert found["added to the completion time of hit flows, median, SB' + SQR"].verdict == "holds"
    assert found["the same, SB' alone"].measured == pytest.approx(1000.0)
    for row in stored(rows, flow_setup.SB_SQR):
        row["completion_ms"] = [each + 1 for each in row["completion_ms"]]
    assert first("sqr-fig10", rows).verdict != "holds"


def test_tails_are_compared_size_by_size_and_the_note_says_why_not_more() -> None:
    rows = rows_of("sqr-fig11")
    results = fig11.FIGURE.claims(rows)
    assert len(results) == 2 * len(flow_setup.SIZE_RANGES)
    assert results[0].measured == pytest.approx(1.979, abs=0.001)
    assert results[0].verdict == "holds"
    # Flows of 10 to 50 kB are hit where no SYN is lost: 62.5 against 9 ms is less than 1.5 orders.
    assert results[1].verdict == "differs"
    assert "not scaled" in (results[1].note or "")


def test_the_tail_of_all_flows_is_a_geometric_mean_over_rounds() -> None:
    rows = rows_of("sqr-fig12")
    results = fig12.FIGURE.claims(rows)
    assert [result.verdict for result in results] == ["holds"] * 4
    assert results[0].measured == pytest.approx(1012 / 11)
    for row in stored(rows, flow_setup.SB_SQR, "web-search")[:1]:
        row["completion_ms"][0] = 1012.0
    results = fig12.FIGURE.claims(rows)
    assert results[0].measured == pytest.approx((1012 / 11) ** 0.5)
    assert results[0].verdict == "undecided"


def test_a_flow_that_was_given_up_counts_as_long_as_it_was_waited_for() -> None:
    stored_row = rows_of("sqr-fig10")[0]
    stored_row["completion_ms"][0] = None
    (row,) = flow_measures.ROWS.read([stored_row])
    assert flow_measures.completions_ms(row)[0] == 8000.0


@pytest.mark.parametrize(("without_probes", "verdict"), [(1, "holds"), (0, "differs")])
def test_only_time_outs_without_loss_probes_confirm_the_cause(without_probes: int, verdict: str) -> None:
    rows = rows_of(x_why_timeouts.ID)
    for row in rows:
        row.update(timeouts=0 if row["parameters"]["loss_probes"] else without_probes)
    judged, *beside = FIGURES[x_why_timeouts.ID].claims(rows)
    assert (judged.name, judged.verdict) == ("time-outs a round, without loss probes", verdict)
    assert {each.verdict for each in beside} == {"measured"}


def test_rows_of_figure_7_say_nothing_of_the_cause_nor_the_other_way_round() -> None:
    rows = rows_of("sqr-fig7")
    assert claims_of("sqr-fig7", [*rows, *rows_of(x_why_timeouts.ID)]) == claims_of("sqr-fig7", rows)
