"""Figure 10: TCP loss of directly affected flows, about 0 with Kuijia at every demand; rescaling's grows."""

from __future__ import annotations

from collections.abc import Sequence

from experiments.campaign.kinds.flows import FlowsRow
from experiments.campaign.verdicts import MARGIN, AtMost, Claim, ClaimResult, judge, judge_difference
from experiments.figures.kuijia import testbed
from experiments.figures.kuijia.comparisons import (
    ABOVE,
    DIRECT,
    GROWS,
    TCP,
    UNHARMED_PERCENT,
    both,
    loss_figure,
    tcp_trials,
)
from experiments.figures.kuijia.measures import by_demand, difference, growth, lost_percent


def claims(rows: Sequence[FlowsRow]) -> list[ClaimResult]:
    """TCP loss of directly affected flows: about 0 with Kuijia at every demand; rescaling's grows."""
    name = "loss of directly affected TCP flows"
    kuijia, rescaling = both(rows, TCP, lost_percent(DIRECT))
    estimates = by_demand(kuijia) or dict.fromkeys(testbed.QUICK_DEMANDS_MBPS)
    at_every_demand = [
        judge(
            Claim(f"{name}, Kuijia, {demand} Mbit/s", "%", "about 0", AtMost(UNHARMED_PERCENT), asks=MARGIN),
            estimate,
        )
        for demand, estimate in estimates.items()
    ]
    return [
        *at_every_demand,
        judge_difference(f"growth of the {name}, rescaling", "points", GROWS, growth(rescaling)),
        judge_difference(f"{name}, rescaling less Kuijia", "points", ABOVE, difference(rescaling, kuijia)),
    ]


FIGURE = loss_figure(
    "fig10",
    "Figure 10: throughput loss of directly affected TCP flows",
    tcp_trials,
    claims,
    {"directly affected TCP flows": (TCP, DIRECT)},
    band=UNHARMED_PERCENT,
)
