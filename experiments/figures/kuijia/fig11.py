"""Figure 11: UDP loss of directly affected flows, below 2 % with Kuijia at nearly all points."""

from __future__ import annotations

from collections.abc import Sequence

from experiments.campaign.kinds.flows import FlowsRow
from experiments.campaign.verdicts import MARGIN, AtLeast, Claim, ClaimResult, judge, judge_difference
from experiments.figures.kuijia.comparisons import ABOVE, DIRECT, GROWS, UDP, both, loss_figure, udp_trials
from experiments.figures.kuijia.measures import by_rounds, difference, growth, lost_percent


def claims(rows: Sequence[FlowsRow]) -> list[ClaimResult]:
    """UDP loss of directly affected flows: below 2 % with Kuijia at nearly all points."""
    name = "loss of directly affected UDP flows"
    kuijia, rescaling = both(rows, UDP, lost_percent(DIRECT))
    share = by_rounds({key: 100.0 * (value <= 2.0) for key, value in kuijia.items()})
    small = Claim(f"points with at most 2 % {name}, Kuijia", "%", "almost all", AtLeast(90), asks=MARGIN)
    return [
        judge(small, share),
        judge_difference(f"growth of the {name}, rescaling", "points", GROWS, growth(rescaling)),
        judge_difference(f"{name}, rescaling less Kuijia", "points", ABOVE, difference(rescaling, kuijia)),
    ]


FIGURE = loss_figure(
    "fig11",
    "Figure 11: packet loss of directly affected UDP flows",
    udp_trials,
    claims,
    {"directly affected UDP flows": (UDP, DIRECT)},
    band=2.0,
)
