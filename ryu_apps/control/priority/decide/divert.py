"""Packets that an app wants to see, sorted into classes by the switch, without the app knowing.

A flow entry with `output:CONTROLLER` knows one connection. On the way to the switch that action becomes
`resubmit(,T)`, and table T, which belongs to PSO, sends each packet to the connection of its class. Both actions take
16 bytes, so nothing else in a message moves. On the way back flow statistics show the app's own action again,
PSO's rows are left out, and packet-ins name the app's table and cookie.

An app's three ways to ask for packets have a table each, because each packet-in must name the way as it was:

- table 253: `output:CONTROLLER` in a table-miss entry (reason "no match"),
- table 252: `output:CONTROLLER` elsewhere (reason "action"),
- table 251: NXAST_CONTROLLER with id 0, which is how Armor's own rows ask.

What names another controller id has chosen its connection itself. Not diverted: write-actions, group buckets, and
`output:CONTROLLER` with a max_len below "all" (they go to the connection with id 0).
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from ryu_apps.openflow import encode
from ryu_apps.openflow.actions import encode_actions
from ryu_apps.openflow.wire import (
    HEADER_BYTES,
    OFPTT_ALL,
    ONF_BUNDLE_ADD,
    ONF_BUNDLE_CONTROL,
    ONF_EXPERIMENTER,
    BundleControl,
    FlowCommand,
    MsgType,
    Multipart,
)
from ryu_apps.plan.ids import OFPP_CONTROLLER, PSO_TABLES, Owner
from ryu_apps.plan.rows import Controller, FlowRow, Output, Resubmit
from ryu_apps.pmt.flows import punt_rows
from ryu_apps.pmt.rules import PolicyMapTable

NAMED_TABLE, PUNT_TABLE, MISS_TABLE = PSO_TABLES
_ACTION_BYTES = 16
_MATCH_AT = 48  # in a flow-mod, and in an entry of flow statistics
_BUNDLE_INNER_AT = 24
_APPLY_ACTIONS = 4
_MULTIPART_BODY_AT = 16
_COOKIE_AT = 24  # in an entry of flow statistics
_REASON_FROM_END = -2  # the reason of a flow-mod whose only action is NXAST_CONTROLLER
_NO_MATCH = 0

_OUTPUT = encode_actions((Output(OFPP_CONTROLLER),))  # max_len: OFPCML_NO_BUFFER
_NAMED = encode_actions((Controller(0),))
_TO_TABLE = {table_id: encode_actions((Resubmit(table_id),)) for table_id in PSO_TABLES}
_ORIGINAL = {_TO_TABLE[MISS_TABLE]: _OUTPUT, _TO_TABLE[PUNT_TABLE]: _OUTPUT, _TO_TABLE[NAMED_TABLE]: _NAMED}
_PSO_PREFIX = bytes([Owner.PSO])


@dataclass(frozen=True, slots=True)
class Diverted:
    """A flow-mod whose packets now come by a table of PSO: that table, and the app's own table and cookie."""

    by_table: int
    table_id: int
    cookie: int


def divert(message: bytes) -> tuple[bytes, Diverted | None]:
    """A message to a switch, its punts going through PSO's tables; what was changed, if anything.

    Parameters
    ----------
    message
        Any one message; those that add no flow are left alone, as are those that cannot be read (the switch will
        answer them with an error).
    """
    if _NAMED not in message and _OUTPUT not in message:
        return message, None
    at = _flow_mod_at(message)
    if at is None or message[at + 25] not in (FlowCommand.ADD, FlowCommand.MODIFY, FlowCommand.MODIFY_STRICT):
        return message, None
    (priority,) = struct.unpack_from("!H", message, at + 30)
    match_bytes = int.from_bytes(message[at + _MATCH_AT + 2 : at + _MATCH_AT + 4], "big")
    is_miss = priority == 0 and match_bytes == 4
    changed, used = bytearray(message), None
    for where in _apply_actions(message, at + _MATCH_AT, len(message)):
        action = message[where : where + _ACTION_BYTES]
        by_table = _table_for(action, is_miss)
        if by_table is not None:
            changed[where : where + _ACTION_BYTES] = _TO_TABLE[by_table]
            used = by_table
    if used is None:
        return message, None
    return bytes(changed), Diverted(used, message[at + 24], int.from_bytes(message[at + 8 : at + 16], "big"))


def _table_for(action: bytes, is_miss: bool) -> int | None:
    if action == _NAMED:
        return NAMED_TABLE
    if action == _OUTPUT:
        return MISS_TABLE if is_miss else PUNT_TABLE
    return None


def _flow_mod_at(message: bytes) -> int | None:
    """Where a flow-mod begins: at 0, or inside a bundle-add message."""
    at = 0
    if message[1] == MsgType.EXPERIMENTER and len(message) > _BUNDLE_INNER_AT + HEADER_BYTES:
        experimenter, subtype = struct.unpack_from("!II", message, HEADER_BYTES)
        if (experimenter, subtype) == (ONF_EXPERIMENTER, ONF_BUNDLE_ADD):
            at = _BUNDLE_INNER_AT
    is_whole = len(message) >= at + _MATCH_AT + 4
    return at if is_whole and message[at + 1] == MsgType.FLOW_MOD else None


def _apply_actions(data: bytes, match_at: int, end: int) -> Iterator[int]:
    """Where each action of the apply-actions instructions begins; nothing further once a length makes no sense."""
    match_bytes = int.from_bytes(data[match_at + 2 : match_at + 4], "big")
    at = match_at + match_bytes + -match_bytes % 8
    while at + 8 <= end:
        kind, length = struct.unpack_from("!HH", data, at)
        if length < 8 or at + length > end:
            return
        where = at + 8
        while kind == _APPLY_ACTIONS and where + 8 <= at + length:
            size = int.from_bytes(data[where + 2 : where + 4], "big")
            if size < 8 or where + size > at + length:
                return
            yield where
            where += size
        at += length


def restore(message: bytes, origins: Mapping[int, Diverted]) -> bytes:
    """A message from a switch as the app expects it: packet-ins and flow statistics without a trace of PSO.

    Parameters
    ----------
    message
        Any one message.
    origins : mapping of PSO table to Diverted
        The last flow-mod that was diverted by each.
    """
    if message[1] == MsgType.PACKET_IN and len(message) >= 24:
        return _restore_packet_in(message, origins)
    if message[1] == MsgType.MULTIPART_REPLY and message[8:10] == Multipart.FLOW.to_bytes(2, "big"):
        return _restore_flow_stats(message)
    return message


def _restore_packet_in(message: bytes, origins: Mapping[int, Diverted]) -> bytes:
    if message[15] not in PSO_TABLES or message[16:17] != _PSO_PREFIX:
        return message
    origin = origins.get(message[15], Diverted(message[15], 0, 0))
    return message[:15] + bytes([origin.table_id]) + origin.cookie.to_bytes(8, "big") + message[24:]


def _restore_flow_stats(message: bytes) -> bytes:
    kept, at = [message[:_MULTIPART_BODY_AT]], _MULTIPART_BODY_AT
    while at + _MATCH_AT + 4 <= len(message):
        length = int.from_bytes(message[at : at + 2], "big")
        if length < _MATCH_AT or at + length > len(message):
            break
        entry = message[at : at + length]
        if not (entry[2] in PSO_TABLES and entry[_COOKIE_AT : _COOKIE_AT + 1] == _PSO_PREFIX):
            kept.append(_restore_actions(entry))
        at += length
    whole = b"".join((*kept, message[at:]))
    return whole[:2] + len(whole).to_bytes(2, "big") + whole[4:]


def _restore_actions(entry: bytes) -> bytes:
    if not any(action in entry for action in _ORIGINAL):
        return entry
    changed = bytearray(entry)
    for where in _apply_actions(entry, _MATCH_AT, len(entry)):
        original = _ORIGINAL.get(entry[where : where + _ACTION_BYTES])
        if original is not None:
            changed[where : where + _ACTION_BYTES] = original
    return bytes(changed)


def sorting_rows(table: PolicyMapTable, ids: Mapping[int, int]) -> tuple[FlowRow, ...]:
    """Rows of PSO's tables.

    Parameters
    ----------
    ids : mapping of class id to controller id
        Where packet-ins of each class go (`decide.channels.controller_ids`).

    Raises
    ------
    PmtError
        A rule cannot be a flow entry.
    """
    return tuple(
        replace(row, apply_actions=tuple(_with_id(action, ids) for action in row.apply_actions))
        for table_id in PSO_TABLES
        for row in punt_rows(table, table_id)
    )


def _with_id(action: object, ids: Mapping[int, int]) -> Controller:
    assert isinstance(action, Controller)  # all that punt_rows makes
    return Controller(ids[action.controller_id])


def sorting_messages(rows: tuple[FlowRow, ...], old: tuple[FlowRow, ...] = ()) -> list[bytes]:
    """Flow-mods that put PSO's rows in place of old ones: added first, so that no packet meets an empty table.

    Rows that are there already are left out: while the connections of a switch come, few change each time.
    """
    wanted, there = {(row.table_id, row.priority, row.match) for row in rows}, set(old)
    stale = [row for row in old if (row.table_id, row.priority, row.match) not in wanted]
    return [*(_add(row) for row in rows if row not in there), *(encode.flow_delete(row) for row in stale)]


def _add(row: FlowRow) -> bytes:
    message = encode.flow_add(row)
    if row.table_id != MISS_TABLE:
        return message
    return message[:_REASON_FROM_END] + bytes([_NO_MATCH]) + message[_REASON_FROM_END + 1 :]


def wipes_sorting_rows(message: bytes) -> bool:
    """Whether a flow-mod, be it in a bundle, deletes rows of PSO along with an app's own: they have to be put back."""
    at = _flow_mod_at(message)
    if at is None or message[at + 25] != FlowCommand.DELETE:
        return False
    cookie, mask, table_id = message[at + 8 : at + 16], message[at + 16 : at + 24], message[at + 24]
    is_meant = all((own ^ wanted) & bits == 0 for own, wanted, bits in zip(_PSO_PREFIX, cookie, mask, strict=False))
    return is_meant and (table_id == OFPTT_ALL or table_id in PSO_TABLES)


def commits_bundle(message: bytes) -> bool:
    """Whether a message asks the switch to carry out a bundle."""
    if message[1] != MsgType.EXPERIMENTER or len(message) < _BUNDLE_INNER_AT:
        return False
    experimenter, subtype, _bundle_id, control = struct.unpack_from("!IIIH", message, HEADER_BYTES)
    return (experimenter, subtype, control) == (ONF_EXPERIMENTER, ONF_BUNDLE_CONTROL, BundleControl.COMMIT_REQUEST)
