"""What a message to a switch reads and writes there, as far as it decides which messages must keep their order.

A resource is a path: `()` is the whole switch, `("flows",)` all flow entries, `("flows", 3)` those of table 3, and
`("flows", 3, priority, match)` one entry. Groups and meters are one resource: a deletion of either deletes flow entries
that use it. Two resources overlap when one begins with the other.

Packet-outs touch nothing here: only barriers order them, as they do without this module.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

from ryu_apps.openflow.wire import HEADER_BYTES, OFPTT_ALL, FlowCommand, MalformedMessageError, MsgType
from ryu_apps.pmt.message import read_subject
from ryu_apps.pmt.rules import Carried

Resource = tuple[object, ...]
SWITCH: Resource = ()
FLOWS: Resource = ("flows",)
INDIRECT: Resource = ("groups and meters",)

PORT_MOD, TABLE_MOD, METER_MOD = 16, 17, 29
CARRIED = {
    MsgType.FLOW_MOD: Carried.COMMANDS,
    MsgType.GROUP_MOD: Carried.COMMANDS,
    PORT_MOD: Carried.COMMANDS,
    TABLE_MOD: Carried.COMMANDS,
    METER_MOD: Carried.COMMANDS,
    MsgType.MULTIPART_REQUEST: Carried.REQUESTS,
    MsgType.QUEUE_REQUEST: Carried.REQUESTS,
}

_COMMAND_AT = 25
_CHECK_OVERLAP = 2
_ACTION_INSTRUCTIONS, _METER_INSTRUCTION = (3, 4), 6
_GROUP_ACTION, _EXPERIMENTER = 22, 0xFFFF
_TABLE_FEATURES = 12
# Multipart types by what they show: flow, aggregate, table; group, group description, meter, meter configuration.
_READS = {1: FLOWS, 2: FLOWS, 3: FLOWS, 6: INDIRECT, 7: INDIRECT, 9: INDIRECT, 10: INDIRECT, _EXPERIMENTER: SWITCH}


@dataclass(frozen=True, slots=True)
class Footprint:
    """Resources that a message reads and writes.

    Attributes
    ----------
    is_request
        It only shows what there is: what comes later need not wait for it.
    """

    reads: tuple[Resource, ...] = ()
    writes: tuple[Resource, ...] = ()
    is_request: bool = False


NOTHING = Footprint()
EVERYTHING = Footprint(writes=(SWITCH,))


def footprint(message: bytes) -> Footprint:
    """Footprint of a whole OpenFlow 1.3 message; any bytes: what is not understood touches the whole switch."""
    try:
        return _footprint(message)
    except (MalformedMessageError, struct.error):
        return EVERYTHING


def _footprint(message: bytes) -> Footprint:
    msg_type = message[1]
    if msg_type in (MsgType.HELLO, MsgType.ECHO_REQUEST, MsgType.ECHO_REPLY, MsgType.PACKET_OUT):
        return NOTHING
    if msg_type == MsgType.FLOW_MOD:
        return _flow_mod(message)
    if msg_type in (MsgType.GROUP_MOD, METER_MOD):
        return Footprint(writes=(INDIRECT,))
    if msg_type == MsgType.MULTIPART_REQUEST:
        return _multipart(message)
    if msg_type in (MsgType.FEATURES_REQUEST, MsgType.QUEUE_REQUEST):
        return Footprint(is_request=True)
    return EVERYTHING


def _multipart(message: bytes) -> Footprint:
    (kind,) = struct.unpack_from("!H", message, HEADER_BYTES)
    if kind == _TABLE_FEATURES and len(message) > HEADER_BYTES + 8:
        return EVERYTHING  # it sets the features
    return Footprint(reads=(_READS[kind],) if kind in _READS else (), is_request=True)


def _flow_mod(message: bytes) -> Footprint:
    subject = read_subject(message)
    table, command = message[_COMMAND_AT - 1], message[_COMMAND_AT]
    priority, flags = struct.unpack_from("!H12xH", message, 30)
    is_add = command == FlowCommand.ADD
    is_strict = command in (FlowCommand.MODIFY_STRICT, FlowCommand.DELETE_STRICT)
    is_one = is_strict or (is_add and not flags & _CHECK_OVERLAP)
    if table == OFPTT_ALL:
        written = FLOWS
    elif not is_one:
        written = (*FLOWS, table)
    else:
        # Fields that are not known here are left out, so that two entries may count as one: safe, only slower.
        match = frozenset((name, *held) for name, held in subject.pinned.items() if held[1])
        written = (*FLOWS, table, priority, match)
    # A deleted group takes its entries along, so a modification must find them as it would have in order.
    is_modify = command in (FlowCommand.MODIFY, FlowCommand.MODIFY_STRICT)
    uses_indirect = is_modify or not is_one or _uses_indirect(message, subject.instructions_at)
    return Footprint(reads=(INDIRECT,) if uses_indirect else (), writes=(written,))


def _uses_indirect(message: bytes, instructions_at: int) -> bool:
    """Whether a flow-mod names a group or a meter, or may do so in an action that is not known here."""
    for kind, at, end in _items(message, instructions_at, len(message)):
        if kind in (_METER_INSTRUCTION, _EXPERIMENTER):
            return True
        if kind in _ACTION_INSTRUCTIONS:
            actions = (action for action, _, _ in _items(message, at + 8, end))
            if any(action in (_GROUP_ACTION, _EXPERIMENTER) for action in actions):
                return True
    return False


def _items(message: bytes, at: int, end: int) -> Iterator[tuple[int, int, int]]:
    """Type, start and end of each instruction or action."""
    while at < end:
        kind, length = struct.unpack_from("!HH", message, at)
        if length < 8 or at + length > end:
            raise MalformedMessageError(f"an entry of {length} bytes runs over the end of its list")
        yield kind, at, at + length
        at += length
