"""The interpreter and a real Open vSwitch agree on tunnel plans, and a disagreement would be seen."""

from __future__ import annotations

from dataclasses import replace

import pytest

from experiments.verify.against_ovs.tunnels import (
    TunnelForwarding,
    compare_tunnels,
    draw_packets,
    parse_tunnel_trace,
    tunnel_flow_of,
)
from mininet_topos.catalogue import load_topology
from mininet_topos.errors import PlanError
from mininet_topos.ports import HOST_PORT
from ryu_apps.plan.interpret import Packet
from ryu_apps.plan.kuijia.commodities import TunnelCommodity
from ryu_apps.plan.kuijia.options import TunnelOptions, parse_prefix
from ryu_apps.plan.kuijia.plan import Failures
from ryu_apps.plan.kuijia.sources import allocated_commodities, equal_commodities
from ryu_apps.plan.rows import Controller, FlowRow, RulePlan, SetField, SetQueue
from ryu_apps.schemes import plan_tunnels
from te_solver.demands import random_pairs, with_classes
from te_solver.network import to_network
from te_solver.solve import SolveOptions, solve
from te_solver.tunnels import to_problem
from tests.examples import scaled
from tests.plan.kuijia.networks import figure1, figure1_traffic

GSCALE = load_topology("gscale")
FIGURE1 = figure1()
DSCP = TunnelOptions(tunnel_field="dscp")
FAILURES: Failures = [frozenset({GSCALE.link_ids[number]}) for number in (3, 11)]


def allocated() -> tuple[TunnelCommodity, ...]:
    """Weights that an allocation gives, in two classes."""
    demands = with_classes(random_pairs(GSCALE, 20, 900.0, seed=2), low_to_high=10)
    return allocated_commodities(solve(to_problem(to_network(GSCALE), demands), SolveOptions()))


@pytest.mark.ovs
@pytest.mark.parametrize(
    ("scheme", "options", "failures"),
    [
        ("kuijia", TunnelOptions(), ()),
        ("kuijia", TunnelOptions(), FAILURES),
        ("kuijia", DSCP, FAILURES),
        ("kuijia", replace(DSCP, prefixes=(("s1", (parse_prefix("10.0.0.0/30"),)),)), ()),
        ("kuijia", TunnelOptions("eight"), FAILURES[:1]),
        ("rescaling", TunnelOptions(), FAILURES[:1]),
        ("rescaling", DSCP, FAILURES[:1]),
        ("te", TunnelOptions("four"), ()),
    ],
)
def test_the_interpreter_agrees_with_a_real_switch(scheme: str, options: TunnelOptions, failures: Failures) -> None:
    commodities = equal_commodities(GSCALE) if options.priorities == "single" else allocated()
    plans = plan_tunnels(scheme, GSCALE, commodities, options, failures)
    outcome = compare_tunnels(GSCALE, plans, plans, samples=scaled(400), seed=6)
    assert (outcome.differences, outcome.first_difference) == (0, None)
    assert outcome.packets == scaled(400)
    assert outcome.hops > outcome.packets


@pytest.mark.ovs
@pytest.mark.parametrize("priorities", ["single", "eight"])
def test_ldis_go_to_the_agent_in_both(priorities: str) -> None:
    """And a switch whose LDIs go nowhere is caught."""
    options = TunnelOptions(priorities, notified_by="agent")
    plans = plan_tunnels("kuijia", FIGURE1, [figure1_traffic()], options)
    outcome = compare_tunnels(FIGURE1, plans, plans, samples=scaled(300), seed=6)
    assert (outcome.differences, outcome.first_difference) == (0, None)
    deaf = {dpid: replace(plan, flows=tuple(map(without_punt, plan.flows))) for dpid, plan in plans.items()}
    assert compare_tunnels(FIGURE1, plans, deaf, samples=300, seed=6).differences > 0


def without_punt(row: FlowRow) -> FlowRow:
    return replace(row, apply_actions=tuple(each for each in row.apply_actions if not isinstance(each, Controller)))


def changed(plan: RulePlan, kind: type) -> RulePlan:
    """The plan with every action of a kind, in rows that push a label, made wrong by one."""

    def wrong(row: FlowRow) -> FlowRow:
        if kind is SetField:
            actions = [replace(a, value=a.value + 1) if isinstance(a, SetField) else a for a in row.apply_actions]
        else:
            actions = [replace(a, queue_id=a.queue_id + 1) if isinstance(a, SetQueue) else a for a in row.apply_actions]
        return replace(row, apply_actions=tuple(actions))

    return replace(plan, flows=tuple(map(wrong, plan.flows)))


@pytest.mark.ovs
@pytest.mark.parametrize("options", [TunnelOptions(), DSCP], ids=lambda options: options.tunnel_field)
@pytest.mark.parametrize("kind", [SetField, SetQueue])
def test_a_wrong_number_or_queue_is_caught(kind: type, options: TunnelOptions) -> None:
    plans = plan_tunnels("kuijia", GSCALE, equal_commodities(GSCALE), options)
    wrong = {dpid: changed(plan, kind) for dpid, plan in plans.items()}
    outcome = compare_tunnels(GSCALE, plans, wrong, samples=150, seed=6)
    assert outcome.differences > 0
    assert outcome.first_difference is not None
    assert "Open vSwitch says" in outcome.first_difference


def test_packets_are_drawn_by_seed_and_of_every_kind() -> None:
    plans = plan_tunnels("kuijia", GSCALE, equal_commodities(GSCALE))
    drawn = list(draw_packets(GSCALE, plans, 500, seed=1))
    assert drawn == list(draw_packets(GSCALE, plans, 500, seed=1))
    assert drawn != list(draw_packets(GSCALE, plans, 500, seed=2))
    assert {(bool(packet.mpls), in_port == HOST_PORT) for _, in_port, packet in drawn} == {(0, 1), (1, 0), (1, 1)}
    assert {packet.ip_proto for _, _, packet in drawn} == {1, 6, 17}
    assert len({packet.ip_dscp for _, _, packet in drawn}) == 6
    in_dscp = plan_tunnels("kuijia", GSCALE, equal_commodities(GSCALE), DSCP)
    ways = [in_port == HOST_PORT for _, in_port, _ in draw_packets(GSCALE, in_dscp, 500, seed=1)]
    assert 0 < ways.count(False) < 150


TRACE = "Flow: x\n     -> NXM_NX_REG0[0..9] is now 0x2d\nDatapath actions: {}\n"


@pytest.mark.parametrize(
    ("mpls", "actions", "outputs"),
    [
        ((), "drop", ()),
        (
            (),
            "push_mpls(label=17,tc=1,ttl=64,bos=1,eth_type=0x8847),set(skb_priority(0x2)),b1p4",
            ((4, Packet(mpls=((17, 1),)), 2),),
        ),
        (((16, 0),), "set(skb_priority(0x1)),b3p3", ((3, Packet(mpls=((16, 0),)), 1),)),
        (((16, 0),), "pop_mpls(eth_type=0x800),set(skb_priority(0x1)),b4p1", ((1, Packet(), 1),)),
        ((), "set(ipv4(tos=0x7/0xff)),set(skb_priority(0x2)),b1p4", ((4, Packet(ip_dscp=1, ip_ecn=3), 2),)),
        ((), "set(ipv4(ttl=64,tos=0x8/0xfc)),b1p4", ((4, Packet(ip_dscp=2), 0),)),
    ],
)
def test_an_answer_is_read_as_ports_packets_and_queues(mpls: object, actions: str, outputs: object) -> None:
    packet = Packet(mpls=mpls)  # type: ignore[arg-type]
    assert parse_tunnel_trace(TRACE.format(actions), packet) == (TunnelForwarding(outputs), 0x2D)  # type: ignore[arg-type]


@pytest.mark.parametrize(("text", "words"), [("Flow: x\n", "holds 0 answers"), (TRACE.format("recirc(0x1)"), "recirc")])
def test_an_answer_that_is_not_understood_is_an_error(text: str, words: str) -> None:
    with pytest.raises(PlanError, match=words):
        parse_tunnel_trace(text, Packet())


def test_a_packet_is_written_as_a_trace_reads_it() -> None:
    assert tunnel_flow_of(Packet(mpls=((16, 5),)), 2) == "in_port=2,mpls,mpls_label=16,mpls_tc=5,mpls_bos=1,mpls_ttl=64"
    assert tunnel_flow_of(Packet(ip_dscp=26), 1).endswith("udp_src=0,udp_dst=0,nw_tos=104,nw_ecn=0")
