"""`armor verify`: every failure case of a scheme walked through the interpreter.

For each ordered pair and each set of failed links on its primary path: all possibilities of a
partly updated network (explore.Possibilities), then the real sequence of packets until the path
settles. Destinations are independent of each other, so they are shared out over processes.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from time import perf_counter

from experiments.verification.cases import Residual, failure_masks
from experiments.verification.dynamics import dynamics_of
from experiments.verification.explore import DROPPED, LOOPED, Possibilities, Sequence, Walk
from experiments.verification.result import Tally, VerifyResult
from experiments.verification.steps import StepTable, Wiring
from mininet_topos.ports import HOST_PORT
from mininet_topos.topology import Topology
from ryu_apps.plan.addressing import dpid_of, hosts_of
from ryu_apps.plan.guarantees import Promise
from ryu_apps.plan.interpret import Packet, SwitchModel
from ryu_apps.plan.options import PlanOptions
from ryu_apps.plan.registry import find_scheme
from ryu_apps.plan.rows import RulePlan

Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Request:
    """What to verify.

    Attributes
    ----------
    topology : Topology
    scheme : str
    options : PlanOptions
    failures : int
        How many links fail at once.
    sample : int or None
        Number of failure sets to draw; None = all.
    seed : int
        Seed of the draw.
    """

    topology: Topology
    scheme: str
    options: PlanOptions
    failures: int = 1
    sample: int | None = None
    seed: int = 1


def verify_scheme(request: Request, jobs: int = 1, progress: Progress | None = None) -> VerifyResult:
    """Verify a scheme on a topology.

    Parameters
    ----------
    request : Request
    jobs : int
        Processes.
    progress : callable, optional
        Called with (destinations done, all destinations).

    Returns
    -------
    VerifyResult

    Raises
    ------
    BadInputError
        Unknown scheme, or failures or sample out of range.
    """
    topology = request.topology
    scheme = find_scheme(request.scheme)
    masks = failure_masks(len(topology.link_ids), request.failures, request.sample, request.seed)
    began = perf_counter()
    plans = scheme.plan(topology, request.options)
    planned = perf_counter()
    verifier = Verifier(request, plans, masks, scheme.guarantee(topology, request.options))
    tally = Tally()
    targets = range(len(topology.nodes))
    for done, part in enumerate(_tallies(verifier, targets, jobs), start=1):
        tally.add(part)
        if progress is not None:
            progress(done, len(targets))
    space = next(iter(plans.values())).tag_space
    return VerifyResult(
        topology=topology.name,
        scheme=request.scheme,
        mode=request.options.mode if len(scheme.modes) > 1 else "none",
        planner=request.options.planner,
        routes=request.options.routes,
        failures=request.failures,
        max_failures=space[1] if space[0] else None,
        failure_sets=len(masks),
        tally=tally,
        plan_seconds=planned - began,
        seconds=perf_counter() - planned,
        jobs=jobs,
    )


_shared: list[Verifier] = []  # inherited by forked workers: plans are too large to send


def _tally_of(target: int) -> Tally:
    return _shared[0].tally_destination(target)


def _tallies(verifier: Verifier, targets: range, jobs: int) -> Iterator[Tally]:
    if jobs == 1:
        yield from (verifier.tally_destination(target) for target in targets)
        return
    _shared[:] = [verifier]
    try:
        with ProcessPoolExecutor(jobs, mp_context=multiprocessing.get_context("fork")) as pool:
            yield from pool.map(_tally_of, targets)
    finally:
        _shared.clear()


class Verifier:
    """Counts the cases of one destination at a time.

    Parameters
    ----------
    request : Request
    plans : dict
        Rule plans by datapath id.
    masks : list of int
        Failure sets.
    promise : callable
        What the scheme guarantees.
    """

    def __init__(self, request: Request, plans: dict[int, RulePlan], masks: list[int], promise: Promise) -> None:
        self.topology, self.masks, self.promise = request.topology, masks, promise
        self.single = request.failures == 1
        self.wiring = Wiring(self.topology)
        by_node = [plans[dpid_of(self.topology, node)] for node in self.topology.node_names]
        self.models = [SwitchModel(plan) for plan in by_node]
        self.dynamics = dynamics_of(request.options.mode, plans)
        self.by_pair = any(name == "ipv4_src" for plan in by_node for row in plan.flows for name, _, _ in row.match)
        self.swings = request.scheme == "sdfast" and request.options.mode == "agent"
        order = self.topology.index_of
        ends = [(order[link.a], order[link.b]) for link in self.topology.link_ids]
        self.residual = Residual(ends, len(order))
        self.failed_at = [(mask, self.wiring.dead_ports(mask)) for mask in masks]

    @cached_property
    def _ipv4(self) -> list[int]:
        return [host.ipv4 for host in hosts_of(self.topology).values()]

    def tally_destination(self, target: int) -> Tally:
        """Count all cases whose destination is `target` (node position)."""
        steps = StepTable(self.wiring, self.models, self.dynamics)
        tally = Tally()
        sources = [node for node in range(len(self.models)) if node != target]
        start_of = {source: self._start(steps, source, target) for source in sources}
        crossed = {source: self._primary_mask(steps, start_of[source]) for source in sources}
        for mask, dead in self.failed_at:
            hit = [source for source in sources if crossed[source] & mask]
            if not hit:
                continue
            possible = Possibilities(steps, dead)
            distances = self.residual.distances(mask)
            for source in hit:
                case = _Case(source, target, mask, distances[source][target])
                self._count(tally, case, possible.worst_outcome(start_of[source]))
                self._count_walks(tally, case, Sequence(steps, dead), start_of[source])
        return tally

    def _start(self, steps: StepTable, source: int, target: int) -> int:
        """State of an untagged packet as it enters; the source address only where some row looks at it."""
        sender = self._ipv4[source] if self.by_pair or self.swings else 0
        return steps.state(source, HOST_PORT, Packet(sender, self._ipv4[target]))

    def _primary_mask(self, steps: StepTable, start: int) -> int:
        """Links that the packet crosses while nothing has failed."""
        walk = Sequence(steps, {}).send(start)
        places = [steps.places[state] for state in walk.states[1:]]
        return sum({1 << self.wiring.far_end[node, in_port][2] for node, in_port, _ in places})

    def _count(self, tally: Tally, case: _Case, worst: str) -> None:
        tally.cases += 1
        promised = case.is_joined and self.promise(case.source, case.target, case.mask)
        tally.promised += promised
        if worst == LOOPED:
            tally.looped += 1
        elif not case.is_joined:
            tally.disconnected += 1
        elif worst == DROPPED:
            tally.dropped += 1
        else:
            tally.delivered += 1
        if (promised and worst != "delivered") or (worst == LOOPED and not case.is_joined):
            tally.note_broken(self._example(case, worst))

    def _count_walks(self, tally: Tally, case: _Case, packets: Sequence, start: int) -> None:
        first, settled = packets.settle(start)
        tally.crankback_cases += first.back_hops > 0
        tally.longest_crankback = max(tally.longest_crankback, first.back_hops)
        if settled.outcome != "delivered":
            return
        tally.stretch_sum += settled.hops / case.fewest_hops
        tally.stretch_cases += 1
        if not settled.is_simple:
            tally.backtracking_after_convergence += 1
            if self.single and self.promise(case.source, case.target, case.mask):
                tally.note_broken(self._example(case, "backtracks after convergence"))
        if self.swings and self.single:
            self._count_reply(tally, case, packets)

    def _count_reply(self, tally: Tally, case: _Case, packets: Sequence) -> None:
        """Agent mode: once a recovered packet has arrived, the reply never goes back over its own path."""
        reply = packets.send(self._start(packets.steps, case.target, case.source))
        if reply.back_hops or reply.outcome != "delivered":
            tally.reply_backtracks += 1
            tally.note_broken(self._example(case, f"the reply {_fate(reply)}"))

    def _example(self, case: _Case, what: str) -> dict[str, object]:
        names = self.topology.node_names
        failed = [str(link) for number, link in enumerate(self.topology.link_ids) if case.mask >> number & 1]
        return {"src": names[case.source], "dst": names[case.target], "failed": failed, "what": what}


@dataclass(frozen=True, slots=True)
class _Case:
    source: int
    target: int
    mask: int
    fewest_hops: float

    @property
    def is_joined(self) -> bool:
        return self.fewest_hops != float("inf")


def _fate(walk: Walk) -> str:
    return f"goes back {walk.back_hops} hops" if walk.outcome == "delivered" else f"is {walk.outcome}"
