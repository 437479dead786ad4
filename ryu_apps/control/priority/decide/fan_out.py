"""What an app says to its datapath that each per-class connection has to hear too.

OpenFlow keeps role, miss_send_len and asynchronous masks for each connection (OpenFlow 1.3.5 sections 6.3.4, 6.3.5).
"""

from __future__ import annotations

import struct

from ryu_apps.openflow.wire import HEADER_BYTES, VERSION, MsgType

_ROLE_REQUEST, _SET_ASYNC = 24, 28
_EQUAL, _MASTER, _SLAVE = 1, 2, 3
_ASYNC_MASKS = struct.Struct("!6I")


def for_class_connection(message: bytes, takes_notifications: bool = False) -> bytes | None:
    """What a per-class connection must be sent when an app sends a message on its datapath; None: nothing.

    A switch has one master. When the app becomes it, its per-class connections become equals, which may do the same;
    when it becomes a slave, so do they.
    """
    if message[1] == MsgType.SET_CONFIG:
        return message
    if message[1] == _ROLE_REQUEST and len(message) == 24:
        (role,) = struct.unpack_from("!I", message, HEADER_BYTES)
        # The answer to "nochange" (0) says what the main connection is.
        own_role = {_MASTER: _EQUAL, _EQUAL: _EQUAL, _SLAVE: _SLAVE}.get(role)
        return None if own_role is None else message[:8] + struct.pack("!I", own_role) + message[12:]
    if is_set_async(message):
        return message if takes_notifications else without_notifications(message)
    return None


def is_set_async(message: bytes) -> bool:
    """Whether a message sets the masks of asynchronous messages."""
    return message[1] == _SET_ASYNC and len(message) == HEADER_BYTES + _ASYNC_MASKS.size


# Masks of a new connection (section 6.3.5): packet-ins, port status, flow removed, each for master or equal and slave.
DEFAULT_MASKS = bytes((VERSION, _SET_ASYNC, 0, 32, 0, 0, 0, 0)) + _ASYNC_MASKS.pack(0b11, 0, 0b111, 0b111, 0b1111, 0)


def without_notifications(message: bytes) -> bytes:
    """The same message that sets masks, for a connection that takes packet-ins only."""
    packet_in = _ASYNC_MASKS.unpack_from(message, HEADER_BYTES)[:2]
    return message[:HEADER_BYTES] + _ASYNC_MASKS.pack(*packet_in, 0, 0, 0, 0)
