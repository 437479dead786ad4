"""Random messages that no controller should get: each breaks one rule of OpenFlow 1.3.5, and is named for it."""

from __future__ import annotations

import struct
from collections.abc import Callable

import numpy as np

from experiments.loadgen.decide.load import FRAME_BYTES, LOW
from experiments.loadgen.decide.packets import FIRST_PROBE, frame, packet_in
from ryu_apps.openflow.wire import HEADER_BYTES, VERSION, MsgType

# Kinds of misbehaviour; the first five are those of PSO's figure.
KINDS = (
    "flood",
    "malformed",
    "endless",
    "connections",
    "stall",
    "zero-length",
    "truncated",
    "oversized",
    "wrong-version",
    "half-open",
    "slow-reader",
    "port-lies",
    "description-lies",
    "claims-id",
)
BEHAVIOURS = ("none", *KINDS)
_LISTED_PARTS = (1, 6, 7, 9, 10, 12)  # flows, groups, group and meter descriptions, meters, tables


def malformed(rng: np.random.Generator) -> tuple[str, bytes]:
    """One malformed message: what is wrong with it, and its bytes.

    Parameters
    ----------
    rng : numpy.random.Generator
    """
    name = str(rng.choice(list(_MAKERS)))
    return name, _MAKERS[name](rng)


def endless(rng: np.random.Generator) -> bytes:
    """A list entry of length 0, in one of the messages whose entries say their length: a parser may never get past it.

    Parameters
    ----------
    rng : numpy.random.Generator
    """
    part = int(rng.choice(_LISTED_PARTS))
    body = struct.pack("!HH4x", part, 0) + bytes(64)
    return _header(VERSION, MsgType.MULTIPART_REPLY, HEADER_BYTES + len(body)) + body


def _good(rng: np.random.Generator) -> bytes:
    return packet_in(FIRST_PROBE, frame(int(rng.integers(1 << 20)), LOW, FRAME_BYTES), False)


def _header(version: int, kind: int, length: int) -> bytes:
    return struct.pack("!BBHI", version, kind, length, 0)


def _other_version(rng: np.random.Generator) -> bytes:
    good = _good(rng)
    return bytes([int(rng.choice([0, 1, 2, 3, 5, 255]))]) + good[1:]


def _unknown_type(rng: np.random.Generator) -> bytes:
    return _header(VERSION, int(rng.integers(30, 256)), HEADER_BYTES)


def _short_length(rng: np.random.Generator) -> bytes:
    """A length below eight, by which no reader can advance."""
    return _header(VERSION, MsgType.PACKET_IN, int(rng.integers(HEADER_BYTES)))


def _truncated_packet_in(rng: np.random.Generator) -> bytes:
    size = int(rng.integers(HEADER_BYTES, HEADER_BYTES + 18))
    return _header(VERSION, MsgType.PACKET_IN, size) + _good(rng)[HEADER_BYTES:size]


def _long_match(rng: np.random.Generator) -> bytes:
    good = bytearray(_good(rng))
    good[HEADER_BYTES + 18 : HEADER_BYTES + 20] = struct.pack("!H", int(rng.integers(500, 65536)))
    return bytes(good)


def _broken_field(rng: np.random.Generator) -> bytes:
    good = bytearray(_good(rng))
    good[HEADER_BYTES + 23] = int(rng.integers(60, 256))  # length of the first match field
    return bytes(good)


def _noise(rng: np.random.Generator) -> bytes:
    body = rng.bytes(int(rng.integers(120)))
    return _header(VERSION, int(rng.integers(30)), HEADER_BYTES + len(body)) + body


_MAKERS: dict[str, Callable[[np.random.Generator], bytes]] = {
    "other version": _other_version,
    "unknown type": _unknown_type,
    "length below eight": _short_length,
    "truncated packet-in": _truncated_packet_in,
    "match longer than its message": _long_match,
    "match field longer than its match": _broken_field,
    "noise in a whole message": _noise,
}
