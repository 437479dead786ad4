"""Figure 14: low-priority flows; rescaling hurts directly affected ones, Kuijia victims only."""

from __future__ import annotations

from collections.abc import Sequence

from experiments.campaign.kinds.flows import FlowsRow
from experiments.campaign.verdicts import MARGIN, AtMost, Claim, ClaimResult, judge, judge_difference
from experiments.figures.kuijia.comparisons import (
    ABOVE,
    CLASSES_TCP,
    GROWS,
    HIGH_DIRECT,
    HIGH_VICTIM,
    LOW_DIRECT,
    LOW_VICTIM,
    UNHARMED_PERCENT,
    both,
    class_trials,
    loss_figure,
)
from experiments.figures.kuijia.measures import by_rounds, difference, growth, lost_percent

_LOW = {"directly affected, low": LOW_DIRECT, "victims, low": LOW_VICTIM}
_HIGH = {"directly affected, high": HIGH_DIRECT, "victims, high": HIGH_VICTIM}


def claims(rows: Sequence[FlowsRow]) -> list[ClaimResult]:
    """Low-priority flows: rescaling hurts directly affected ones, Kuijia victims only."""
    kuijia, rescaling = both(rows, CLASSES_TCP, lost_percent(LOW_DIRECT))
    hit, hit_rescaling = both(rows, CLASSES_TCP, lost_percent(LOW_VICTIM))
    name = "loss of directly affected low-priority flows"
    return [
        judge_difference(f"{name}, rescaling less Kuijia", "points", ABOVE, difference(rescaling, kuijia)),
        judge_difference(f"growth of the {name}, rescaling", "points", GROWS, growth(rescaling)),
        judge_difference(
            "growth of the loss of low-priority victims, rescaling", "points", GROWS, growth(hit_rescaling)
        ),
        judge_difference(
            "loss of low-priority flows under Kuijia, victims less directly affected",
            "points",
            ABOVE,
            difference(hit, kuijia),
        ),
        judge(Claim(f"{name}, Kuijia", "%", "none", AtMost(UNHARMED_PERCENT), asks=MARGIN), by_rounds(kuijia)),
    ]


FIGURE = loss_figure(
    "fig14",
    "Figure 14: losses with two priorities, low to high 10 to 1",
    class_trials,
    claims,
    {name: (CLASSES_TCP, which) for name, which in (_LOW | _HIGH).items()},
)
