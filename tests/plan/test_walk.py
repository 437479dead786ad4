"""A packet through the whole network: the readable oracle."""

from __future__ import annotations

from mininet_topos.toy import TOYS, figure2
from ryu_apps.plan.interpret import Packet
from ryu_apps.plan.options import PlanOptions
from ryu_apps.plan.recovery_rows import FORGET_IN_PORT
from ryu_apps.plan.rows import FlowRow, Output, PushVlan, RulePlan, match
from ryu_apps.plan.walk import Learning, Network, is_delivery
from tests.verify.networks import case_of, send


def network_with(flows_of, topology, failed=frozenset()):
    """Network of hand-made rows, by node name."""
    plans = {
        number: RulePlan(number, node, flows=flows_of.get(node, ()), local_ipv4=(10 << 24 | number,))
        for number, node in enumerate(topology.node_names, start=1)
    }
    return Network(topology, plans, Learning(), failed)


def to(*actions):
    return (FlowRow(0, 1, match(), actions),)


def test_figure_2_crankbacks_and_the_next_packet_does_not():
    topology = figure2()
    case = case_of("sdfast", topology, PlanOptions(planner="pair"), [topology.parse_link("s4-s5")])
    network = case.network()
    walks = [send(network, 0, 4) for _ in range(3)]
    assert [walk.outcome for walk in walks] == ["delivered"] * 3
    assert walks[0].path == ("s1", "s2", "s3", "s4", "s3", "s2", "s6", "s7", "s8", "s5")
    assert walks[1].path == walks[2].path == ("s1", "s2", "s6", "s7", "s8", "s5")


def test_agent_mode_switches_the_reply_path_of_the_first_packet_that_arrives():
    topology = figure2()
    case = case_of("sdfast", topology, PlanOptions(mode="agent", planner="pair"), [topology.parse_link("s4-s5")])
    network = case.network()
    assert len(send(network, 0, 4).path) == 10
    assert send(network, 4, 0).path == ("s5", "s8", "s7", "s6", "s2", "s1")


def test_a_packet_that_comes_round_again_is_looped():
    topology = TOYS["pair"]()
    network = network_with({"s1": to(Output(2)), "s2": to(Output(2), Output(1))}, topology)
    assert send(network, 0, 1).outcome == "delivered"
    forget = network_with({node: to(FORGET_IN_PORT, Output(2)) for node in topology.node_names}, topology)
    walk = send(forget, 0, 1)
    assert (walk.outcome, walk.path) == ("looped", ("s1", "s2", "s1"))


def test_a_failed_link_and_a_missing_port_lose_the_packet():
    topology = TOYS["pair"]()
    rows = {"s1": to(Output(2)), "s2": to(Output(1))}
    assert send(network_with(rows, topology), 0, 1).outcome == "delivered"
    assert send(network_with(rows, topology, frozenset(topology.link_ids)), 0, 1).outcome == "dropped"
    assert send(network_with({"s1": to(Output(9))}, topology), 0, 1).outcome == "dropped"


def test_only_a_clean_packet_for_the_host_counts_as_delivered():
    plan = RulePlan(1, "s1", local_ipv4=(7,))
    assert is_delivery(plan, Packet(ipv4_dst=7))
    assert not is_delivery(plan, Packet(ipv4_dst=8))
    assert not is_delivery(plan, Packet(ipv4_dst=7, vlan_tci=0x1001))
    assert not is_delivery(plan, Packet(ipv4_dst=7, mpls=((1, 0),)))
    tagged = network_with({"s1": to(PushVlan(), Output(2)), "s2": to(Output(1))}, TOYS["pair"]())
    walk = tagged.send("s1", Packet(10 << 24 | 1, 10 << 24 | 2))
    assert (walk.outcome, walk.deliveries, walk.astray) == ("dropped", 0, 1)


def test_failed_ports_are_those_of_failed_links():
    topology = TOYS["parallel"]()
    network = network_with({}, topology, frozenset(topology.link_ids[:1]))
    down = [len(network.failed_ports(node)) for node in topology.node_names]
    assert down == [1, 1, 0]
