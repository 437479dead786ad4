"""Protected flows, and the connections that they use: what the user wants, as values.

A connection joins a sending end (PTI) and a receiving end (PTE), both switches. Its number is unique at its receiving
end only (P4-Protect, section 3.3). Its slot is the VLAN id that stands for it between the sending end's bridge and
the hairpin port beside it, where the packet program numbers packets.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from ipaddress import IPv4Network
from itertools import pairwise

from dataplane.model.flow_match import ANY_PORT, FiveTuple, FlowMatch, PortRange, covers, matches, overlaps
from dataplane.model.tunnel_header import LARGEST_CONNECTION, LARGEST_SLOT
from mininet_topos.errors import BadInputError
from mininet_topos.topology import Topology
from ryu_apps.plan.addressing import dpid_of, host_ipv4
from ryu_apps.plan.fields import IP_TCP, IP_UDP

MOST_RANKS = 256
PROTOCOLS = (IP_TCP, IP_UDP)


@dataclass(frozen=True, slots=True)
class ProtectedFlow:
    """TCP or UDP packets from one host to another: a ternary match on their 5-tuple, and the ends of their connections.

    Attributes
    ----------
    source, destination
        Switches of the hosts.
    protocol
        6 (TCP), 17 (UDP), or None for both.
    source_ports, destination_ports
        Ranges of ports.
    via
        Switches where its connections meet, the sending host's first; empty: one connection from end to end. Behind
        the last one packets are plain again.
    number
        Number of its connections; None: the number of the sending end among the nodes.
    source_prefix, destination_prefix
        Addresses that packets may have in place of the hosts' own (None). Packets enter at `source` all the same, and
        leave the last connection where they would with the host's address; from there they are plain.
    """

    source: str
    destination: str
    protocol: int | None = None
    source_ports: PortRange = ANY_PORT
    destination_ports: PortRange = ANY_PORT
    via: tuple[str, ...] = ()
    number: int | None = None
    source_prefix: IPv4Network | None = None
    destination_prefix: IPv4Network | None = None

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
            self.destination_ports,
            self.source_ports,
            self.via[::-1] if whole else (),
            self.number,
            self.destination_prefix,
            self.source_prefix,
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
    """Protected flows, of which the first that matches a packet counts, and their connections."""

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
        The flow names no two hosts of the topology, its way does not begin at its host, its number is taken, or it
        conflicts with an earlier flow: it would never match, or one would protect the other's packets a second time.
    """
    _check(flow, topology)
    for other in protection.flows:
        _refuse_conflict(other, flow, topology)
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
    text += "" if flow.source_prefix is None else f", from {flow.source_prefix}"
    text += "" if flow.destination_prefix is None else f", to {flow.destination_prefix}"
    text += "" if flow.protocol is None else {IP_TCP: ", tcp", IP_UDP: ", udp"}[flow.protocol]
    text += "" if flow.source_ports == ANY_PORT else f" from port {flow.source_ports}"
    text += "" if flow.destination_ports == ANY_PORT else f" to port {flow.destination_ports}"
    return text + (f" via {' '.join(flow.via)}" if flow.via else "")


# ---- what flows match, and which of two counts
def match_of(flow: ProtectedFlow, topology: Topology) -> FlowMatch:
    """The ternary match of a flow's packets."""
    return FlowMatch(
        flow.source_prefix or _host_network(flow.source, topology),
        flow.destination_prefix or _host_network(flow.destination, topology),
        flow.protocol,
        flow.source_ports,
        flow.destination_ports,
    )


def _host_network(node: str, topology: Topology) -> IPv4Network:
    return IPv4Network(host_ipv4(dpid_of(topology, node)))


def first_match(protection: Protection, source: str, packet: FiveTuple, topology: Topology) -> ProtectedFlow | None:
    """The flow that a packet belongs to which the host of a switch sends; None: it is not protected."""
    entering = (flow for flow in protection.flows if flow.source == source)
    return next((flow for flow in entering if matches(match_of(flow, topology), packet)), None)


def ranks_of(protection: Protection, topology: Topology) -> tuple[int, ...]:
    """How many steps below the highest priority the rows of each flow stand, so that the first match counts.

    A flow stands one step below the lowest of the earlier flows that it shares packets with. Flows that share none
    have the same rank, and a flow at the end moves none before it.

    Raises
    ------
    BadInputError
        More flows in a chain of overlaps than there are priorities.
    """
    ranks: list[int] = []
    for place, flow in enumerate(protection.flows):
        earlier = zip(protection.flows[:place], ranks, strict=True)
        below = [rank for other, rank in earlier if _meet(other, flow, topology)]
        ranks.append(max(below, default=-1) + 1)
        if ranks[-1] >= MOST_RANKS:
            raise BadInputError(
                f"flow {flow_text(flow)} overlaps a chain of {MOST_RANKS} flows before it, and switches tell no more "
                "apart; remove some, or give them ports and prefixes that do not overlap"
            )
    return tuple(ranks)


def _meet(one: ProtectedFlow, other: ProtectedFlow, topology: Topology) -> bool:
    """Whether a packet may match both; most flows have no prefix and other hosts, which is quick to see."""
    if one.source != other.source and not (one.source_prefix or other.source_prefix):
        return False
    if one.destination != other.destination and not (one.destination_prefix or other.destination_prefix):
        return False
    return overlaps(match_of(one, topology), match_of(other, topology))


def _refuse_conflict(earlier: ProtectedFlow, later: ProtectedFlow, topology: Topology) -> None:
    if not _meet(earlier, later, topology):
        return
    wide, narrow = match_of(earlier, topology), match_of(later, topology)
    if earlier.source == later.source and covers(wide, narrow):
        if wide == narrow:
            raise BadInputError(f"flow {flow_text(later)} is protected already; remove it first, or protect another")
        raise BadInputError(
            f"flow {flow_text(later)} never matches a packet, since flow {flow_text(earlier)} comes first; "
            "put it before that one, or remove that one first and add both in this order"
        )
    pairs = [(earlier, later, False)]
    pairs += [] if earlier.source == later.source else [(later, earlier, True)]
    for traveller, other, is_first in pairs:
        node = _taken_over_at(traveller, other, is_first=is_first)
        if node is not None:
            raise BadInputError(
                f"flow {flow_text(other)} would protect packets of flow {flow_text(traveller)} again at {node}; "
                f"narrow its prefixes, or leave {node} out of its via"
            )


def _taken_over_at(traveller: ProtectedFlow, other: ProtectedFlow, *, is_first: bool) -> str | None:
    """Receiving end where packets of one flow would go on as those of another flow that is earlier, or not."""
    following = (*traveller.segments[1:], None)
    for (_, end), wanted in zip(traveller.segments, following, strict=True):
        onward = next((segment for segment in other.segments[1:] if segment[0] == end), None)
        if onward is not None and (wanted is None or (is_first and onward != wanted)):
            return end
    return None


def _check(flow: ProtectedFlow, topology: Topology) -> None:
    for node in (flow.source, flow.destination, *flow.via):
        if node not in topology.index_of:
            raise BadInputError(
                f"a protected flow names {node!r}, which is no node of {topology.name!r}; "
                f"write a switch such as {topology.node_names[0]}"
            )
    if flow.source == flow.destination:
        raise BadInputError(f"a protected flow goes from {flow.source} to itself; name two hosts")
    for node, prefix in ((flow.source, flow.source_prefix), (flow.destination, flow.destination_prefix)):
        host = _host_network(node, topology)
        if prefix is not None and not host.subnet_of(prefix):
            raise BadInputError(
                f"prefix {prefix} of a protected flow does not hold {host.network_address}, the host at {node}; "
                "widen it, or name a host that is in it"
            )
    if flow.protocol is None and (flow.source_ports, flow.destination_ports) != (ANY_PORT, ANY_PORT):
        raise BadInputError(f"flow {flow_text(flow)} has a port but no protocol; say tcp or udp")
    if flow.via and (flow.via[0] != flow.source or len(flow.via) < 2 or len(set(flow.via)) < len(flow.via)):
        raise BadInputError(
            f"the way {' '.join(flow.via)} of a protected flow does not lead on from {flow.source}; name the switches "
            "where connections begin and end, that of the sending host first, each once"
        )
    if flow.number is not None and not 0 <= flow.number <= LARGEST_CONNECTION:
        raise BadInputError(f"connection number {flow.number} does not fit 24 bits; use 0 to {LARGEST_CONNECTION}")
