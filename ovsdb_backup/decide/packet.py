"""What the agent reads of a punted packet: its tag and its IPv4 addresses. Total: other bytes give None.

Layout: Ethernet II, IEEE 802.1Q (the outer tag), IPv4 (RFC 791).
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

from ryu_apps.plan.fields import ETH_IPV4, ETH_VLAN
from ryu_apps.plan.ids import VLAN_PRESENT, Status
from ryu_apps.plan.recovery_rows import tag_tci

_ETHER_TYPE_AT, _TAG_BYTES, _IPV4_BYTES = 12, 4, 20
_TAGS = (ETH_VLAN, 0x88A8)
_EVERYBODY, _NOBODY = b"\xff" * 6, bytes.fromhex("020000000000")
_EXPERIMENT = 253  # protocol number of RFC 3692
_EMPTY_IPV4 = bytes((0x45, 0, 0, _IPV4_BYTES, 0, 0, 0, 0, 1, _EXPERIMENT)).ljust(_IPV4_BYTES, b"\0")
_FRAME_BYTES = 64  # the shortest with a tag that every link carries


@dataclass(frozen=True, slots=True)
class PacketFields:
    """Fields of a packet; `vlan_tci` is 0 for an untagged one, else it has bit 12 set."""

    vlan_tci: int
    ipv4_src: int
    ipv4_dst: int


def read_packet(frame: bytes) -> PacketFields | None:
    """Fields of an Ethernet frame; None when it holds no IPv4 packet that can be followed."""
    vlan_tci, at = 0, _ETHER_TYPE_AT
    if int.from_bytes(frame[at : at + 2], "big") in _TAGS:
        vlan_tci = int.from_bytes(frame[at + 2 : at + 4], "big") | VLAN_PRESENT
        at += _TAG_BYTES
    header = at + 2
    ether_type = int.from_bytes(frame[at:header], "big")
    if ether_type != ETH_IPV4 or len(frame) < header + _IPV4_BYTES or frame[header] >> 4 != 4:
        return None
    src, dst = frame[header + 12 : header + 16], frame[header + 16 : header + 20]
    return PacketFields(vlan_tci, int.from_bytes(src, "big"), int.from_bytes(dst, "big"))


def notification_frame(tag_id: int) -> bytes:
    """Frame that names a failed set to the switches: a tag with the status of notifications, and an empty packet.

    Examples
    --------
    >>> read_packet(notification_frame(7))
    PacketFields(vlan_tci=28679, ipv4_src=0, ipv4_dst=0)
    """
    tag = struct.pack("!HHH", ETH_VLAN, tag_tci(tag_id, Status.NOTIFICATION), ETH_IPV4)
    return (_EVERYBODY + _NOBODY + tag + _EMPTY_IPV4).ljust(_FRAME_BYTES, b"\0")
