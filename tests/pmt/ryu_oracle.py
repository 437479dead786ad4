"""What Ryu reads in a message: the oracle of the classifier. Imported only by tests that need Ryu."""

from __future__ import annotations

import ipaddress
from typing import NamedTuple

from ryu.lib.packet import arp, ethernet, icmp, icmpv6, ipv4, ipv6, mpls, sctp, tcp, udp, vlan
from ryu.lib.packet.packet import Packet
from ryu.ofproto import ofproto_parser, ofproto_protocol

from ryu_apps.openflow.wire import header
from ryu_apps.pmt.fields import PMT_FIELDS


class View(NamedTuple):
    """Type, fields of a flow-mod's match with their masks, fields of a packet-in's packet."""

    msg_type: int
    pinned: dict[str, tuple[int, int]]
    packet: dict[str, int | None]


def ryu_datapath():
    """What Ryu's messages want of a datapath."""
    return ofproto_protocol.ProtocolDesc(version=4)


def ryu_view(given: bytes) -> View:
    """A message as Ryu's parser for its type sees it."""
    head = header(given)
    datapath = ryu_datapath()
    # Ryu has no parser for what only controllers send; flow-mods are the exception.
    if head.msg_type not in datapath.ofproto_parser._MSG_PARSERS:
        return View(head.msg_type, {}, {})
    made = ofproto_parser.msg(datapath, head.version, head.msg_type, head.length, head.xid, given)
    assert made is not None, "Ryu cannot parse this"
    pinned = ryu_match(made.match) if head.msg_type == 14 else {}
    packet = ryu_packet(made.data) | {"in_port": made.match["in_port"]} if head.msg_type == 10 else {}
    return View(made.msg_type, pinned, packet)


def ryu_match(fields) -> dict[str, tuple[int, int]]:
    """A Ryu match as numbers with masks."""
    found = {}
    for name, given in fields.items():
        value, mask = given if isinstance(given, tuple) else (given, PMT_FIELDS[name].full_mask)
        found[name] = (number(value), number(mask))
    return found


def number(value: int | str) -> int:
    """A value of Ryu as a number: addresses are text there."""
    if isinstance(value, int):
        return value
    if value.count(":") == 5:
        return int(value.replace(":", ""), 16)
    return int(ipaddress.ip_address(value))


# Field -> (class of Ryu's packet library, attribute).
_PLACES = {
    "eth_dst": (ethernet.ethernet, "dst"),
    "eth_src": (ethernet.ethernet, "src"),
    "vlan_pcp": (vlan.vlan, "pcp"),
    "ipv4_src": (ipv4.ipv4, "src"),
    "ipv4_dst": (ipv4.ipv4, "dst"),
    "ipv6_src": (ipv6.ipv6, "src"),
    "ipv6_dst": (ipv6.ipv6, "dst"),
    "tcp_src": (tcp.tcp, "src_port"),
    "tcp_dst": (tcp.tcp, "dst_port"),
    "udp_src": (udp.udp, "src_port"),
    "udp_dst": (udp.udp, "dst_port"),
    "sctp_src": (sctp.sctp, "src_port"),
    "sctp_dst": (sctp.sctp, "dst_port"),
    "icmpv4_type": (icmp.icmp, "type"),
    "icmpv4_code": (icmp.icmp, "code"),
    "icmpv6_type": (icmpv6.icmpv6, "type_"),
    "icmpv6_code": (icmpv6.icmpv6, "code"),
    "arp_op": (arp.arp, "opcode"),
    "arp_spa": (arp.arp, "src_ip"),
    "arp_tpa": (arp.arp, "dst_ip"),
    "arp_sha": (arp.arp, "src_mac"),
    "arp_tha": (arp.arp, "dst_mac"),
    "mpls_label": (mpls.mpls, "label"),
    "mpls_tc": (mpls.mpls, "exp"),
    "mpls_bos": (mpls.mpls, "bsb"),
}


def ryu_packet(frame: bytes) -> dict[str, int | None]:
    """Fields of a frame by Ryu's packet library; None: not there. Below MPLS nothing counts, as in a match."""
    packet = Packet(frame)
    is_mpls = packet.get_protocol(mpls.mpls) is not None
    found: dict[str, int | None] = {}
    for name, (kind, attribute) in _PLACES.items():
        part = packet.get_protocol(kind)
        hidden = is_mpls and kind not in (ethernet.ethernet, vlan.vlan, mpls.mpls)
        found[name] = None if part is None or hidden else number(getattr(part, attribute))
    return found
