"""Packets that a 1+1 node may meet, honest and hostile, and its packet program held to the model on each of them."""

from __future__ import annotations

import os
import random
from collections import Counter
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network

from dataplane.decide.protect import INDEX, MAX_FLOWS, NodeCounters, PortUse, pack_port
from dataplane.loader import Program
from dataplane.model.flow_match import ANY_PORT, FlowMatch, PortRange
from dataplane.model.protection_node import Connection, Fate, Node, process, to_node
from dataplane.model.sequence import Egress
from dataplane.model.tunnel_header import OUTER_BYTES, Tunnel, checksum, encapsulate
from dataplane.protect import ProtectNode

LOOPBACK = 1  # frames of a test run come in by `lo`
DROPPED, REDIRECTED = 2, 7
ETHERNET = b"\2\0\0\0\0\1\2\0\0\0\0\2\x08\0"
# The kernel refuses to test-run an Ethernet frame of type IPv4 without room for that header (since Linux 6.18); shorter
# ones are sent over a real interface in test_protect_live.py.
SHORTEST_PACKET, LARGEST_PACKET = OUTER_BYTES, 3000
ADDRESS, PEER, OTHER = (IPv4Address(f"192.0.2.{last}") for last in (1, 2, 3))
HOSTS = [IPv4Address(f"10.0.0.{last}") for last in range(1, 5)]
ENDING = (Connection(7, PEER, ADDRESS), Connection(8, OTHER, ADDRESS), Connection(0, PEER, ADDRESS))
# One number at two receiving ends, and the largest.
BEGINNING = (Connection(7, ADDRESS, PEER), Connection(7, ADDRESS, OTHER), Connection((1 << 24) - 1, ADDRESS, PEER))
Flows = tuple[tuple[FlowMatch, Connection], ...]
FLOWS: Flows = (
    (FlowMatch(IPv4Network("10.0.0.1/32"), IPv4Network("10.0.0.2/32"), 17, ANY_PORT, PortRange(50, 60)), BEGINNING[0]),
    (FlowMatch(IPv4Network("10.0.0.0/30"), protocol=6), BEGINNING[1]),
    (FlowMatch(destination=IPv4Network("10.0.0.4/32"), source_ports=PortRange(1000, 1000)), BEGINNING[2]),
    (FlowMatch(IPv4Network("10.0.0.1/32")), BEGINNING[0]),
)


@dataclass
class Comparison:
    """The program and the model of one node, fed the same packets."""

    node: ProtectNode
    program: Program
    model: Node
    tried: int = 0

    def feed(self, packet: bytes) -> Fate:
        """Run one packet through both; returns what became of it in the model, and asserts that they agree."""
        self.tried += 1
        self.model, fate, out = process(self.model, packet)
        result = self.program.test(ETHERNET + packet)
        wanted = (DROPPED, b"") if fate is Fate.DROP else (REDIRECTED, ETHERNET + out)
        got = (result.code, b"" if result.code == DROPPED else result.data)
        assert got == wanted, f"packet {self.tried}, {fate}: {packet.hex()}"
        return fate

    def compare_ends(self) -> None:
        """Assert that all numbers, histories and counters agree."""
        sending = self.node.sending()
        for connection in BEGINNING:
            assert sending[connection].ingress == self.model.sends[connection.egress, connection.number]
        for connection, end in self.node.receiving().items():
            assert end.egress == self.model.receives[connection.number][1]


def random_flows(dice: random.Random) -> Flows:
    """Protected flows with prefixes of any length and ranges of ports, many of which meet those of `plain_packet`."""

    def network() -> IPv4Network:
        return IPv4Network((int(dice.choice(HOSTS)), dice.choice((0, 8, 29, 30, 31, 32, 32))), strict=False)

    def ports() -> PortRange:
        first, last = sorted(dice.choice((0, 52, 53, 54, 79, 80, 81, 999, 1000, 1001, 65535)) for _ in range(2))
        return dice.choice((ANY_PORT, PortRange(first, last)))

    return tuple(
        (FlowMatch(network(), network(), dice.choice((None, 6, 17)), ports(), ports()), dice.choice(BEGINNING))
        for _ in range(dice.choice((1, 5, 20, MAX_FLOWS)))
    )


def open_comparison(fresh: Egress, flows: Flows = FLOWS) -> Comparison:
    """A program on the loopback of this namespace's test runs, and its model; close the node afterwards."""
    node = ProtectNode(os.getpid(), ADDRESS, ENDING + BEGINNING, flows, fresh=fresh)
    model = to_node(ADDRESS, flows, ENDING + BEGINNING, fresh)
    loaded = node._object
    loaded.map("ports").set(INDEX.pack(LOOPBACK), pack_port(PortUse(LOOPBACK, LOOPBACK, tags=True)))
    return Comparison(node, loaded.program("protect"), model)


def ipv4(dice: random.Random, payload: bytes, protocol: int) -> bytes:
    """An IPv4 packet with options now and then, fragments now and then, and a right header checksum."""
    options = dice.randbytes(4 * dice.choice((0, 0, 0, 0, 1, 2, 10)))
    fragment = dice.choice((0, 0x4000) * 8 + (0x2000, 0x0003, 0x2005, 0x8000))
    words = [0x40 | 5 + len(options) // 4, dice.randrange(256)]
    words += (20 + len(options) + len(payload)).to_bytes(2, "big") + dice.randbytes(2) + fragment.to_bytes(2, "big")
    head = bytes(words) + bytes([dice.randrange(256), protocol])
    ends = dice.choice(HOSTS).packed + dice.choice(HOSTS).packed
    return head + checksum(head + b"\0\0" + ends + options).to_bytes(2, "big") + ends + options + payload


def plain_packet(dice: random.Random) -> bytes:
    """A packet of a host: mostly TCP and UDP to a few ports, sometimes with too short a header behind IP."""
    ports = dice.choice((53, 80, 1000)).to_bytes(2, "big") + dice.choice((53, 80, 1000)).to_bytes(2, "big")
    body = ports + dice.randbytes(dice.choice((0, 3, 4, 15, 16, 17, 40, 100, 600, 1400)))
    return ipv4(dice, body, dice.choice((6, 6, 17, 17, 17, 17, 1, 253, 4))) + bytes(dice.choice((0, 0, 0, 6, 18)))


def protected_packet(dice: random.Random, model: Node, inner: bytes) -> bytes:
    """A packet between protecting nodes, with a number that is new, old, far off, or at an edge of the window."""
    connection = dice.choice((*ENDING, *ENDING, *ENDING, Connection(9, PEER, ADDRESS), *BEGINNING))
    source = dice.choice((connection.ingress,) * 9 + (OTHER, HOSTS[0]))
    _, end = model.receives.get(connection.number, (None, Egress()))
    near = dice.choice((1, 1, 1, 1, 2, 0, 0, 3, -1, -2, dice.randrange(-70, 70), dice.randrange(-1100, 1100)))
    edge = dice.choice((end.window, end.window + 1, 1 << 31, (1 << 31) + 1, -end.history, 1 - end.history))
    step = dice.choice((near,) * 24 + (edge, dice.randrange(1 << 32)))
    tunnel = Tunnel(connection.number, (end.last + step) % (1 << 32), source, connection.egress, model.protocol)
    wrapped = encapsulate(inner, tunnel)
    return inner if wrapped is None else wrapped


def damaged(dice: random.Random, packet: bytes) -> bytes:
    """A packet truncated, lengthened, or with some bytes changed; the header's checksum mostly made right again."""
    if dice.random() < 0.3:
        return packet[: dice.randrange(len(packet) + 1)]
    changed = bytearray(packet + dice.randbytes(dice.choice((0, 0, 0, 5))))
    for _ in range(dice.choice((1, 1, 2, 4))):
        place = dice.randrange(min(len(changed), dice.choice((4, 10, 28, 60)))) if changed else 0
        changed[place : place + 1] = dice.choice((dice.randbytes(1), bytes(1), b"\xff", bytes([dice.randrange(70)])))
    if len(changed) >= OUTER_BYTES and dice.random() < 0.8:
        changed[10:12] = b"\0\0"
        changed[10:12] = checksum(bytes(changed[:OUTER_BYTES])).to_bytes(2, "big")
    return bytes(changed)


def next_packet(dice: random.Random, model: Node) -> bytes:
    """Any packet."""
    if dice.random() < 0.05:
        return dice.randbytes(dice.randrange(SHORTEST_PACKET, 120))
    packet = plain_packet(dice)
    for _ in range(dice.choice((0, 0, 1, 1, 1, 2))):
        packet = protected_packet(dice, model, packet)
        if dice.random() < 0.1:
            packet = damaged(dice, packet)
    packet = damaged(dice, packet) if dice.random() < 0.2 else packet
    return packet[:LARGEST_PACKET].ljust(SHORTEST_PACKET, b"\0")


def udp(source: IPv4Address, destination: IPv4Address, ports: tuple[int, int]) -> bytes:
    """A short UDP packet without a checksum."""
    body = b"".join(port.to_bytes(2, "big") for port in ports) + (28).to_bytes(2, "big") + bytes(2 + 20)
    head = b"\x45\0" + (20 + len(body)).to_bytes(2, "big") + bytes(4) + b"\x40\x11"
    ends = source.packed + destination.packed
    return head + checksum(head + b"\0\0" + ends).to_bytes(2, "big") + ends + body


def compare(count: int, seed: int, fresh: Egress, flows: Flows = FLOWS) -> tuple[Counter[Fate], NodeCounters]:
    """Feed program and model random packets; ends are compared on the way and at the end. Returns what happened."""
    comparison, dice = open_comparison(fresh, flows), random.Random(seed)
    with comparison.node as node:
        fates: Counter[Fate] = Counter()
        for number in range(count):
            fates[comparison.feed(next_packet(dice, comparison.model))] += 1
            if number % 500 == 0:
                comparison.compare_ends()
        comparison.compare_ends()
        return fates, node.counters()
