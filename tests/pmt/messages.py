"""One valid message of every OpenFlow 1.3 type, and several of those that carry packets or matches."""

from __future__ import annotations

import struct
from functools import lru_cache

from ryu_apps.openflow import encode
from ryu_apps.plan.rows import Bucket, FlowRow, GroupRow, Output, match
from tests.pmt.frames import Ip, arp, ethernet, ipv4, ipv6, mpls, packet_in

FLOW = FlowRow(
    0, 5, match(eth_type=0x0800, ip_proto=17, udp_dst=20000, ipv4_dst=(0x0A000000, 0xFF000000)), (Output(2),)
)
OTHER_FLOW = FlowRow(0, 5, match(eth_dst=(0x010000000000, 0x010000000000), vlan_vid=0x1005, vlan_pcp=3), (Output(2),))
FRAMES = (
    ethernet(0x0800, ipv4(Ip())),
    ethernet(0x0800, ipv4(Ip(protocol=6, dscp=46)), tag=0x6005),
    ethernet(0x0800, ipv4(Ip(protocol=132))),
    ethernet(0x0800, ipv4(Ip(protocol=1, ports=(8, 0)))),
    ethernet(0x86DD, ipv6(Ip())),
    ethernet(0x86DD, ipv6(Ip(protocol=58, ports=(128, 0)))),
    ethernet(0x0806, arp()),
    ethernet(0x8847, mpls(77, 3) + ipv4(Ip())),
)


def bare(msg_type: int, body: bytes = b"") -> bytes:
    """A message of any type."""
    return struct.pack("!BBHI", 4, msg_type, 8 + len(body), 9) + body


@lru_cache
def valid_messages() -> tuple[bytes, ...]:
    """Messages as a switch or a controller would send them."""
    flow = encode.flow_add(FLOW)
    port = struct.pack("!I4x6s2x16s8I", 2, b"\2" * 6, b"s1-eth2", *[0] * 8)
    removed = struct.pack("!QHBBIIHHQQ", 1, 5, 0, 0, 1, 0, 0, 0, 7, 700) + flow[48 : 48 + 40]
    return (
        encode.hello(),
        bare(1, struct.pack("!HH", 1, 1) + bytes(8)),
        encode.echo_request(b"abc"),
        encode.echo_reply(encode.echo_request(b"abc")),
        encode.set_controller_id(5),
        encode.features_request(),
        bare(6, struct.pack("!QIBB2xII", 1, 0, 254, 0, 0x4F, 0)),
        bare(7),
        bare(8, struct.pack("!HH", 0, 128)),
        encode.set_config(),
        *(packet_in(frame) for frame in FRAMES),
        packet_in(FRAMES[0][:42]),
        bare(11, removed),
        bare(12, struct.pack("!B7x", 2) + port),
        *(encode.packet_out(frame, (Output(2),)) for frame in FRAMES),
        flow,
        encode.flow_add(OTHER_FLOW),
        encode.flow_delete(FLOW),
        encode.group_add(GroupRow(1, "ff", (Bucket((Output(2),), watch_port=2),))),
        bare(16, struct.pack("!I4x6s2xIII4x", 2, b"\2" * 6, 0, 0, 0)),
        bare(17, struct.pack("!B3xI", 255, 0)),
        encode.flow_stats_request(),
        encode.port_desc_request(),
        bare(19, struct.pack("!HH4x", 13, 0) + port),
        encode.barrier_request(),
        bare(21),
        bare(22, struct.pack("!I4x", 2)),
        bare(23, struct.pack("!I4x", 2)),
        bare(24, struct.pack("!I4xQ", 2, 0)),
        bare(25, struct.pack("!I4xQ", 2, 0)),
        bare(26),
        bare(27, struct.pack("!6I", *[7] * 6)),
        bare(28, struct.pack("!6I", *[7] * 6)),
        bare(29, struct.pack("!HHI", 0, 1, 1) + struct.pack("!HHII4x", 1, 16, 100, 10)),
        encode.bundle_open(1),
        encode.bundle_add(1, flow),
        encode.bundle_commit(1),
    )
