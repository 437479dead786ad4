"""Match fields on the wire: OXM and NXM headers, widths, and matches to and from bytes.

Sources: OpenFlow 1.3.5 section 7.2.3.7 (OXM), Open vSwitch's ovs-fields(7) (NXM). A match travels in
OXM; a subfield (load, move, learn, multipath) is named by its NXM header when it has one, because that is
what Open vSwitch sends back.
"""

from __future__ import annotations

import struct
from functools import lru_cache
from typing import NamedTuple

from ryu_apps.openflow.wire import WireError
from ryu_apps.plan.fields import FIELDS, N_REGISTERS
from ryu_apps.plan.rows import Match

_OXM, _NXM0, _NXM1 = 0x8000, 0x0000, 0x0001
# Field -> (OXM number or None, NXM (class, number) or None). 20 bits of mpls_label travel in four bytes.
_NUMBERS: dict[str, tuple[int | None, tuple[int, int] | None]] = {
    "in_port": (0, (_NXM0, 0)),
    "metadata": (2, None),
    "eth_dst": (3, (_NXM0, 1)),
    "eth_src": (4, (_NXM0, 2)),
    "eth_type": (5, (_NXM0, 3)),
    "vlan_vid": (6, None),
    "vlan_pcp": (7, None),
    # A subfield only: OpenFlow 1.3 matches the tag by vlan_vid and vlan_pcp.
    "vlan_tci": (None, (_NXM0, 4)),
    "ip_dscp": (8, None),
    "ip_ecn": (9, (_NXM1, 28)),
    "ip_proto": (10, (_NXM0, 6)),
    "ipv4_src": (11, (_NXM0, 7)),
    "ipv4_dst": (12, (_NXM0, 8)),
    "tcp_src": (13, (_NXM0, 9)),
    "tcp_dst": (14, (_NXM0, 10)),
    "udp_src": (15, (_NXM0, 11)),
    "udp_dst": (16, (_NXM0, 12)),
    "arp_op": (21, (_NXM0, 15)),
    "arp_spa": (22, (_NXM0, 16)),
    "arp_tpa": (23, (_NXM0, 17)),
    "arp_sha": (24, (_NXM1, 17)),
    "arp_tha": (25, (_NXM1, 18)),
    "mpls_label": (34, None),
    "mpls_tc": (35, None),
    "mpls_bos": (36, None),
    **{f"reg{number}": (None, (_NXM1, number)) for number in range(N_REGISTERS)},
}
_MPLS_LABEL_BYTES = 4


class WireField(NamedTuple):
    """A field on the wire: its width, the (class, number) that names it in a match and as a subfield."""

    name: str
    n_bytes: int
    n_bits: int
    match_id: tuple[int, int] | None
    subfield_id: tuple[int, int]
    subfield_bytes: int


def _wire_field(name: str, oxm: int | None, nxm: tuple[int, int] | None) -> WireField:
    n_bits = FIELDS[name].n_bits
    n_bytes = _MPLS_LABEL_BYTES if name == "mpls_label" else (n_bits + 7) // 8
    # Registers are matched by their NXM header in OpenFlow 1.3 too.
    match_id = nxm if name.startswith("reg") else None if oxm is None else (_OXM, oxm)
    subfield_id = nxm or match_id
    if subfield_id is None:
        raise WireError(f"field {name!r} has neither an OXM nor an NXM number; give it one")
    # NXM numbers ports with 16 bits, OXM with 32.
    return WireField(name, n_bytes, n_bits, match_id, subfield_id, 2 if name == "in_port" else n_bytes)


WIRE_FIELDS = {name: _wire_field(name, *numbers) for name, numbers in _NUMBERS.items()}
_BY_MATCH_ID = {field.match_id: field for field in WIRE_FIELDS.values() if field.match_id is not None}
# Open vSwitch may name a subfield either way.
_BY_SUBFIELD_ID = {**_BY_MATCH_ID, **{field.subfield_id: field for field in WIRE_FIELDS.values()}}


def field_named(name: str) -> WireField:
    """The field of that name.

    Raises
    ------
    WireError
        Unknown name.
    """
    try:
        return WIRE_FIELDS[name]
    except KeyError:
        raise WireError(f"unknown field {name!r}; known: {', '.join(WIRE_FIELDS)}") from None


@lru_cache(maxsize=1 << 16)
def encode_match_field(name: str, value: int, mask: int | None) -> bytes:
    """One OXM of a match.

    Raises
    ------
    WireError
        Unknown field, a field that OpenFlow 1.3 cannot match, or a value or mask wider than the field.
    """
    field = field_named(name)
    if field.match_id is None:
        raise WireError(f"OpenFlow 1.3 cannot match {name!r}; match vlan_vid and vlan_pcp instead")
    for number in (value, 0 if mask is None else mask):
        if not 0 <= number < 1 << field.n_bits:
            raise WireError(f"{name} = {number:#x} is wider than its {field.n_bits} bits")
    if mask is not None and value & ~mask:
        raise WireError(f"{name} = {value:#x} sets bits outside its mask {mask:#x}; a switch refuses that")
    oxm_class, oxm_number = field.match_id
    body = value.to_bytes(field.n_bytes, "big")
    if mask is not None:
        body += mask.to_bytes(field.n_bytes, "big")
    return struct.pack("!HBB", oxm_class, oxm_number << 1 | (mask is not None), len(body)) + body


def encode_match(match: Match) -> bytes:
    """A match as `struct ofp_match`: type 1 (OXM), length, fields, padding to 8 bytes.

    Fields go out in numeric order, so that a prerequisite (eth_type) stands before what needs it
    (OpenFlow 1.3.5 section 7.2.3.6).
    """
    ordered = sorted(match, key=lambda given: field_named(given[0]).match_id or (0, 0))
    body = b"".join(encode_match_field(name, value, mask) for name, value, mask in ordered)
    length = 4 + len(body)
    return struct.pack("!HH", 1, length) + body + bytes(-length % 8)


def decode_match(buffer: bytes, offset: int = 0, *, known_only: bool = False) -> tuple[Match, int]:
    """A match and the offset behind its padding.

    Parameters
    ----------
    known_only
        Leave out fields that Armor does not know: a switch adds some to what it reports, of tunnels for example.

    Raises
    ------
    WireError
        Not an OXM match, a field that Armor does not know (unless `known_only`), or one that runs over the end.
    """
    if len(buffer) < offset + 4:
        raise WireError("a match is truncated before its header ends")
    kind, length = struct.unpack_from("!HH", buffer, offset)
    end = offset + length
    if kind != 1 or length < 4 or end > len(buffer):
        raise WireError(f"a match of type {kind} and length {length} is not a whole OXM match")
    return decode_oxms(buffer[offset + 4 : end], known_only), end + -length % 8


@lru_cache(maxsize=1 << 16)
def decode_oxms(body: bytes, known_only: bool = False) -> Match:
    """A match from its OXMs (as `decode_match`)."""
    fields: list[tuple[str, int, int | None]] = []
    at = 0
    while at < len(body):
        if len(body) < at + 4:
            raise WireError("a match field is truncated before its header ends")
        oxm_class, number, length = struct.unpack_from("!HBB", body, at)
        value_at, at = at + 4, at + 4 + length
        field = _BY_MATCH_ID.get((oxm_class, number >> 1))
        has_mask = number & 1
        if field is None and known_only and at <= len(body):
            continue
        if field is None:
            raise WireError(f"match field class {oxm_class:#06x} number {number >> 1} is none that Armor uses")
        if length != field.n_bytes * (1 + has_mask) or at > len(body):
            raise WireError(f"match field {field.name} has {length} bytes, not {field.n_bytes * (1 + has_mask)}")
        value = int.from_bytes(body[value_at : value_at + field.n_bytes], "big")
        mask = int.from_bytes(body[value_at + field.n_bytes : at], "big") if has_mask else None
        fields.append((field.name, value, mask))
    return tuple(sorted(fields))


def encode_subfield(name: str) -> bytes:
    """The 4-byte header that names a field in load, move, learn and multipath."""
    field = field_named(name)
    nxm_class, number = field.subfield_id
    return struct.pack("!HBB", nxm_class, number << 1, field.subfield_bytes)


def decode_subfield(buffer: bytes) -> str:
    """The name of the field that a 4-byte header stands for.

    Raises
    ------
    WireError
        Not a field that Armor uses.
    """
    if len(buffer) != 4:
        raise WireError("a subfield is truncated before its header ends")
    oxm_class, number, _length = struct.unpack("!HBB", buffer)
    field = _BY_SUBFIELD_ID.get((oxm_class, number >> 1))
    if field is None or number & 1:
        raise WireError(f"subfield class {oxm_class:#06x} number {number >> 1} is none that Armor uses")
    return field.name
