"""`x-low-queue`: its cases, and what is made of their rows."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import pytest
from matplotlib import pyplot

from experiments.campaign.draws import filled_links
from experiments.campaign.draws.filled_links import VICTIM
from experiments.campaign.draws.paths import path
from experiments.campaign.kinds.flows import FlowsMeasured, Windows
from experiments.campaign.kinds.low_queue import LowQueueParameters
from experiments.campaign.order import in_order, sessions, trial_row
from experiments.campaign.parameters import plain
from experiments.campaign.values import CampaignPlan, Json, Trial, parameters_of
from experiments.figures.beyond import x_low_queue
from experiments.figures.beyond.x_low_queue import LOW_QUEUE, TOGETHER, share_over_time
from experiments.scenario.flow_values import FlowRecord
from mininet_topos.catalogue import load_topology
from te_solver.routes import ResidualRoutes
from tests.figures.found import FIGURES

DARKSTRAND = load_topology("darkstrand")
OTHERS = x_low_queue.FEWEST_OTHERS, x_low_queue.MOST_OTHERS
QUICK = CampaignPlan(quick=True, seed=1)


@cache
def cases() -> tuple[filled_links.Case, ...]:
    return filled_links.draw_cases(DARKSTRAND, x_low_queue.CASES, 1, OTHERS)


@cache
def first_trial() -> Trial:
    return x_low_queue.trials(QUICK)[0]


def own() -> LowQueueParameters:
    return parameters_of(first_trial(), LowQueueParameters)


def test_cases_are_as_many_as_asked_for_and_follow_the_seed() -> None:
    assert len(cases()) == len({case.pair for case in cases()}) == x_low_queue.CASES
    again, other = (filled_links.draw_cases(DARKSTRAND, 3, seed, OTHERS) for seed in (1, 2))
    assert again == cases()[:3] != other


@pytest.mark.parametrize("number", range(x_low_queue.CASES))
def test_the_victim_comes_to_the_filled_links_with_the_failure_and_their_flows_do_not_move(number: int) -> None:
    case = cases()[number]
    routes = ResidualRoutes(DARKSTRAND)
    failed = frozenset({case.failed})
    assert path(routes, *case.pair) == case.primary
    assert path(routes, *case.pair, failed) == case.backup
    assert x_low_queue.FEWEST_OTHERS <= len(case.filled) <= x_low_queue.MOST_OTHERS
    for placed in filled_links.flows_of(case, own()):
        flow = placed.flow
        assert path(routes, flow.source, flow.destination) == placed.before
        assert path(routes, flow.source, flow.destination, failed) == placed.after
        if flow.name != VICTIM:
            assert placed.before == placed.after
            assert set(placed.before) <= set(case.backup) - set(case.primary)


def test_flows_have_ports_of_their_own() -> None:
    for case in cases():
        placed = filled_links.flows_of(case, own())
        assert len({each.flow.port for each in placed}) == len({each.source_port for each in placed}) == len(placed)


def test_full_links_have_less_room_than_the_victim_brings() -> None:
    assert x_low_queue.OTHERS_MBPS < x_low_queue.LINK_MBPS < x_low_queue.OTHERS_MBPS + x_low_queue.VICTIM_MBPS


def test_a_trial_sends_what_its_parameters_say() -> None:
    other = replace(
        first_trial(), parameters=replace(own(), victim_mbps=2.0, others_mbps=3.0, fewest_others=1, most_others=1)
    )
    case = filled_links.case_of(other)
    assert len(case.filled) == 1
    rates = {each.flow.name: each.flow.offered_mbps for each in filled_links.flows_of(case, other.parameters)}
    assert rates.pop(VICTIM) == 2.0
    assert set(rates.values()) == {3.0}


def test_each_case_runs_with_both_set_ups_of_queues_on_two_networks() -> None:
    trials = x_low_queue.trials(QUICK)
    assert len(trials) == 2 * x_low_queue.QUICK_CASES == len({trial.trial_id for trial in trials})
    assert len(sessions(in_order(trials))) == 2
    assert [filled_links.case_of(trial) for trial in trials[::2]] == list(cases()[: x_low_queue.QUICK_CASES])
    assert all(trial.links == (str(filled_links.case_of(trial).failed),) for trial in trials)


def flow(name: str, lost: float, after_mbps: float) -> FlowRecord:
    return FlowRecord(
        *(name, "s1", "s2", "udp", None, 4.0, "direct", None, None, 4.0, after_mbps, 0.0, lost, None, None),
        samples_mbps=(4.0,) * 40 + (after_mbps,) * 40,
        start_ms=-4000.0,
    )


def row(queues: str, case: int, *others: float) -> Json:
    flows = [flow(VICTIM, 80.0, 0.7), *(flow(f"other {number}", lost, 3.0) for number, lost in enumerate(others))]
    return {
        **trial_row(replace(first_trial(), parameters=replace(own(), queues=queues, case=case)), quick=True),
        **plain(FlowsMeasured((), tuple(flows), {}, {}, {}, {}, Windows(4.0, 8.0, 5.0), (), True)),
    }


def rows() -> list[Json]:
    return [
        *(row(LOW_QUEUE, case, 0.0, 0.1) for case in range(4)),
        *(row(TOGETHER, case, 20.0 + case, 30.0) for case in range(4)),
        {"trial": "sdfast-fig5/1", "kind": "mixed", "status": "ok", "flows": []},
        {**row(LOW_QUEUE, 4, 99.0), "status": "failed"},
    ]


def test_others_lose_nothing_with_the_low_priority_queue_and_less_than_without() -> None:
    results = x_low_queue.FIGURE.claims(rows())
    assert [each.verdict for each in results] == ["holds", "holds", "measured", "measured", "measured"]
    assert results[0].measured == pytest.approx(0.05)
    swapped = [row(TOGETHER, case, 0.0) for case in range(3)] + [row(LOW_QUEUE, case, 25.0 + case) for case in range(3)]
    assert [each.verdict for each in x_low_queue.FIGURE.claims(swapped)][:2] == ["differs", "differs"]


def test_nothing_measured_is_said() -> None:
    assert {each.verdict for each in FIGURES[x_low_queue.ID].claims([])} == {"no data"}
    assert x_low_queue.FIGURE.table([]).rows == ()


def test_the_table_shows_the_worst_flow_and_what_the_victim_got() -> None:
    with_low_queue, without = x_low_queue.FIGURE.table(rows()).rows
    assert with_low_queue[1:] == ("0.05", "0.10", "0.70", "4.00", "4")
    assert without[1:3] == ("25.75", "30.00")


def test_shares_over_time_are_moving_means_around_the_failure() -> None:
    seconds, shares = share_over_time(flow("other", 0.0, 2.0))
    assert seconds[0] == pytest.approx(-3.75)
    assert shares[0] == pytest.approx(100.0)
    assert shares[-1] == pytest.approx(50.0)
    assert share_over_time(replace(flow("other", 0.0, 2.0), samples_mbps=(1.0,))) == ([], [])


@pytest.mark.parametrize("has_rows", [True, False])
def test_the_picture_is_drawn_with_rows_and_without(has_rows: bool) -> None:
    figure = x_low_queue.FIGURE.draw(rows() if has_rows else [], "caption")
    assert len(figure.axes) == 2
    assert bool(figure.axes[0].lines) is has_rows
    pyplot.close(figure)
