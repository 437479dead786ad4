"""What `x-demoted` makes of its rows: losses of the others and of the victim, claims and the table."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from experiments.campaign.statistics import Estimate, mean_interval
from experiments.campaign.values import Json
from experiments.campaign.verdicts import AtMost, Claim, ClaimResult, judge, judge_difference
from experiments.papers.demoted.setup import DEMOTED, ID, QUEUES, TOGETHER, VICTIM
from experiments.papers.figure import Table

MOST_LOST_PERCENT = 1.0  # a full queue of one millisecond more or less, and BFD's own packets
HEADER = ("queues", "others' loss after (%)", "worst of them (%)", "victim got (Mbit/s)", "of", "cases")


def own_rows(rows: Sequence[Json], queues: str) -> list[Json]:
    """Good rows of one set-up of queues."""
    own = (row for row in rows if row["trial"].startswith(f"{ID}/") and "flows" in row)
    return [row for row in own if row["parameters"]["queues"] == queues]


def others_lost_percent(row: Json) -> list[float]:
    """Datagrams of each other flow that were lost at the end of a trial (%)."""
    return [flow["lost_percent_after"] for flow in row["flows"] if flow["name"] != VICTIM]


def victim_of(row: Json) -> Json:
    """Record of the victim."""
    return next(flow for flow in row["flows"] if flow["name"] == VICTIM)


def mean_loss(rows: Sequence[Json], queues: str) -> Estimate | None:
    """Mean over cases of the others' mean loss (%), with its interval."""
    losses = [others_lost_percent(row) for row in own_rows(rows, queues)]
    return mean_interval([sum(each) / len(each) for each in losses]) if losses else None


def victims_rate(rows: Sequence[Json], queues: str) -> Estimate | None:
    """Mean over cases of what the victim receives in the end (Mbit/s)."""
    rates = [victim_of(row)["after_mbps"] for row in own_rows(rows, queues)]
    return mean_interval(rates) if rates else None


def spared(rows: Sequence[Json]) -> Estimate | None:
    """Mean over cases that were measured both ways of the loss that demotion spares the others (points of %)."""
    losses = {
        queues: {row["parameters"]["case"]: np.mean(others_lost_percent(row)) for row in own_rows(rows, queues)}
        for queues in QUEUES
    }
    both = sorted(losses[DEMOTED].keys() & losses[TOGETHER].keys())
    return mean_interval([float(losses[TOGETHER][case] - losses[DEMOTED][case]) for case in both]) if both else None


def claims(rows: Sequence[Json]) -> list[ClaimResult]:
    """Others lose nothing with demotion, and less than without; what the victim gets is told."""
    limit = Claim(f"loss of other flows, {QUEUES[DEMOTED]}", "%", None, AtMost(MOST_LOST_PERCENT))
    results = [
        judge(limit, mean_loss(rows, DEMOTED)),
        judge_difference("loss that demotion spares other flows", "points", "above 0", spared(rows)),
        judge(Claim(f"loss of other flows, {QUEUES[TOGETHER]}", "%"), mean_loss(rows, TOGETHER)),
    ]
    for queues, words in QUEUES.items():
        results.append(judge(Claim(f"what the victim receives, {words}", "Mbit/s"), victims_rate(rows, queues)))
    return results


def table(rows: Sequence[Json]) -> Table:
    """Losses and the victim's rate, with and without demotion."""
    found = []
    for queues in (DEMOTED, TOGETHER):
        own = own_rows(rows, queues)
        loss, rate = mean_loss(rows, queues), victims_rate(rows, queues)
        if loss is not None and rate is not None:
            worst = max(lost for row in own for lost in others_lost_percent(row))
            offered = victim_of(own[0])["offered_mbps"]
            shown = (f"{loss.value:.2f}", f"{worst:.2f}", f"{rate.value:.2f}", f"{offered:.2f}", str(len(own)))
            found.append((QUEUES[queues], *shown))
    return Table(HEADER, tuple(found))
