"""`armor verify sqr` and `lossless`: streams of every pair through plans and kept packets while links die.

Both ends of every link keep packets. A case is an ordered pair of hosts and failed links that hit its primary path; a
packet leaves in every tick before and after the failure. Where the scheme promises delivery none may be lost, and under
SQR alone none overtaken.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any

from experiments.verification.case_counts import CaseCounts
from experiments.verification.dynamics import dynamics_of
from experiments.verification.kept_network import Keeping, KeptNetwork, Story, Timing
from mininet_topos.topology import LinkId, Topology
from ryu_apps.plan.addressing import hosts_of
from ryu_apps.plan.guarantees import Promise
from ryu_apps.plan.interpret import Packet
from ryu_apps.plan.options import PlanOptions
from ryu_apps.plan.registry import find_scheme
from ryu_apps.plan.walk import Network

KEEPING_SCHEMES = ("sqr", "lossless")
AGENT_TICKS = 2
_CASES = ("reordered_cases", "promised", "crankback_cases", "longest_crankback")
_PACKETS = ("sent", "lost", "duplicated", "reordered")


@dataclass
class KeepingResult(CaseCounts):
    """What became of the cases; `to_json` has the keys of `armor verify --json`.

    `sent`, `lost`, `duplicated` and `reordered` are packets of all cases that a failed link leaves joined.
    """

    scheme: str = ""
    mode: str = "none"
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

    def add(self, story: Story, what: str, *, promised: bool, joined: bool) -> None:
        """Count a case."""
        spoiled = story.lost or (self.scheme == "sqr" and story.reordered)
        outcome = "looped" if story.looped else "dropped" if joined else "disconnected"
        if not story.looped and not story.lost:
            outcome = "delivered"
        detail = f"{outcome}, {story.lost} of {story.sent} lost, {story.reordered} overtaken"
        self.count(outcome, breaks=story.looped or bool(promised and spoiled), what=f"{what}: {detail}")
        self.promised += promised
        self.reordered_cases += bool(story.reordered)
        self.crankback_cases += bool(story.walked_back)
        self.longest_crankback = max(self.longest_crankback, story.walked_back)
        if joined:
            for name in _PACKETS:
                setattr(self, name, getattr(self, name) + getattr(story, name))


def verify_keeping(
    topology: Topology,
    scheme_name: str,
    options: PlanOptions,
    failed_sets: Sequence[frozenset[LinkId]],
    progress: Callable[[int], object] = lambda _done: None,
    keeping: Keeping | None = None,
) -> KeepingResult:
    """Send a stream between every pair whose primary path each set of links hits.

    Parameters
    ----------
    topology : Topology
    scheme_name : {"sqr", "lossless"}
    options : PlanOptions
        `replayed` is set to all links.
    failed_sets : sequence of frozenset of LinkId
    progress : callable
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
    whole = _Whole.of(topology, scheme_name, replace(options, replayed=kept), keeping)
    size = max(map(len, failed_sets), default=0)
    result = KeepingResult(topology.name, size, scheme=scheme_name, mode=whole.mode, planner=options.planner)
    paths = _primary_paths(whole.healthy, kept)
    for failed in failed_sets:
        broken = whole.healthy.with_failed(failed)
        parts = topology.components(failed)
        for (source, target), path in paths.items():
            if not path.isdisjoint(failed):
                timing = Timing(len(path) + 1, agent=whole.agent_ticks)
                network = KeptNetwork(whole.healthy, broken.with_failed(failed), kept, whole.keeping)
                story = network.send(source, _packet(topology, source, target), timing)
                joined = parts[source] == parts[target]
                what = f"{source} to {target}, {' '.join(sorted(map(str, failed)))} down"
                result.add(story, what, promised=joined and whole.promises(source, target, failed), joined=joined)
        progress(1)
    result.seconds = perf_counter() - began
    return result


@dataclass(frozen=True)
class _Whole:
    """A scheme on a network while nothing has failed, with what it promises and what its rings are told."""

    healthy: Network
    promise: Promise
    mode: str
    agent_ticks: int
    keeping: Keeping

    @classmethod
    def of(cls, topology: Topology, scheme_name: str, options: PlanOptions, keeping: Keeping | None) -> _Whole:
        scheme = find_scheme(scheme_name)
        mode = options.mode if len(scheme.modes) > 1 else "none"
        agent_ticks = AGENT_TICKS if mode == "agent" else 0
        plans = scheme.plan(topology, options)
        return cls(
            Network(topology, plans, dynamics_of(mode, plans)),
            scheme.guarantee(topology, options),
            mode,
            agent_ticks,
            Keeping(reconfiguration=agent_ticks) if keeping is None else keeping,
        )

    def promises(self, source: str, target: str, failed: frozenset[LinkId]) -> bool:
        order, links = self.healthy.topology.index_of, self.healthy.topology.link_ids
        mask = sum(1 << number for number, link in enumerate(links) if link in failed)
        return self.promise(order[source], order[target], mask)


def _primary_paths(healthy: Network, kept: Sequence[str]) -> dict[tuple[str, str], frozenset[LinkId]]:
    """Links that packets of every pair cross while nothing has failed."""
    network = KeptNetwork(healthy, healthy, kept, Keeping())
    names = healthy.topology.node_names
    found = {}
    for source in names:
        for target in names:
            if source != target:
                story = network.send(source, _packet(healthy.topology, source, target), Timing(1, after=0))
                found[source, target] = frozenset(story.links)
    return found


def _packet(topology: Topology, source: str, target: str) -> Packet:
    hosts = hosts_of(topology)
    return Packet(hosts[source].ipv4, hosts[target].ipv4)
