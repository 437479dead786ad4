"""A stream of packets through plans and rings of buffered packets, tick by tick, while links fail and switches notice.

Switches are the interpreter's, rings are dataplane.model's byte rings. A link takes a tick. Within a tick failures are
seen, rings replay, packets arrive: the order of the model.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from dataplane.model.byte_ring import ByteRing, Mode, RingLimits, detect, replay, send
from dataplane.model.marking import EVERY_PACKET, Marking
from dataplane.model.values import Packet as BufferedPacket
from dataplane.model.values import Transmission
from mininet_topos.ports import HOST_PORT
from mininet_topos.topology import Direction, LinkId, Topology
from ryu_apps.plan.ids import VLAN_PRESENT
from ryu_apps.plan.interpret import Packet
from ryu_apps.plan.sqr.plan import replayed_links, virtual_ports
from ryu_apps.plan.walk import Hop, Network, is_delivery

MAX_HOPS = 300
RingKey = tuple[str, int]
_ANY_BYTES = 1 << 40
_VLAN_ID = 0xFFF


@dataclass(frozen=True, slots=True)
class Timing:
    """When things happen, in ticks.

    Attributes
    ----------
    before
        Ticks before the failure, in each of which a packet leaves.
    detection
        From the failure until switches and rings know.
    agent
        From there until the agents' rows stand.
    after
        Ticks after the failure in which packets go on leaving.
    """

    before: int
    detection: int = 3
    agent: int = 0
    after: int = 14


@dataclass(frozen=True, slots=True)
class PacketBuffer:
    """Settings of rings: delta and reconfiguration time in ticks, how many packets they hold, and which."""

    delta: int = 5
    reconfiguration: int = 0
    slots: int = 64
    marked: Marking = EVERY_PACKET


@dataclass(slots=True)
class StreamOutcome:
    """What became of a stream: numbers as they came, whether any packet looped, and the most links backtracked."""

    sent: int
    came: list[int] = field(default_factory=list)
    looped: bool = False
    crankback_path: int = 0
    links: set[LinkId] = field(default_factory=set)

    @property
    def lost(self) -> int:
        """Packets of which no copy came."""
        return self.sent - len(set(self.came))

    @property
    def duplicated(self) -> int:
        """Copies too many."""
        return len(self.came) - len(set(self.came))

    @property
    def reordered(self) -> int:
        """Packets whose first copy came after that of a later one (RFC 4737, type P)."""
        highest, late = -1, 0
        for number in dict.fromkeys(self.came):
            late += number < highest
            highest = max(highest, number)
        return late


@dataclass(frozen=True, slots=True)
class _Moving:
    """A packet with its number in the stream, the links that it has crossed, and how many of them backtracking."""

    packet: Packet
    number: int
    way: tuple[Direction, ...] = ()
    crankback_path: int = 0


class BufferedNetwork:
    """Switches before and after they know of failed links, and a ring before each end of buffered links.

    Parameters
    ----------
    healthy, broken
        The network while nobody knows of a failure, and once the rows for the failed links stand; `broken.failed` fail.
    kept
        Links with rings.
    keeping : Keeping
    """

    def __init__(self, healthy: Network, broken: Network, kept: Sequence[str], packet_buffer: PacketBuffer) -> None:
        self._healthy, self._broken = healthy, broken
        self._topology: Topology = healthy.topology
        self._packet_buffer = packet_buffer
        links = replayed_links(self._topology, kept)
        self._behind = {(node, virtual): port for (node, port), virtual in virtual_ports(self._topology, links).items()}

    def send(self, source: str, packet: Packet, timing: Timing) -> StreamOutcome:
        """Send a packet a tick and follow all of them to their ends."""
        rings = _Rings(self._behind, self._packet_buffer)
        return _Run(self._healthy, self._broken, rings, timing).follow(source, packet)


class _Rings(dict[RingKey, ByteRing]):
    """The rings that a stream has met, by switch and virtual port; `behind` is the link port behind each there is."""

    def __init__(self, behind: Mapping[RingKey, int], packet_buffer: PacketBuffer) -> None:
        super().__init__()
        self.behind, self._packet_buffer = behind, packet_buffer
        self.marked = packet_buffer.marked
        self._limits = RingLimits(packet_buffer.slots, _ANY_BYTES)

    def __missing__(self, key: RingKey) -> ByteRing:
        packet_buffer = self._packet_buffer
        self[key] = ByteRing(self.behind[key], key[1], self._limits, packet_buffer.delta, packet_buffer.reconfiguration)
        return self[key]


class _Run:
    """One stream."""

    def __init__(self, healthy: Network, broken: Network, rings: _Rings, timing: Timing) -> None:
        self._healthy, self._broken, self._rings, self._timing = healthy, broken, rings, timing
        self._arriving: dict[int, list[tuple[str, int, _Moving]]] = defaultdict(list)
        self._kept: list[_Moving] = []
        self._network, self._now, self._vlan_tci = healthy, 0, 0
        self._stream_outcome = StreamOutcome(timing.before + timing.after)

    def follow(self, source: str, packet: Packet) -> StreamOutcome:
        """Run until nothing moves any more."""
        self._vlan_tci = packet.vlan_tci
        failed_at = self._timing.before
        known_at = failed_at + self._timing.detection
        while self._is_moving():
            if self._now == known_at:
                self._detect()
            if self._now == known_at + self._timing.agent:
                self._network = self._broken
            for node, virtual, moving in self._given_back():
                self._visit(node, virtual, moving)
            if self._now < self._stream_outcome.sent:
                self._visit(source, HOST_PORT, _Moving(packet, self._now))
            for node, in_port, moving in self._arriving.pop(self._now, ()):
                self._visit(node, in_port, moving)
            self._now += 1
        return self._stream_outcome

    def _is_moving(self) -> bool:
        if self._now < self._stream_outcome.sent or self._arriving:
            return not self._stream_outcome.looped
        return any(ring.mode is Mode.HOLD for ring in self._rings.values()) and not self._stream_outcome.looped

    def _detect(self) -> None:
        for (node, virtual), port in self._rings.behind.items():
            direction = self._healthy.ports.direction_at[node, port]
            if self._healthy.topology.link_id(direction) in self._broken.failed:
                self._rings[node, virtual] = detect(self._rings[node, virtual], self._now)

    def _given_back(self) -> Iterator[tuple[str, int, _Moving]]:
        for key, ring in list(self._rings.items()):
            if ring.mode is Mode.HOLD:
                self._rings[key], sent = replay(ring, self._now)
                yield from ((*key, self._kept[each.packet.number]) for each in sent)

    def _visit(self, node: str, in_port: int, moving: _Moving) -> None:
        """Let a packet pass a switch; what its rings give back at once passes it again."""
        waiting = [(in_port, moving)]
        while waiting and not self._stream_outcome.looped:
            in_port, moving = waiting.pop(0)
            for port, leaving in self._network.visit(Hop(node, in_port, moving.packet)):
                after = replace(moving, packet=leaving)
                if port == HOST_PORT:
                    # A host gets its own VLAN tag back, and no other.
                    untagged = replace(leaving, vlan_tci=leaving.vlan_tci ^ self._vlan_tci)
                    if is_delivery(self._network.models[node].plan, untagged):
                        self._stream_outcome.came.append(moving.number)
                elif (node, port) in self._rings.behind:
                    # A port is no way out for what came in by it, as in Open vSwitch.
                    waiting += [] if port == in_port else self._keep(node, port, after)
                else:
                    self._over_link(node, port, after)

    def _keep(self, node: str, virtual: int, moving: _Moving) -> list[tuple[int, _Moving]]:
        """Send by a virtual port; returns what comes back by it at once."""
        ring = self._rings[node, virtual]
        if not is_marked(self._rings.marked, moving.packet):
            if ring.mode is not Mode.UP:
                return [(virtual, moving)]
            self._over_link(node, ring.primary, moving)
            return []
        self._kept.append(moving)
        kept = BufferedPacket(len(self._kept) - 1, ring.primary)
        self._rings[node, virtual], sent = send(ring, kept, self._now)
        back: list[tuple[int, _Moving]] = []
        for each in sent:
            back += self._sent_on(node, virtual, each)
        return back

    def _sent_on(self, node: str, virtual: int, sent: Transmission) -> list[tuple[int, _Moving]]:
        moving = self._kept[sent.packet.number]
        if sent.port == virtual:
            return [(virtual, moving)]
        self._over_link(node, sent.port, moving)
        return []

    def _over_link(self, node: str, port: int, moving: _Moving) -> None:
        direction = self._healthy.ports.direction_at.get((node, port))
        if direction is None:
            return
        link = self._healthy.topology.link_id(direction)
        self._stream_outcome.links.add(link)
        if link in self._broken.failed and self._now >= self._timing.before:
            return
        if len(moving.way) == MAX_HOPS:
            self._stream_outcome.looped = True
            return
        back = Direction(direction.dst, direction.src, direction.key)
        after = replace(
            moving, way=(*moving.way, direction), crankback_path=moving.crankback_path + (back in moving.way)
        )
        self._stream_outcome.crankback_path = max(self._stream_outcome.crankback_path, after.crankback_path)
        self._arriving[self._now + 1].append((direction.dst, self._healthy.ports.port_of[back], after))


def is_marked(marked: Marking, packet: Packet) -> bool:
    """Whether a packet is one that rings keep."""
    vlan = packet.vlan_tci & _VLAN_ID if packet.vlan_tci & VLAN_PRESENT else None
    return marked.chooses(packet.ip_proto, (packet.l4_src, packet.l4_dst), packet.ip_dscp, vlan)
