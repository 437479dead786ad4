"""One packet through the whole network, step by step: the readable oracle of `armor verify`."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from typing import Protocol

from mininet_topos.ports import HOST_PORT, PortMap, assign_ports
from mininet_topos.topology import Direction, LinkId, Topology
from ryu_apps.plan.addressing import dpid_of
from ryu_apps.plan.ids import Kind, split_cookie
from ryu_apps.plan.interpret import Packet, SwitchModel, SwitchResult, interpret_switch
from ryu_apps.plan.notification import is_notification
from ryu_apps.plan.rows import FlowRow, RulePlan

DELIVERED, DROPPED, LOOPED = "delivered", "dropped", "looped"


class Dynamics(Protocol):
    """How rows come to a switch after a failure: by `learn`, or by the switch-local agent.

    Attributes
    ----------
    reads_source
        Whether reactions to packets in transit depend on where they come from; at the destination they always may.
    """

    reads_source: bool

    def standing_rows(self, dpid: int, failed_ports: frozenset[int]) -> tuple[FlowRow, ...]:
        """Rows that are there once the switch knows that these ports are down."""

    def react(
        self, dpid: int, failed_ports: frozenset[int], result: SwitchResult
    ) -> tuple[tuple[FlowRow, ...], tuple[tuple[int, Packet], ...]]:
        """Rows that come, and packets that are released (port, packet), after one packet's visit."""


class Learning:
    """Learned mode, and every scheme without rows that come later: only `learn` adds rows."""

    reads_source = False

    def standing_rows(self, _dpid: int, _failed_ports: frozenset[int]) -> tuple[FlowRow, ...]:
        """No rows: the port groups act at once."""
        return ()

    def react(
        self, _dpid: int, _failed_ports: frozenset[int], result: SwitchResult
    ) -> tuple[tuple[FlowRow, ...], tuple[tuple[int, Packet], ...]]:
        """What the packet's `learn` actions added."""
        return result.learned, ()


@dataclass(frozen=True, slots=True)
class Hop:
    """A packet at a switch."""

    node: str
    in_port: int
    packet: Packet


@dataclass(frozen=True, slots=True)
class WalkResult:
    """Outcome of a walk (`delivered`, `dropped`, `looped`) and the hops, in order; those of its notifications apart.

    `deliveries` counts how often the packet, or a copy of it, left by the host port of its destination; `astray`, how
    often it left by another host port, or tagged.
    """

    outcome: str
    hops: tuple[Hop, ...]
    notifications: tuple[Hop, ...] = ()
    deliveries: int = 0
    astray: int = 0

    @property
    def path(self) -> tuple[str, ...]:
        """Switches visited, in order."""
        return tuple(hop.node for hop in self.hops)


class Network:
    """Plans, links and failures, and the rows that have come to each switch since.

    Parameters
    ----------
    plans
        Rule plans by datapath id.
    failed
        Links that carry nothing; the switches at their ends know it.
    slot
        Slot that `multipath` and select groups choose for the packets, at every switch.
    """

    def __init__(
        self,
        topology: Topology,
        plans: dict[int, RulePlan],
        dynamics: Dynamics,
        failed: frozenset[LinkId] = frozenset(),
        slot: int = 0,
    ) -> None:
        self.topology, self.dynamics = topology, dynamics
        self.ports: PortMap = assign_ports(topology)
        self.models = {plan.node: SwitchModel(plan) for plan in plans.values()}
        self.failed, self.slot = failed, slot
        self.rows: dict[str, dict[tuple[object, ...], FlowRow]] = {node: {} for node in topology.node_names}
        for node in topology.node_names:
            self._add(node, dynamics.standing_rows(dpid_of(topology, node), self.failed_ports(node)))

    def with_failed(self, failed: frozenset[LinkId]) -> Network:
        """The same switches with other failed links, and no rows but those that then stand."""
        other = copy(self)
        other.failed = failed
        other.rows = {node: {} for node in self.topology.node_names}
        for node in {end for link in failed for end in (link.a, link.b)}:
            other._add(node, self.dynamics.standing_rows(dpid_of(self.topology, node), other.failed_ports(node)))
        return other

    def failed_ports(self, node: str) -> frozenset[int]:
        """Ports of a switch whose link has failed."""
        links = (link.direction for link in self.topology.links_from[node])
        return frozenset(self.ports.port_of[each] for each in links if self.topology.link_id(each) in self.failed)

    def visit(self, hop: Hop) -> tuple[tuple[int, Packet], ...]:
        """Packets that leave the switch (port, packet); rows that the visit causes are kept."""
        result = self.interpret(hop)
        dpid = dpid_of(self.topology, hop.node)
        rows, released = self.dynamics.react(dpid, self.failed_ports(hop.node), result)
        self._add(hop.node, rows)
        return tuple((port, packet) for port, packet, _ in result.outputs) + released

    def interpret(self, hop: Hop) -> SwitchResult:
        """What the switch does with the packet, without the rows that this would cause."""
        live = frozenset(port for (node, port) in self.ports.direction_at if node == hop.node) | {HOST_PORT}
        extra = tuple(self.rows[hop.node].values())
        usable = live - self.failed_ports(hop.node)
        return interpret_switch(self.models[hop.node], hop.packet, hop.in_port, usable, extra, slot=self.slot)

    def send(self, source: str, packet: Packet) -> WalkResult:
        """Walk a packet from the host behind `source` until it is delivered, dropped or comes round again.

        A packet that is copied counts as delivered once the first copy is, and as looped if any loops.
        """
        hops: list[Hop] = []
        notifications: list[Hop] = []
        waiting = [Hop(source, HOST_PORT, packet)]
        deliveries = astray = 0
        while waiting:
            hop = waiting.pop()
            passed = notifications if is_notification(hop.packet.vlan_tci) else hops
            if hop in passed:
                return WalkResult(LOOPED, tuple(hops), tuple(notifications), deliveries, astray)
            passed.append(hop)
            for port, leaving in self.visit(hop):
                if port == HOST_PORT:
                    is_delivered = is_delivery(self.models[hop.node].plan, leaving)
                    deliveries, astray = deliveries + is_delivered, astray + (not is_delivered)
                elif (arrival := self.arrival(hop.node, port)) is not None:
                    waiting.append(Hop(arrival[0], arrival[1], leaving))
        outcome = DELIVERED if deliveries else DROPPED
        return WalkResult(outcome, tuple(hops), tuple(notifications), deliveries, astray)

    def arrival(self, node: str, port: int) -> tuple[str, int] | None:
        """(node, in_port) at the far end of a port; None for a host port or a failed link."""
        direction = self.ports.direction_at.get((node, port))
        if direction is None or self.topology.link_id(direction) in self.failed:
            return None
        return direction.dst, self.ports.port_of[Direction(direction.dst, direction.src, direction.key)]

    def _add(self, node: str, rows: tuple[FlowRow, ...]) -> None:
        for row in rows:
            if knowledge_of(row) >= knowledge_of(self.rows[node].get(row.key, row)):
                self.rows[node][row.key] = row


def knowledge_of(row: FlowRow) -> int:
    """Of two rows of an agent for the same packets the one that knows more stays; of others the later one does."""
    fields = split_cookie(row.cookie)
    return fields.tag_id if fields.kind == Kind.AGENT else 0


def is_delivery(plan: RulePlan, packet: Packet) -> bool:
    """Whether a packet that leaves by the host port is for that host, and clean."""
    return packet.ipv4_dst in plan.local_ipv4 and not packet.vlan_tci and not packet.mpls
