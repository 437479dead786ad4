"""What all actions share on the wire: kinds, header, padding, bit ranges (OpenFlow 1.3.5 section 7.2.5)."""

from __future__ import annotations

import struct
from enum import IntEnum

from ryu_apps.openflow.fields import field_named
from ryu_apps.openflow.wire import NX_EXPERIMENTER, WireError


class Kind(IntEnum):
    """`ofp_action_type`."""

    OUTPUT = 0
    PUSH_VLAN = 17
    POP_VLAN = 18
    PUSH_MPLS = 19
    POP_MPLS = 20
    SET_QUEUE = 21
    GROUP = 22
    SET_FIELD = 25
    EXPERIMENTER = 0xFFFF


class Nx(IntEnum):
    """`nx_action_subtype`."""

    REG_MOVE = 6
    REG_LOAD = 7
    MULTIPATH = 10
    RESUBMIT_TABLE = 14
    LEARN = 16
    CONTROLLER = 20
    CT = 35
    CLONE = 42


def action_bytes(kind: Kind, body: bytes) -> bytes:
    """One action, padded to 8 bytes."""
    body += bytes(-(4 + len(body)) % 8)
    return struct.pack("!HH", kind, 4 + len(body)) + body


def nicira_bytes(subtype: Nx, body: bytes) -> bytes:
    """One action of Nicira's."""
    return action_bytes(Kind.EXPERIMENTER, struct.pack("!IH", NX_EXPERIMENTER, subtype) + body)


def unpack(layout: str, body: bytes) -> tuple[int, ...]:
    """Numbers at the beginning of a body.

    Raises
    ------
    WireError
        The body is shorter.
    """
    size = struct.calcsize(layout)
    if len(body) < size:
        raise WireError(f"an action is truncated: {len(body)} bytes where {size} are needed")
    return struct.unpack_from(layout, body)


def bit_range(name: str, first_bit: int, n_bits: int) -> int:
    """`ofs_nbits` of a subfield: six bits of length, ten of offset.

    Raises
    ------
    WireError
        The field does not have these bits.
    """
    width = 8 * field_named(name).subfield_bytes
    if not (first_bit >= 0 and 1 <= n_bits <= 64 and first_bit + n_bits <= width):
        raise WireError(f"bits {first_bit}..{first_bit + n_bits - 1} are outside {name}, which has {width}")
    return first_bit << 6 | n_bits - 1
