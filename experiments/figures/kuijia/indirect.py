"""Section 5.2: indirectly affected flows lose less than 1 % with rescaling, almost nothing with Kuijia."""

from __future__ import annotations

from collections.abc import Sequence

from experiments.campaign.kinds.flows import FlowsRow
from experiments.campaign.values import CampaignPlan, Trial
from experiments.campaign.verdicts import MARGIN, AtMost, Claim, ClaimResult, judge
from experiments.figures.kuijia.comparisons import (
    INDIRECT,
    TCP,
    UDP,
    both,
    loss_figure,
    tcp_trials,
    udp_trials,
)
from experiments.figures.kuijia.measures import by_rounds, lost_percent


def trials(plan: CampaignPlan) -> tuple[Trial, ...]:
    """Both transports."""
    return (*tcp_trials(plan), *udp_trials(plan))


def claims(rows: Sequence[FlowsRow]) -> list[ClaimResult]:
    """Indirectly affected flows: less than 1 % with rescaling, almost nothing with Kuijia."""
    results = []
    for choice in (TCP, UDP):
        kuijia, rescaling = both(rows, choice, lost_percent(INDIRECT))
        for values, title, paper, band in (
            (rescaling, "rescaling", "below 1", AtMost(1.0)),
            (kuijia, "Kuijia", "almost none", AtMost(0.5)),
        ):
            name = f"loss of indirectly affected {choice.transport.upper()} flows, {title}"
            results.append(judge(Claim(name, "%", paper, band, asks=MARGIN), by_rounds(values)))
    return results


FIGURE = loss_figure(
    "indirect",
    "Section 5.2: losses of indirectly affected flows",
    trials,
    claims,
    {
        "indirectly affected TCP flows": (TCP, INDIRECT),
        "indirectly affected UDP flows": (UDP, INDIRECT),
    },
    band=0.5,
)
