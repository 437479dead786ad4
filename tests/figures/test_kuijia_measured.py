"""Kuijia's measured ids from synthetic rows: claims, tables and pictures, without a network."""

from __future__ import annotations

import copy
import io
import json
from dataclasses import replace
from functools import cache, lru_cache
from typing import Any

import pytest

pytest.importorskip("cvxpy")
pytest.importorskip("matplotlib")

from experiments.campaign.act.discovery import find_kinds
from experiments.campaign.draws import tunnel_traffic
from experiments.campaign.draws.tunnel_traffic import Traffic
from experiments.campaign.durations import needs_network
from experiments.campaign.figure import PaperFigure
from experiments.campaign.kinds.flows import ROWS
from experiments.campaign.order import in_order, sessions
from experiments.campaign.values import CampaignPlan, Json
from experiments.figures.kuijia import measures, testbed
from experiments.figures.kuijia.testbed import KUIJIA, RESCALING
from mininet_topos.topology import LinkId
from tests.figures.found import figures_in
from tests.figures.kuijia_rows import placed_flows, synthetic_rows

QUICK, FULL = CampaignPlan(quick=True, seed=1), CampaignPlan(quick=False, seed=1)
FIGURES = figures_in("kuijia")
IDS = (
    *("table2", "table3", "fig10", "table4", "fig11", "fig12", "fig13", "fig14", "fig16"),
    "indirect",
)


@cache
def measured() -> dict[str, PaperFigure]:
    """Ids of the paper whose trials measure flows."""
    of_paper = {name: figure for name, figure in FIGURES.items() if figure.paper == "kuijia"}
    return {name: figure for name, figure in of_paper.items() if figure.trials(QUICK)[0].kind == "flows"}


@lru_cache(maxsize=32)
def _rows(name: str, quick: bool) -> str:
    return json.dumps(synthetic_rows(FIGURES[name].trials(QUICK if quick else FULL)))


def rows_of(name: str, *, quick: bool = False) -> list[Json]:
    return list(json.loads(_rows(f"kuijia-{name}", quick)))


def figure_of(name: str) -> PaperFigure:
    return FIGURES[f"kuijia-{name}"]


def verdicts(name: str, rows: list[Json]) -> dict[str, str]:
    return {claim.name: claim.verdict for claim in figure_of(name).claims(rows)}


def changed(rows: list[Json], variant: str | None, kind: str, **values: Any) -> list[Json]:
    """Rows in which all flows of a variant and class have other values; a callable gets the old one."""
    found = copy.deepcopy(rows)
    for row in found:
        for flow in row["flows"]:
            if row["variant"] == (variant or row["variant"]) and flow["class"] == kind:
                for key, value in values.items():
                    flow[key] = value(flow[key]) if callable(value) else value
    return found


def words(figure: Any) -> str:
    from matplotlib.text import Text

    return "\n".join(text.get_text() for text in figure.findobj(Text))


def test_every_measured_id_is_found_and_needs_a_network() -> None:
    assert set(measured()) == {*(f"kuijia-{name}" for name in IDS[:-1]), "kuijia-indirect"}
    for figure in measured().values():
        assert figure.paper == "kuijia"
        assert needs_network(figure.trials(QUICK), find_kinds())


def test_ids_share_trials_and_schemes_take_turns_on_networks_of_one_demand() -> None:
    every = in_order(trial for figure in measured().values() for trial in figure.trials(QUICK))
    assert len(every) == 2 * (3 + 3 + 3) + 2 * 2
    groups = sessions(every)
    assert [len(group) for group in groups] == [1] * len(every)
    for first, second in zip(groups[::2], groups[1::2], strict=True):
        assert (first[0].variant, second[0].variant) == (KUIJIA, RESCALING)
        assert first[0].parameters.network == second[0].parameters.network
    shared = {trial.trial_id: trial for trial in figure_of("indirect").trials(QUICK)}
    assert all(shared[trial.trial_id] == trial for trial in figure_of("fig10").trials(QUICK))


def test_quick_trials_are_the_first_round_of_the_full_run_but_for_their_windows() -> None:
    full = {trial.trial_id: trial for trial in figure_of("fig10").trials(FULL)}
    for trial in figure_of("fig10").trials(QUICK):
        assert full[trial.trial_id].links == trial.links
        assert full[trial.trial_id].parameters == trial.parameters
        assert full[trial.trial_id].timing.total_s > trial.timing.total_s
    assert len(full) == 2 * 5 * 5


@pytest.mark.parametrize("place", [-2, -1])
def test_aggregates_add_up_to_the_allocation_and_go_where_they_are_meant_to(place: int) -> None:
    trial = figure_of("fig10").trials(QUICK)[place]
    traffic = Traffic(trial)
    allocation = tunnel_traffic.allocation_of(1, 1, 1600, None)
    offered = sum(flow.offered_mbps or 0.0 for flow in traffic.flows)
    whole = testbed.OFFERED_SHARE * allocation.tunnel_mbps.sum() / tunnel_traffic.SCALE
    assert 0.98 * whole < offered <= whole * (1 + 1e-9)
    for placed in placed_flows(traffic):
        hit = any(traffic.topology.link_id(hop) in traffic.failures[0] for hop in placed.before)
        assert placed.tunnel_before == placed.flow.tunnel
        assert (placed.tunnel_after != placed.tunnel_before) == hit
        assert (placed.queue_after != placed.queue_before) == (hit and trial.variant == KUIJIA)
        if hit and placed.flow.moves_to is not None:
            assert placed.tunnel_after == placed.flow.moves_to


def test_a_trial_sends_what_its_parameters_say() -> None:
    drawn = next(each for each in figure_of("fig16").trials(QUICK) if each.parameters.low_to_high is not None)
    other = replace(drawn, parameters=replace(drawn.parameters, low_to_high=4.0))
    by_pair: dict[tuple[str, str], list[float]] = {}
    for demand in Traffic(other).demands:
        by_pair.setdefault((demand.src, demand.dst), []).append(demand.demand_mbps)
    assert all(max(both) == pytest.approx(4 * min(both)) for both in by_pair.values())
    table = figure_of("table2").trials(QUICK)[0]
    other = replace(table, parameters=replace(table.parameters, table_mbps=(30.0, 60.0), scale=10.0))
    assert [flow.offered_mbps for flow in Traffic(other).flows] == [3.0, 3.0, 6.0, 6.0]


@pytest.mark.parametrize("seed", range(1, 6))
def test_the_failed_link_carries_traffic_and_leaves_every_pair_a_tunnel(seed: int) -> None:
    for drawing in (1, 2, 3):
        link = testbed.failed_link(drawing, seed)
        for demand in testbed.DEMANDS_MBPS:
            allocation = tunnel_traffic.allocation_of(drawing, seed, demand, None)
            tunnels = allocation.problem.tunnels
            number = list(tunnels.network.topology.link_ids).index(link)
            down = tunnels.down(tunnels.network.link_of == number)
            assert allocation.tunnel_mbps[down].sum() >= testbed.LEAST_ALLOCATED_MBPS
            assert {int(pair) for pair in tunnels.pair_of[~down]} == set(range(tunnel_traffic.PAIRS))


def test_the_flows_of_tables_2_and_3_move_as_in_the_paper() -> None:
    for trial in figure_of("table2").trials(QUICK):
        traffic = Traffic(trial)
        moves = {each.flow.name: (each.tunnel_before, each.tunnel_after) for each in placed_flows(traffic)}
        assert traffic.failures == (frozenset({LinkId("s2", "s4")}),)
        assert moves == {"f1": (1, 0), "f2": (1, 2), "f3": (0, 0), "f4": (2, 2)}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["table2", "fig10", "table4", "fig11", "fig12", "fig13", "fig14", "indirect"])
def test_a_network_that_behaves_as_the_fluid_keeps_every_claim(name: str) -> None:
    open_ones = {"undecided"} if name == "fig11" else set()  # rounds differ in how much rescaling loses by UDP
    assert set(verdicts(name, rows_of(name)).values()) <= {"holds", "measured", "direction"} | open_ones


@pytest.mark.parametrize("name", [*IDS[2:8], "indirect"])
@pytest.mark.parametrize("swapped", [False, True])
def test_one_round_decides_no_order_and_no_change_however_clear_its_trials_are(name: str, swapped: bool) -> None:
    """Demands of a round share pairs and link: they are one observation."""
    rows = rows_of(name, quick=True)
    other = {KUIJIA.name: RESCALING.name, RESCALING.name: KUIJIA.name}
    for row in rows if swapped else []:
        row["variant"] = other[row["variant"]]
    assert set(verdicts(name, rows).values()) <= {"undecided", "measured"}


def test_an_order_is_judged_over_rounds_not_over_demands() -> None:
    larger = {(1, 800): 5.0, (1, 1600): 7.0, (2, 800): 1.0, (2, 1600): 1.0}
    found = measures.difference(larger, dict.fromkeys(larger, 0.0))
    assert found is not None
    assert found.value == 3.5
    assert found.low is not None
    assert found.low < 0
    assert measures.difference({point: larger[point] for point in ((1, 800), (1, 1600))}, larger) == (0.0, None, None)


def test_in_table_3_the_fluid_shares_by_what_is_offered_where_tcp_shares_alike() -> None:
    found = figure_of("table3").claims(rows_of("table3"))
    assert {claim.verdict for claim in found if "Kuijia" in claim.name} == {"holds"}
    shared = [claim for claim in found if "rescaling" in claim.name]
    assert [claim.measured for claim in shared] == [pytest.approx(636, abs=2)] * 2
    assert {claim.verdict for claim in shared} == {"differs"}
    alike = changed(rows_of("table3"), RESCALING.name, "direct", after_mbps=4.7)
    assert set(verdicts("table3", alike).values()) == {"holds"}


def test_a_loss_of_directly_affected_flows_above_3_percent_differs_at_its_demand_alone() -> None:
    rows = rows_of("fig10")
    worse = [
        changed([row], "kuijia", "direct", after_mbps=lambda mbps: 0.95 * mbps)[0]
        if row["parameters"]["demand_mbps"] == 1400
        else row
        for row in rows
    ]
    found = figure_of("fig10").claims(worse)
    assert [claim.verdict for claim in found[:5]] == ["holds", "holds", "holds", "differs", "holds"]
    assert found[3].measured == pytest.approx(5.0, abs=0.3)


def test_losses_count_volumes_not_flows() -> None:
    (row, *_) = rows_of("fig10", quick=True)
    first, *rest = [flow for flow in row["flows"] if flow["class"] == "direct"]
    before = sum(flow["before_mbps"] for flow in (first, *rest))
    for flow in rest:
        flow["after_mbps"] = flow["before_mbps"]
    first["after_mbps"] = 0.0
    (typed,) = ROWS.read([row])
    measured = measures.lost_percent(measures.Class("direct"))(typed)
    assert measured == pytest.approx(100 * first["before_mbps"] / before)
    assert measures.lost_percent(measures.Class("direct", "high"))(typed) is None


def test_udp_losses_are_those_of_datagrams() -> None:
    rows = changed(rows_of("fig11"), "kuijia", "direct", lost_percent_after=2.5)
    first = figure_of("fig11").claims(rows)[0]
    assert (first.measured, first.verdict) == (0.0, "differs")
    some = [row for row in rows if row["round"] == 1] + [row for row in rows_of("fig11") if row["round"] > 1]
    assert figure_of("fig11").claims(some)[0].measured == pytest.approx(100 * 4 / 5)


@pytest.mark.parametrize(("name", "key"), [("fig12", "after_mbps"), ("fig13", "lost_percent_after")])
def test_victims_that_lose_less_with_kuijia_differ(name: str, key: str) -> None:
    none, some = (0.0, 5.0) if key == "lost_percent_after" else (lambda _: 10.0, lambda mbps: 0.9 * mbps)
    rows = changed(rows_of(name), RESCALING.name, "victim", **{key: some})
    found = verdicts(name, changed(rows, "kuijia", "victim", **{key: none}))
    assert next(iter(found.values())) == "differs"


def test_convergence_is_that_of_all_flows_and_the_time_watched_where_one_never_settles() -> None:
    rows = rows_of("table4")
    first, order, over, *_ = figure_of("table4").claims(rows)
    assert (first.measured, first.verdict) == (pytest.approx(0.4), "holds")
    assert (order.measured, order.verdict) == (pytest.approx(11.6), "holds")
    assert (over.measured, over.verdict) == (12.0, "holds")
    for kind in ("direct", "none"):
        never = changed(rows, "kuijia", kind, convergence_s=None)
        assert figure_of("table4").claims(never)[0].measured > 10 * first.measured
    nobody = rows
    for kind in measures.CLASSES:
        nobody = changed(nobody, "kuijia", kind, convergence_s=None)
    assert figure_of("table4").claims(nobody)[0].measured == pytest.approx(rows[0]["windows_s"]["after_s"])
    both_measured = [claim for claim in figure_of("table4").claims(never) if claim.verdict == "measured"]
    *spreads, first, second, third, fourth = [claim.measured for claim in both_measured if "unaff" not in claim.name]
    assert (first, second, third, fourth) == (0.4, 12.0, 0.4, 12.0)
    assert [value for value in spreads if value is not None and value > 1e-9] == [pytest.approx(8.37, abs=0.01)]


def test_flows_that_nothing_affected_stand_alone_beside_all_flows_and_decide_nothing() -> None:
    rows = changed(rows_of("table4"), "kuijia", "none", convergence_s=7.0)
    found = {claim.name: claim for claim in figure_of("table4").claims(rows)}
    alone = found["TCP convergence, unaffected flows, Kuijia"]
    assert (alone.measured, alone.verdict) == (7.0, "measured")
    assert found["TCP convergence, all flows, Kuijia"].verdict == "differs", "their noise decides it"
    table = figure_of("table4").table(rows)
    shown = [dict(zip(table.header, row, strict=True)) for row in table.rows]
    assert {row["unaffected flows, s"] for row in shown if row["scheme"] == "Kuijia"} == {"7.00"}
    for kind in (*measures.AFFECTED, "indirect"):
        rows = changed(rows, "kuijia", kind, convergence_s=9.0)
    later = {claim.name: claim.measured for claim in figure_of("table4").claims(rows)}
    assert later["TCP convergence, unaffected flows, Kuijia"] == 7.0


def test_small_flows_count_for_all_and_victims_that_come_to_nothing_for_none() -> None:
    row = next(row for row in rows_of("table4") if row["parameters"]["demand_mbps"] == 1600)
    steady = [flow for flow in row["flows"] if flow["offered_mbps"] >= measures.LEAST_STEADY_MBPS]
    affected = [flow for flow in steady if flow["class"] in measures.AFFECTED]
    victims = [flow for flow in affected if flow["class"] == "victim"]
    assert 0 < len(victims) < len(affected) < len(steady) < len(row["flows"])
    assert len(measures.convergences_s(*ROWS.read([row]))) == len(row["flows"])
    assert len(measures.steady_convergences_s(*ROWS.read([row]))) == len(affected)
    starved = changed([row], None, "victim", after_mbps=0.0, convergence_s=None)[0]
    assert len(measures.steady_convergences_s(*ROWS.read([starved]))) == len(affected) - len(victims)


@pytest.mark.slow
def test_high_priority_traffic_that_changes_by_more_than_2_percent_differs() -> None:
    rows = rows_of("fig16")
    kept = figure_of("fig16").claims(rows)
    assert {claim.verdict for claim in kept if claim.name.startswith("change of high") and "direct" in claim.name} == {
        "holds"
    }
    lowered = copy.deepcopy(rows)
    for row in lowered:
        for flow in row["flows"]:
            if flow["priority"] == "high" and flow["class"] == "direct" and row["variant"] == KUIJIA.name:
                flow["samples_mbps"] = [0.9 * mbps for mbps in flow["samples_mbps"]]
                first = round(-flow["start_ms"] / 100)
                flow["samples_mbps"][:first] = [mbps / 0.9 for mbps in flow["samples_mbps"][:first]]
    by_name = {claim.name: claim for claim in figure_of("fig16").claims(lowered)}
    assert by_name["change of high-priority direct traffic of flows over the link, Kuijia"].verdict == "differs"
    assert by_name["change of high-priority direct traffic of flows over the link, rescaling"].verdict == "holds"


def test_the_link_of_figure_16_takes_victims_beside_traffic_that_stays_in_every_round() -> None:
    rows = ROWS.read(rows_of("fig16"))
    directions = measures.busiest_directions(rows)
    assert set(directions) == {1, 2, 3, 4, 5}
    for number, direction in directions.items():
        own = [row for row in rows if row.round == number]
        stays, joins = (
            [measures.crossing(row, direction, [measures.Class(kind, "low")]) for row in own]
            for kind in ("direct", "victim")
        )
        assert any(each.before_mbps > 0 for each in stays)
        assert any(each.after_mbps > each.before_mbps for each in joins)


@pytest.mark.slow
@pytest.mark.parametrize("name", IDS)
def test_claims_without_rows_have_no_data_and_other_rows_do_not_matter(name: str) -> None:
    figure = figure_of(name)
    assert all(claim.verdict == "no data" for claim in figure.claims([]))
    own = rows_of(name)
    others = [*rows_of("table3"), *rows_of("fig11"), *rows_of("fig14")]
    mixed = {row["trial"]: row for row in (*others, *own)}
    wanted = {trial.trial_id for trial in figure.trials(FULL)}
    assert figure.claims([row for row in mixed.values() if row["trial"] in wanted]) == figure.claims(own)
    sweep = {
        "trial": "kuijia-fig8/all",
        "kind": "sweep",
        "status": "ok",
        "topology": "x",
        "variant": None,
        "parameters": {},
        "points": [],
    }
    assert figure.claims([sweep, *own]) == figure.claims(own)


@pytest.mark.slow
@pytest.mark.parametrize("name", IDS)
def test_tables_are_rectangular_and_pictures_carry_their_caption(name: str) -> None:
    figure, rows = figure_of(name), rows_of(name)
    table = figure.table(rows)
    assert table.rows
    assert {len(row) for row in table.rows} == {len(table.header)}
    assert len(set(table.rows)) == len(table.rows)
    assert figure.table([]).rows == ()
    for few in ([], rows[:1], rows):
        drawn = figure.draw(few, "Not trustworthy: $one$ of two_trials")
        drawn.savefig(io.BytesIO(), format="png", dpi=20)
        assert "Not trustworthy: $one$ of two_trials" in words(drawn)
        if not few:
            assert "no good trial" in words(drawn)
