"""LDIs about tunnels as frames: an MPLS label with the TC of LDIs, and nothing behind it. Pure.

RFC 3032 section 2.1: label (20 bits), TC (3, RFC 5462), bottom of stack (1), time to live (8).
"""

from __future__ import annotations

import struct

from ryu_apps.plan.fields import ETH_MPLS

FRAME_BYTES = 60  # the shortest that Ethernet carries
_HEADER = struct.Struct(">6s6sHI")
_EVERYBODY = b"\xff" * 6
_NOBODY = bytes.fromhex("020000000000")
_TTL, _BOTTOM = 64, 1
_LABEL_SHIFT, _TC_SHIFT, _BOTTOM_SHIFT = 12, 9, 8


def ldi_frame(label: int, tc: int) -> bytes:
    """Frame that says that the tunnel with this label is down.

    Examples
    --------
    >>> read_ldi(ldi_frame(17, 7), 7), read_ldi(ldi_frame(17, 7), 0)
    (17, None)
    """
    entry = label << _LABEL_SHIFT | tc << _TC_SHIFT | _BOTTOM << _BOTTOM_SHIFT | _TTL
    return _HEADER.pack(_EVERYBODY, _NOBODY, ETH_MPLS, entry).ljust(FRAME_BYTES, b"\0")


def read_ldi(frame: bytes, tc: int) -> int | None:
    """Label of an LDI; None for any other frame."""
    if len(frame) < _HEADER.size:
        return None
    _, _, ether_type, entry = _HEADER.unpack_from(frame)
    if ether_type != ETH_MPLS or entry >> _TC_SHIFT & 0b111 != tc:
        return None
    return int(entry >> _LABEL_SHIFT)
