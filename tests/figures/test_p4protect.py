"""P4-Protect's ids on rows that are known: what they ask to be measured, how claims are judged, what is drawn."""

from __future__ import annotations

import json
from typing import Any

import pytest

from experiments.campaign.kinds.paths import GoodputMeasured, JitterMeasured
from experiments.campaign.order import trial_row
from experiments.campaign.values import CampaignPlan, Trial
from experiments.figures.p4protect import fig6, fig7, fig8, loss, ovs_fig7, ovs_fig8, setup, x_why_goodput
from experiments.testbed.trials.decide.paths import (
    PathsError,
    TcpCounts,
    counted_between,
    delays,
    read_connections,
    read_iperf,
)
from tests.figures.found import FIGURES, figures_in

QUICK = CampaignPlan(quick=True, seed=1, rounds=2)
VALUES: dict[str, dict[str, dict[str, float]]] = {
    setup.LOSS: {
        "plain": {"sent": 150_000, "lost": 40_000, "duplicated": 0, "reordered": 0},
        "protected": {"sent": 150_000, "lost": 0, "duplicated": 0, "reordered": 2},
    },
    setup.COST: {
        "plain": {"first_node_ns": 100, "second_node_ns": 100, "whole_ns": 10_000},
        "unprotected": {"first_node_ns": 127, "second_node_ns": 100, "whole_ns": 10_100},
        "protected": {"first_node_ns": 900, "second_node_ns": 127, "whole_ns": 11_600},
    },
    setup.GOODPUT: {
        "plain": {"goodput_mbps": 2000, "retransmits": 0},
        "unprotected": {"goodput_mbps": 2000, "retransmits": 0},
        "protected": {"goodput_mbps": 1700, "retransmits": 0},
    },
}


def echo_values(jitter_ms: float, share: float, deviation: float) -> dict[str, float]:
    """Delays as the model has them, one way and there and back, with 0.2 ms of switches each way."""
    return {
        "one_way_mean_ms": 1.2 + share * jitter_ms,
        "one_way_deviation_ms": deviation * jitter_ms,
        "round_trip_mean_ms": 2.4 + 2 * share * jitter_ms,
        "round_trip_deviation_ms": 2**0.5 * deviation * jitter_ms,
        "sent": 500,
        "arrived": 500,
        "returned": 500,
    }


def measured(trial: Trial) -> dict[str, Any]:
    assert trial.variant is not None
    if trial.parameters.what == ovs_fig7.ID:
        mbps = {"plain": 400.0, "unprotected": 396.0, "protected": 200.0}[trial.variant.name]
        return {"goodput_mbps": [mbps] * 4, "retransmits": [0, 1, 2, 3]}
    if trial.parameters.what == ovs_fig8.ID:
        model = (1 / 3, 0.236) if trial.variant == setup.PROTECTED else (1 / 2, 0.289)
        return echo_values(trial.parameters.jitter_ms, *model)
    if trial.parameters.what == x_why_goodput.ID:
        mbps = trial.parameters.mbps or {"plain": 2000.0, "protected": 1100.0}[trial.variant.name]
        return {"goodput_mbps": mbps, "retransmits": 0}
    if trial.parameters.what != setup.JITTER:
        return VALUES[trial.parameters.what][trial.variant.name]
    jitter_ms, share = trial.parameters.jitter_ms, 1 / 3 if trial.variant == setup.PROTECTED else 1 / 2
    deviation_ms = (0.236 if trial.variant == setup.PROTECTED else 0.289) * jitter_ms
    return {"mean_ms": setup.BASE_DELAY_MS + share * jitter_ms, "deviation_ms": deviation_ms, "arrived": 400}


def rows_of(figure_id: str, plan: CampaignPlan = QUICK) -> list[dict[str, Any]]:
    return [
        {**trial_row(trial, True), "trial": trial.trial_id, "status": "ok", "parameters": trial.parameters.to_json()}
        | measured(trial)
        for trial in FIGURES[figure_id].trials(plan)
    ]


@pytest.mark.parametrize("figure", figures_in("p4protect").values(), ids=lambda figure: figure.id)
def test_the_variants_of_a_case_stand_side_by_side_in_every_round_and_names_tell_trials_apart(figure: Any) -> None:
    trials = figure.trials(QUICK)
    assert len({trial.trial_id for trial in trials}) == len(trials)
    variants = {trial.variant for trial in trials}
    cases = [json.dumps([trial.round, trial.parameters.to_json()]) for trial in trials]
    for place in range(0, len(trials), len(variants)):
        group = trials[place : place + len(variants)]
        assert len(set(cases[place : place + len(variants)])) == 1
        assert {trial.variant for trial in group} == variants


def test_one_lost_packet_breaks_the_claim_that_none_is_lost() -> None:
    rows = rows_of(setup.LOSS)
    assert [result.verdict for result in loss.FIGURE.claims(rows)] == ["holds", "holds", "measured", "holds"]
    rows[-1] = {**rows[-1], "lost": 1}
    assert rows[-1]["variant"] == "protected"
    lost = loss.FIGURE.claims(rows)[0]
    assert (lost.measured, lost.verdict) == (1.0, "differs")


def test_costs_are_in_per_cent_of_plain_forwarding_in_the_same_round() -> None:
    found = {result.name: result.measured for result in fig6.FIGURE.claims(rows_of(setup.COST))}
    assert found["program at the sending end, node, flow not protected, 64 bytes"] == pytest.approx(127)
    assert found["program at the receiving end, a copy, 64 bytes"] == pytest.approx(127)
    assert found["whole way on one processor, 1+1, 1400 bytes"] == pytest.approx(116)
    assert {result.verdict for result in fig6.FIGURE.claims(rows_of(setup.COST))} == {"measured"}


def test_goodput_within_ten_per_cent_holds_and_beyond_does_not() -> None:
    six = CampaignPlan(quick=True, seed=1, rounds=6)
    found = [(result.measured, result.verdict) for result in fig7.FIGURE.claims(rows_of(setup.GOODPUT, six))]
    assert found[0] == (pytest.approx(0), "holds")
    assert found[1][0] == pytest.approx(-15)
    assert found[1][1] == "differs"
    # Three rounds give a median no interval.
    assert (
        fig7.FIGURE.claims(rows_of(setup.GOODPUT))[0].verdict == "undecided"
    )  # three rounds give a median no interval


@pytest.mark.parametrize(("behind_link", "verdict"), [(1.0, "holds"), (0.6, "differs")])
def test_only_equal_goodput_behind_a_link_confirms_that_processors_are_the_cause(
    behind_link: float, verdict: str
) -> None:
    rows = rows_of(x_why_goodput.ID, CampaignPlan(quick=True, seed=1, rounds=6))
    for row in rows:
        if row["variant"] == "protected" and row["parameters"]["mbps"] is not None:
            row["goodput_mbps"] *= behind_link
    found = x_why_goodput.FIGURE.claims(rows)
    assert [each.verdict for each in found] == ["measured", verdict] * 2


def test_jitter_is_judged_by_the_model_of_two_independent_delays() -> None:
    mean, deviation = fig8.FIGURE.claims(rows_of(setup.JITTER))
    assert (mean.measured, mean.verdict) == (pytest.approx(2 / 3), "holds")
    assert (deviation.measured, deviation.verdict) == (pytest.approx(0.816, abs=0.01), "holds")
    same = [{**row, "mean_ms": setup.BASE_DELAY_MS + row["parameters"]["jitter_ms"]} for row in rows_of(setup.JITTER)]
    assert fig8.FIGURE.claims(same)[0].verdict != "holds"


def test_a_round_that_lacks_one_variant_is_compared_with_no_other_round() -> None:
    rows = rows_of(setup.JITTER, CampaignPlan(quick=True, seed=1, rounds=4))
    for row in rows:  # delays grow from round to round, equally under both
        row["deviation_ms"] *= 10.0 ** row["round"]
    some = [row for row in rows if (row["round"], row["variant"]) not in {(1, "plain"), (2, "protected")}]
    assert fig8.FIGURE.claims(some)[1].measured == pytest.approx(fig8.FIGURE.claims(rows)[1].measured)


def test_goodput_through_bridges_is_judged_for_each_number_of_pairs() -> None:
    six = CampaignPlan(quick=True, seed=1, rounds=6)
    rows = rows_of(ovs_fig7.ID, six)
    found = {result.name: result for result in ovs_fig7.FIGURE.claims(rows)}
    assert len(found) == 3 * len(ovs_fig7.PAIRS)
    for pairs in ("1 pair", "2 pairs", "3 pairs", "4 pairs"):
        beside = found[f"TCP through Open vSwitch, node, flow not protected against plain, {pairs}"]
        protected = found[f"TCP through Open vSwitch, 1+1 protected against plain, {pairs}"]
        assert (beside.measured, beside.verdict) == (pytest.approx(-1), "holds")
        assert (protected.measured, protected.verdict) == (pytest.approx(-50), "differs")
    assert [row.measured.retransmits for row in ovs_fig7.by_pairs(ovs_fig7.ROWS.read(rows))][:4] == [0, 1, 2, 3]


def test_both_delays_are_judged_without_what_the_switches_take() -> None:
    found = ovs_fig8.FIGURE.claims(rows_of(ovs_fig8.ID))
    assert [result.measured for result in found] == [pytest.approx(each, abs=0.01) for each in (2 / 3, 0.816) * 2]
    assert {result.verdict for result in found} == {"holds"}
    slow = [
        {**row, "round_trip_mean_ms": row["round_trip_mean_ms"] + row["parameters"]["jitter_ms"]}
        if row["variant"] == "protected"
        else row
        for row in rows_of(ovs_fig8.ID)
    ]
    assert [result.verdict for result in ovs_fig8.FIGURE.claims(slow)] == ["holds", "holds", "differs", "holds"]


@pytest.mark.parametrize("figure", figures_in("p4protect").values(), ids=lambda figure: figure.id)
def test_without_rows_nothing_is_claimed_and_pictures_still_draw(figure: Any) -> None:
    for result in figure.claims([]):
        assert result.verdict == "no data"
    for rows in ([], rows_of(figure.id)):
        drawn = figure.draw(rows, "a caption")
        assert drawn.axes
        table = figure.table(rows)
        assert all(len(row) == len(table.header) for row in table.rows)


def test_delays_have_mean_and_deviation_and_none_at_all_is_an_error() -> None:
    assert delays([1.0, 3.0], 3) == JitterMeasured(2.0, 1.0, 2, 3)
    with pytest.raises(PathsError, match="none of 5"):
        delays([], 5)


def test_what_iperf3_says_is_read_and_its_complaints_are_passed_on() -> None:
    end = {"sum_received": {"bits_per_second": 2e9}, "sum_sent": {"retransmits": 3}}
    assert read_iperf(json.dumps({"end": end})) == GoodputMeasured(2000.0, 3)
    with pytest.raises(PathsError, match="unable to connect"):
        read_iperf('{"error": "unable to connect"}')
    for broken in ("", "[]", '{"end": {}}'):
        with pytest.raises(PathsError, match="no result"):
            read_iperf(broken)


SAID = """\
0      0              10.0.0.2:5201         10.0.0.1:40000
\t cubic wscale:7,7 rto:201 bytes_received:1000 segs_out:4 segs_in:9 rcv_space:14480
0      28960  [::ffff:10.0.0.2]:5202   [::ffff:10.0.0.1]:40001
\t cubic wscale:7,7 rto:201 bytes_sent:9 bytes_retrans:7 retrans:1/12 bytes_received:{received} lastsnd:4
0      0              10.0.0.2:5203         10.0.0.1:40002
\t cubic rto:201 bytes_sent:9
"""


def test_connections_are_counted_by_their_ends_and_compared_between_two_looks() -> None:
    before, after = (read_connections(SAID.format(received=received)) for received in (5, 905))
    assert before == {
        (5201, 40000): TcpCounts(1000, 0),
        (5202, 40001): TcpCounts(5, 12),
        (5203, 40002): TcpCounts(0, 0),
    }
    assert counted_between(before, after) == TcpCounts(900, 0)
    del after[5203, 40002]
    with pytest.raises(PathsError, match="1 of 3 TCP connections ended"):
        counted_between(before, after)
    assert read_connections("") == {}
