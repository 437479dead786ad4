"""Tunnel plans held to a real Open vSwitch: same packets, the hash slot that the switch chose, same answers.

The interpreter does not compute hashes. The switch's own slot is read from its answer and given to the interpreter, so
what is compared is everything else: ranges, labels and TCs or DSCP and ECN, queues, ports, pops.
"""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from random import Random

from experiments.verify.against_ovs.compare import Comparison
from experiments.verify.against_ovs.datapath_actions import PUSH_MPLS, flow_of
from experiments.verify.against_ovs.dummy_ovs import DummyOvs, dummy_ovs
from mininet_topos.errors import PlanError
from mininet_topos.ports import HOST_PORT, PortMap, assign_ports
from mininet_topos.topology import Direction, Topology
from ryu_apps.plan.dump_parse import split_list
from ryu_apps.plan.fields import IP_ICMP, IP_TCP, IP_UDP
from ryu_apps.plan.ids import Table
from ryu_apps.plan.interpret import Packet, SwitchModel, interpret_switch
from ryu_apps.plan.rows import RulePlan

_QUEUE = re.compile(r"set\(skb_priority\((?:0x)?([0-9a-f]+)\)\)")
_PORT = re.compile(r"b\d+p(\d+)")
_SLOT = re.compile(r"NXM_NX_REG0\[[0-9.]*\] is now 0x([0-9a-f]+)")
_TOS = re.compile(r"set\(ipv4\((?:[^()]*,)?tos=(0x[0-9a-f]+|0)(?:/(0x[0-9a-f]+))?(?:,[^()]*)?\)\)")
_ACTIONS = re.compile(r"^Datapath actions: (.*)$", re.MULTILINE)
_DSCP_SHIFT, _ECN_BITS, _TOS_BITS = 2, 0b11, 0xFF
_FOREIGN_SHARE, _TUNNEL_SHARE = 0.1, 0.2  # of the packets drawn


@dataclass(frozen=True, slots=True)
class TunnelForwarding:
    """What one switch did with a packet.

    Attributes
    ----------
    outputs : tuple of (int, Packet, int)
        (port, packet as it leaves, queue) of every copy, in order.
    punts
        Copies for the agent.
    """

    outputs: tuple[tuple[int, Packet, int], ...] = ()
    punts: int = 0


def tunnel_flow_of(packet: Packet, in_port: int) -> str:
    """A packet, labelled or not, in the syntax of `ofproto/trace`."""
    flow = flow_of(packet, in_port)
    return flow if packet.mpls else f"{flow},nw_tos={packet.ip_dscp << _DSCP_SHIFT},nw_ecn={packet.ip_ecn}"


def parse_tunnel_trace(text: str, packet: Packet) -> tuple[TunnelForwarding, int]:
    """The switch's answer for a packet, and the hash slot that it chose (0 where it did not hash).

    Raises
    ------
    PlanError
        No answer, or an action that is not understood.
    """
    answers = _ACTIONS.findall(text)
    if len(answers) != 1:
        raise PlanError(f"the trace holds {len(answers)} answers: {text.strip()[-300:]}")
    queue_id, outputs, punts = 0, [], 0
    for action in split_list(answers[0]):
        port, pushed, queue = _PORT.fullmatch(action), PUSH_MPLS.fullmatch(action), _QUEUE.fullmatch(action)
        if port:
            outputs.append((int(port[1]), packet, queue_id))
        elif pushed:
            packet = replace(packet, mpls=((int(pushed[1]), int(pushed[2])), *packet.mpls))
        elif tos := _TOS.fullmatch(action):
            packet = _with_tos(packet, int(tos[1], 16), int(tos[2] or hex(_TOS_BITS), 16))
        elif queue:
            queue_id = int(queue[1], 16)
        elif action == "pop_mpls(eth_type=0x800)":
            packet = replace(packet, mpls=packet.mpls[1:])
        elif action.startswith("userspace("):
            punts += 1
        elif action != "drop":
            raise PlanError(f"the trace answers {action!r}, which the parser does not know: {answers[0]}")
    slot = _SLOT.search(text)
    return TunnelForwarding(tuple(outputs), punts), int(slot[1], 16) if slot else 0


def _with_tos(packet: Packet, value: int, mask: int) -> Packet:
    """The packet with some bits of the byte of DSCP and ECN written."""
    tos = (packet.ip_dscp << _DSCP_SHIFT | packet.ip_ecn) & ~mask | value & mask
    return replace(packet, ip_dscp=tos >> _DSCP_SHIFT, ip_ecn=tos & _ECN_BITS)


def compare_tunnels(
    topology: Topology,
    installed: dict[int, RulePlan],
    interpreted: dict[int, RulePlan],
    *,
    samples: int,
    seed: int,
) -> Comparison:
    """Send random packets through tunnel plans, in the interpreter and in a real Open vSwitch.

    Parameters
    ----------
    installed, interpreted
        Plans by datapath id for the switch and for the interpreter: one and the same, except when the switch holds
        another shape of the plan, or when a test asks whether a difference would be seen.
    samples
        Packets to inject; each is followed to its end and compared at every switch.

    Raises
    ------
    MissingRequirementError
        Open vSwitch is not installed.
    """
    started = time.monotonic()
    outcome = Comparison()
    with dummy_ovs() as switch:
        walk = _Walk(topology, installed, interpreted, switch)
        for node, in_port, packet in draw_packets(topology, interpreted, samples, seed):
            outcome = walk.follow(outcome.plus(packets=1), node, in_port, packet)
    return replace(outcome, seconds=round(time.monotonic() - started, 3))


def draw_packets(
    topology: Topology, plans: dict[int, RulePlan], samples: int, seed: int
) -> Iterator[tuple[str, int, Packet]]:
    """Packets of hosts to all destinations, packets in tunnels from neighbours, and some that nobody should send.

    Yields
    ------
    (str, int, Packet)
        Switch, port that it comes in by, packet.
    """
    random = Random(seed)
    nodes = {plan.node: plan for plan in plans.values()}
    in_tunnels = {node: _tunnel_terms(plan) for node, plan in nodes.items()}
    addresses = [address for plan in plans.values() for address in plan.local_ipv4]
    link_ports = sorted(assign_ports(topology).direction_at)
    for _ in range(samples):
        node = random.choice(topology.node_names)
        packet = Packet(
            random.choice(nodes[node].local_ipv4 or (0,)),
            random.choice(addresses) if random.random() > _FOREIGN_SHARE else random.getrandbits(32),
            ip_proto=random.choice((IP_TCP, IP_UDP, IP_ICMP)),
            l4_src=random.randrange(1, 1 << 16),
            l4_dst=random.randrange(1, 1 << 16),
            ip_dscp=random.choice((0, 0, 8, 10, 18, 26, 46)),
            ip_ecn=random.choice((0, 0, 1, 2, 3)),
        )
        if random.random() < _TUNNEL_SHARE and in_tunnels[node]:
            in_port = random.choice([HOST_PORT, *(port_no for name, port_no in link_ports if name == node)])
            yield node, in_port, _in_tunnel(packet, random.choice(in_tunnels[node]), random)
        else:
            yield node, HOST_PORT, packet


def _tunnel_terms(plan: RulePlan) -> list[dict[str, int]]:
    """What packets in tunnels show that the rows of a switch know."""
    rows = (row for row in plan.flows if row.table_id == Table.TE_TRANSIT)
    return [{name: value for name, value, _ in row.match} for row in rows]


def _in_tunnel(packet: Packet, terms: dict[str, int], random: Random) -> Packet:
    """A packet as a row of a tunnel knows it, or the same with another tag."""
    if "mpls_label" in terms:
        return replace(packet, mpls=((terms["mpls_label"], random.choice((terms["mpls_tc"], 3))),))
    ecn = random.choice((terms["ip_ecn"], packet.ip_ecn))
    dscp, source, destination = terms["ip_dscp"], terms["ipv4_src"], terms["ipv4_dst"]
    return replace(packet, ipv4_src=source, ipv4_dst=destination, ip_dscp=dscp, ip_ecn=ecn)


class _Walk:
    """The same network twice: as models, and as bridges of a private switch."""

    def __init__(
        self, topology: Topology, installed: dict[int, RulePlan], interpreted: dict[int, RulePlan], switch: DummyOvs
    ) -> None:
        self.switch = switch
        self.ports: PortMap = assign_ports(topology)
        self.models = {plan.node: SwitchModel(plan) for plan in interpreted.values()}
        count = Counter(node for node, _ in self.ports.direction_at)
        self.port_nos = {node: frozenset(range(HOST_PORT, HOST_PORT + count[node] + 1)) for node in topology.node_names}
        switch.add_bridges({plan.dpid: sorted(self.port_nos[plan.node]) for plan in installed.values()})
        for plan in installed.values():
            switch.install(plan)

    def follow(self, outcome: Comparison, node: str, in_port: int, packet: Packet) -> Comparison:
        """Follow one packet until it is dropped or delivered, or the two disagree."""
        while True:
            flow = tunnel_flow_of(packet, in_port)
            observed, slot = parse_tunnel_trace(self.switch.trace(self.models[node].plan.dpid, flow), packet)
            result = interpret_switch(self.models[node], packet, in_port, self.port_nos[node], slot=slot)
            expected = TunnelForwarding(result.outputs, len(result.punts))
            outcome = outcome.plus(hops=1)
            if expected != observed:
                return outcome.differing(
                    f"{node}, {flow}, slot {slot}: expected {expected}; Open vSwitch says {observed}"
                )
            if not observed.outputs or observed.outputs[0][0] == HOST_PORT:
                return outcome
            ((port_no, packet, _),) = observed.outputs
            leaving = self.ports.direction_at[node, port_no]
            node = leaving.dst
            in_port = self.ports.port_of[Direction(leaving.dst, leaving.src, leaving.key)]
