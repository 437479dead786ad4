"""Pure parts of measured flows: windows, loss, convergence, classes, the fluid beside them."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.analysis.flows.classes import flow_classes, fluid_rates, link_rates
from experiments.analysis.flows.convergence import (
    convergence_s,
    datagrams_lost_percent,
    throughput_lost_percent,
    to_record,
    window_mean,
)
from experiments.scenario.flow_values import FRAME_OVER_PAYLOAD, Flow, FlowSeen, FlowTiming, Placed
from mininet_topos.build import from_edges, numbered_nodes
from mininet_topos.errors import BadInputError
from mininet_topos.topology import Direction, LinkId, Topology
from te_solver.network import to_network

RATES = st.lists(st.floats(0, 100), min_size=40, max_size=120)


def square() -> Topology:
    """s1 to s4 over s2, over s3, and straight: Figure 1 of Kuijia."""
    nodes = numbered_nodes(["s1", "s2", "s3", "s4"])
    return from_edges("square", nodes, ((1, 2), (2, 4), (1, 4), (1, 3), (3, 4)), capacity_mbps=10.0, delay_ms=1.0)


def path(*nodes: int) -> tuple[Direction, ...]:
    return tuple(Direction(f"s{a}", f"s{b}", 0) for a, b in pairwise(nodes))


T1, T2, T3 = path(1, 2, 4), path(1, 4), path(1, 3, 4)


def placed(name: str, before: tuple[Direction, ...], after: tuple[Direction, ...], mbps: float, low: bool) -> Placed:
    """A flow of Figure 1: queue 1, and as a victim queue 2 where `low`."""
    flow = Flow(name, "s1", "s4", offered_mbps=mbps)
    return Placed(flow, 30000, before=before, after=after, queue_before=1, queue_after=2 if low else 1)


def figure1(*, low: bool, victim: float, other: float) -> list[Placed]:
    return [
        placed("f1", T1, T2, victim, low),
        placed("f2", T1, T3, victim, low),
        placed("f3", T2, T2, other, False),
        placed("f4", T3, T3, other, False),
    ]


def test_window_mean_counts_whole_bins_only() -> None:
    assert window_mean([1, 2, 3, 4], 0.1, 0.3) == 2.5
    assert window_mean([1, 2, 3, 4], 0.05, 0.35) == 2.5
    assert window_mean([1, 2, 3, 4], 5.0, 6.0) == 0.0


@given(st.floats(0.1, 100), st.integers(10, 50), st.integers(60, 100))
def test_a_flow_that_nothing_disturbs_has_converged_at_the_failure(mbps: float, before: int, after: int) -> None:
    assert convergence_s([mbps] * (before + after), before / 10) == 0.0


@given(st.integers(0, 60))
def test_a_step_converges_within_the_second_of_the_moving_mean_around_it(late: int) -> None:
    """Half of the moving second may still lie before the step, and 10 % of it may."""
    samples = [8.0] * 50 + [8.0] * late + [4.0] * 100
    found = convergence_s(samples, 5.0)
    assert found is not None
    assert max(0.0, late / 10 - 1.0) <= found <= late / 10 + 0.1


def test_a_flow_has_converged_with_the_first_moving_mean_that_is_close_for_good() -> None:
    """One sample of 7 among nine of 4 is within 10 % of 4, two are not: the second that holds one begins at 6.9 s."""
    assert convergence_s([7.0] * 70 + [4.0] * 100, 5.0) == pytest.approx(1.9)


def test_a_flow_that_comes_to_nothing_has_no_convergence() -> None:
    assert convergence_s([5.0] * 50 + [0.0] * 100, 5.0) is None


def test_a_flow_that_oscillates_to_the_end_does_not_converge() -> None:
    samples = [5.0] * 50 + ([1.0] * 15 + [9.0] * 15) * 5
    assert convergence_s(samples, 5.0) is None


@given(RATES, st.sampled_from([0.5, 2.0, 8.0]))
def test_convergence_does_not_depend_on_the_unit(samples: list[float], scale: float) -> None:
    """Powers of two, so that rounding is the same; a flow that comes to nearly nothing is nothing in any unit."""
    if window_mean(samples, len(samples) / 10 - 1.0, len(samples) / 10) > 0.1:
        scaled = [sample * scale for sample in samples]
        assert convergence_s(scaled, 1.0, 1.0) == convergence_s(samples, 1.0, 1.0)


@given(RATES, st.integers(1, 30))
def test_what_was_before_the_failure_does_not_count(samples: list[float], failure: int) -> None:
    other = [0.0] * failure + samples[failure:]
    assert convergence_s(samples, failure / 10, 1.0) == convergence_s(other, failure / 10, 1.0)


def test_throughput_that_grew_is_no_loss_and_nothing_has_none() -> None:
    assert throughput_lost_percent(4.0, 3.0) == 25.0
    assert throughput_lost_percent(4.0, 5.0) == 0.0
    assert throughput_lost_percent(0.0, 1.0) is None


def test_datagrams_are_lost_by_the_window_in_which_they_were_sent() -> None:
    assert datagrams_lost_percent([10, 10, 10, 10], [10, 5, 0, 10], 0.1, 0.3) == 75.0
    assert datagrams_lost_percent([0, 0], [0, 0], 0.0, 0.2) is None


def test_a_record_takes_its_windows_from_the_failure() -> None:
    timing = FlowTiming(settle_s=1, before_s=2, after_s=6, final_s=2)
    seen = FlowSeen(tuple([0.0] * 10 + [8.0] * 20 + [1.0] * 10 + [4.0] * 70), start_s=100.0, retransmits=3)
    record = to_record(placed("f", T1, T2, 8.0, True), "victim", seen, 103.0, timing)
    assert (record.before_mbps, record.after_mbps, record.lost_percent_after) == (8.0, 4.0, 50.0)
    assert record.start_ms == -3000.0
    assert len(record.samples_mbps) == 90, "what came after the run's end is left out"
    plain = json.loads(json.dumps(record.to_json()))
    assert (plain["class"], plain["before_mbps"], plain["retransmits"]) == ("victim", 8.0, 3)
    assert tuple(plain["samples_mbps"]) == record.samples_mbps


def test_a_udp_record_counts_datagrams() -> None:
    timing = FlowTiming(settle_s=1, before_s=1, after_s=2, final_s=1)
    flow = Placed(Flow("u", "s1", "s4", "udp", 1.0), 1)
    seen = FlowSeen((1.0,) * 40, 0.0, None, (10,) * 40, (10,) * 20 + (6,) * 20, 1, (1.75, 2.5))
    record = to_record(flow, "direct", seen, 2.0, timing)
    assert (record.lost_percent_before, record.lost_percent_after) == (0.0, 40.0)
    assert (record.sent, record.received, record.duplicated, record.reordered) == (400, 320, 1, 2)
    assert record.reordered_ms == (-250.0, 500.0)


def test_classes_of_figure_1() -> None:
    flows = figure1(low=True, victim=4, other=8)
    found = flow_classes(square(), flows, [LinkId("s2", "s4", 0)])
    assert found == {"f1": "victim", "f2": "victim", "f3": "direct", "f4": "direct"}


def test_indirect_flows_share_a_link_with_a_direct_one_only() -> None:
    """f3 uses s3-s4 beside the victims; f5 shares s1-s3 with it; f6 goes the other way."""
    flows = [
        placed("f1", T1, path(1, 4), 1, True),
        placed("f3", path(3, 1, 4), path(3, 1, 4), 1, False),
        placed("f5", path(3, 1, 2), path(3, 1, 2), 1, False),
        placed("f6", path(4, 3), path(4, 3), 1, False),
    ]
    found = flow_classes(square(), flows, [LinkId("s2", "s4", 0)])
    assert found == {"f1": "victim", "f3": "direct", "f5": "indirect", "f6": "none"}


@pytest.mark.parametrize(("low", "expected"), [(True, [2.0, 2.0, 8.0, 8.0]), (False, [10 / 3, 10 / 3, 20 / 3, 20 / 3])])
def test_the_fluid_of_table_2_is_the_paper_s(low: bool, expected: list[float]) -> None:
    """Links carry whole frames, so they are wider here by what the headers take."""
    flows = figure1(low=low, victim=4, other=8)
    links = tuple(replace(link, capacity_mbps=10 * FRAME_OVER_PAYLOAD["tcp"]) for link in square().links)
    found = fluid_rates(to_network(replace(square(), links=links)), flows, [LinkId("s2", "s4", 0)])
    before = [found[name]["before_mbps"] for name in ("f1", "f2", "f3", "f4")]
    assert before == pytest.approx([4, 4, 8, 8])
    assert [found[name]["after_mbps"] for name in ("f1", "f2", "f3", "f4")] == pytest.approx(expected)


def test_the_fluid_drops_a_flow_without_a_tunnel_and_fills_links_with_a_greedy_one() -> None:
    greedy = Placed(Flow("g", "s1", "s4"), 1, before=T1, after=(), queue_before=1, queue_after=1)
    found = fluid_rates(to_network(square()), [greedy], [LinkId("s2", "s4", 0)])
    assert found == {"g": {"before_mbps": pytest.approx(10 * 1448 / 1518), "after_mbps": 0.0}}


def test_link_rates_are_differences_of_counters() -> None:
    found = link_rates({("s1", 2): "s1>s2"}, {("s1", 2): {1: 1000}}, {("s1", 2): {1: 2_251_000, 2: 0}}, 2.0)
    assert found == {"s1>s2": {1: 9.0, 2: 0.0}}


@pytest.mark.parametrize(
    ("given_values", "complaint"),
    [
        ({"transport": "sctp"}, "transport 'sctp'"),
        ({"transport": "udp"}, "no offered_mbps"),
        ({"offered_mbps": 0.0}, "offers 0.0"),
    ],
)
def test_flows_that_cannot_be_sent_are_refused(given_values: dict[str, object], complaint: str) -> None:
    with pytest.raises(BadInputError, match=complaint):
        Flow("f", "s1", "s2", **given_values)  # type: ignore[arg-type]
