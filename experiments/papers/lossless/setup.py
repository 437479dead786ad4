"""Set-up of `x-lossless`: packets that must walk back from a dead link of Darkstrand, with and without SQR beside it.

A pair exchanges UDP probes; a link of its primary path dies, chosen so that the first packets have to walk back. With
SQR both ends of the link keep what they send into it. Cuts are of two sorts: the carrier goes, which the next sending
sees by itself, or the link falls silent, so that BFD has to notice.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from experiments.analysis.crankback import CrankbackCase, crankback_cases
from experiments.campaign.values import Arm, CampaignPlan, Timing, Trial
from mininet_topos.catalogue import load_topology

ID, KIND, TOPOLOGY = "x-lossless", "lossless", "darkstrand"
SDFAST, LOSSLESS = Arm("sdfast", "learned"), Arm("lossless", "learned")
SDFAST_AGENT, LOSSLESS_AGENT = Arm("sdfast", "agent"), Arm("lossless", "agent")
# Without and with SQR, in both modes of SD-FAST.
PAIRS_OF_ARMS = ((SDFAST, LOSSLESS), (SDFAST_AGENT, LOSSLESS_AGENT))
LABELS = {
    SDFAST.name: "SD-FAST alone, learned",
    LOSSLESS.name: "SD-FAST + SQR, learned",
    SDFAST_AGENT.name: "SD-FAST alone, agent",
    LOSSLESS_AGENT.name: "SD-FAST + SQR, agent",
}
CUTS = {"silent": "silent cut", "carrier": "carrier lost"}
PROBE_MS = 2.0
# BFD needs three of its intervals to see a silent cut, telling SQR of it takes 0.2 s; delta covers both twice.
BFD_MS, DELTA_MS, SLOTS, MARGIN = 100, 1000.0, 8192, 64
TIMING = Timing(before_s=1.5, transient_s=2.0, converged_s=1.5)
CASES, QUICK_CASES = 8, 2
VERSION = 2


@lru_cache(maxsize=1)
def _walks_back() -> tuple[CrankbackCase, ...]:
    """Cases whose first packets walk back, the longest walks first."""
    cases = [case for case in crankback_cases(load_topology(TOPOLOGY)) if case.hops_back]
    return tuple(sorted(cases, key=lambda case: -case.hops_back))


def draw_cases(count: int, seed: int) -> tuple[CrankbackCase, ...]:
    """The longest walk back, and others by lot, no link twice.

    Parameters
    ----------
    count : int
        At least one.
    seed : int
    """
    longest, *others = _walks_back()
    found = [longest]
    for number in np.random.default_rng(seed).permutation(len(others)):
        if len(found) == count:
            break
        if others[number].link not in {case.link for case in found}:
            found.append(others[number])
    return tuple(found)


def trials(plan: CampaignPlan) -> tuple[Trial, ...]:
    """Every case with each sort of cut and by each arm; in a quick run the cases take the sorts in turn."""
    sorts = list(CUTS)
    cases = draw_cases(plan.rounds or (QUICK_CASES if plan.quick else CASES), plan.seed)
    return tuple(
        _trial(case, number, cut, arm, plan.seed)
        for number, case in enumerate(cases, start=1)
        for cut in (sorts[number % len(sorts) - 1 :][:1] if plan.quick else sorts)
        for pair in PAIRS_OF_ARMS
        for arm in pair
    )


def _trial(case: CrankbackCase, number: int, cut: str, arm: Arm, seed: int) -> Trial:
    return Trial(
        trial_id=f"{ID}/r{number}/{case.source}-{case.destination}-{cut}/{arm.name}",
        kind=KIND,
        topology=TOPOLOGY,
        arm=arm,
        round=number,
        failures=1,
        links=(str(case.link),),
        pairs=((case.source, case.destination),),
        load=None,
        timing=TIMING,
        seed=seed,
        parameters={"version": VERSION, "cut": cut, "hops_back": case.hops_back},
    )
