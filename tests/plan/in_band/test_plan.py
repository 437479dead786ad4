"""Rows of in-band control: every switch reaches the controller, around one failed link too, and nobody else does."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mininet_topos import generators
from mininet_topos.catalogue import load_topology
from mininet_topos.errors import BadInputError
from mininet_topos.ports import HOST_PORT, assign_ports
from mininet_topos.topology import LinkId, Topology
from ryu_apps.plan.addressing import CONTROLLER_IPV4, control_ipv4, dpid_of, hosts_of
from ryu_apps.plan.check import check_plan
from ryu_apps.plan.dump_parse import parse_flow, parse_group
from ryu_apps.plan.ids import CONTROL_PORT, OFPP_LOCAL, Priority
from ryu_apps.plan.in_band.plan import plan_in_band, way_mac
from ryu_apps.plan.in_band.values import Channel, DataMarking, Service
from ryu_apps.plan.in_band.ways import control_ways
from ryu_apps.plan.interpret import Packet
from ryu_apps.plan.options import PlanOptions
from ryu_apps.plan.row_text import flow_text, group_text
from ryu_apps.schemes import plan_network
from tests.examples import examples
from tests.plan.in_band.walking import (
    CLIENT_PORT,
    DATABASE,
    OPENFLOW,
    SERVICES,
    URGENT,
    channel_at,
    is_in_band,
    joined_with,
    network_of,
    reaches_controller,
    reaches_switch,
    to_controller,
    to_switch,
    walk,
)

BIG = ("usnet", "darkstrand", "gscale")


def random_topology(nodes: int, extra: int, seed: int) -> Topology:
    links = min(nodes - 1 + extra, nodes * (nodes - 1) // 2)
    return generators.random_connected("random", nodes, links, seed)


TOPOLOGIES = st.builds(random_topology, st.integers(2, 9), st.integers(0, 8), st.integers(0, 10_000))


def assert_promise_holds(topology: Topology, root: str, failed: frozenset[LinkId]) -> None:
    """A switch that is joined to the root without the one failed link reaches the controller, and is reached."""
    channel = channel_at(root)
    network = network_of(topology, plan_in_band(topology, channel).plans, failed)
    parts = topology.components(failed)
    for node in topology.node_names:
        joined = parts[node] == parts[root]
        assert reaches_controller(network, channel, topology, node) == joined, (node, failed)
        assert reaches_switch(network, channel, topology, node) == joined, (node, failed)


@pytest.mark.slow
@pytest.mark.parametrize("name", BIG)
def test_every_switch_and_the_controller_reach_each_other_around_any_one_failed_link(name: str) -> None:
    topology = load_topology(name)
    root = topology.node_names[3]
    assert_promise_holds(topology, root, frozenset())
    for link in topology.link_ids:
        assert_promise_holds(topology, root, frozenset({link}))


@examples(60)
@given(TOPOLOGIES, st.data())
def test_the_promise_holds_on_any_topology(topology: Topology, data: st.DataObject) -> None:
    root = data.draw(st.sampled_from(topology.node_names))
    link = data.draw(st.none() | st.sampled_from(topology.link_ids))
    assert_promise_holds(topology, root, frozenset() if link is None else frozenset({link}))


@examples(60)
@given(TOPOLOGIES, st.data())
def test_no_packet_loops_or_goes_astray_whatever_has_failed(topology: Topology, data: st.DataObject) -> None:
    channel = channel_at(data.draw(st.sampled_from(topology.node_names)))
    failed = data.draw(st.frozensets(st.sampled_from(topology.link_ids)))
    network = network_of(topology, plan_in_band(topology, channel).plans, failed)
    for node in topology.node_names:  # `walk` asserts that nothing loops, the others that delivery is to the right end
        reaches_controller(network, channel, topology, node)
        reaches_switch(network, channel, topology, node)


@examples(40)
@given(TOPOLOGIES, st.data())
def test_switches_can_be_given_their_rows_in_the_order_in_which_they_are_reached(
    topology: Topology, data: st.DataObject
) -> None:
    channel = channel_at(data.draw(st.sampled_from(topology.node_names)))
    plan = plan_in_band(topology, channel)
    assert sorted(plan.order) == sorted(topology.node_names)
    have: dict = {dpid: replace(each, flows=(), groups=()) for dpid, each in plan.plans.items()}
    for node in plan.order:
        have[dpid_of(topology, node)] = plan.plans[dpid_of(topology, node)]
        network = network_of(topology, have)
        assert reaches_switch(network, channel, topology, node)
        assert reaches_controller(network, channel, topology, node)


@pytest.mark.slow
@pytest.mark.parametrize("name", BIG)
def test_rows_break_no_rule_beside_those_of_a_scheme(name: str) -> None:
    topology = load_topology(name)
    marks = (DataMarking(40, 8), DataMarking(56, None))
    plan = plan_in_band(topology, channel_at("s1", data_markings=marks))
    for scheme in ("shortest", "sdfast"):
        for joined in joined_with(plan, plan_network(scheme, topology, PlanOptions(max_failures=1))).values():
            check_plan(joined)


def test_rows_stand_before_those_of_every_scheme() -> None:
    plan = plan_in_band(load_topology("gscale"), channel_at("s1"))
    ours = {row.priority for each in plan.plans.values() for row in each.flows}
    others = {each for each in Priority if not each.name.startswith("IN_BAND")}
    assert min(ours) > max(others)


@pytest.mark.parametrize("scheme", ["shortest", "sdfast"])
@examples(30)
@given(topology=TOPOLOGIES, data=st.data())
def test_data_never_meets_a_control_row_and_goes_where_it_went_before(
    scheme: str, topology: Topology, data: st.DataObject
) -> None:
    plans = plan_network(scheme, topology, PlanOptions())
    failed = data.draw(st.frozensets(st.sampled_from(topology.link_ids), max_size=2))
    joined = joined_with(plan_in_band(topology, channel_at("s1")), plans)
    hosts = list(hosts_of(topology).values())
    source, target = data.draw(st.sampled_from(hosts)), data.draw(st.sampled_from(hosts))
    proto, ports = data.draw(st.sampled_from([6, 17])), st.sampled_from([6653, 6641, 5000])
    ends = {"l4_src": data.draw(ports), "l4_dst": data.draw(ports), "ip_dscp": data.draw(st.sampled_from([0, 40, 63]))}
    # Even the address that control packets have under way makes data no control.
    packet = Packet(
        source.ipv4, target.ipv4, ip_proto=proto, eth_dst=data.draw(st.sampled_from([0, way_mac(0)])), **ends
    )
    with_control, without = network_of(topology, joined, failed), network_of(topology, plans, failed)
    walked = with_control.send(source.node, packet)
    assert walked == without.send(source.node, packet)
    for hop in walked.hops:
        assert not any(is_in_band(row.cookie) for row in with_control.interpret(hop).rules)


@examples(60)
@given(TOPOLOGIES, st.data())
def test_a_host_that_spoofs_control_is_dropped_at_its_own_switch(topology: Topology, data: st.DataObject) -> None:
    channel = channel_at(data.draw(st.sampled_from(topology.node_names)))
    plan = plan_in_band(topology, channel)
    network = network_of(topology, joined_with(plan, plan_network("shortest", topology, PlanOptions())))
    node = data.draw(st.sampled_from(topology.node_names))
    number = data.draw(st.integers(1, len(topology.nodes)))
    make, service = data.draw(st.sampled_from([to_controller, to_switch])), data.draw(st.sampled_from(SERVICES))
    way = data.draw(st.integers(0, len(topology.link_ids)))
    tag = data.draw(st.sampled_from([0, 0x1000, 0x1005]))
    host = next(iter(hosts_of(topology).values())).ipv4
    packet = make(channel, number, service, eth_dst=way_mac(way), vlan_tci=tag)
    packet = replace(packet, **data.draw(st.sampled_from([{}, {"ipv4_src": host}, {"ipv4_dst": host}])))
    walked = walk(network, node, HOST_PORT, packet)
    assert (walked.out, len(walked.hops)) == (None, 1)


@examples(40)
@given(TOPOLOGIES, st.data())
def test_a_switch_or_controller_sends_nothing_but_its_services(topology: Topology, data: st.DataObject) -> None:
    channel = channel_at(data.draw(st.sampled_from(topology.node_names)))
    network = network_of(topology, plan_in_band(topology, channel).plans)
    node = data.draw(st.sampled_from(topology.node_names))
    number = dpid_of(topology, node)
    unexpected = data.draw(
        st.sampled_from(
            [
                {"l4_dst": 22, "l4_src": 22},
                {"ip_proto": 17},
                {"ipv4_src": control_ipv4(number % len(topology.nodes) + 1)},
                {"ipv4_dst": next(iter(hosts_of(topology).values())).ipv4},
                {"vlan_tci": 0x1001},
            ]
        )
    )
    assert walk(network, node, OFPP_LOCAL, to_controller(channel, number, **unexpected)).out is None
    root = channel.controller_at
    if "ipv4_src" not in unexpected and "ipv4_dst" not in unexpected:
        assert walk(network, root, CONTROL_PORT, to_switch(channel, number, **unexpected)).out is None


def test_each_service_has_its_own_mark_both_ways() -> None:
    topology, channel = load_topology("figure2"), channel_at("s3")
    network = network_of(topology, plan_in_band(topology, channel).plans)
    for service in SERVICES:
        there = walk(network, "s8", OFPP_LOCAL, to_controller(channel, 8, service, ip_dscp=1))
        back = walk(network, "s3", CONTROL_PORT, to_switch(channel, 8, service, ip_dscp=1))
        for walked in (there, back):
            assert {hop.packet.ip_dscp for hop in walked.hops[1:]} == {service.dscp}
            assert walked.packet is not None
            assert walked.packet.ip_dscp == service.dscp
    assert {OPENFLOW.dscp, DATABASE.dscp} != {URGENT.dscp}


def test_a_service_without_a_mark_keeps_the_one_that_it_has() -> None:
    topology, channel = load_topology("pair"), Channel("s1", (Service(6653),))
    network = network_of(topology, plan_in_band(topology, channel).plans)
    walked = walk(network, "s2", OFPP_LOCAL, to_controller(channel, 2, Service(6653), ip_dscp=48))
    assert walked.packet is not None
    assert walked.packet.ip_dscp == 48


@pytest.mark.parametrize(("dscp", "comes_as"), [(40, 8), (56, None), (34, 34), (0, 0)])
def test_data_marked_as_control_is_marked_down_or_dropped_at_the_host_port(dscp: int, comes_as: int | None) -> None:
    topology = load_topology("pair")
    plan = plan_in_band(topology, channel_at("s1", data_markings=(DataMarking(40, 8), DataMarking(56, None))))
    network = network_of(topology, joined_with(plan, plan_network("shortest", topology, PlanOptions())))
    first, second = hosts_of(topology).values()
    walked = walk(network, first.node, HOST_PORT, Packet(first.ipv4, second.ipv4, ip_dscp=dscp))
    assert (walked.packet.ip_dscp if walked.packet else None) == comes_as
    assert (walked.out == (second.node, HOST_PORT)) == (comes_as is not None)


def test_ways_are_shortest_by_delay_where_delays_are_known() -> None:
    topology = load_topology("figure2")
    slow = LinkId("s2", "s6")
    delayed = replace(
        topology,
        links=tuple(
            replace(link, delay_ms=50.0 if topology.link_id(link.direction) == slow else 1.0) for link in topology.links
        ),
    )
    assert control_ways(topology, "s2").parent["s6"].dst == "s2"
    bypass = control_ways(delayed, "s2")
    assert slow not in {delayed.link_id(hop) for hop in bypass.parent.values()}


def test_a_link_that_nothing_passes_by_has_no_group() -> None:
    topology = load_topology("pair")
    plan = plan_in_band(topology, channel_at("s1"))
    assert all(not each.groups for each in plan.plans.values())
    ring = load_topology("figure2")
    watched = {
        bucket.watch_port for row in plan_in_band(ring, channel_at("s1")).plans[2].groups for bucket in row.buckets
    }
    assert watched <= {port for node, port in assign_ports(ring).direction_at if node == "s2"}


def test_rows_are_read_back_from_their_text() -> None:
    for each in plan_in_band(
        load_topology("figure2"), channel_at("s2", data_markings=(DataMarking(40, 8),))
    ).plans.values():
        assert tuple(parse_flow(flow_text(row)) for row in each.flows) == each.flows
        assert tuple(parse_group(group_text(row)) for row in each.groups) == each.groups


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: channel_at("s99"), "'s99'"),
        (lambda: Channel("s1", ()), "no TCP port"),
        (lambda: Channel("s1", (Service(6653), Service(6653))), "6653 stands twice"),
        (lambda: Channel("s1", (Service(70_000),)), "70000"),
        (lambda: Channel("s1", (Service(6653, dscp=64),)), "DSCP 64"),
        (lambda: channel_at("s1", data_markings=(DataMarking(40, 48), DataMarking(48, 40))), "may not carry"),
    ],
)
def test_what_cannot_be_is_refused_with_its_value(make, words: str) -> None:
    with pytest.raises(BadInputError, match=words):
        plan_in_band(load_topology("figure2"), make())


def test_a_link_on_the_controllers_port_is_refused_where_the_controller_is_attached_and_nowhere_else() -> None:
    topology = load_topology("figure2")
    first = topology.links[0]
    changed = replace(topology, links=(replace(first, port_no=CONTROL_PORT), *topology.links[1:]))
    with pytest.raises(BadInputError, match=f"{first.src} has a link on port {CONTROL_PORT}, where the controller"):
        plan_in_band(changed, channel_at(first.src))
    assert len(plan_in_band(changed, channel_at(first.dst)).plans) == len(changed.nodes)


def test_the_controller_has_an_address_that_no_switch_gets() -> None:
    assert control_ipv4(65533) == CONTROLLER_IPV4 - 1
    assert CLIENT_PORT not in {service.tcp_port for service in SERVICES}
