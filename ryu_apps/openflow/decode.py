"""OpenFlow 1.3 messages to values: rows, statistics, events. Pure functions of bytes; total (WireError or a value).

A switch may hold flows in words that Armor does not speak (`NORMAL`, connection tracking, IPv6). Such an
entry of a dump comes back with `row` None and the reason, so that it can be named and left alone.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any

from ryu_apps.openflow.actions import decode_actions
from ryu_apps.openflow.encode import SEND_FLOW_REMOVED
from ryu_apps.openflow.fields import decode_match
from ryu_apps.openflow.messages import (
    DumpPart,
    ErrorMessage,
    Features,
    FlowRemoved,
    FlowStat,
    GroupStat,
    PacketIn,
    PortDesc,
    PortStat,
    PortStatus,
    Received,
)
from ryu_apps.openflow.wire import (
    MULTIPART_MORE,
    OFPG_ANY,
    OFPP_ANY,
    MsgType,
    Multipart,
    WireError,
    expect,
    header,
)
from ryu_apps.plan.rows import GROUP_TYPES, Action, Bucket, FlowRow, GroupRow, Match

_GOTO_TABLE, _WRITE_ACTIONS, _APPLY_ACTIONS = 1, 3, 4
_Instructions = tuple[tuple[Action, ...], tuple[Action, ...], int | None]


def _unpack(layout: str, body: bytes, offset: int = 0) -> tuple[int, ...]:
    if len(body) < offset + struct.calcsize(layout):
        raise WireError(
            f"a message is truncated: {len(body) - offset} bytes where {struct.calcsize(layout)} are needed"
        )
    return struct.unpack_from(layout, body, offset)


def decode_features(given: bytes) -> Features:
    """Features reply."""
    dpid, _buffers, n_tables = _unpack("!QIB", expect(given, MsgType.FEATURES_REPLY))
    return Features(dpid, n_tables)


def _flow_row(table_id: int, priority: int, match: Match, instructions: bytes, rest: tuple[int, int, int]) -> FlowRow:
    apply_actions, write_actions, goto_table = decode_instructions(bytes(instructions))
    cookie, hard_timeout_s, flags = rest
    return FlowRow(
        table_id,
        priority,
        match,
        apply_actions,
        write_actions,
        goto_table,
        cookie,
        hard_timeout_s,
        bool(flags & SEND_FLOW_REMOVED),
    )


@lru_cache(maxsize=1 << 16)
def decode_instructions(body: bytes) -> _Instructions:
    """Apply actions, write actions and goto table of a flow.

    Raises
    ------
    WireError
        An instruction that Armor does not use, or one that is truncated.
    """
    apply_actions: tuple[Action, ...] = ()
    write_actions: tuple[Action, ...] = ()
    goto_table: int | None = None
    at = 0
    while at < len(body):
        kind, length = _unpack("!HH", body, at)
        if length < 8 or at + length > len(body):
            raise WireError(f"instruction type {kind} has length {length}, which does not fit its flow")
        if kind == _APPLY_ACTIONS:
            apply_actions = decode_actions(body[at + 8 : at + length])
        elif kind == _WRITE_ACTIONS:
            write_actions = decode_actions(body[at + 8 : at + length])
        elif kind == _GOTO_TABLE:
            goto_table = body[at + 4]
        else:
            raise WireError(f"instruction type {kind} is none that Armor uses")
        at += length
    return apply_actions, write_actions, goto_table


def _buckets(body: bytes) -> tuple[Bucket, ...]:
    buckets: list[Bucket] = []
    at = 0
    while at < len(body):
        length, weight, watch_port, watch_group = _unpack("!HHII4x", body, at)
        if length < 16 or at + length > len(body):
            raise WireError(f"a bucket has length {length}, which does not fit its group")
        buckets.append(
            Bucket(
                decode_actions(body[at + 16 : at + length]),
                None if watch_port == OFPP_ANY else watch_port,
                None if watch_group == OFPG_ANY else watch_group,
                weight,
            )
        )
        at += length
    return tuple(buckets)


def multipart_kind(given: bytes) -> int:
    """Which kind of multipart reply this is (`wire.Multipart`, or a number that Armor never asks for)."""
    return _unpack("!HH4x", expect(given, MsgType.MULTIPART_REPLY))[0]


def _multipart(given: bytes, wanted: Multipart) -> tuple[bytes, bool]:
    body = expect(given, MsgType.MULTIPART_REPLY)
    kind, flags = _unpack("!HH4x", body)
    if kind != wanted:
        raise WireError(f"expected a multipart reply of type {wanted.name}, got type {kind}")
    return body[8:], bool(flags & MULTIPART_MORE)


def _entries(body: bytes, smallest: int) -> Iterator[bytes]:
    """Entries that start with their own 16-bit length."""
    at = 0
    while at < len(body):
        (length,) = _unpack("!H", body, at)
        if length < smallest or at + length > len(body):
            raise WireError(f"an entry of a dump has length {length}, which does not fit its message")
        yield body[at : at + length]
        at += length


def decode_flow_stats(given: bytes) -> tuple[list[FlowStat], bool]:
    """Flows of one part of a dump, and whether more parts follow."""
    body, more = _multipart(given, Multipart.FLOW)
    return [_flow_stat(entry) for entry in _entries(body, 56)], more


def _flow_stat(entry: bytes) -> FlowStat:
    _length, table_id, seconds, nanoseconds, priority, idle, hard, flags, cookie, n_packets, n_bytes = _unpack(
        "!HBxIIHHHH4xQQQ", entry
    )
    _kind, match_length = _unpack("!HH", entry, 48)
    match_end = 48 + match_length + -match_length % 8
    row: FlowRow | None = None
    reason = ""
    try:
        match, _at = decode_match(entry, 48)
        row = _flow_row(table_id, priority, match, entry[match_end:], (cookie, hard, flags))
    except WireError as error:
        reason = str(error)
    counters = (n_packets, n_bytes, seconds + nanoseconds / 1e9, idle)
    return FlowStat(row, table_id, priority, cookie, entry[48:match_end], *counters, reason)


def decode_group_desc(given: bytes) -> tuple[list[GroupStat], bool]:
    """Groups of one part of a dump, and whether more parts follow."""
    body, more = _multipart(given, Multipart.GROUP_DESC)
    return [_group_stat(entry) for entry in _entries(body, 8)], more


def _group_stat(entry: bytes) -> GroupStat:
    _length, kind, group_id = _unpack("!HBxI", entry)
    if kind >= len(GROUP_TYPES):
        return GroupStat(group_id, None, f"group type {kind} is none that Armor uses")
    try:
        return GroupStat(group_id, GroupRow(group_id, GROUP_TYPES[kind], _buckets(entry[8:])))
    except WireError as error:
        return GroupStat(group_id, None, str(error))


_PORT = "!I4x6s2x16sII"
_PORT_BYTES = 64


def _port(body: bytes, offset: int) -> PortDesc:
    if len(body) < offset + _PORT_BYTES:
        raise WireError("a port description is truncated")
    port_no, hw_addr, name, config, state = struct.unpack_from(_PORT, body, offset)
    return PortDesc(
        port_no, int.from_bytes(hw_addr, "big"), name.split(b"\0")[0].decode("utf-8", "replace"), config, state
    )


def decode_port_desc(given: bytes) -> tuple[list[PortDesc], bool]:
    """Ports of one part of a description, and whether more parts follow."""
    body, more = _multipart(given, Multipart.PORT_DESC)
    return [_port(body, at) for at in range(0, len(body), _PORT_BYTES)], more


def decode_port_stats(given: bytes) -> tuple[list[PortStat], bool]:
    """Port counters of one part of a reply, and whether more parts follow."""
    body, more = _multipart(given, Multipart.PORT_STATS)
    stats: list[PortStat] = []
    for at in range(0, len(body), 112):
        numbers = _unpack("!I4x12QII", body, at)
        port_no, rx_pkts, tx_pkts, rx_bytes, tx_bytes, rx_drops, tx_drops, rx_errors, tx_errors = numbers[:9]
        counters = (rx_pkts, tx_pkts, rx_bytes, tx_bytes, rx_drops, tx_drops, rx_errors, tx_errors)
        seconds, nanoseconds = numbers[13:]
        stats.append(PortStat(port_no, *counters, seconds + nanoseconds / 1e9))
    return stats, more


def decode_port_status(given: bytes) -> PortStatus:
    """Port status."""
    body = expect(given, MsgType.PORT_STATUS)
    return PortStatus(_unpack("!B7x", body)[0], _port(body, 8))


def decode_packet_in(given: bytes) -> PacketIn:
    """Packet-in; `in_port` is 0 when the switch does not say it, and fields that Armor does not know are left out."""
    body = expect(given, MsgType.PACKET_IN)
    _buffer, _length, reason, table_id, cookie = _unpack("!IHBBQ", body)
    match, at = decode_match(body, 16, known_only=True)
    in_port = next((value for name, value, _mask in match if name == "in_port"), 0)
    if len(body) < at + 2:
        raise WireError("a packet-in is truncated before its packet")
    return PacketIn(reason, table_id, cookie, in_port, match, bytes(body[at + 2 :]))


def decode_flow_removed(given: bytes) -> FlowRemoved:
    """Flow-removed; of a row of somebody else, fields that Armor does not know are left out."""
    body = expect(given, MsgType.FLOW_REMOVED)
    cookie, priority, reason, table_id, _s, _ns, _idle, _hard, n_packets, n_bytes = _unpack("!QHBBIIHHQQ", body)
    match, _at = decode_match(body, 40, known_only=True)
    return FlowRemoved(cookie, priority, reason, table_id, match, n_packets, n_bytes)


def decode_error(given: bytes) -> ErrorMessage:
    """Error message."""
    body = expect(given, MsgType.ERROR)
    kind, code = _unpack("!HH", body)
    return ErrorMessage(kind, code, header(given).xid, body[4:])


_PARTS: dict[int, Callable[[bytes], tuple[list[Any], bool]]] = {
    Multipart.FLOW: decode_flow_stats,
    Multipart.PORT_STATS: decode_port_stats,
    Multipart.GROUP_DESC: decode_group_desc,
    Multipart.PORT_DESC: decode_port_desc,
}


def decode_dump_part(given: bytes) -> DumpPart:
    """One part of a multipart reply of any kind."""
    kind = multipart_kind(given)
    entries, more = _PARTS[kind](given) if kind in _PARTS else ((), False)
    return DumpPart(kind, tuple(entries), more)


_VALUES: dict[int, Callable[[bytes], Any]] = {
    MsgType.ERROR: decode_error,
    MsgType.PACKET_IN: decode_packet_in,
    MsgType.PORT_STATUS: decode_port_status,
    MsgType.MULTIPART_REPLY: decode_dump_part,
}


def decode_received(given: bytes) -> Received:
    """A message of a switch, of any type.

    Raises
    ------
    WireError
        It is truncated, or says something in words that Armor does not speak.
    """
    head = header(given)
    decode = _VALUES.get(head.msg_type)
    return Received(head.msg_type, head.xid, decode(given) if decode else None, len(given))
