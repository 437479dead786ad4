"""The bytes that 1+1 protection puts before a packet: an outer IPv4 header of 20 bytes, a protection header of 8.

The protection header is connection (3 bytes), sequence number (4), next protocol (1, always 4 = IPv4), in network
order (P4-Protect, section 3.2). Packets here begin with their IPv4 header; Ethernet is not their matter.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from ipaddress import IPv4Address

from mininet_topos.errors import BadInputError

# RFC 3692: for experiments. The protocol number is a setting.
PROTOCOL = 253
NEXT_IPV4 = 4
OUTER_BYTES = 20
PROTECTION_BYTES = 8
OVERHEAD_BYTES = OUTER_BYTES + PROTECTION_BYTES
LARGEST_CONNECTION = (1 << 24) - 1
LARGEST_SLOT = 4094  # the largest VLAN id
_DONT_FRAGMENT = 0x4000
_TTL = 64
_OUTER = struct.Struct("!BBHHHBBH4s4s")
_PROTECTION = struct.Struct("!3sIB")


@dataclass(frozen=True)
class Tunnel:
    """What the outer headers say: connection, number, and both ends."""

    connection: int
    number: int
    ingress: IPv4Address
    egress: IPv4Address
    protocol: int = PROTOCOL


def checksum(header: bytes) -> int:
    """Return the Internet checksum (RFC 1071) of an even number of bytes; 0 over a header that holds its own."""
    total: int = sum(struct.unpack(f"!{len(header) // 2}H", header))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total ^ 0xFFFF


def ipv4_packet(data: bytes) -> bytes | None:
    """Return the IPv4 packet at the start of some bytes, without padding; None if there is no whole one."""
    if len(data) < OUTER_BYTES or data[0] >> 4 != 4:
        return None
    header, total = (data[0] & 15) * 4, int.from_bytes(data[2:4], "big")
    if header < OUTER_BYTES or not header <= total <= len(data):
        return None
    return data[:total]


def encapsulate(packet: bytes, tunnel: Tunnel) -> bytes | None:
    """Put both headers before a packet.

    Parameters
    ----------
    packet
        An IPv4 packet; bytes after its total length are padding and left out.
    tunnel
        What the headers say.

    Returns
    -------
    28 bytes longer. The outer header copies the type of service, has DF, identification 0 (RFC 6864), TTL 64.
    None if `packet` is no IPv4 packet, or too long for the headers.

    Raises
    ------
    BadInputError
        A connection or number does not fit its field.
    """
    if not 0 <= tunnel.connection <= LARGEST_CONNECTION or not 0 <= tunnel.number < 1 << 32:
        raise BadInputError(
            f"connection {tunnel.connection} with number {tunnel.number} does not fit the header: "
            "a connection has 24 bits, a number 32"
        )
    inner = ipv4_packet(packet)
    if inner is None or len(inner) + OVERHEAD_BYTES > 0xFFFF:
        return None
    fields = [0x45, inner[1], len(inner) + OVERHEAD_BYTES, 0, _DONT_FRAGMENT, _TTL, tunnel.protocol]
    ends = tunnel.ingress.packed, tunnel.egress.packed
    outer = _OUTER.pack(*fields, checksum(_OUTER.pack(*fields, 0, *ends)), *ends)
    return outer + _PROTECTION.pack(tunnel.connection.to_bytes(3, "big"), tunnel.number, NEXT_IPV4) + inner


def decapsulate(data: bytes, protocol: int = PROTOCOL) -> tuple[Tunnel, bytes] | None:
    """Take both headers off.

    Parameters
    ----------
    data
        Anything.
    protocol
        The protocol number that marks our packets.

    Returns
    -------
    (Tunnel, bytes) or None
        What the headers say, and the packet within. None if these are not our headers: another protocol, options, a
        fragment, a wrong checksum, something cut short, or no whole IPv4 packet within.
    """
    packet = ipv4_packet(data)
    if packet is None or len(packet) < OVERHEAD_BYTES or packet[0] != 0x45 or packet[9] != protocol:
        return None
    # More fragments, or an offset.
    if int.from_bytes(packet[6:8], "big") & 0x3FFF or checksum(packet[:OUTER_BYTES]):
        return None
    connection, number, following = _PROTECTION.unpack_from(packet, OUTER_BYTES)
    inner = ipv4_packet(packet[OVERHEAD_BYTES:])
    if inner is None or following != NEXT_IPV4:
        return None
    ends = IPv4Address(packet[12:16]), IPv4Address(packet[16:20])
    return Tunnel(int.from_bytes(connection, "big"), number, *ends, protocol), inner
