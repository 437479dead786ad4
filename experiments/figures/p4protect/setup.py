"""Set-up of P4-Protect's trials: two hosts, two nodes, two disjoint paths in network namespaces, no Open vSwitch.

The paper's switches forward at 100 Gbit/s and its hosts use segmentation offload; here one processor forwards packet by
packet, so rates are scaled and ratios kept. Variants are interleaved: every round runs all of them one after another.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from experiments.campaign.kinds.paths import PathsParameters
from experiments.campaign.values import CampaignPlan, Trial, Variant

PAPER = "p4-protect"
KIND = "paths"
TOPOLOGY = "two-paths"
PLAIN, UNPROTECTED, PROTECTED = Variant("plain"), Variant("unprotected"), Variant("protected")
LABELS = {
    PLAIN.name: "plain forwarding",
    UNPROTECTED.name: "node, flow not protected",
    PROTECTED.name: "1+1 protected",
}
LOSS, COST, GOODPUT, JITTER = "p4protect-loss", "p4protect-fig6", "p4protect-fig7", "p4protect-fig8"
ROUNDS, QUICK_ROUNDS = 10, 3

LOSS_PPS, LOSS_SECONDS = 50_000, 3.0
# Each path in turn: (path, seconds after the start, outage).
LOSS_FAILURES = (("p1", 0.5, 0.8), ("p2", 1.9, 0.6))
FRAME_BYTES = (64, 1400)
COST_FRAMES = 40_000
FLOWS = (1, 4, 15)
GOODPUT_SECONDS, QUICK_GOODPUT_SECONDS = 4.0, 2.0
JITTERS_MS = (0.0, 1.0, 2.0, 4.0)
PACKET_INTERVAL_MS, PACKETS, QUICK_PACKETS = 2.0, 2000, 1000
BASE_DELAY_MS = 1.0  # of a path, before jitter


def two_path_trials(
    plan: CampaignPlan, cases: Mapping[str, PathsParameters], variants: Sequence[Variant]
) -> tuple[Trial, ...]:
    """One trial for each round, case and variant, the variants of a case side by side; `cases` maps names to them."""
    rounds = plan.rounds or (QUICK_ROUNDS if plan.quick else ROUNDS)
    return tuple(
        _trial(f"r{number}/{name}/{variant.name}", variant, number, plan.seed + number, own)
        for number in range(1, rounds + 1)
        for name, own in cases.items()
        for variant in variants
    )


def _trial(name: str, variant: Variant, number: int, seed: int, own: PathsParameters) -> Trial:
    return Trial(
        trial_id=f"{own.what}/{name}",
        kind=KIND,
        topology=TOPOLOGY,
        variant=variant,
        round=number,
        failures=0,
        links=(),
        pairs=(),
        load=None,
        timing=None,
        seed=seed,
        parameters=own,
    )
