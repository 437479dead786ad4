"""OpenFlow 1.3 messages as a classifier needs them: type, and the packet or the match that they are about.

Total: any bytes give a `Subject` or a `MalformedMessageError`. Layouts: OpenFlow 1.3.5 section 7.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from enum import Enum

from ryu_apps.openflow.lengths import MAX_TYPE
from ryu_apps.openflow.wire import (
    HEADER_BYTES,
    NO_BUFFER,
    ONF_BUNDLE_ADD,
    ONF_BUNDLE_CONTROL,
    ONF_EXPERIMENTER,
    VERSION,
    MalformedMessageError,
    MsgType,
)
from ryu_apps.pmt.fields import BY_OXM
from ryu_apps.pmt.frame import Fields, frame_fields
from ryu_apps.pmt.rules import TrafficType

_BASIC = 0x8000  # OFPXMC_OPENFLOW_BASIC
_PACKET_IN_MATCH, _FLOW_MOD_MATCH, _PACKET_OUT_ACTIONS = 24, 48, 24
_OXM_MATCH = 1
_SMALLEST_MATCH = 4

# Section headings of `enum ofp_type`: 0-4 symmetric, 5-9 switch configuration, 13-17 and 29 controller commands.
_CONFIGURATION = frozenset(range(10))
_COMMAND = frozenset((MsgType.PACKET_IN, *range(13, 18), MAX_TYPE))


class About(Enum):
    """What the fields of a message say."""

    NOTHING = "nothing"
    PACKET = "packet"  # the fields of one packet
    MATCH = "match"  # the fields that a flow entry pins


Pinned = dict[str, tuple[int, int]]


@dataclass(frozen=True, slots=True)
class Subject:
    """What a message is: its traffic type, and the packet (`packet`) or flow (`pinned`: value and mask) it is about.

    `instructions_at` is the offset behind the match of a flow-mod; 0 for other messages.
    """

    msg_type: int
    traffic_type: TrafficType
    about: About = About.NOTHING
    packet: Fields = field(default_factory=dict)
    pinned: Pinned = field(default_factory=dict)
    instructions_at: int = 0


def read_subject(message: bytes) -> Subject:
    """What a message is about.

    Parameters
    ----------
    message
        One whole message. Any bytes.

    Raises
    ------
    MalformedMessageError
        Header, version, type, length, or a match or action list that runs over the end.
    """
    msg_type = _checked_type(message)
    traffic_type = traffic_type_of(message, msg_type)
    if msg_type == MsgType.PACKET_IN:
        return Subject(msg_type, traffic_type, About.PACKET, packet=_packet_in(message))
    if msg_type == MsgType.PACKET_OUT:
        packet = _packet_out(message)
        return Subject(msg_type, traffic_type, About.NOTHING if packet is None else About.PACKET, packet=packet or {})
    if msg_type == MsgType.FLOW_MOD:
        pinned, instructions_at = _read_match(message, _FLOW_MOD_MATCH)
        return Subject(msg_type, traffic_type, About.MATCH, pinned=pinned, instructions_at=instructions_at)
    return Subject(msg_type, traffic_type)


def traffic_type_of(message: bytes, msg_type: int) -> TrafficType:
    """The paper's Table 1. Bundle messages carry commands, so they count as commands (ONF extension 230)."""
    if msg_type == MsgType.EXPERIMENTER and len(message) >= HEADER_BYTES + 8:
        experimenter, subtype = struct.unpack_from("!II", message, HEADER_BYTES)
        if experimenter == ONF_EXPERIMENTER and subtype in (ONF_BUNDLE_CONTROL, ONF_BUNDLE_ADD):
            return TrafficType.COMMAND
    if msg_type in _CONFIGURATION:
        return TrafficType.CONFIGURATION
    return TrafficType.COMMAND if msg_type in _COMMAND else TrafficType.OTHER


def _checked_type(message: bytes) -> int:
    if len(message) < HEADER_BYTES:
        raise MalformedMessageError(f"{len(message)} bytes are no OpenFlow message, whose header has {HEADER_BYTES}")
    version, msg_type, length, _ = struct.unpack_from("!BBHI", message)
    # A hello, and the error that answers it, may have any version (section 6.3.1).
    if version != VERSION and msg_type not in (MsgType.HELLO, MsgType.ERROR):
        raise MalformedMessageError(f"version {version:#04x} is not OpenFlow 1.3 (0x04)")
    if length != len(message):
        raise MalformedMessageError(f"the header says {length} bytes, the message has {len(message)}")
    if msg_type > MAX_TYPE:
        raise MalformedMessageError(f"message type {msg_type} is none of OpenFlow 1.3 (0 to {MAX_TYPE})")
    return int(msg_type)


def _packet_in(message: bytes) -> Fields:
    pinned, at = _read_match(message, _PACKET_IN_MATCH)
    metadata = {"in_port": pinned["in_port"][0]} if "in_port" in pinned else {}
    if len(message) < at + 2:
        raise MalformedMessageError("a packet-in ends before its packet")
    return frame_fields(message[at + 2 :]) | metadata


def _packet_out(message: bytes) -> Fields | None:
    """Fields of the packet; None: the switch holds it in a buffer."""
    if len(message) < _PACKET_OUT_ACTIONS:
        raise MalformedMessageError(f"a packet-out of {len(message)} bytes is truncated before its actions")
    buffer_id, in_port, actions_bytes = struct.unpack_from("!IIH", message, HEADER_BYTES)
    at = _PACKET_OUT_ACTIONS + actions_bytes
    if at > len(message):
        raise MalformedMessageError(f"a packet-out says {actions_bytes} bytes of actions, which run over its end")
    return frame_fields(message[at:]) | {"in_port": in_port} if buffer_id == NO_BUFFER else None


def _read_match(message: bytes, at: int) -> tuple[Pinned, int]:
    """Known fields of a match that begins at byte `at`, each with its mask, and the offset behind its padding.

    Raises
    ------
    MalformedMessageError
        It is no whole OXM match.
    """
    if len(message) < at + _SMALLEST_MATCH:
        raise MalformedMessageError(f"a message of {len(message)} bytes is truncated before its match at byte {at}")
    kind, length = struct.unpack_from("!HH", message, at)
    end = at + length
    if kind != _OXM_MATCH or length < _SMALLEST_MATCH or end > len(message):
        raise MalformedMessageError(f"a match of type {kind} and {length} bytes is not a whole OXM match")
    pinned: Pinned = {}
    at += _SMALLEST_MATCH
    while at < end:
        at = _read_field(message, at, end, pinned)
    return pinned, end + -length % 8


def _read_field(message: bytes, at: int, end: int, pinned: Pinned) -> int:
    """Add one field to `pinned` when it is known; the offset behind it."""
    if end < at + 4:
        raise MalformedMessageError("a match field is truncated before its header ends")
    oxm_class, number, length = struct.unpack_from("!HBB", message, at)
    start, at = at + 4, at + 4 + length
    if at > end:
        raise MalformedMessageError(f"match field {oxm_class:#06x}/{number >> 1} runs over the end of its match")
    known = BY_OXM.get(number >> 1) if oxm_class == _BASIC else None
    if known is None:
        return at
    size, has_mask = known.n_bytes, number & 1
    if length != size * (1 + has_mask):
        raise MalformedMessageError(f"match field {known.name} has {length} bytes, not {size * (1 + has_mask)}")
    value = int.from_bytes(message[start : start + size], "big")
    mask = int.from_bytes(message[start + size : at], "big") if has_mask else known.full_mask
    pinned[known.name] = (value & mask, mask & known.full_mask)
    return at
