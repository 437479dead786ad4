"""Which probe packet a captured frame is: irtt's sequence number, or ping's."""

from __future__ import annotations

import struct
from typing import NamedTuple

from experiments.analysis.frames import ICMP, UDP, Frame

IRTT_PORT = 2112
_IRTT_MAGIC = b"\x14\xa7\x5b"
# irtt protocol 1: magic (3), flags (1), connection token (8), sequence number (4, little endian).
_IRTT_OPEN, _IRTT_REPLY, _IRTT_CLOSE, _IRTT_HMAC = 1, 2, 4, 8
_ICMP_ECHO_REPLY, _ICMP_ECHO_REQUEST = 0, 8
_UDP_HEADER_BYTES = 8


class ProbeId(NamedTuple):
    """One probe packet: the stream's two ends in the order of travel, its kind, and its number.

    `sequence` of a ping has only 16 bits on the wire; `accounting.unwrap` makes it count on.
    """

    source: int
    destination: int
    kind: str
    is_reply: bool
    sequence: int


def probe_id(frame: Frame) -> ProbeId | None:
    """Identity of a probe packet; None for any other frame (load, irtt's own open and close)."""
    if frame.protocol == UDP:
        return _irtt_id(frame)
    if frame.protocol == ICMP and len(frame.payload) >= 8:
        kind, _, _, _, sequence = struct.unpack_from(">BBHHH", frame.payload)
        if kind in (_ICMP_ECHO_REQUEST, _ICMP_ECHO_REPLY):
            return ProbeId(frame.source, frame.destination, "ping", kind == _ICMP_ECHO_REPLY, sequence)
    return None


def _irtt_id(frame: Frame) -> ProbeId | None:
    payload = frame.payload
    if len(payload) < _UDP_HEADER_BYTES + 16 or payload[8:11] != _IRTT_MAGIC:
        return None
    source_port, destination_port = struct.unpack_from(">HH", payload)
    flags = payload[11]
    is_reply = bool(flags & _IRTT_REPLY)
    if (source_port if is_reply else destination_port) != IRTT_PORT or flags & (_IRTT_OPEN | _IRTT_CLOSE | _IRTT_HMAC):
        return None
    (sequence,) = struct.unpack_from("<I", payload, _UDP_HEADER_BYTES + 12)
    return ProbeId(frame.source, frame.destination, "probe", is_reply, sequence)
