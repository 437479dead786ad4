"""The maps of the 1+1 program as values: ends, flows and ports as they stand in the kernel (programs/protect.h)."""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address

from dataplane.model.flow_match import FlowMatch
from dataplane.model.protection_node import Connection
from dataplane.model.sequence import Egress, Ingress
from dataplane.model.tunnel_header import LARGEST_CONNECTION, LARGEST_SLOT
from mininet_topos.errors import BadInputError

MAX_FLOWS = 64
# The bits of a history are kept in words of 64; those that numbers ahead will use must not be remembered ones.
HISTORY_NUMBERS = 1024
MAX_HISTORY = HISTORY_NUMBERS - 64

INDEX = struct.Struct("=I")
_NODE = struct.Struct("=4sIII")
_PORT = struct.Struct("=IIII")
_SENDING = struct.Struct("=I4sIIQ")
_RECEIVING = struct.Struct("=II4sIII4Q16Q")
_FLOW = struct.Struct("=4s4s4s4s4HBxH")
_TOTALS = struct.Struct("=4Q")
_RESERVED_PROTOCOLS = {1: "ICMP", 4: "IP in IP", 6: "TCP", 17: "UDP"}


@dataclass(frozen=True)
class PortUse:
    """What becomes of packets that come in by an interface; 0 is no interface.

    `plain` is where unprotected packets go, `first` and `second` where the copies of protected ones go; `tags` says
    that a VLAN tag names the connection, as on the hairpin.
    """

    plain: int
    first: int
    second: int = 0
    tags: bool = False


@dataclass(frozen=True)
class NodeCounters:
    """What a node has done with packets; all but `sent`, `accepted`, `late` and `plain` were dropped.

    `late` are among `accepted`. `unknown` came to this node, but no connection explains them; `gso` were merged
    segments, which offloads of a host must not leave behind; `failed` did not fit their headers.
    """

    sent: int = 0
    accepted: int = 0
    late: int = 0
    duplicate: int = 0
    out_of_window: int = 0
    unknown: int = 0
    gso: int = 0
    plain: int = 0
    failed: int = 0


@dataclass(frozen=True)
class SendingEnd:
    """A sending end as the kernel holds it: the connection's receiving end and number, the last number, packets."""

    egress: IPv4Address
    connection: int
    ingress: Ingress
    sent: int = 0


@dataclass(frozen=True)
class ReceivingEnd:
    """A receiving end as the kernel holds it; `duplicate` and `out_of_window` together are the model's `dropped`."""

    source: IPv4Address
    egress: Egress
    duplicate: int = 0
    out_of_window: int = 0


def pack_node(address: IPv4Address, protocol: int, table: int) -> bytes:
    """Bytes of the node: its address, the IP protocol number, which flow table counts.

    Raises
    ------
    BadInputError
        The protocol number is one that hosts use.
    """
    if protocol in _RESERVED_PROTOCOLS or not 0 < protocol < 255:
        raise BadInputError(
            f"protocol {protocol} cannot mark protected packets"
            f"{' (' + _RESERVED_PROTOCOLS[protocol] + ')' if protocol in _RESERVED_PROTOCOLS else ''}: "
            "give 253 or another free number below 255"
        )
    return _NODE.pack(address.packed, protocol, table, 0)


def pack_port(use: PortUse) -> bytes:
    """Bytes of an interface's use."""
    return _PORT.pack(use.plain, use.first, use.second, use.tags)


def pack_sending(end: SendingEnd) -> bytes:
    """Bytes of a sending end."""
    return _SENDING.pack(1, end.egress.packed, end.connection, end.ingress.last, end.sent)


def unpack_sending(data: bytes) -> SendingEnd | None:
    """Read a sending end; None for a slot that stands for no connection."""
    used, egress, connection, last, sent = _SENDING.unpack(data)
    return SendingEnd(IPv4Address(egress), connection, Ingress(last), sent) if used else None


def empty_sending() -> bytes:
    """Bytes of a slot that stands for no connection."""
    return bytes(_SENDING.size)


def _seen_words(last: int, seen: int, history: int) -> list[int]:
    """The history by number modulo 1,024, in words of 64 bits; all that it does not hold counts as seen.

    Numbers above `last` in its own word must be clear, because a word is cleared when its first number comes.
    """
    words = [(1 << 64) - 1] * (HISTORY_NUMBERS // 64)
    for behind in range(history):
        number = (last - behind) % HISTORY_NUMBERS
        if not seen >> behind & 1:
            words[number // 64] &= ~(1 << number % 64)
    words[last % HISTORY_NUMBERS // 64] &= (1 << last % 64 + 1) - 1
    return words


def _seen_bits(last: int, words: Sequence[int], history: int) -> int:
    """The history as the model holds it: bit k stands for `last` - k."""
    numbers = ((last - behind) % HISTORY_NUMBERS for behind in range(history))
    return sum((words[number // 64] >> number % 64 & 1) << behind for behind, number in enumerate(numbers))


def pack_receiving(end: ReceivingEnd) -> bytes:
    """Bytes of a receiving end.

    Raises
    ------
    BadInputError
        Its numbers have other than 32 bits, or its history is longer than the program's.
    """
    egress = end.egress
    if egress.bits != 32:
        raise BadInputError(f"numbers of {egress.bits} bits: the header has room for 32")
    if egress.history > MAX_HISTORY:
        raise BadInputError(f"a history of {egress.history} numbers: the program keeps at most {MAX_HISTORY}")
    words = _seen_words(egress.last, egress.seen, egress.history)
    counters = egress.accepted, egress.late, end.duplicate, end.out_of_window
    return _RECEIVING.pack(0, egress.last, end.source.packed, egress.window, egress.history, 0, *counters, *words)


def unpack_receiving(data: bytes) -> ReceivingEnd:
    """Read a receiving end."""
    _, last, source, window, history, _, accepted, late, duplicate, beyond, *words = _RECEIVING.unpack(data)
    seen = _seen_bits(last, words, history)
    egress = Egress(last, 32, window, history, seen, accepted, late, duplicate + beyond)
    return ReceivingEnd(IPv4Address(source), egress, duplicate, beyond)


def pack_flows(flows: Sequence[tuple[FlowMatch, Connection]], slots: Mapping[Connection, int]) -> bytes:
    """Bytes of a flow table.

    Parameters
    ----------
    flows : sequence of (FlowMatch, Connection)
        The first that matches counts.
    slots
        The slot of each connection that begins here.

    Raises
    ------
    BadInputError
        Too many rows, or a connection that does not begin here.
    """
    if len(flows) > MAX_FLOWS:
        raise BadInputError(f"{len(flows)} protected flows: the program matches {MAX_FLOWS}, a bridge any number")
    rows = [_pack_flow(match, _slot_of(connection, slots)) for match, connection in flows]
    return INDEX.pack(len(rows)) + INDEX.pack(0) + b"".join(rows).ljust(MAX_FLOWS * _FLOW.size, b"\0")


def _slot_of(connection: Connection, slots: Mapping[Connection, int]) -> int:
    if connection not in slots:
        raise BadInputError(
            f"a protected flow uses connection {connection.number} to {connection.egress}, "
            "which does not begin at this node: add the connection first"
        )
    return slots[connection]


def _pack_flow(match: FlowMatch, slot: int) -> bytes:
    return _FLOW.pack(
        match.source.network_address.packed,
        match.source.netmask.packed,
        match.destination.network_address.packed,
        match.destination.netmask.packed,
        match.source_ports.first,
        match.source_ports.last,
        match.destination_ports.first,
        match.destination_ports.last,
        match.protocol or 0,
        slot,
    )


def assign_slots(
    before: Mapping[Connection, int], wanted: Iterable[Connection], given: Mapping[Connection, int] | None = None
) -> dict[Connection, int]:
    """Give each connection that begins at a node a slot.

    Parameters
    ----------
    before
        Slots so far, which are kept.
    wanted
        Connections that begin at the node, in order.
    given
        Slots that a plan has chosen; they come first. Without it, or for others, the lowest that is free.

    Raises
    ------
    BadInputError
        A slot that is no VLAN id or is given twice, more connections than VLAN ids, or a number that does not fit.
    """
    wanted, given = list(dict.fromkeys(wanted)), given or {}
    chosen = {one: given[one] for one in wanted if one in given}
    for slot, count in Counter(chosen.values()).items():
        if not 1 <= slot <= LARGEST_SLOT or count > 1:
            raise BadInputError(
                f"slot {slot} is given to {count} connections: give each its own VLAN id, 1 to {LARGEST_SLOT}"
            )
    kept = {one: before[one] for one in wanted if one in before and one not in chosen}
    kept = {one: slot for one, slot in kept.items() if slot not in chosen.values()} | chosen
    free = (slot for slot in range(1, LARGEST_SLOT + 1) if slot not in set(kept.values()))
    for one in wanted:
        if not 0 <= one.number <= LARGEST_CONNECTION:
            raise BadInputError(f"connection {one.number} does not fit 24 bits: give 0 to {LARGEST_CONNECTION}")
        if one not in kept:
            slot = next(free, 0)
            if not slot:
                raise BadInputError(f"{len(wanted)} connections begin at one node: at most {LARGEST_SLOT} can")
            kept[one] = slot
    return {one: kept[one] for one in wanted}


def sum_counters(sending: Iterable[SendingEnd], receiving: Iterable[ReceivingEnd], totals: bytes) -> NodeCounters:
    """Add up what the ends of a node have counted, with what the program counts by node."""
    receiving = list(receiving)
    plain, unknown, gso, failed = _TOTALS.unpack(totals)
    return NodeCounters(
        sent=sum(end.sent for end in sending),
        accepted=sum(end.egress.accepted for end in receiving),
        late=sum(end.egress.late for end in receiving),
        duplicate=sum(end.duplicate for end in receiving),
        out_of_window=sum(end.out_of_window for end in receiving),
        unknown=unknown,
        gso=gso,
        plain=plain,
        failed=failed,
    )
