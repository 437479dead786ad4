"""Set-up of P4-Protect's trials: two hosts, two nodes, two disjoint paths in network namespaces, no Open vSwitch.

The paper's switches forward at 100 Gbit/s and its hosts use segmentation offload; here one processor forwards packet by
packet, so rates are scaled and ratios kept. Arms are interleaved: every round runs all of them one after another.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from experiments.campaign.values import Arm, CampaignPlan, Json, Trial

PAPER = "p4-protect"
KIND = "paths"
TOPOLOGY = "two-paths"
PLAIN, UNPROTECTED, PROTECTED = Arm("plain"), Arm("unprotected"), Arm("protected")
LABELS = {
    PLAIN.name: "plain forwarding",
    UNPROTECTED.name: "node, flow not protected",
    PROTECTED.name: "1+1 protected",
}
LOSS, COST, GOODPUT, JITTER = "p4protect-loss", "p4protect-fig6", "p4protect-fig7", "p4protect-fig8"
ROUNDS, QUICK_ROUNDS = 10, 3

LOSS_PPS, LOSS_SECONDS = 50_000, 3.0
# Each path in turn: (path, seconds after the start, outage).
LOSS_CUTS = (("p1", 0.5, 0.8), ("p2", 1.9, 0.6))
FRAME_BYTES = (64, 1400)
COST_FRAMES = 40_000
FLOWS = (1, 4, 15)
GOODPUT_SECONDS, QUICK_GOODPUT_SECONDS = 4.0, 2.0
JITTERS_MS = (0.0, 1.0, 2.0, 4.0)
PACKET_INTERVAL_MS, PACKETS, QUICK_PACKETS = 2.0, 2000, 1000
BASE_DELAY_MS = 1.0  # of a path, before jitter
RESULT_VERSION = 2


def trials(plan: CampaignPlan, figure_id: str, cases: Sequence[Json], arms: Sequence[Arm]) -> tuple[Trial, ...]:
    """One trial for each round, case and arm, the arms of a case side by side."""
    rounds = plan.rounds or (QUICK_ROUNDS if plan.quick else ROUNDS)
    found = []
    for number in range(1, rounds + 1):
        for case in cases:
            name = "-".join(str(value) for value in case.values()) or "case"
            found += [
                _trial(figure_id, f"r{number}/{name}/{arm.name}", arm, number, plan.seed + number, case) for arm in arms
            ]
    return tuple(found)


def _trial(figure_id: str, name: str, arm: Arm, number: int, seed: int, case: Json) -> Trial:
    parameters: dict[str, Any] = {"version": RESULT_VERSION, "what": figure_id, **case}
    return Trial(
        trial_id=f"{figure_id}/{name}",
        kind=KIND,
        topology=TOPOLOGY,
        arm=arm,
        round=number,
        failures=0,
        links=(),
        pairs=(),
        load=None,
        timing=None,
        seed=seed,
        parameters=parameters,
    )


def loss_trials(plan: CampaignPlan) -> tuple[Trial, ...]:
    """A numbered stream while each path is cut in turn."""
    return trials(plan, LOSS, [{"rate_pps": LOSS_PPS}], (PLAIN, PROTECTED))


def cost_trials(plan: CampaignPlan) -> tuple[Trial, ...]:
    """Frames as fast as one processor takes them all the way."""
    return trials(plan, COST, [{"frame_bytes": size} for size in FRAME_BYTES], (PLAIN, UNPROTECTED, PROTECTED))


def goodput_trials(plan: CampaignPlan) -> tuple[Trial, ...]:
    """TCP flows at once, as fast as they can."""
    seconds = QUICK_GOODPUT_SECONDS if plan.quick else GOODPUT_SECONDS
    cases = [{"flows": flows, "seconds": seconds} for flows in FLOWS]
    return trials(plan, GOODPUT, cases, (PLAIN, UNPROTECTED, PROTECTED))


def jitter_trials(plan: CampaignPlan) -> tuple[Trial, ...]:
    """One-way delays while each path delays each packet by a time drawn evenly from 0 to the jitter."""
    packets = QUICK_PACKETS if plan.quick else PACKETS
    return trials(plan, JITTER, [{"jitter_ms": each, "packets": packets} for each in JITTERS_MS], (PLAIN, PROTECTED))
