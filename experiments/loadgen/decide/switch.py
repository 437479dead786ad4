"""What an emulated switch says: replies to a controller's requests as pure functions of bytes (OpenFlow 1.3.5)."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum, IntEnum

from experiments.loadgen.decide.packets import HOST_PORTS
from ryu_apps.openflow.encode import bundle_control, echo_reply, hello
from ryu_apps.openflow.wire import (
    HEADER_BYTES,
    NX_EXPERIMENTER,
    NXT_SET_CONTROLLER_ID,
    ONF_BUNDLE_CONTROL,
    ONF_EXPERIMENTER,
    BundleControl,
    MsgType,
    header,
    message,
    with_xid,
)

N_TABLES = 254
_CAPABILITIES = 0x4F  # flow, table, port, group statistics; queue statistics
_BAD_REQUEST, _BAD_MULTIPART, _BAD_EXPERIMENTER = 1, 2, 3
_MOST_ERROR_DATA_BYTES = 64
LIVE, _10_GBPS_FIBRE = 4, 0x840


class Request(IntEnum):
    """Requests that only a switch receives, and that Armor's controllers never send (section 7.1.1)."""

    GET_CONFIG = 7
    QUEUE_GET_CONFIG = 22
    ROLE = 24
    GET_ASYNC = 26


class Part(IntEnum):
    """Multipart types (section 7.3.5)."""

    DESC = 0
    FLOW = 1
    AGGREGATE = 2
    TABLE = 3
    PORT_STATS = 4
    QUEUE = 5
    GROUP = 6
    GROUP_DESC = 7
    GROUP_FEATURES = 8
    METER = 9
    METER_CONFIG = 10
    METER_FEATURES = 11
    TABLE_FEATURES = 12
    PORT_DESC = 13


# Bodies of fixed size, all zero: no flows, no groups, no meters. Lists are empty.
_ZERO_BYTES = {Part.AGGREGATE: 24, Part.GROUP_FEATURES: 40, Part.METER_FEATURES: 16}


class Meaning(Enum):
    """What a message of the controller is to a load generator."""

    REQUEST = "request"  # answered at once, or nothing to say
    COMMAND = "command"  # flow-mod or packet-out: may be the answer to a packet-in
    FEATURES = "features"  # the handshake has come this far
    ERROR = "error"
    ECHO = "echo"  # the reply to an echo request of the switch
    CONTROLLER_ID = "controller id"


@dataclass(frozen=True, slots=True)
class Heard:
    """What a message means, and the bytes to send back (empty: none).

    `number` is a controller id, or the transaction id of an echo reply.
    """

    meaning: Meaning
    reply: bytes = b""
    number: int = 0


def opening() -> bytes:
    """What a switch says when a connection is made."""
    return hello()


def hear(given: bytes, dpid: int, ports: Sequence[int] = HOST_PORTS) -> Heard:
    """Meaning of one whole message, and the reply to it.

    Parameters
    ----------
    given
        From `split_messages`.
    dpid, ports
        Of the switch.

    Raises
    ------
    WireError
        A message without a whole header.
    """
    kind, xid = header(given).msg_type, header(given).xid
    if kind in (MsgType.PACKET_OUT, MsgType.FLOW_MOD):
        return Heard(Meaning.COMMAND)
    if kind == MsgType.ERROR:
        return Heard(Meaning.ERROR)
    if kind == MsgType.ECHO_REPLY:
        return Heard(Meaning.ECHO, number=xid)
    if kind == MsgType.FEATURES_REQUEST:
        return Heard(Meaning.FEATURES, features_reply(dpid, xid))
    if kind == MsgType.EXPERIMENTER:
        return _experimenter(given, xid)
    replies: dict[int, Callable[[], bytes]] = {
        MsgType.ECHO_REQUEST: lambda: echo_reply(given),
        MsgType.BARRIER_REQUEST: lambda: message(MsgType.BARRIER_REPLY, xid=xid),
        MsgType.MULTIPART_REQUEST: lambda: _multipart(given, xid, ports),
        Request.GET_CONFIG: lambda: _reply_to(Request.GET_CONFIG, struct.pack("!HH", 0, 0xFFFF), xid),
        Request.QUEUE_GET_CONFIG: lambda: _reply_to(Request.QUEUE_GET_CONFIG, given[8:12] + bytes(4), xid),
        Request.ROLE: lambda: _reply_to(Request.ROLE, given[HEADER_BYTES:], xid),
        Request.GET_ASYNC: lambda: _reply_to(Request.GET_ASYNC, bytes(24), xid),
    }
    reply = replies.get(kind)
    return Heard(Meaning.REQUEST, reply() if reply else b"")


def is_served(given: bytes) -> bool:
    """Whether a message is of an app that takes its receiver for a switch in use, not of the handshake.

    It is a flow-mod, group-mod or packet-out, or a request for flows or groups.

    Examples
    --------
    >>> is_served(message(MsgType.FEATURES_REQUEST)), is_served(message(MsgType.FLOW_MOD))
    (False, True)
    """
    kind, part = given[1], int.from_bytes(given[HEADER_BYTES : HEADER_BYTES + 2], "big")
    if kind == MsgType.MULTIPART_REQUEST:
        return part in (Part.FLOW, Part.GROUP_DESC)
    return kind in (MsgType.FLOW_MOD, MsgType.GROUP_MOD, MsgType.PACKET_OUT)


def features_reply(dpid: int, xid: int) -> bytes:
    """Features reply; no buffers are promised, as Open vSwitch does."""
    body = struct.pack("!QIBB2xII", dpid, 0, N_TABLES, 0, _CAPABILITIES, 0)
    return message(MsgType.FEATURES_REPLY, body, xid)


def error_reply(given: bytes, kind: int, code: int) -> bytes:
    """Error message about a message: its type and code, and the first bytes of what it is about."""
    return message(MsgType.ERROR, struct.pack("!HH", kind, code) + given[:_MOST_ERROR_DATA_BYTES], header(given).xid)


def describe_error(given: bytes) -> str:
    """Name of an error that the controller sent.

    Examples
    --------
    >>> describe_error(message(MsgType.ERROR, b"\\x00\\x01\\x00\\x05"))
    'error type 1, code 5'
    """
    if len(given) < HEADER_BYTES + 4:
        return "an error message that is truncated"
    return "error type {}, code {}".format(*struct.unpack_from("!HH", given, HEADER_BYTES))


def _reply_to(request: int, body: bytes, xid: int) -> bytes:
    """Replies have the number after their request's."""
    return with_xid(struct.pack("!BBHI", 4, request + 1, HEADER_BYTES + len(body), 0) + body, xid)


def _multipart(given: bytes, xid: int, ports: Sequence[int]) -> bytes:
    if len(given) < HEADER_BYTES + 8:
        return error_reply(given, _BAD_REQUEST, _BAD_MULTIPART)
    (part,) = struct.unpack_from("!H", given, HEADER_BYTES)
    if part > max(Part):
        return error_reply(given, _BAD_REQUEST, _BAD_MULTIPART)
    if part == Part.DESC:
        names = ("Armor", "emulated switch", "load")
        body = b"".join(name.encode().ljust(256, b"\0") for name in names) + bytes(32) + bytes(256)
    elif part == Part.PORT_DESC:
        body = b"".join(port_description(number) for number in ports)
    else:
        body = bytes(_ZERO_BYTES.get(Part(part), 0))
    return multipart_reply(part, body, xid)


def multipart_reply(part: int, body: bytes, xid: int = 0, flags: int = 0) -> bytes:
    """Multipart reply; flag 1: more parts follow."""
    return message(MsgType.MULTIPART_REPLY, struct.pack("!HH4x", part, flags) + body, xid)


def port_description(number: int, name: bytes | None = None, state: int = LIVE) -> bytes:
    """Description of a port, as in a list of ports and in a port status; by default it is live."""
    mac = (0x0200_0000_1000 + number % (1 << 32)).to_bytes(6, "big")
    speeds = (_10_GBPS_FIBRE, 0, 0, 0, 10_000_000, 10_000_000)
    shown = b"load-eth%d" % number if name is None else name
    return struct.pack("!I4x6s2x16sII6I", number, mac, shown, 0, state, *speeds)


def _experimenter(given: bytes, xid: int) -> Heard:
    if len(given) < HEADER_BYTES + 8:
        return Heard(Meaning.REQUEST, error_reply(given, _BAD_REQUEST, _BAD_EXPERIMENTER))
    experimenter, subtype = struct.unpack_from("!II", given, HEADER_BYTES)
    body = given[HEADER_BYTES + 8 :]
    if (experimenter, subtype) == (NX_EXPERIMENTER, NXT_SET_CONTROLLER_ID) and len(body) >= 8:
        return Heard(Meaning.CONTROLLER_ID, number=int.from_bytes(body[6:8], "big"))
    if experimenter == NX_EXPERIMENTER:
        return Heard(Meaning.REQUEST)  # other extensions of Open vSwitch that have no reply, as asynchronous masks
    if experimenter != ONF_EXPERIMENTER:
        return Heard(Meaning.REQUEST, error_reply(given, _BAD_REQUEST, _BAD_EXPERIMENTER))
    if subtype != ONF_BUNDLE_CONTROL or len(body) < 8:
        return Heard(Meaning.REQUEST)
    bundle_id, kind, flags = struct.unpack_from("!IHH", body)
    replies = (BundleControl.OPEN_REQUEST, BundleControl.CLOSE_REQUEST, BundleControl.COMMIT_REQUEST)
    if kind not in (*replies, BundleControl.DISCARD_REQUEST):
        return Heard(Meaning.REQUEST)
    return Heard(Meaning.REQUEST, bundle_control(bundle_id, BundleControl(kind + 1), flags, xid))
