"""Set-up of P4-Protect's trials: two hosts, two nodes, two disjoint paths in network namespaces, no Open vSwitch.

The paper's switches forward at 100 Gbit/s and its hosts use segmentation offload; here one processor forwards packet by
packet, so rates are scaled and ratios kept. Variants are interleaved: every round runs all of them one after another.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from experiments.campaign.kinds.paths import PathsParameters
from experiments.campaign.values import CampaignPlan, Trial, Variant

PAPER = "p4-protect"
PLAIN, UNPROTECTED, PROTECTED = Variant("plain"), Variant("unprotected"), Variant("protected")
LABELS = {
    PLAIN.name: "plain forwarding",
    UNPROTECTED.name: "node, flow not protected",
    PROTECTED.name: "1+1 protected",
}
LOSS, COST, GOODPUT, JITTER = "p4protect-loss", "p4protect-fig6", "p4protect-fig7", "p4protect-fig8"

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


@dataclass(frozen=True, slots=True)
class Site:
    """Where trials run, and how many rounds they have."""

    kind: str
    topology: str
    rounds: int
    quick_rounds: int


TWO_PATHS = Site("paths", "two-paths", rounds=10, quick_rounds=3)
# The paper's two switches with two links between; nothing is sent by the third switch.
BRIDGES = Site("protected", "parallel", rounds=20, quick_rounds=3)
BRIDGES_SCALE = (
    "Two hosts behind two Open vSwitch bridges (userspace datapath) with two links between, on one machine, with the "
    "app of scheme protect; variants one after another in every round, each on a network of its own."
)
BFD_MS = 100


def two_path_trials(
    plan: CampaignPlan, cases: Mapping[str, PathsParameters], variants: Sequence[Variant]
) -> tuple[Trial, ...]:
    """Trials on the testbed of two paths (parameters as those of `site_trials`)."""
    return site_trials(TWO_PATHS, plan, cases, variants)


def site_trials(
    site: Site, plan: CampaignPlan, cases: Mapping[str, PathsParameters], variants: Sequence[Variant]
) -> tuple[Trial, ...]:
    """One trial for each round, case and variant, the variants of a case side by side; `cases` maps names to them."""
    rounds = plan.rounds or (site.quick_rounds if plan.quick else site.rounds)
    return tuple(
        _trial(site, f"r{number}/{name}/{variant.name}", variant, (number, plan.seed + number), own)
        for number in range(1, rounds + 1)
        for name, own in cases.items()
        for variant in variants
    )


def _trial(site: Site, name: str, variant: Variant, drawn: tuple[int, int], own: PathsParameters) -> Trial:
    """A trial; `drawn` are round and seed."""
    return Trial(
        trial_id=f"{own.what}/{name}",
        kind=site.kind,
        topology=site.topology,
        variant=variant,
        round=drawn[0],
        failures=0,
        links=(),
        pairs=(),
        load=None,
        timing=None,
        seed=drawn[1],
        parameters=own,
    )
