"""Tunnel plans held to a real Open vSwitch: same packets, the hash slot that the switch chose, same answers.

The interpreter does not compute hashes. The switch's own slot is read from its answer and given to the interpreter, so
what is compared is everything else: ranges, labels, traffic classes, queues, ports, pops.
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
from ryu_apps.plan.interpret import Packet, SwitchModel, interpret_switch
from ryu_apps.plan.rows import RulePlan

_QUEUE = re.compile(r"set\(skb_priority\((?:0x)?([0-9a-f]+)\)\)")
_PORT = re.compile(r"b\d+p(\d+)")
_SLOT = re.compile(r"NXM_NX_REG0\[[0-9.]*\] is now 0x([0-9a-f]+)")
_ACTIONS = re.compile(r"^Datapath actions: (.*)$", re.MULTILINE)
_DSCP_SHIFT = 2
_FOREIGN_SHARE, _LABELLED_SHARE = 0.1, 0.2  # of the packets drawn


@dataclass(frozen=True, slots=True)
class LabelledForwarding:
    """What one switch did with a packet.

    Attributes
    ----------
    outputs : tuple of (int, tuple of (int, int), int)
        (port, labels with their TCs, queue) of every copy, in order.
    punts
        Copies for the agent.
    """

    outputs: tuple[tuple[int, tuple[tuple[int, int], ...], int], ...] = ()
    punts: int = 0


def labelled_flow_of(packet: Packet, in_port: int) -> str:
    """A packet, labelled or not, in the syntax of `ofproto/trace`."""
    flow = flow_of(packet, in_port)
    return flow if packet.mpls else f"{flow},nw_tos={packet.ip_dscp << _DSCP_SHIFT}"


def parse_labelled_trace(text: str, packet: Packet) -> tuple[LabelledForwarding, int]:
    """The switch's answer for a packet, and the hash slot that it chose (0 where it did not hash).

    Raises
    ------
    PlanError
        No answer, or an action that is not understood.
    """
    answers = _ACTIONS.findall(text)
    if len(answers) != 1:
        raise PlanError(f"the trace holds {len(answers)} answers: {text.strip()[-300:]}")
    labels, queue_id, outputs, punts = packet.mpls, 0, [], 0
    for action in split_list(answers[0]):
        port, pushed, queue = _PORT.fullmatch(action), PUSH_MPLS.fullmatch(action), _QUEUE.fullmatch(action)
        if port:
            outputs.append((int(port[1]), labels, queue_id))
        elif pushed:
            labels = ((int(pushed[1]), int(pushed[2])), *labels)
        elif queue:
            queue_id = int(queue[1], 16)
        elif action == "pop_mpls(eth_type=0x800)":
            labels = labels[1:]
        elif action.startswith("userspace("):
            punts += 1
        elif action != "drop":
            raise PlanError(f"the trace answers {action!r}, which the parser does not know: {answers[0]}")
    slot = _SLOT.search(text)
    return LabelledForwarding(tuple(outputs), punts), int(slot[1], 16) if slot else 0


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
    """Packets of hosts to all destinations, labelled ones from neighbours, and some that nobody should send.

    Yields
    ------
    (str, int, Packet)
        Switch, port that it comes in by, packet.
    """
    random = Random(seed)
    nodes = {plan.node: plan for plan in plans.values()}
    labelled = {node: _labels(plan) for node, plan in nodes.items()}
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
        )
        if random.random() < _LABELLED_SHARE and labelled[node]:
            in_port = random.choice([HOST_PORT, *(port_no for name, port_no in link_ports if name == node)])
            mark = random.choice(labelled[node])
            yield node, in_port, replace(packet, mpls=((mark[0], random.choice((mark[1], 3))),))
        else:
            yield node, HOST_PORT, packet


def _labels(plan: RulePlan) -> list[tuple[int, int]]:
    """(label, TC) that the rows of a switch know."""
    matches = [{name: value for name, value, _ in row.match} for row in plan.flows]
    return sorted({(each["mpls_label"], each["mpls_tc"]) for each in matches if "mpls_label" in each})


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
            flow = labelled_flow_of(packet, in_port)
            observed, slot = parse_labelled_trace(self.switch.trace(self.models[node].plan.dpid, flow), packet)
            result = interpret_switch(self.models[node], packet, in_port, self.port_nos[node], slot=slot)
            outputs = tuple((port, leaving.mpls, queue) for port, leaving, queue in result.outputs)
            expected = LabelledForwarding(outputs, len(result.punts))
            outcome = outcome.plus(hops=1)
            if expected != observed:
                return outcome.differing(
                    f"{node}, {flow}, slot {slot}: expected {expected}; Open vSwitch says {observed}"
                )
            if not observed.outputs or observed.outputs[0][0] == HOST_PORT:
                return outcome
            ((port_no, labels, _),) = observed.outputs
            leaving = self.ports.direction_at[node, port_no]
            node, packet = leaving.dst, replace(packet, mpls=labels)
            in_port = self.ports.port_of[Direction(leaving.dst, leaving.src, leaving.key)]
