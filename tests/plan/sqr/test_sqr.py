"""SQR as plans: packets go through virtual ports, and what these give back finds its way once the link is down."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dataplane.model.marking import Marking
from mininet_topos import generators
from mininet_topos.catalogue import load_topology
from mininet_topos.errors import TopologyError
from mininet_topos.ports import HOST_PORT, assign_ports
from mininet_topos.topology import Direction, LinkId, Topology
from ryu_apps.plan.addressing import hosts_of
from ryu_apps.plan.check import violations
from ryu_apps.plan.guarantees import alternate_of_a_buffered_link
from ryu_apps.plan.ids import Priority, sqr_port
from ryu_apps.plan.interpret import Packet, SwitchModel, interpret_switch
from ryu_apps.plan.notification import is_notification
from ryu_apps.plan.options import PlanOptions
from ryu_apps.plan.order import canonical
from ryu_apps.plan.recovery_rows import untagged_row
from ryu_apps.plan.rows import FlowRow
from ryu_apps.plan.sqr.plan import replayed_links, virtual_ports
from ryu_apps.schemes import plan_network
from tests.examples import examples


@cache
def switches(topology: Topology, kept: tuple[str, ...]) -> tuple[dict[str, SwitchModel], dict[tuple[str, int], int]]:
    """Switches under scheme sqr, and the link port behind each virtual port."""
    plans = plan_network("sqr", topology, PlanOptions(replayed=kept))
    found = virtual_ports(topology, replayed_links(topology, kept))
    return (
        {plan.node: SwitchModel(plan) for plan in plans.values()},
        {(node, virtual): port for (node, port), virtual in found.items()},
    )


def walk(topology: Topology, kept: tuple[str, ...], failed: LinkId | None, source: str, target: str) -> str:
    """Where a packet ends: "delivered", "dropped" or "looped"; a virtual port sends on, or back if its link failed."""
    ports, hosts = assign_ports(topology), hosts_of(topology)
    models, behind = switches(topology, kept)
    packet, node, in_port = Packet(hosts[source].ipv4, hosts[target].ipv4), source, HOST_PORT
    for _ in range(100):
        outputs = interpret_switch(models[node], packet, in_port, frozenset()).outputs
        if not outputs:
            return "dropped"
        ((port, _, _),) = outputs
        if port == HOST_PORT:
            return "delivered" if node == target else "dropped"
        virtual = behind.get((node, port))
        direction = ports.direction_at[node, port if virtual is None else virtual]
        if topology.link_id(direction) == failed:
            if virtual is None:
                return "dropped"
            in_port = port
            continue
        node, in_port = direction.dst, ports.port_of[Direction(direction.dst, direction.src, direction.key)]
    return "looped"


@examples(30)
@given(st.integers(3, 8), st.integers(0, 5), st.integers(0, 10_000))
def test_packets_of_a_buffered_link_with_an_alternate_are_delivered_and_none_loops(
    nodes: int, extra: int, seed: int
) -> None:
    links = min(nodes - 1 + extra, nodes * (nodes - 1) // 2)
    topology = generators.random_connected("random", nodes, links, seed)
    kept = tuple(map(str, topology.link_ids[::2]))
    promise = alternate_of_a_buffered_link(topology, PlanOptions(replayed=kept))
    for number, failed in enumerate(topology.link_ids):
        for source in topology.node_names:
            for target in topology.node_names:
                if source == target:
                    continue
                assert walk(topology, kept, None, source, target) == "delivered"
                outcome = walk(topology, kept, failed, source, target)
                assert outcome != "looped"
                hit = walk(topology, (), failed, source, target) == "dropped"
                ends = topology.index_of[source], topology.index_of[target]
                if hit and promise(*ends, 1 << number):
                    assert outcome == "delivered"
                if hit and str(failed) not in kept:
                    assert outcome == "dropped"


@pytest.mark.parametrize("name", ["square", "theta", "parallel", "darkstrand", "usnet"])
def test_plans_are_sound_and_canonical(name: str) -> None:
    topology = load_topology(name)
    kept = tuple(map(str, topology.link_ids))
    ports = assign_ports(topology)
    virtual = virtual_ports(topology, topology.link_ids)
    for plan in plan_network("sqr", topology, PlanOptions(replayed=kept)).values():
        own = {port for node, port in ports.direction_at if node == plan.node} | {HOST_PORT}
        own |= {number for (node, _), number in virtual.items() if node == plan.node}
        assert violations(plan, own) == ()
        assert canonical(plan) == plan


def test_a_link_that_is_not_there_is_refused_by_name() -> None:
    with pytest.raises(TopologyError, match="s1-s3"):
        plan_network("sqr", load_topology("square"), PlanOptions(replayed=("s1-s3",)))


def test_virtual_ports_have_numbers_of_their_own() -> None:
    assert sqr_port(2) != sqr_port(3)
    assert len(set(virtual_ports(load_topology("square"), load_topology("square").link_ids).values())) == 2


class Lossless:
    """A network under scheme lossless whose virtual ports send on, or give back once their link has failed."""

    def __init__(self, topology: Topology, kept: tuple[str, ...]) -> None:
        self.topology, self.ports, self.hosts = topology, assign_ports(topology), hosts_of(topology)
        plans = plan_network("lossless", topology, PlanOptions(replayed=kept))
        self.models = {plan.node: SwitchModel(plan) for plan in plans.values()}
        found = virtual_ports(topology, replayed_links(topology, kept))
        self.behind = {(node, virtual): port for (node, port), virtual in found.items()}

    def walk(self, failed: LinkId, source: str, target: str) -> str:
        """Where a packet ends, before any switch has learned."""
        packet, node, in_port = Packet(self.hosts[source].ipv4, self.hosts[target].ipv4), source, HOST_PORT
        for _ in range(100):
            direction_at = self.ports.direction_at
            live = frozenset(
                port
                for (owner, port), way in direction_at.items()
                if owner == node and self.topology.link_id(way) != failed
            )
            leaving = interpret_switch(self.models[node], packet, in_port, live).outputs
            outputs = [each for each in leaving if not is_notification(each[1].vlan_tci)]
            if not outputs:
                return "dropped"
            ((port, packet, _),) = outputs
            if port == HOST_PORT:
                return "delivered" if node == target and not packet.vlan_tci else "dropped"
            virtual = self.behind.get((node, port))
            direction = direction_at[node, port if virtual is None else virtual]
            if self.topology.link_id(direction) == failed:
                assert virtual is not None, "a packet was sent into a failed link that nobody keeps"
                in_port = port
                continue
            node = direction.dst
            in_port = self.ports.port_of[Direction(direction.dst, direction.src, direction.key)]
        return "looped"


@examples(20)
@given(st.integers(3, 7), st.integers(1, 5), st.integers(0, 10_000))
def test_lossless_delivers_whatever_link_fails_kept_or_not(nodes: int, extra: int, seed: int) -> None:
    links = min(nodes - 1 + extra, nodes * (nodes - 1) // 2)
    topology = generators.random_connected("random", nodes, links, seed)
    network = Lossless(topology, tuple(map(str, topology.link_ids[::2])))
    for failed in topology.link_ids:
        if not topology.is_connected([failed]):
            continue
        for source in topology.node_names:
            for target in topology.node_names:
                if source != target:
                    assert network.walk(failed, source, target) == "delivered"


@pytest.mark.parametrize("mode", ["learned", "agent"])
def test_lossless_is_sound_and_is_sdfast_where_nothing_is_kept(mode: str) -> None:
    topology = load_topology("theta")
    plain = plan_network("lossless", topology, PlanOptions(mode=mode))
    assert plain == plan_network("sdfast", topology, PlanOptions(mode=mode))
    ports = assign_ports(topology)
    name = str(topology.link_ids[0])
    kept = virtual_ports(topology, topology.link_ids[:1])
    for plan in plan_network("lossless", topology, PlanOptions(mode=mode, replayed=(name,))).values():
        own = {port for node, port in ports.direction_at if node == plan.node} | {HOST_PORT}
        own |= {number for (node, _), number in kept.items() if node == plan.node}
        assert violations(plan, own) == ()
        assert canonical(plan) == plan


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["learned", "agent"])
def test_only_rows_for_a_kept_port_differ_from_those_of_sdfast(mode: str) -> None:
    topology = load_topology("gscale")
    kept = topology.link_ids[3]
    options = PlanOptions(mode=mode, replayed=(str(kept),))
    plain, changed = plan_network("sdfast", topology, options), plan_network("lossless", topology, options)
    differing = {plan.node for dpid, plan in changed.items() if plan != plain[dpid]}
    assert differing == {kept.a, kept.b}
    assert all(plan.backups == plain[dpid].backups for dpid, plan in changed.items())


def test_beside_an_agent_what_comes_too_early_goes_into_the_link_and_agents_rows_come_before_that() -> None:
    topology = load_topology("square")
    link = topology.link_ids[0]
    ports, hosts = assign_ports(topology), hosts_of(topology)
    options = PlanOptions(mode="agent", replayed=(str(link),))
    plan = next(each for each in plan_network("lossless", topology, options).values() if each.node == link.a)
    port = ports.port_of[Direction(link.a, link.b, link.key)]
    virtual = sqr_port(port)
    packet = Packet(hosts[link.a].ipv4, hosts[link.b].ipv4)
    model = SwitchModel(plan)
    live = frozenset(number for node, number in ports.direction_at if node == link.a)

    def sent_by(in_port: int, rows: tuple[FlowRow, ...] = ()) -> list[int]:
        outputs = interpret_switch(model, packet, in_port, live, rows).outputs
        return [number for number, _, _ in outputs]

    assert sent_by(HOST_PORT) == [virtual]
    assert sent_by(virtual) == [port]
    backup = next(row for row in plan.backups if row.destination == packet.ipv4_dst and row.tag_id)
    assert sent_by(virtual, (untagged_row(backup),)) == [backup.out_port]
    assert sent_by(HOST_PORT, (untagged_row(backup),)) == [backup.out_port]


MARKED = Marking(tcp_ports=(443,), dscp=(46,), vlans=(7,))
MARKED_PACKETS = (
    {"ip_dscp": 46},
    {"ip_proto": 6, "l4_src": 443},
    {"ip_proto": 6, "l4_dst": 443},
    {"vlan_tci": 0x1007},
)
UNMARKED_PACKETS = ({}, {"ip_dscp": 45}, {"ip_proto": 17, "l4_dst": 443}, {"vlan_tci": 0x1006})


def test_marked_packets_alone_take_the_virtual_port_and_others_fail_over_by_a_group() -> None:
    topology = load_topology("square")
    link = topology.link_ids[0]
    ports, hosts = assign_ports(topology), hosts_of(topology)
    plans = plan_network("sqr", topology, PlanOptions(replayed=(str(link),), marked=MARKED))
    plan = next(each for each in plans.values() if each.node == link.a)
    model, port = SwitchModel(plan), ports.port_of[Direction(link.a, link.b, link.key)]
    live = frozenset(number for node, number in ports.direction_at if node == link.a)
    kept = [row for row in plan.flows if row.priority == Priority.REPLAY]
    assert kept
    for row in kept:
        target = next(value for name, value, _ in row.match if name == "ipv4_dst")
        plain = Packet(hosts[link.a].ipv4, target)

        def sent_by(fields: dict[str, int], up: frozenset[int], packet: Packet = plain) -> list[int]:
            outputs = interpret_switch(model, replace(packet, **fields), HOST_PORT, up).outputs
            return [number for number, _, _ in outputs]

        for fields in MARKED_PACKETS:
            assert sent_by(fields, live) == sent_by(fields, live - {port}) == [sqr_port(port)]
        for fields in UNMARKED_PACKETS:
            assert sent_by(fields, live) == [port]
            assert sent_by(fields, live - {port}) == [action.port_no for action in row.apply_actions]
    own = live | {HOST_PORT, sqr_port(port)}
    assert violations(plan, own) == ()
    assert canonical(plan) == plan
