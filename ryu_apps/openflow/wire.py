"""The frame of an OpenFlow message: header, framing of a byte stream, and the error that both directions raise."""

from __future__ import annotations

import struct
from enum import IntEnum
from typing import NamedTuple

from mininet_topos.errors import ArmorError

VERSION = 0x04  # OpenFlow 1.3
HEADER_BYTES = 8
OFPP_ANY = 0xFFFFFFFF
OFPG_ANY = 0xFFFFFFFF
OFPTT_ALL = 0xFF
NO_BUFFER = 0xFFFFFFFF
NX_EXPERIMENTER = 0x00002320
ONF_EXPERIMENTER = 0x4F4E4600
NXT_SET_CONTROLLER_ID = 20
ONF_BUNDLE_CONTROL = 2300
ONF_BUNDLE_ADD = 2301
MULTIPART_MORE = 1  # `OFPMPF_REQ_MORE` and `OFPMPF_REPLY_MORE`: other parts follow


class WireError(ArmorError):
    """Bytes that are not what OpenFlow 1.3 says, or a row that OpenFlow 1.3 cannot carry."""


class MalformedMessageError(WireError):
    """A message whose lengths or type are impossible, so that no parser may see it."""


class MsgType(IntEnum):
    """Message types (OpenFlow 1.3.5 section 7.1.1)."""

    HELLO = 0
    ERROR = 1
    ECHO_REQUEST = 2
    ECHO_REPLY = 3
    EXPERIMENTER = 4
    FEATURES_REQUEST = 5
    FEATURES_REPLY = 6
    SET_CONFIG = 9
    PACKET_IN = 10
    FLOW_REMOVED = 11
    PORT_STATUS = 12
    PACKET_OUT = 13
    FLOW_MOD = 14
    GROUP_MOD = 15
    MULTIPART_REQUEST = 18
    MULTIPART_REPLY = 19
    BARRIER_REQUEST = 20
    BARRIER_REPLY = 21
    QUEUE_REQUEST = 22
    QUEUE_REPLY = 23


class Multipart(IntEnum):
    """Multipart types that Armor asks for (OpenFlow 1.3.5 section 7.3.5)."""

    FLOW = 1
    PORT_STATS = 4
    GROUP_DESC = 7
    PORT_DESC = 13


class FlowCommand(IntEnum):
    """`ofp_flow_mod_command`."""

    ADD = 0
    MODIFY = 1
    MODIFY_STRICT = 2
    DELETE = 3
    DELETE_STRICT = 4


class GroupCommand(IntEnum):
    """`ofp_group_mod_command`."""

    ADD = 0
    MODIFY = 1
    DELETE = 2


class BundleControl(IntEnum):
    """`ofp_bundle_ctrl_type`."""

    OPEN_REQUEST = 0
    OPEN_REPLY = 1
    CLOSE_REQUEST = 2
    CLOSE_REPLY = 3
    COMMIT_REQUEST = 4
    COMMIT_REPLY = 5
    DISCARD_REQUEST = 6
    DISCARD_REPLY = 7


class Header(NamedTuple):
    """The first eight bytes of every message."""

    version: int
    msg_type: int
    length: int
    xid: int


def header(message: bytes | bytearray) -> Header:
    """Header of a message.

    Raises
    ------
    WireError
        Fewer than eight bytes.
    """
    if len(message) < HEADER_BYTES:
        raise WireError(f"a message of {len(message)} bytes has no whole header (8 bytes)")
    return Header(*struct.unpack_from("!BBHI", message))


def message(msg_type: MsgType, body: bytes = b"", xid: int = 0) -> bytes:
    """A whole message.

    Raises
    ------
    WireError
        Longer than OpenFlow's 16-bit length allows.
    """
    length = HEADER_BYTES + len(body)
    if length > 0xFFFF:
        raise WireError(f"a {msg_type.name} message of {length} bytes does not fit OpenFlow's 65535; split it")
    return struct.pack("!BBHI", VERSION, msg_type, length, xid) + body


def with_xid(given: bytes, xid: int) -> bytes:
    """The same message with another transaction id."""
    return given[:4] + struct.pack("!I", xid) + given[8:]


def expect(given: bytes, *msg_types: MsgType) -> bytes:
    """Body of a message that must be of one of the types.

    Raises
    ------
    WireError
        Another type, or another length than the header says.
    """
    head = header(given)
    if head.msg_type not in msg_types or head.length != len(given):
        wanted = " or ".join(kind.name for kind in msg_types)
        raise WireError(f"expected a whole {wanted} message, got type {head.msg_type} with {len(given)} bytes")
    return bytes(given[HEADER_BYTES:])


def split_messages(buffer: bytes | bytearray) -> tuple[list[bytes], bytes]:
    """Whole messages at the start of a byte stream, and the rest to keep for the next read.

    Raises
    ------
    WireError
        A header with a length below eight: the stream cannot be followed any more.
    """
    messages: list[bytes] = []
    at = 0
    while len(buffer) - at >= HEADER_BYTES:
        length = int.from_bytes(buffer[at + 2 : at + 4], "big")
        if length < HEADER_BYTES:
            raise WireError(f"an OpenFlow header says {length} bytes, which is less than the header; reconnect")
        if len(buffer) - at < length:
            break
        messages.append(bytes(buffer[at : at + length]))
        at += length
    return messages, bytes(buffer[at:])
