"""Header fields of an Ethernet frame, of any bytes: what is truncated or not understood is simply not there.

Fields mean what they mean in a match of OpenFlow 1.3 on stock Open vSwitch: one 802.1Q tag is looked through (its
default vlan-limit), nothing is seen below MPLS, and every fragment of an IP packet has ports, types and codes 0
(OFPC_FRAG_NORMAL, ovs-ofctl(8)); a later IPv6 fragment has protocol 44. Lengths and checksums are not verified: a
packet-in may be truncated.
"""

from __future__ import annotations

import struct

from ryu_apps.plan.fields import ETH_ARP, ETH_IPV4, ETH_IPV6, ETH_MPLS, IP_ICMP, IP_ICMPV6, IP_SCTP, IP_TCP, IP_UDP
from ryu_apps.plan.ids import VLAN_PRESENT

Fields = dict[str, int]

_ETHERNET = struct.Struct("!12sH")
_IPV4 = struct.Struct("!BB4xHxB2xII")  # without length, identification, time to live and checksum
_MAC_MASK = (1 << 48) - 1
_VLAN_TYPES = (0x8100, 0x88A8)
_FIRST_TYPE = 0x0600  # smaller numbers are lengths (IEEE 802.3)
_OFP_DL_TYPE_NOT_ETH_TYPE = 0x05FF  # what Open vSwitch says of a frame with a length instead of a type
_SNAP = bytes.fromhex("aaaa03000000")
_HOP_BY_HOP, _ROUTING, _FRAGMENT, _AUTHENTICATION, _DESTINATION = 0, 43, 44, 51, 60
_TRANSPORTS = {
    number: (f"{name}_src", f"{name}_dst") for number, name in ((IP_TCP, "tcp"), (IP_UDP, "udp"), (IP_SCTP, "sctp"))
}
_MESSAGES = {(ETH_IPV4, IP_ICMP): "icmpv4", (ETH_IPV6, IP_ICMPV6): "icmpv6"}


def frame_fields(frame: bytes) -> Fields:
    """Fields that an Ethernet frame has, by OXM name.

    Parameters
    ----------
    frame
        From the destination address on, possibly truncated. Any bytes.

    Returns
    -------
    dict
        `vlan_vid` is 0 for an untagged frame and has bit 12 set for a tagged one; the other fields are there only
        when the frame has them.
    """
    if len(frame) < 14:
        return {}
    addresses, eth_type = _ETHERNET.unpack_from(frame)
    both, at = int.from_bytes(addresses, "big"), 14
    fields = {"eth_dst": both >> 48, "eth_src": both & _MAC_MASK, "vlan_vid": 0}
    if eth_type in _VLAN_TYPES and len(frame) >= 18:
        tag = _number(frame, 14, 2)
        fields["vlan_vid"] = tag & 0xFFF | VLAN_PRESENT
        fields["vlan_pcp"] = tag >> 13
        eth_type, at = _number(frame, 16, 2), 18
    if eth_type < _FIRST_TYPE:
        eth_type, at = _of_length_frame(frame, at)
    fields["eth_type"] = eth_type
    reader = _READERS.get(eth_type)
    if reader is not None:
        fields.update(reader(frame[at:]))
    return fields


def _of_length_frame(frame: bytes, at: int) -> tuple[int, int]:
    """Type of a frame with an 802.2 header: its SNAP type, when it has one of Ethernet."""
    if frame[at : at + 6] == _SNAP and len(frame) >= at + 8 and _number(frame, at + 6, 2) >= _FIRST_TYPE:
        return _number(frame, at + 6, 2), at + 8
    return _OFP_DL_TYPE_NOT_ETH_TYPE, at


def _number(data: bytes, at: int, size: int) -> int:
    return int.from_bytes(data[at : at + size], "big")


def _ipv4(data: bytes) -> Fields:
    if len(data) < _IPV4.size:
        return {}
    first, tos, fragment, protocol, source, destination = _IPV4.unpack_from(data)
    header_bytes = 4 * (first & 15)
    if header_bytes < 20 or first >> 4 != 4:
        return {}
    fields = {
        "ip_dscp": tos >> 2,
        "ip_ecn": tos & 3,
        "ip_proto": protocol,
        "ipv4_src": source,
        "ipv4_dst": destination,
    }
    fields.update(_transport(ETH_IPV4, protocol, data[header_bytes : header_bytes + 4], bool(fragment & 0x3FFF)))
    return fields


def _ipv6(data: bytes) -> Fields:
    if len(data) < 40 or data[0] >> 4 != 6:
        return {}
    fields = _traffic_class(_number(data, 0, 2) >> 4 & 0xFF)
    fields |= {"ipv6_src": _number(data, 8, 16), "ipv6_dst": _number(data, 24, 16)}
    protocol, at, is_fragment = _skip_extensions(data)
    if protocol is None:
        return fields
    return fields | {"ip_proto": protocol} | _transport(ETH_IPV6, protocol, data[at:], is_fragment)


def _skip_extensions(data: bytes) -> tuple[int | None, int, bool]:
    """Upper protocol, where it begins, whether this is a fragment; None: the chain of headers ends early (RFC 8200)."""
    protocol, at, is_fragment = data[6], 40, False
    while protocol in (_HOP_BY_HOP, _ROUTING, _DESTINATION, _AUTHENTICATION, _FRAGMENT):
        if len(data) < at + 8:
            return None, at, is_fragment
        following, length = data[at], data[at + 1]
        if protocol == _FRAGMENT:
            offset = _number(data, at + 2, 2)
            is_fragment = is_fragment or bool(offset & 0xFFF9)
            at += 8
            if offset & 0xFFF8:
                return _FRAGMENT, at, True
        else:
            at += 4 * (length + 2) if protocol == _AUTHENTICATION else 8 * (length + 1)
        protocol = following
    return protocol, at, is_fragment


def _traffic_class(octet: int) -> Fields:
    return {"ip_dscp": octet >> 2, "ip_ecn": octet & 3}


def _transport(eth_type: int, protocol: int, data: bytes, is_fragment: bool) -> Fields:
    """Ports, or type and code."""
    if is_fragment:
        data = bytes(4)
    if protocol in _TRANSPORTS:
        source, destination = _TRANSPORTS[protocol]
        return {source: _number(data, 0, 2), destination: _number(data, 2, 2)} if len(data) >= 4 else {}
    prefix = _MESSAGES.get((eth_type, protocol))
    return {f"{prefix}_type": data[0], f"{prefix}_code": data[1]} if prefix and len(data) >= 2 else {}


def _arp(data: bytes) -> Fields:
    is_ipv4_over_ethernet = data[:6] == bytes.fromhex("000108000604")
    if len(data) < 28 or not is_ipv4_over_ethernet:
        return {}
    places = {"arp_op": (6, 2), "arp_sha": (8, 6), "arp_spa": (14, 4), "arp_tha": (18, 6), "arp_tpa": (24, 4)}
    return {name: _number(data, *place) for name, place in places.items()}


def _mpls(data: bytes) -> Fields:
    if len(data) < 4:
        return {}
    entry = _number(data, 0, 4)
    return {"mpls_label": entry >> 12, "mpls_tc": entry >> 9 & 7, "mpls_bos": entry >> 8 & 1}


_READERS = {ETH_IPV4: _ipv4, ETH_IPV6: _ipv6, ETH_ARP: _arp, ETH_MPLS: _mpls}
