"""A node of 1+1 protection: what it does with a packet, as sending end, receiving end, both, or neither.

The order is the paper's (section 5.3): Decaps-IP, Decaps-P, Protect&Forward. Not modelled: where the plain packets and
the copies go (OpenFlow decides).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from ipaddress import IPv4Address

from dataplane.model.flow_match import FiveTuple, FlowMatch, matches
from dataplane.model.sequence import Egress, Ingress, number_packet, receive
from dataplane.model.tunnel_header import LARGEST_CONNECTION, PROTOCOL, Tunnel, decapsulate, encapsulate, ipv4_packet
from mininet_topos.errors import BadInputError

TCP, UDP = 6, 17


@dataclass(frozen=True)
class Connection:
    """A protection connection; its number is unique at its receiving end only (section 3.3)."""

    number: int
    ingress: IPv4Address
    egress: IPv4Address


class Fate(Enum):
    """What becomes of a packet: as it is by plain routing, by both paths, or not at all."""

    PLAIN = "forward"
    PROTECT = "send by both paths"
    DROP = "drop"


@dataclass(frozen=True)
class Node:
    """A node's own address, its protected flows (the first match counts) and the state of its connections.

    `sends` is keyed by receiving end and number, `receives` by number: two receiving ends may use the same number.
    """

    address: IPv4Address
    flows: tuple[tuple[FlowMatch, Connection], ...] = ()
    sends: Mapping[tuple[IPv4Address, int], Ingress] = field(default_factory=dict)
    receives: Mapping[int, tuple[Connection, Egress]] = field(default_factory=dict)
    protocol: int = PROTOCOL


def to_node(
    address: IPv4Address,
    flows: Iterable[tuple[FlowMatch, Connection]],
    connections: Iterable[Connection],
    fresh: Egress | None = None,
) -> Node:
    """Return a node with fresh counters for all connections that begin or end there.

    Parameters
    ----------
    address
        The node's own address.
    flows : iterable of (FlowMatch, Connection)
        Its protected flows.
    connections
        All connections of the network.
    fresh
        A receiving end that has received nothing, with its options; default: the paper's.

    Returns
    -------
    Ready for the first packet.

    Raises
    ------
    BadInputError
        A number does not fit 24 bits or is used twice at one receiving end; a flow's connection begins elsewhere.
    """
    sends: dict[tuple[IPv4Address, int], Ingress] = {}
    receives: dict[int, tuple[Connection, Egress]] = {}
    used: set[tuple[IPv4Address, int]] = set()
    for one in connections:
        key = one.egress, one.number
        if not 0 <= one.number <= LARGEST_CONNECTION:
            raise BadInputError(f"connection {one.number} does not fit 24 bits: give 0 to {LARGEST_CONNECTION}")
        if key in used:
            raise BadInputError(f"connection {one.number} ends twice at {one.egress}: give one another number")
        used.add(key)
        if one.ingress == address:
            sends[key] = Ingress()
        if one.egress == address:
            receives[one.number] = one, fresh or Egress()
    flows = tuple(flows)
    for _, one in flows:
        if (one.egress, one.number) not in sends:
            raise BadInputError(
                f"a flow at {address} uses connection {one.number} to {one.egress}, which does not begin there: "
                "protect it where the connection begins"
            )
    return Node(address, flows, sends, receives)


def five_tuple(packet: bytes) -> FiveTuple | None:
    """Return the 5-tuple of an IPv4 packet; None without a TCP or UDP header (other protocols, later fragments)."""
    whole = ipv4_packet(packet)
    if whole is None:
        return None
    start, shortest = (whole[0] & 15) * 4, {TCP: 20, UDP: 8}.get(whole[9])
    if shortest is None or int.from_bytes(whole[6:8], "big") & 0x1FFF or len(whole) < start + shortest:
        return None
    ports = (int.from_bytes(whole[start + k : start + k + 2], "big") for k in (0, 2))
    return FiveTuple(IPv4Address(whole[12:16]), IPv4Address(whole[16:20]), whole[9], *ports)


def process(node: Node, packet: bytes) -> tuple[Node, Fate, bytes]:
    """Run a packet through a node.

    Parameters
    ----------
    node
        The node before.
    packet
        An IPv4 packet, or anything.

    Returns
    -------
    node : Node
        The node after; a packet that is not wholly right leaves all counters as they were.
    fate : Fate
        DROP for a second copy, and for a protected packet to this node that no connection of it explains.
    packet : bytes
        The packet as it leaves; empty when dropped.
    """
    opened = decapsulate(packet, node.protocol)
    if opened is not None and opened[0].egress == node.address:
        tunnel, packet = opened
        connection, end = node.receives.get(tunnel.connection, (None, None))
        if connection is None or end is None or connection.ingress != tunnel.ingress:
            return node, Fate.DROP, b""
        end, new = receive(end, tunnel.number)
        node = replace(node, receives={**node.receives, tunnel.connection: (connection, end)})
        if not new:
            return node, Fate.DROP, b""
    return _protect(node, packet)


def _protect(node: Node, packet: bytes) -> tuple[Node, Fate, bytes]:
    """Protect&Forward: number and wrap a packet of a protected flow; all others are plain."""
    flow = five_tuple(packet)
    found = None if flow is None else next((one for match, one in node.flows if matches(match, flow)), None)
    if found is None:
        return node, Fate.PLAIN, packet
    key = found.egress, found.number
    end, number = number_packet(node.sends[key])
    wrapped = encapsulate(packet, Tunnel(found.number, number, node.address, found.egress, node.protocol))
    if wrapped is None:
        return node, Fate.DROP, b""
    return replace(node, sends={**node.sends, key: end}), Fate.PROTECT, wrapped
