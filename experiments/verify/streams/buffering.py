"""`armor verify` of schemes that buffer packets: streams of every pair through plans while links fail.

Both ends of every link keep packets. A case is an ordered pair of hosts and failed links that hit its primary path; a
packet leaves in every tick before and after the failure. Where the scheme promises delivery none may be lost, and
none reordered where it keeps the order.

With a marking the streams are of marked packets, one for each field that marks; beside each case runs a stream of
unmarked packets, of which those may be lost that the failure meets, but none may loop.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any

from dataplane.model.marking import Marking
from experiments.verify.streams.buffered_network import BufferedNetwork, PacketBuffer, StreamOutcome, Timing
from experiments.verify.streams.case_counts import MOST_EXAMPLES, CaseCounts
from experiments.verify.walk.dynamics import dynamics_of
from mininet_topos.topology import LinkId, Topology
from ryu_apps.plan.addressing import hosts_of
from ryu_apps.plan.choices import NO_MODE, uses_agent
from ryu_apps.plan.guarantees import Promise
from ryu_apps.plan.ids import VLAN_PRESENT
from ryu_apps.plan.interpret import Packet
from ryu_apps.plan.options import PlanOptions
from ryu_apps.plan.scheme import Scheme
from ryu_apps.plan.walk import Network

AGENT_TICKS = 2
_CASES = ("reordered_cases", "promised", "crankback_cases", "longest_crankback")
_PACKETS = ("sent", "lost", "duplicated", "reordered")
_TCP, _CLIENT_PORT = 6, 49152


@dataclass
class BufferingResult(CaseCounts):
    """What became of the cases; `to_json` has the keys of `armor verify --json`.

    `sent`, `lost`, `duplicated` and `reordered` are packets of all cases that a failed link leaves joined;
    `unmarked_sent` and `unmarked_lost` those of the streams beside them.
    """

    scheme: str = ""
    mode: str = NO_MODE
    keeps_order: bool = True
    planner: str = "tree"
    reordered_cases: int = 0
    promised: int = 0
    sent: int = 0
    lost: int = 0
    duplicated: int = 0
    reordered: int = 0
    crankback_cases: int = 0
    longest_crankback: int = 0
    marked: str = ""
    unmarked_sent: int = 0
    unmarked_lost: int = 0

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        own = ("planner", "scheme", "mode", "marked", "unmarked_sent", "unmarked_lost", *_CASES, *_PACKETS)
        return {**self.shared_json(), **{name: getattr(self, name) for name in own}}

    def add(self, stream_outcome: StreamOutcome, what: str, *, promised: bool, joined: bool) -> None:
        """Count a case."""
        violations = stream_outcome.lost or (self.keeps_order and stream_outcome.reordered)
        outcome = "looped" if stream_outcome.looped else "dropped" if joined else "disconnected"
        if not stream_outcome.looped and not stream_outcome.lost:
            outcome = "delivered"
        detail = f"{outcome}, {stream_outcome.lost} of {stream_outcome.sent} lost, {stream_outcome.reordered} reordered"
        self.count(outcome, breaks=stream_outcome.looped or bool(promised and violations), what=f"{what}: {detail}")
        self.promised += promised
        self.reordered_cases += bool(stream_outcome.reordered)
        self.crankback_cases += bool(stream_outcome.crankback_path)
        self.longest_crankback = max(self.longest_crankback, stream_outcome.crankback_path)
        if joined:
            for name in _PACKETS:
                setattr(self, name, getattr(self, name) + getattr(stream_outcome, name))

    def add_unmarked(self, stream_outcome: StreamOutcome, what: str, *, joined: bool) -> None:
        """Count a stream that nothing keeps; it breaks the promise only if it loops."""
        if stream_outcome.looped:
            self.broken += 1
            self.examples = (*self.examples, f"{what}: an unmarked packet looped")[:MOST_EXAMPLES]
        if joined:
            self.unmarked_sent += stream_outcome.sent
            self.unmarked_lost += stream_outcome.lost


def verify_buffering(
    topology: Topology,
    scheme: Scheme,
    options: PlanOptions,
    failed_sets: Sequence[frozenset[LinkId]],
    progress: Callable[[int], object] = lambda _done: None,
    *,
    packet_buffer: PacketBuffer | None = None,
) -> BufferingResult:
    """Send a stream between every pair whose primary path each set of links hits.

    Parameters
    ----------
    scheme
        One that buffers packets.
    options
        `replayed` is set to all links; `marked` says which packets are kept.
    progress
        Called with 1 after each set of links.
    keeping : Keeping, optional
        Default: delta longer than the detection, and with agents a reconfiguration time as long as they take.

    Raises
    ------
    PlanLimitError
        As the scheme's planner.
    """
    began = perf_counter()
    kept = tuple(map(str, topology.link_ids))
    whole = _Whole.of(topology, scheme, replace(options, replayed=kept), packet_buffer)
    size = max(map(len, failed_sets), default=0)
    result = BufferingResult(
        topology.name,
        size,
        scheme=scheme.name,
        mode=whole.mode,
        keeps_order=scheme.keeps_order,
        planner=options.planner,
        marked=str(options.marked),
    )
    paths = _primary_paths(whole.healthy, kept)
    for failed in failed_sets:
        broken = whole.healthy.with_failed(failed)
        parts = topology.components(failed)
        for (source, target), path in paths.items():
            if not path.isdisjoint(failed):
                timing = Timing(len(path) + 1, agent=whole.agent_ticks)
                network = BufferedNetwork(whole.healthy, broken.with_failed(failed), kept, whole.packet_buffer)
                packet = _packet(topology, source, target)
                joined = parts[source] == parts[target]
                promised = joined and whole.promises(source, target, failed)
                what = f"{source} to {target}, {' '.join(sorted(map(str, failed)))} down"
                for marked in marked_packets(packet, options.marked):
                    outcome = network.send(source, marked, timing)
                    result.add(outcome, what, promised=promised, joined=joined)
                if not options.marked.is_all:
                    result.add_unmarked(network.send(source, packet, timing), what, joined=joined)
        progress(1)
    result.seconds = perf_counter() - began
    return result


@dataclass(frozen=True)
class _Whole:
    """A scheme on a network while nothing has failed, with what it promises and the settings of its rings."""

    healthy: Network
    promise: Promise
    mode: str
    agent_ticks: int
    packet_buffer: PacketBuffer

    @classmethod
    def of(cls, topology: Topology, scheme: Scheme, options: PlanOptions, packet_buffer: PacketBuffer | None) -> _Whole:
        mode = scheme.mode_of(options)
        agent_ticks = AGENT_TICKS if uses_agent(mode) else 0
        plans = scheme.plan(topology, options)
        return cls(
            Network(topology, plans, dynamics_of(mode, plans)),
            scheme.guarantee(topology, options),
            mode,
            agent_ticks,
            replace(packet_buffer or PacketBuffer(reconfiguration=agent_ticks), marked=options.marked),
        )

    def promises(self, source: str, target: str, failed: frozenset[LinkId]) -> bool:
        order, links = self.healthy.topology.index_of, self.healthy.topology.link_ids
        mask = sum(1 << number for number, link in enumerate(links) if link in failed)
        return self.promise(order[source], order[target], mask)


def _primary_paths(healthy: Network, kept: Sequence[str]) -> dict[tuple[str, str], frozenset[LinkId]]:
    """Links that packets of every pair cross while nothing has failed."""
    network = BufferedNetwork(healthy, healthy, kept, PacketBuffer())
    names = healthy.topology.node_names
    found = {}
    for source in names:
        for target in names:
            if source != target:
                stream_outcome = network.send(source, _packet(healthy.topology, source, target), Timing(1, after=0))
                found[source, target] = frozenset(stream_outcome.links)
    return found


def marked_packets(plain: Packet, marked: Marking) -> list[Packet]:
    """Copies of a UDP packet that are marked, one for each field that marks; the packet itself if all are kept."""
    if marked.is_all:
        return [plain]
    found = [replace(plain, ip_dscp=value) for value in marked.dscp[:1]]
    found += [replace(plain, ip_proto=_TCP, l4_src=_CLIENT_PORT, l4_dst=port) for port in marked.tcp_ports[:1]]
    return found + [replace(plain, vlan_tci=VLAN_PRESENT | vlan) for vlan in marked.vlans[:1]]


def _packet(topology: Topology, source: str, target: str) -> Packet:
    hosts = hosts_of(topology)
    return Packet(hosts[source].ipv4, hosts[target].ipv4)
