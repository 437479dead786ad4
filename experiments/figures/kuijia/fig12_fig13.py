"""Figures 12 (TCP) and 13 (UDP): victims lose more with Kuijia, and the more the larger the demand."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from experiments.campaign.kinds.flows import FlowsRow
from experiments.campaign.verdicts import ClaimResult, judge_difference
from experiments.figures.kuijia.comparisons import (
    ABOVE,
    GROWS,
    TCP,
    UDP,
    VICTIM,
    both,
    loss_figure,
    tcp_trials,
    udp_trials,
)
from experiments.figures.kuijia.measures import Choice, difference, growth, lost_percent


def claims_of(choice: Choice) -> Callable[[Sequence[FlowsRow]], list[ClaimResult]]:
    """Figures 12 (TCP) and 13 (UDP): victims lose more with Kuijia, and the more the larger the demand."""

    def claims(rows: Sequence[FlowsRow]) -> list[ClaimResult]:
        kuijia, rescaling = both(rows, choice, lost_percent(VICTIM))
        name = f"loss of {choice.transport.upper()} victims"
        return [
            judge_difference(f"{name}, Kuijia less rescaling", "points", ABOVE, difference(kuijia, rescaling)),
            judge_difference(f"growth of the {name}, Kuijia", "points", GROWS, growth(kuijia)),
            judge_difference(f"growth of the {name}, rescaling", "points", GROWS, growth(rescaling)),
        ]

    return claims


TCP_FIGURE = loss_figure(
    "fig12",
    "Figure 12: throughput loss of TCP victims",
    tcp_trials,
    claims_of(TCP),
    {"TCP victims": (TCP, VICTIM)},
)
UDP_FIGURE = loss_figure(
    "fig13",
    "Figure 13: packet loss of UDP victims",
    udp_trials,
    claims_of(UDP),
    {"UDP victims": (UDP, VICTIM)},
)
