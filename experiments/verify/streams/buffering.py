"""`armor verify` of schemes that buffer packets: streams of every pair through plans while links fail.

Both ends of every link keep packets. A case is an ordered pair of hosts and failed links that hit its primary path; a
packet leaves in every tick before and after the failure. Where the scheme promises delivery none may be lost, and
none reordered where it keeps the order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any

from experiments.verify.streams.buffered_network import BufferedNetwork, PacketBuffer, StreamOutcome, Timing
from experiments.verify.streams.case_counts import CaseCounts
from experiments.verify.walk.dynamics import dynamics_of
from mininet_topos.topology import LinkId, Topology
from ryu_apps.plan.addressing import hosts_of
from ryu_apps.plan.choices import NO_MODE, uses_agent
from ryu_apps.plan.guarantees import Promise
from ryu_apps.plan.interpret import Packet
from ryu_apps.plan.options import PlanOptions
from ryu_apps.plan.scheme import Scheme
from ryu_apps.plan.walk import Network

AGENT_TICKS = 2
_CASES = ("reordered_cases", "promised", "crankback_cases", "longest_crankback")
_PACKETS = ("sent", "lost", "duplicated", "reordered")


@dataclass
class BufferingResult(CaseCounts):
    """What became of the cases; `to_json` has the keys of `armor verify --json`.

    `sent`, `lost`, `duplicated` and `reordered` are packets of all cases that a failed link leaves joined.
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

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        own = ("planner", "scheme", "mode", *_CASES, *_PACKETS)
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
        `replayed` is set to all links.
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
    )
    paths = _primary_paths(whole.healthy, kept)
    for failed in failed_sets:
        broken = whole.healthy.with_failed(failed)
        parts = topology.components(failed)
        for (source, target), path in paths.items():
            if not path.isdisjoint(failed):
                timing = Timing(len(path) + 1, agent=whole.agent_ticks)
                network = BufferedNetwork(whole.healthy, broken.with_failed(failed), kept, whole.packet_buffer)
                stream_outcome = network.send(source, _packet(topology, source, target), timing)
                joined = parts[source] == parts[target]
                what = f"{source} to {target}, {' '.join(sorted(map(str, failed)))} down"
                result.add(
                    stream_outcome, what, promised=joined and whole.promises(source, target, failed), joined=joined
                )
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
            PacketBuffer(reconfiguration=agent_ticks) if packet_buffer is None else packet_buffer,
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


def _packet(topology: Topology, source: str, target: str) -> Packet:
    hosts = hosts_of(topology)
    return Packet(hosts[source].ipv4, hosts[target].ipv4)
