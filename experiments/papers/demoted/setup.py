"""Set-up of `x-demoted`: who loses when recovered traffic comes to links that others fill, with one queue or with two.

Darkstrand, every link 10 Mbit/s. A *victim* sends over its shortest path, whose failed link SD-FAST goes around. Every
link of that way round which the victim did not use before is filled to nine tenths by a flow of its own neighbours
(at most four of them). So the way round has room for a fifth of what the victim brings. Two runs of each case differ in
the queues alone: packets with a failure tag wait behind all others, or in the same queue.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from experiments.campaign.values import Arm, CampaignPlan, Load, Timing, Trial
from experiments.flows.values import FIRST_PORT, Flow, Placed
from experiments.papers.sdfast.draws import Pair, path
from mininet_topos.catalogue import load_topology
from mininet_topos.topology import Direction, LinkId, Topology
from te_solver.routes import ResidualRoutes

ID = "x-demoted"
TOPOLOGY, LINK_MBPS = "darkstrand", 10.0
VICTIM_MBPS, OTHERS_MBPS = 4.0, 9.0
MOST_OTHERS, FEWEST_OTHERS = 4, 2
CASES, QUICK_CASES = 12, 3
SDFAST = Arm("sdfast", "learned")
DEMOTED, TOGETHER = "demoted", ""
QUEUES = {DEMOTED: "recovered traffic behind all other", TOGETHER: "one queue for all"}
TIMING = Timing(before_s=4.0, transient_s=3.0, converged_s=5.0)
VICTIM = "victim"
_SOURCE_PORT = 30_000
VERSION = 1


@dataclass(frozen=True, slots=True)
class Case:
    """A pair, a link of its primary path, the ways before and after, and the links that others fill."""

    pair: Pair
    failed: LinkId
    primary: tuple[Direction, ...]
    detour: tuple[Direction, ...]
    filled: tuple[Direction, ...]


def draw_cases(topology: Topology, count: int, seed: int) -> tuple[Case, ...]:
    """Cases, pairs drawn by lot, each pair at most once.

    Parameters
    ----------
    topology : Topology
    count : int
        Fewer come where the topology has fewer.
    seed : int
    """
    routes, names = ResidualRoutes(topology), topology.node_names
    pairs = [(source, target) for source in names for target in names if source != target]
    found: list[Case] = []
    for number in np.random.default_rng(seed).permutation(len(pairs)):
        case = _case(topology, routes, pairs[number])
        if case is not None:
            found.append(case)
        if len(found) == count:
            break
    return tuple(found)


def _case(topology: Topology, routes: ResidualRoutes, pair: Pair) -> Case | None:
    """The pair with the first link of its primary that leaves enough links to fill; None when there is no such link."""
    primary = path(routes, *pair)
    for hop in primary:
        failed = topology.link_id(hop)
        detour = path(routes, *pair, frozenset({failed}))
        filled = tuple(each for each in detour if each not in primary)
        # A neighbour's flow must take the link itself, also after the failure.
        if len(filled) >= FEWEST_OTHERS and all(path(routes, each.src, each.dst) == (each,) for each in filled):
            return Case(pair, failed, primary, detour, filled[:MOST_OTHERS])
    return None


def flows_of(case: Case) -> tuple[Placed, ...]:
    """The victim and the flows that fill its way round, with the links that they cross."""
    victim = Flow(VICTIM, *case.pair, transport="udp", offered_mbps=VICTIM_MBPS, port=FIRST_PORT)
    placed = [Placed(victim, _SOURCE_PORT, before=case.primary, after=case.detour)]
    for number, hop in enumerate(case.filled, start=1):
        name = f"{hop.src} to {hop.dst}"
        flow = Flow(name, hop.src, hop.dst, transport="udp", offered_mbps=OTHERS_MBPS, port=FIRST_PORT + number)
        placed.append(Placed(flow, _SOURCE_PORT + number, before=(hop,), after=(hop,)))
    return tuple(placed)


def trials(plan: CampaignPlan) -> tuple[Trial, ...]:
    """Two trials a case: with and without demotion."""
    count = QUICK_CASES if plan.quick else CASES
    cases = draw_cases(load_topology(TOPOLOGY), count, plan.seed)
    return tuple(
        Trial(
            trial_id=f"{ID}/{number:02d}-{case.pair[0]}-{case.pair[1]}-{queues or 'together'}",
            kind="demoted",
            topology=TOPOLOGY,
            arm=SDFAST,
            round=1,
            failures=1,
            links=(str(case.failed),),
            pairs=(case.pair,),
            load=Load(pings=False, ping_interval_ms=0.0, udp_mbps=None, download_bytes=None, capacity_mbps=LINK_MBPS),
            timing=TIMING,
            seed=plan.seed,
            parameters={"version": VERSION, "network": queues or "together", "queues": queues, "case": number},
        )
        for number, case in enumerate(cases)
        for queues in QUEUES
    )


def case_of(trial: Trial) -> Case:
    """The case of a trial."""
    number = int(trial.parameters["case"])
    return draw_cases(load_topology(trial.topology), number + 1, trial.seed)[number]
