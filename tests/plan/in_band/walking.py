"""Control packets walked through in-band rows, switch by switch, in the interpreter."""

from __future__ import annotations

from dataclasses import dataclass, replace

from mininet_topos.topology import LinkId, Topology
from ryu_apps.plan.addressing import control_ipv4, control_mac, dpid_of
from ryu_apps.plan.ids import OFPP_LOCAL, Owner, split_cookie
from ryu_apps.plan.in_band.values import Channel, InBandPlan, Service
from ryu_apps.plan.interpret import Packet
from ryu_apps.plan.rows import RulePlan
from ryu_apps.plan.walk import Hop, Learning, Network

OPENFLOW, URGENT, DATABASE = Service(6653, dscp=40), Service(6655, dscp=56), Service(6641, at_controller=False, dscp=40)
SERVICES = (OPENFLOW, URGENT, DATABASE)
CLIENT_PORT = 50_000


@dataclass(frozen=True)
class Walked:
    """Where a packet came out (`switch`, port), what it was then, and the hops."""

    out: tuple[str, int] | None
    packet: Packet | None
    hops: tuple[Hop, ...]


def channel_at(node: str, **fields: object) -> Channel:
    return Channel(node, SERVICES, **fields)  # type: ignore[arg-type]


def to_controller(channel: Channel, number: int, service: Service = OPENFLOW, **fields: int) -> Packet:
    """A packet of a switch as its network stack sends it: to the address that ARP gave, without a mark."""
    ends = {"l4_src": CLIENT_PORT, "l4_dst": service.tcp_port}
    if not service.at_controller:
        ends = {"l4_src": service.tcp_port, "l4_dst": CLIENT_PORT}
    given = {"ipv4_src": control_ipv4(number), "ipv4_dst": channel.controller_ipv4, "ip_proto": 6, **ends, **fields}
    return Packet(**given)


def to_switch(channel: Channel, number: int, service: Service = OPENFLOW, **fields: int) -> Packet:
    """A packet of the controller."""
    sent = to_controller(channel, number, service)
    turned = replace(sent, ipv4_src=sent.ipv4_dst, ipv4_dst=sent.ipv4_src, l4_src=sent.l4_dst, l4_dst=sent.l4_src)
    return replace(turned, **fields)


def network_of(topology: Topology, plans: dict[int, RulePlan], failed: frozenset[LinkId] = frozenset()) -> Network:
    return Network(topology, plans, Learning(), failed)


def walk(network: Network, node: str, in_port: int, packet: Packet) -> Walked:
    """Walk one packet until it leaves by a port without a link, or is dropped; it may not come round, nor be copied."""
    hops: list[Hop] = []
    hop: Hop | None = Hop(node, in_port, packet)
    while hop is not None:
        assert hop not in hops, f"the packet loops: {hops}"
        hops.append(hop)
        leaving = network.visit(hop)
        assert len(leaving) <= 1, f"the packet is copied at {hop}"
        if not leaving:
            return Walked(None, None, tuple(hops))
        ((port, left),) = leaving
        arrival = network.arrival(hop.node, port)
        if arrival is None:
            is_link = (hop.node, port) in network.ports.direction_at
            return Walked(None if is_link else (hop.node, port), left, tuple(hops))
        hop = Hop(arrival[0], arrival[1], left)
    raise AssertionError("unreachable")


def reaches_controller(network: Network, channel: Channel, topology: Topology, node: str) -> bool:
    sent = to_controller(channel, dpid_of(topology, node))
    walked = walk(network, node, OFPP_LOCAL, sent)
    if walked.out is None:
        return False
    assert walked.out == (channel.controller_at, channel.controller_port)
    assert walked.packet == replace(sent, eth_dst=channel.controller_mac, ip_dscp=40)
    return True


def reaches_switch(network: Network, channel: Channel, topology: Topology, node: str) -> bool:
    number = dpid_of(topology, node)
    sent = to_switch(channel, number)
    walked = walk(network, channel.controller_at, channel.controller_port, sent)
    if walked.out is None:
        return False
    assert walked.out == (node, OFPP_LOCAL)
    assert walked.packet == replace(sent, eth_dst=control_mac(number), ip_dscp=40)
    return True


def joined_with(plan: InBandPlan, others: dict[int, RulePlan]) -> dict[int, RulePlan]:
    """A scheme's plans with the rows of in-band control beside them."""
    return {
        dpid: replace(
            each, flows=(*each.flows, *plan.plans[dpid].flows), groups=(*each.groups, *plan.plans[dpid].groups)
        )
        for dpid, each in others.items()
    }


def is_in_band(cookie: int) -> bool:
    return split_cookie(cookie).scheme == Owner.IN_BAND
