"""Protected flows, and the connections that they use: what the user wants, as values.

A connection joins a sending end (PTI) and a receiving end (PTE), both switches. Its number is unique at its receiving
end only (P4-Protect, section 3.3). Its slot is the VLAN id that stands for it between the sending end's bridge and
the hairpin port beside it, where the packet program numbers packets.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import pairwise

from mininet_topos.errors import BadInputError
from mininet_topos.topology import Topology
from ryu_apps.plan.addressing import dpid_of
from ryu_apps.plan.fields import IP_TCP, IP_UDP

PROTECTED_PROTOCOL = 253  # RFC 3692: for experiments
LARGEST_NUMBER = (1 << 24) - 1
LARGEST_SLOT = 4094
PROTOCOLS = (IP_TCP, IP_UDP)


@dataclass(frozen=True, slots=True)
class ProtectedFlow:
    """TCP or UDP packets from one host to another; None matches any port, and both protocols.

    Attributes
    ----------
    source, destination
        Switches of the hosts.
    protocol
        6 (TCP) or 17 (UDP).
    via
        Switches where its connections meet, the sending host's first; empty: one connection from end to end. Behind
        the last one packets are plain again.
    number
        Number of its connections; None: the number of the sending end among the nodes.
    """

    source: str
    destination: str
    protocol: int | None = None
    source_port: int | None = None
    destination_port: int | None = None
    via: tuple[str, ...] = ()
    number: int | None = None

    @property
    def segments(self) -> tuple[tuple[str, str], ...]:
        """(sending end, receiving end) of every connection on its way."""
        nodes = self.via or (self.source, self.destination)
        return tuple(pairwise(nodes))

    @property
    def reverse(self) -> ProtectedFlow:
        """The answers: ends and ports exchanged, the way turned round when it leads from end to end."""
        whole = not self.via or self.via[-1] == self.destination
        return ProtectedFlow(
            self.destination,
            self.source,
            self.protocol,
            self.destination_port,
            self.source_port,
            self.via[::-1] if whole else (),
            self.number,
        )


@dataclass(frozen=True, slots=True)
class Connection:
    """A protection connection between two switches."""

    number: int
    ingress: str
    egress: str
    slot: int

    def __str__(self) -> str:
        return f"{self.number} ({self.ingress} to {self.egress})"


@dataclass(frozen=True, slots=True)
class Protection:
    """Protected flows, first match first, and their connections."""

    flows: tuple[ProtectedFlow, ...] = ()
    connections: tuple[Connection, ...] = ()

    def connection(self, flow: ProtectedFlow, segment: tuple[str, str], topology: Topology) -> Connection:
        """Connection that a flow uses on a segment of its way (`KeyError` for a flow that is not protected)."""
        number = number_of(flow, segment, topology)
        for each in self.connections:
            if (each.number, each.ingress, each.egress) == (number, *segment):
                return each
        raise KeyError(flow)

    @property
    def pairs(self) -> tuple[tuple[str, str], ...]:
        """(sending end, receiving end) of all connections, each once."""
        return tuple(dict.fromkeys((each.ingress, each.egress) for each in self.connections))


def ends_of(protection: Protection) -> tuple[str, ...]:
    """Switches where connections begin or end, each once."""
    return tuple(dict.fromkeys(node for each in protection.connections for node in (each.ingress, each.egress)))


def number_of(flow: ProtectedFlow, segment: tuple[str, str], topology: Topology) -> int:
    """Number of the connection that carries a flow over a segment."""
    return dpid_of(topology, segment[0]) if flow.number is None else flow.number


def with_flow(protection: Protection, flow: ProtectedFlow, topology: Topology) -> Protection:
    """The same with one more protected flow at the end; connections that stand keep their slots.

    Raises
    ------
    BadInputError
        The flow names no two hosts of the topology, its way does not begin at its host, or its number is taken.
    """
    _check(flow, topology)
    if any(_matches_alike(flow, other) for other in protection.flows):
        raise BadInputError(f"flow {flow_text(flow)} is protected already; remove it first, or protect another")
    connections = list(protection.connections)
    for ingress, egress in flow.segments:
        number = number_of(flow, (ingress, egress), topology)
        same = [each for each in connections if (each.number, each.egress) == (number, egress)]
        if same and same[0].ingress != ingress:
            raise BadInputError(
                f"connection {number} ends at {egress} already, from {same[0].ingress}; give the flow from "
                f"{flow.source} another number"
            )
        if not same:
            taken = {each.slot for each in connections if each.ingress == ingress}
            free = next((slot for slot in range(1, LARGEST_SLOT + 1) if slot not in taken), None)
            if free is None:
                raise BadInputError(f"{LARGEST_SLOT} connections begin at {ingress} already; remove one of them first")
            connections.append(Connection(number, ingress, egress, free))
    return Protection((*protection.flows, flow), tuple(connections))


def without_flow(protection: Protection, flow: ProtectedFlow, topology: Topology) -> Protection:
    """The same without a flow, and without the connections that no other flow uses.

    Raises
    ------
    BadInputError
        It is not among them.
    """
    if flow not in protection.flows:
        raise BadInputError(f"flow {flow_text(flow)} is not protected; 'armor protect list' shows those that are")
    flows = tuple(other for other in protection.flows if other != flow)
    left = replace(protection, flows=flows)
    used = {left.connection(other, segment, topology) for other in flows for segment in other.segments}
    return replace(left, connections=tuple(each for each in protection.connections if each in used))


def protection_of(topology: Topology, flows: Iterable[ProtectedFlow]) -> Protection:
    """Protection of some flows, in their order (`BadInputError` as `with_flow`)."""
    protection = Protection()
    for flow in flows:
        protection = with_flow(protection, flow, topology)
    return protection


def flow_text(flow: ProtectedFlow) -> str:
    """A flow for people: "s4 to s10, udp to port 5000"."""
    text = f"{flow.source} to {flow.destination}"
    text += "" if flow.protocol is None else {IP_TCP: ", tcp", IP_UDP: ", udp"}[flow.protocol]
    text += "" if flow.source_port is None else f" from port {flow.source_port}"
    text += "" if flow.destination_port is None else f" to port {flow.destination_port}"
    return text + (f" via {' '.join(flow.via)}" if flow.via else "")


def _matches_alike(one: ProtectedFlow, other: ProtectedFlow) -> bool:
    return _packets(one) == _packets(other)


def _packets(flow: ProtectedFlow) -> tuple[object, ...]:
    return flow.source, flow.destination, flow.protocol, flow.source_port, flow.destination_port


def _check(flow: ProtectedFlow, topology: Topology) -> None:
    for node in (flow.source, flow.destination, *flow.via):
        if node not in topology.index_of:
            raise BadInputError(
                f"a protected flow names {node!r}, which is no node of {topology.name!r}; "
                f"write a switch such as {topology.node_names[0]}"
            )
    if flow.source == flow.destination:
        raise BadInputError(f"a protected flow goes from {flow.source} to itself; name two hosts")
    if flow.protocol is None and (flow.source_port, flow.destination_port) != (None, None):
        raise BadInputError(f"flow {flow_text(flow)} has a port but no protocol; say tcp or udp")
    if flow.via and (flow.via[0] != flow.source or len(flow.via) < 2 or len(set(flow.via)) < len(flow.via)):
        raise BadInputError(
            f"the way {' '.join(flow.via)} of a protected flow does not lead on from {flow.source}; name the switches "
            "where connections begin and end, that of the sending host first, each once"
        )
    if flow.number is not None and not 0 <= flow.number <= LARGEST_NUMBER:
        raise BadInputError(f"connection number {flow.number} does not fit 24 bits; use 0 to {LARGEST_NUMBER}")
