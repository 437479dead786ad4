"""Flows are split by weight on a real Open vSwitch: hash ranges keep the weights, SELECT groups do not."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.verify.against_ovs.decide.split import (
    PROTOCOLS,
    FlowPorts,
    Split,
    labelled_flows,
    moves_of,
    split_of,
)
from experiments.verify.against_ovs.split import draw_flows, measure_spread
from mininet_topos.build import from_edges, numbered_nodes
from mininet_topos.errors import BadInputError
from mininet_topos.topology import Direction
from ryu_apps.plan.kuijia.commodities import TunnelCommodity
from ryu_apps.plan.kuijia.options import TunnelOptions
from ryu_apps.plan.kuijia.plan import TunnelPlanner
from ryu_apps.schemes import tunnel_schemes
from tests.plan.kuijia.networks import figure1, figure1_traffic

# A right split is refused once in 100,000 draws; the draw is by seed, so it does not come and go.
IMPROBABLE = 1e-5


def measure_split(weights: tuple[float, ...], protocol: str, split: str = "ranges") -> Split:
    """Split of 2,000 flows over tunnels of given weights, one a weight, between two hosts on a network made for it."""
    fan = from_edges("fan", numbered_nodes(["s1", "s2"]), ((1, 2),) * len(weights), capacity_mbps=10.0, delay_ms=1.0)
    paths = tuple((Direction("s1", "s2", key),) for key in range(len(weights)))
    commodity = TunnelCommodity("s1", "s2", paths, tuple(weights))
    idle = next(each for each in tunnel_schemes().values() if each.tunnels and not each.tunnels.recovers)
    planner = TunnelPlanner(idle, fan, (commodity,), TunnelOptions(split=split))
    return measure_spread(planner, planner.ingress_entries["s1"][0], protocol, draw_flows(2000, 1)).split


@pytest.mark.ovs
@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("weights", [(0.5, 0.3, 0.2), (6.0, 3.0, 1.0, 0.0)])
def test_hash_ranges_keep_the_weights(weights: tuple[float, ...], protocol: str) -> None:
    found = measure_split(weights, protocol)
    assert sum(found.flows) == 2000
    assert found.p_value > IMPROBABLE
    assert all(count == 0 for count, weight in zip(found.flows, weights, strict=True) if weight == 0)


@pytest.mark.ovs
def test_the_same_flows_over_other_weights_are_seen_to_differ() -> None:
    found = measure_split((0.5, 0.3, 0.2), "udp")
    assert Split((0.4, 0.3, 0.3), found.flows).p_value < IMPROBABLE


@pytest.mark.ovs
def test_a_select_group_sends_all_udp_of_two_hosts_over_one_tunnel() -> None:
    """Its default hash leaves UDP ports out, so 2,000 flows are one."""
    assert sorted(measure_split((1.0, 1.0, 1.0), "udp", "select").flows) == [0, 0, 2000]


@pytest.mark.ovs
@pytest.mark.parametrize(("scheme", "moves"), [("kuijia", False), ("rescaling", True)])
def test_the_failure_of_a_tunnel_moves_only_its_flows_unless_shares_are_rescaled(scheme: str, moves: bool) -> None:
    planner = TunnelPlanner(tunnel_schemes()[scheme], figure1(), [figure1_traffic((0.5, 0.3, 0.2))], TunnelOptions())
    found = measure_spread(planner, planner.ingress_entries["s1"][0], "udp", draw_flows(1000, 1))
    assert [each.down for each in found.failures] == [0, 1, 2]
    assert any(each.moved for each in found.failures) is moves
    for each in found.failures:
        assert sum(each.victims.flows) + each.others == sum(each.everybody.flows) == 1000
        assert each.everybody.flows[each.down] == 0
        assert each.everybody.p_value > IMPROBABLE
        assert moves or each.victims.p_value > IMPROBABLE
    assert found.unrepaired == 0


def test_a_split_is_judged_by_pearson_s_statistic() -> None:
    exact = Split((0.5, 0.3, 0.2), (500, 300, 200))
    assert (exact.chi_square, exact.p_value, exact.worst_error) == (0, 1, 0)
    skewed = Split((0.5, 0.5), (60, 40))
    assert skewed.chi_square == pytest.approx(4)
    assert skewed.p_value == pytest.approx(0.0455, abs=1e-4)
    assert skewed.worst_error == pytest.approx(0.1)
    assert Split((0.5, 0.5, 0.0), (60, 40, 0)).p_value == pytest.approx(skewed.p_value)
    assert Split((0.5, 0.5, 0.0), (60, 40, 1)).p_value == Split((1.0, 0.0), (3, 2)).p_value == 0


def test_a_single_tunnel_is_always_right_and_no_flows_have_no_shares() -> None:
    assert Split((1.0,), (7,)).p_value == 1
    assert Split((0.5, 0.5), (0, 0)).shares == (0, 0)
    assert Split((0.5, 0.5), (0, 0)).p_value == 1


FLOWS = draw_flows(40, 3)


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), min_size=40, max_size=40), st.integers(0, 2))
def test_moves_count_those_whose_tunnel_lived_and_that_changed_it(taken: list[tuple[int, int]], down: int) -> None:
    before = {flow: first for flow, (first, _) in zip(FLOWS, taken, strict=True)}
    after = {flow: second for flow, (_, second) in zip(FLOWS, taken, strict=True)}
    found = moves_of(before, after, down, (0.5, 0.3, 0.2))
    assert found.moved == sum(first != second for first, second in taken if first != down)
    assert found.others == sum(first != down for first, _ in taken)
    assert found.victims.flows == tuple(taken.count((down, tunnel)) for tunnel in range(3))
    assert found.everybody == Split(found.victims.weights, split_of(after, (1, 1, 1)).flows)
    assert found.victims.weights[down] == 0
    assert sum(found.victims.weights) == pytest.approx(1)


def test_victims_of_the_only_tunnel_with_a_weight_share_equally() -> None:
    assert moves_of({}, {}, 0, (1.0, 0.0, 0.0)).victims.weights == (0, 0.5, 0.5)


@pytest.mark.slow
def test_drawn_flows_differ_and_follow_the_seed() -> None:
    assert len(set(draw_flows(5000, 1))) == 5000
    assert draw_flows(9, 1) == draw_flows(9, 1) != draw_flows(9, 2)
    with pytest.raises(BadInputError, match="0 flows cannot be drawn"):
        draw_flows(0, 1)


def test_labels_and_ports_are_read_from_a_capture() -> None:
    """A frame with label 18 over IPv4 and UDP 7 to 9, one without a label, and one that is truncated."""
    ethernet = bytes(12)
    labelled = ethernet + b"\x88\x47" + struct.pack(">I", 18 << 12 | 1 << 9 | 1 << 8 | 64) + bytes(20) + b"\0\7\0\11"
    frames = [labelled, ethernet + b"\x08\x00" + bytes(40), labelled[:-1]]
    capture = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 1518, 1)
    capture += b"".join(struct.pack("<IIII", 0, 0, len(frame), len(frame)) + frame for frame in frames)
    assert list(labelled_flows(capture)) == [(FlowPorts(7, 9), 18)]
