"""Frames and messages for the tests of the classifier, built from their fields by the rules of their standards."""

from __future__ import annotations

import struct
from dataclasses import dataclass

from hypothesis import strategies as st

from ryu_apps.openflow.fields import encode_match
from ryu_apps.openflow.wire import NO_BUFFER, MsgType, message
from ryu_apps.plan.interpret import Packet

VLAN_PRESENT = 0x1000


@dataclass(frozen=True)
class Ip:
    """What `ip_bytes` needs to know."""

    protocol: int = 17
    source: int = 0x0A000001
    destination: int = 0x0A000002
    ports: tuple[int, int] = (1000, 20000)
    dscp: int = 0
    fragment: int = 0  # flags and offset, as they stand in the header
    options: int = 0  # words of IPv4 options


def transport(ip: Ip) -> bytes:
    if ip.protocol == 6:
        return struct.pack("!HHIIBBHHH", *ip.ports, 1, 2, 5 << 4, 2, 100, 0, 0)
    if ip.protocol == 17:
        return struct.pack("!HHHH", *ip.ports, 8, 0)
    if ip.protocol == 132:
        return struct.pack("!HHII", *ip.ports, 0, 0)
    return struct.pack("!BBHI", ip.ports[0] & 0xFF, ip.ports[1] & 0xFF, 0, 0)


def ipv4(ip: Ip) -> bytes:
    payload = transport(ip)
    words = 5 + ip.options
    total = 4 * words + len(payload)
    addresses = ip.source.to_bytes(4, "big") + ip.destination.to_bytes(4, "big")
    head = struct.pack("!BBHHHBBH", 0x40 | words, ip.dscp << 2, total, 7, ip.fragment, 64, ip.protocol, 0)
    return head + addresses + b"\x01" * (4 * ip.options) + payload


def ipv6(ip: Ip, extensions: tuple[int, ...] = ()) -> bytes:
    """IPv6 with extension headers of eight bytes each; 44 is a fragment header with `ip.fragment`."""
    payload, following = transport(ip), ip.protocol
    for kind in reversed(extensions):
        if kind == 44:
            payload = struct.pack("!BBHI", following, 0, ip.fragment, 9) + payload
        else:
            payload = struct.pack("!BB6x", following, 0) + payload
        following = kind
    head = struct.pack("!IHBB", 6 << 28 | ip.dscp << 22, len(payload), following, 64)
    return head + ip.source.to_bytes(16, "big") + ip.destination.to_bytes(16, "big") + payload


def arp(operation: int = 1, spa: int = 1, tpa: int = 2) -> bytes:
    body = struct.pack("!HHBBH", 1, 0x0800, 6, 4, operation)
    return body + (11).to_bytes(6, "big") + spa.to_bytes(4, "big") + (12).to_bytes(6, "big") + tpa.to_bytes(4, "big")


def mpls(label: int, traffic_class: int = 0, bottom: int = 1) -> bytes:
    return struct.pack("!I", label << 12 | traffic_class << 9 | bottom << 8 | 64)


def ethernet(eth_type: int, payload: bytes, tag: int | None = None, eth_dst: int = 1, eth_src: int = 2) -> bytes:
    """A frame, tagged when `tag` (PCP and VLAN id) is given."""
    middle = b"" if tag is None else struct.pack("!HH", 0x8100, tag)
    frame = eth_dst.to_bytes(6, "big") + eth_src.to_bytes(6, "big") + middle + eth_type.to_bytes(2, "big") + payload
    return frame.ljust(60, b"\0")


def frame_of(packet: Packet) -> bytes:
    """The frame whose header fields the interpreter's packet has."""
    ip = Ip(packet.ip_proto, packet.ipv4_src, packet.ipv4_dst, (packet.l4_src, packet.l4_dst), packet.ip_dscp)
    payload = ipv4(ip) if packet.eth_type == 0x0800 else arp()
    eth_type = packet.eth_type
    for number, (label, traffic_class) in enumerate(reversed(packet.mpls)):
        payload, eth_type = mpls(label, traffic_class, bottom=number == 0) + payload, 0x8847
    is_tagged = packet.vlan_tci & VLAN_PRESENT
    tag = packet.vlan_tci & ~VLAN_PRESENT if is_tagged else None
    return ethernet(eth_type, payload, tag, packet.eth_dst)


def packet_in(frame: bytes, in_port: int = 1, reason: int = 1) -> bytes:
    head = struct.pack("!IHBBQ", NO_BUFFER, len(frame), reason, 0, 5)
    return message(MsgType.PACKET_IN, head + encode_match((("in_port", in_port, None),)) + bytes(2) + frame)


_small = st.integers(0, 3)
_numbers = st.sampled_from([0, 1, 53, 1000, 20000, 65535])


@st.composite
def packets(draw):
    """Packets of the interpreter, drawn close to each other so that rules meet them."""
    tag = draw(st.sampled_from([0, 0, 0x1000 | 5, 0x7000 | 0x1000 | 1, 0x1000]))
    return Packet(
        ipv4_src=draw(_small),
        ipv4_dst=draw(_small),
        eth_type=draw(st.sampled_from([0x0800, 0x0800, 0x0806])),
        ip_proto=draw(st.sampled_from([6, 17, 17, 132, 1])),
        l4_src=draw(_numbers),
        l4_dst=draw(_numbers),
        vlan_tci=tag,
        mpls=draw(st.sampled_from([(), (), ((3, 1),)])),
        eth_dst=draw(_small),
        ip_dscp=draw(st.sampled_from([0, 1, 46])),
    )
