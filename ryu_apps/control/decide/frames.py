"""ARP and discovery (LLDP) frames to and from bytes; total: bytes that are neither give None.

Sources: RFC 826 (ARP), RFC 5227 (probe: sender address 0), IEEE 802.1AB (LLDP). Our discovery frame carries
the datapath id and the port number as locally assigned chassis and port ids.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

from ryu_apps.plan.edge_rows import ETH_LLDP, LLDP_MULTICAST
from ryu_apps.plan.fields import ETH_ARP, ETH_IPV4

BROADCAST = 0xFFFFFFFFFFFF
CONTROLLER_MAC = 0x02000000FFFE  # locally administered, above every derived host MAC
_ETHERNET, _MAC_BYTES, _IPV4_BYTES = 1, 6, 4
_ARP_LAYOUT = "!HHBBH6s4s6s4s"
_HEADER_BYTES, _ARP_BYTES, _MINIMUM_BYTES = 14, 28, 60
_CHASSIS, _PORT, _TTL, _END = 1, 2, 3, 0
_LOCALLY_ASSIGNED = 7
_CHASSIS_PREFIX, _PORT_PREFIX = b"armor-dpid:", b"armor-port:"
_TTL_S = 120


@dataclass(frozen=True, slots=True)
class Arp:
    """An ARP packet; addresses are integers."""

    op: int
    sender_mac: int
    sender_ipv4: int
    target_mac: int
    target_ipv4: int


@dataclass(frozen=True, slots=True)
class LldpProbe:
    """Where a discovery frame left: datapath id and port."""

    dpid: int
    port_no: int


def arp_frame(arp: Arp, eth_dst: int = BROADCAST) -> bytes:
    """Ethernet frame of an ARP packet, padded to the minimum length."""
    packet = struct.pack(
        _ARP_LAYOUT,
        _ETHERNET,
        ETH_IPV4,
        _MAC_BYTES,
        _IPV4_BYTES,
        arp.op,
        _mac(arp.sender_mac),
        arp.sender_ipv4.to_bytes(4, "big"),
        _mac(arp.target_mac),
        arp.target_ipv4.to_bytes(4, "big"),
    )
    return _frame(eth_dst, arp.sender_mac, ETH_ARP, packet)


def read_arp(frame: bytes) -> Arp | None:
    """The ARP packet of a frame; None when it holds none (for Ethernet and IPv4)."""
    if _eth_type(frame) != ETH_ARP or len(frame) < _HEADER_BYTES + _ARP_BYTES:
        return None
    hardware, protocol, mac_bytes, ipv4_bytes, op, *addresses = struct.unpack_from(_ARP_LAYOUT, frame, _HEADER_BYTES)
    if (hardware, protocol, mac_bytes, ipv4_bytes) != (_ETHERNET, ETH_IPV4, _MAC_BYTES, _IPV4_BYTES):
        return None
    return Arp(op, *(int.from_bytes(address, "big") for address in addresses))


def lldp_probe_frame(lldp_probe: LldpProbe, src_mac: int = CONTROLLER_MAC) -> bytes:
    """Discovery frame that says where it left."""
    parts = (
        _tlv(_CHASSIS, bytes([_LOCALLY_ASSIGNED]) + _CHASSIS_PREFIX + b"%016x" % lldp_probe.dpid),
        _tlv(_PORT, bytes([_LOCALLY_ASSIGNED]) + _PORT_PREFIX + b"%d" % lldp_probe.port_no),
        _tlv(_TTL, struct.pack("!H", _TTL_S)),
        _tlv(_END, b""),
    )
    return _frame(LLDP_MULTICAST, src_mac, ETH_LLDP, b"".join(parts))


def read_lldp_probe(frame: bytes) -> LldpProbe | None:
    """Where a discovery frame left; None for LLDP of others and for anything else."""
    if _eth_type(frame) != ETH_LLDP:
        return None
    dpid = port_no = None
    at = _HEADER_BYTES
    while at + 2 <= len(frame):
        (head,) = struct.unpack_from("!H", frame, at)
        kind, value, at = head >> 9, frame[at + 2 : at + 2 + (head & 0x1FF)], at + 2 + (head & 0x1FF)
        if kind == _END:
            break
        if kind == _CHASSIS:
            dpid = _number(value, _CHASSIS_PREFIX, 16)
        elif kind == _PORT:
            port_no = _number(value, _PORT_PREFIX, 10)
    return None if dpid is None or port_no is None else LldpProbe(dpid, port_no)


def _number(value: bytes, prefix: bytes, base: int) -> int | None:
    wanted = bytes([_LOCALLY_ASSIGNED]) + prefix
    digits = value[len(wanted) :]
    if not value.startswith(wanted) or not digits.isalnum():
        return None
    try:
        return int(digits, base)
    except ValueError:
        return None


def _tlv(kind: int, value: bytes) -> bytes:
    return struct.pack("!H", kind << 9 | len(value)) + value


def _frame(eth_dst: int, eth_src: int, eth_type: int, payload: bytes) -> bytes:
    frame = _mac(eth_dst) + _mac(eth_src) + struct.pack("!H", eth_type) + payload
    return frame.ljust(_MINIMUM_BYTES, b"\0")


def _eth_type(frame: bytes) -> int | None:
    if len(frame) < _HEADER_BYTES:
        return None
    return int.from_bytes(frame[12:14], "big")


def _mac(address: int) -> bytes:
    return address.to_bytes(_MAC_BYTES, "big")
