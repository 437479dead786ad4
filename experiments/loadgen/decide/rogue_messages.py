"""Messages of a rogue switch, kind by kind: each breaks the rule that its kind names (OpenFlow 1.3.5 section 7)."""

from __future__ import annotations

import struct
from collections.abc import Callable

import numpy as np

from experiments.loadgen.decide.load import FRAME_BYTES, LOW
from experiments.loadgen.decide.misbehave import endless
from experiments.loadgen.decide.packets import FIRST_PROBE, frame, packet_in
from experiments.loadgen.decide.switch import Part, features_reply, multipart_reply, opening, port_description
from ryu_apps.openflow.fields import encode_match
from ryu_apps.openflow.wire import HEADER_BYTES, MULTIPART_MORE, NO_BUFFER, VERSION, MsgType, message

MOST_BYTES = 0xFFFF  # of a message: its length has 16 bits
OTHER_VERSIONS = (0, 1, 2, 3, 5, 6, 255)
_ROLE_REPLY, _ASYNC_REPLY, _GET_CONFIG_REPLY = 25, 27, 8
_WRITE_ACTIONS, _OUTPUT = 3, 0
_FLOW_BYTES = 56  # of a flow's statistics with the empty match
_EMPTY_MATCH = struct.pack("!HH4x", 1, 4)
# By message type: the least bytes that it can have.
_LEAST_BYTES = {
    int(MsgType.ERROR): 12,
    int(MsgType.EXPERIMENTER): 16,
    int(MsgType.FEATURES_REPLY): 32,
    _GET_CONFIG_REPLY: 12,
    int(MsgType.PACKET_IN): 34,
    int(MsgType.FLOW_REMOVED): 56,
    int(MsgType.PORT_STATUS): 80,
    int(MsgType.MULTIPART_REPLY): 16,
    MsgType.QUEUE_REPLY: 16,
    _ROLE_REPLY: 24,
    _ASYNC_REPLY: 32,
}
Make = Callable[[np.random.Generator], bytes]


def zero_length(rng: np.random.Generator) -> bytes:
    """A message with a list entry, or an entry of a list inside it, whose length is 0.

    Parameters
    ----------
    rng : numpy.random.Generator
    """
    return _ZERO_LENGTH[int(rng.integers(len(_ZERO_LENGTH)))](rng)


def truncated(rng: np.random.Generator) -> bytes:
    """A message that ends inside the fixed part of its type; its header gives the length that it has.

    Parameters
    ----------
    rng : numpy.random.Generator
    """
    kind = int(rng.choice(list(_LEAST_BYTES)))
    length = int(rng.integers(HEADER_BYTES, _LEAST_BYTES[kind]))
    return raw(kind, rng.bytes(length - HEADER_BYTES))


def oversized(rng: np.random.Generator) -> bytes:
    """A message of nearly the greatest length: data, packets, and parts of a dump that says more will follow.

    Parameters
    ----------
    rng : numpy.random.Generator
    """
    return _OVERSIZED[int(rng.integers(len(_OVERSIZED)))](rng)


def wrong_version(rng: np.random.Generator) -> bytes:
    """A message that is good but for its version, after the version was agreed on.

    Parameters
    ----------
    rng : numpy.random.Generator
    """
    bodies = (_packet_in(rng), features_reply(1, 0), _port_status(), message(MsgType.BARRIER_REPLY))
    good = bodies[int(rng.integers(len(bodies)))]
    return bytes([int(rng.choice(OTHER_VERSIONS))]) + good[1:]


def other_hello(rng: np.random.Generator) -> bytes:
    """A hello that offers only a version that is not 1.3.

    Parameters
    ----------
    rng : numpy.random.Generator
    """
    version = int(rng.choice(OTHER_VERSIONS))
    bitmap = struct.pack("!HHI", 1, 8, 1 << version) if version < 32 and rng.random() < 0.5 else b""
    return struct.pack("!BBHI", version, MsgType.HELLO, HEADER_BYTES + len(bitmap), 0) + bitmap


def half_opening(rng: np.random.Generator) -> bytes:
    """All that a half-open connection sends: nothing else follows.

    It is hello alone, the beginning of a message, or one after hello or after a whole handshake.

    Parameters
    ----------
    rng : numpy.random.Generator
    """
    half = _half_message(rng)
    handshake = opening() + features_reply(int(rng.integers(1 << 32, 1 << 48)), 0)
    beginnings = (opening(), half, opening() + half, handshake + multipart_reply(Part.PORT_DESC, b"") + half)
    return beginnings[int(rng.integers(len(beginnings)))]


def raw(kind: int, body: bytes) -> bytes:
    """A message of any type, of those that Armor does not name too.

    Examples
    --------
    >>> raw(23, bytes(2)).hex(" ")
    '04 17 00 0a 00 00 00 00 00 00'
    """
    return struct.pack("!BBHI", VERSION, kind, HEADER_BYTES + len(body), 0) + body


def _half_message(rng: np.random.Generator) -> bytes:
    """The beginning of a message: some of its header, or its header and some of its body."""
    if rng.random() < 0.5:
        return _packet_in(rng)[: int(rng.integers(1, HEADER_BYTES))]
    return raw(MsgType.PACKET_IN, bytes(MOST_BYTES - HEADER_BYTES))[: int(rng.integers(HEADER_BYTES, 1000))]


def _packet_in(rng: np.random.Generator) -> bytes:
    return packet_in(FIRST_PROBE, frame(int(rng.integers(1 << 20)), LOW, FRAME_BYTES), False)


def _port_status() -> bytes:
    return message(MsgType.PORT_STATUS, struct.pack("!B7x", 2) + port_description(1))


def _flow(instructions: bytes, match: bytes = _EMPTY_MATCH) -> bytes:
    """Statistics of one flow."""
    length = 48 + len(match) + len(instructions)
    return struct.pack("!HB37x8x", length, 0) + match + instructions


def _flows(*flows: bytes, flags: int = 0) -> bytes:
    return multipart_reply(Part.FLOW, b"".join(flows), flags=flags)


def _actions_of_nothing() -> bytes:
    """An action whose length is 0."""
    return struct.pack("!HH12x", _OUTPUT, 0)


def _hello(_rng: np.random.Generator) -> bytes:
    return raw(MsgType.HELLO, struct.pack("!HHI", 1, 0, 1 << VERSION))


def _match_of_packet(_rng: np.random.Generator) -> bytes:
    head = struct.pack("!IHBBQ", NO_BUFFER, 0, 0, 0, 0)
    return raw(MsgType.PACKET_IN, head + struct.pack("!HH4x", 1, 0) + bytes(16))


def _match_of_flow(_rng: np.random.Generator) -> bytes:
    return _flows(_flow(b"", struct.pack("!HH4x", 1, 0)))


def _instruction(_rng: np.random.Generator) -> bytes:
    return _flows(_flow(struct.pack("!HH4x", _WRITE_ACTIONS, 0)))


def _action(_rng: np.random.Generator) -> bytes:
    actions = _actions_of_nothing()
    return _flows(_flow(struct.pack("!HH4x", _WRITE_ACTIONS, 8 + len(actions)) + actions))


def _group(inside: bytes) -> bytes:
    head = struct.pack("!HBxI", 8 + len(inside), 0, 1)
    return multipart_reply(Part.GROUP_DESC, head + inside)


def _bucket(_rng: np.random.Generator) -> bytes:
    return _group(struct.pack("!HHII4x", 0, 0, 0, 0))


def _action_of_bucket(_rng: np.random.Generator) -> bytes:
    actions = _actions_of_nothing()
    return _group(struct.pack("!HHII4x", 16 + len(actions), 0, 0, 0) + actions)


def _meter_band(_rng: np.random.Generator) -> bytes:
    band = struct.pack("!HHII4x", 1, 0, 0, 0)
    return multipart_reply(Part.METER_CONFIG, struct.pack("!HHI", 8 + len(band), 0, 1) + band)


def _table_property(_rng: np.random.Generator) -> bytes:
    return multipart_reply(Part.TABLE_FEATURES, struct.pack("!H62x", 72) + struct.pack("!HH4x", 0, 0))


def _queue(_rng: np.random.Generator) -> bytes:
    return raw(MsgType.QUEUE_REPLY, struct.pack("!I4x", 1) + struct.pack("!IIH6x", 1, 1, 0))


def _queue_property(_rng: np.random.Generator) -> bytes:
    queue = struct.pack("!IIH6x", 1, 1, 32) + struct.pack("!HH12x", 1, 0)
    return raw(MsgType.QUEUE_REPLY, struct.pack("!I4x", 1) + queue)


_ZERO_LENGTH: tuple[Make, ...] = (
    endless,
    _hello,
    _match_of_packet,
    _match_of_flow,
    _instruction,
    _action,
    _bucket,
    _action_of_bucket,
    _meter_band,
    _table_property,
    _queue,
    _queue_property,
)


def _long_echo(rng: np.random.Generator) -> bytes:
    return message(MsgType.ECHO_REQUEST, rng.bytes(MOST_BYTES - HEADER_BYTES))


def _long_error(_rng: np.random.Generator) -> bytes:
    return message(MsgType.ERROR, bytes(MOST_BYTES - HEADER_BYTES))


def _long_experimenter(rng: np.random.Generator) -> bytes:
    return message(MsgType.EXPERIMENTER, rng.bytes(MOST_BYTES - HEADER_BYTES))


def _long_packet_in(_rng: np.random.Generator) -> bytes:
    match = encode_match((("in_port", 1, None),))
    packet = bytes(MOST_BYTES - HEADER_BYTES - 18 - len(match))
    head = struct.pack("!IHBBQ", NO_BUFFER, len(packet), 0, 0, 0)
    return message(MsgType.PACKET_IN, head + match + b"\0\0" + packet)


def _long_port_status(_rng: np.random.Generator) -> bytes:
    return _port_status()[:2] + struct.pack("!HI", MOST_BYTES, 0) + bytes(MOST_BYTES - HEADER_BYTES)


def _long_list(_rng: np.random.Generator) -> bytes:
    """A part of a dump with as many flows as it can carry, which says that more parts follow."""
    n = (MOST_BYTES - HEADER_BYTES - 8) // _FLOW_BYTES
    return _flows(*(_flow(b"") for _ in range(n)), flags=MULTIPART_MORE)


def _long_ports(rng: np.random.Generator) -> bytes:
    n = (MOST_BYTES - HEADER_BYTES - 8) // 64
    first = int(rng.integers(1, 1 << 31))
    ports = b"".join(port_description(first + place) for place in range(n))
    return multipart_reply(Part.PORT_DESC, ports, flags=MULTIPART_MORE)


_OVERSIZED: tuple[Make, ...] = (
    _long_echo,
    _long_error,
    _long_experimenter,
    _long_packet_in,
    _long_port_status,
    _long_list,
    _long_ports,
)
