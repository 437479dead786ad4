"""Set-up of `x-low-queue`: who loses when recovered traffic comes to links that others fill, with one queue or two.

Darkstrand, every link 10 Mbit/s. A *victim* sends over its shortest path, whose failed link SD-FAST goes around. Every
link of that way round which the victim did not use before is filled to nine tenths by a flow of its own neighbours
(at most four of them). So the way round has room for a fifth of what the victim brings. Two runs of each case differ in
the queues alone: packets with a failure tag wait behind all others, or in the same queue.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from experiments.campaign.draws.filled_links import VICTIM, draw_cases
from experiments.campaign.figure import PaperFigure, Table
from experiments.campaign.kinds.low_queue import ROWS, LowQueueParameters, LowQueueRow
from experiments.campaign.statistics import Estimate, mean_interval
from experiments.campaign.values import CampaignPlan, Load, Timing, Trial, Variant
from experiments.campaign.verdicts import MARGIN, AtMost, Claim, ClaimResult, judge, judge_difference
from experiments.charts import canvas
from experiments.charts.canvas import INK, PALETTE, PAPER, say_empty
from experiments.scenario.flow_values import BIN_S, FlowRecord
from mininet_topos.catalogue import load_topology

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


ID = "x-low-queue"
TOPOLOGY, LINK_MBPS = "darkstrand", 10.0
VICTIM_MBPS, OTHERS_MBPS = 4.0, 9.0
MOST_OTHERS, FEWEST_OTHERS = 4, 2
CASES, QUICK_CASES = 12, 3
SDFAST = Variant("sdfast", "learned")
LOW_QUEUE, TOGETHER = "low-queue", ""
QUEUES = {LOW_QUEUE: "recovered traffic behind all other", TOGETHER: "one queue for all"}
TIMING = Timing(before_s=4.0, transient_s=3.0, converged_s=5.0)
MOST_LOST_PERCENT = 1.0  # a full queue of one millisecond more or less, and BFD's own packets
HEADER = ("queues", "others' loss after (%)", "worst of them (%)", "victim got (Mbit/s)", "of", "cases")
_SMOOTH = 5  # samples of a moving mean: half a second
_EDGE_S = BIN_S * _SMOOTH / 2


def trials(plan: CampaignPlan) -> tuple[Trial, ...]:
    """Two trials a case: with and without the low-priority queue."""
    count = plan.rounds or (QUICK_CASES if plan.quick else CASES)
    cases = draw_cases(load_topology(TOPOLOGY), count, plan.seed, (FEWEST_OTHERS, MOST_OTHERS))
    return tuple(
        Trial(
            trial_id=f"{ID}/{number:02d}-{case.pair[0]}-{case.pair[1]}-{queues or 'together'}",
            kind="low-queue",
            topology=TOPOLOGY,
            variant=SDFAST,
            round=1,
            failures=1,
            links=(str(case.failed),),
            pairs=(case.pair,),
            load=Load(pings=False, ping_interval_ms=0.0, udp_mbps=None, download_bytes=None, capacity_mbps=LINK_MBPS),
            timing=TIMING,
            seed=plan.seed,
            parameters=LowQueueParameters(
                network=queues or "together",
                queues=queues,
                case=number,
                victim_mbps=VICTIM_MBPS,
                others_mbps=OTHERS_MBPS,
                most_others=MOST_OTHERS,
                fewest_others=FEWEST_OTHERS,
            ),
        )
        for number, case in enumerate(cases)
        for queues in QUEUES
    )


def own_rows(rows: Sequence[LowQueueRow], queues: str) -> list[LowQueueRow]:
    """Rows of one set-up of queues."""
    return [row for row in rows if row.parameters.queues == queues]


def others_lost_percent(row: LowQueueRow) -> list[float]:
    """Datagrams of each other flow that were lost at the end of a trial (%); not of one that sent none."""
    lost = [flow.lost_percent_after for flow in row.measured.flows if flow.name != VICTIM]
    return [each for each in lost if each is not None]


def victim_of(row: LowQueueRow) -> FlowRecord:
    """Record of the victim."""
    return next(flow for flow in row.measured.flows if flow.name == VICTIM)


def mean_loss(rows: Sequence[LowQueueRow], queues: str) -> Estimate | None:
    """Mean over cases of the others' mean loss (%), with its interval."""
    losses = [found for row in own_rows(rows, queues) if (found := others_lost_percent(row))]
    return mean_interval([sum(each) / len(each) for each in losses]) if losses else None


def victims_rate(rows: Sequence[LowQueueRow], queues: str) -> Estimate | None:
    """Mean over cases of what the victim receives in the end (Mbit/s)."""
    rates = [victim_of(row).after_mbps for row in own_rows(rows, queues)]
    return mean_interval(rates) if rates else None


def spared(rows: Sequence[LowQueueRow]) -> Estimate | None:
    """Mean over cases that were measured both ways of the loss that the queue spares the others (points of %)."""
    losses = {
        queues: {
            row.parameters.case: np.mean(lost) for row in own_rows(rows, queues) if (lost := others_lost_percent(row))
        }
        for queues in QUEUES
    }
    both = sorted(losses[LOW_QUEUE].keys() & losses[TOGETHER].keys())
    return mean_interval([float(losses[TOGETHER][case] - losses[LOW_QUEUE][case]) for case in both]) if both else None


def claims(rows: Sequence[LowQueueRow]) -> list[ClaimResult]:
    """Others lose nothing with the low-priority queue, and less than without; what the victim gets is reported."""
    limit = Claim(f"loss of other flows, {QUEUES[LOW_QUEUE]}", "%", None, AtMost(MOST_LOST_PERCENT), asks=MARGIN)
    results = [
        judge(limit, mean_loss(rows, LOW_QUEUE)),
        judge_difference("loss that the low-priority queue spares other flows", "points", "above 0", spared(rows)),
        judge(Claim(f"loss of other flows, {QUEUES[TOGETHER]}", "%"), mean_loss(rows, TOGETHER)),
    ]
    for queues, words in QUEUES.items():
        results.append(judge(Claim(f"what the victim receives, {words}", "Mbit/s"), victims_rate(rows, queues)))
    return results


def table(rows: Sequence[LowQueueRow]) -> Table:
    """Losses and the victim's rate, with and without the low-priority queue."""
    found = []
    for queues in (LOW_QUEUE, TOGETHER):
        own = own_rows(rows, queues)
        loss, rate = mean_loss(rows, queues), victims_rate(rows, queues)
        if loss is not None and rate is not None:
            worst = max((lost for row in own for lost in others_lost_percent(row)), default=0.0)
            offered = victim_of(own[0]).offered_mbps
            shown = (f"{loss.value:.2f}", f"{worst:.2f}", f"{rate.value:.2f}", f"{offered:.2f}", str(len(own)))
            found.append((QUEUES[queues], *shown))
    return Table(HEADER, tuple(found))


def draw(rows: Sequence[LowQueueRow], caption: str) -> Figure:
    """A panel for each set-up of queues: share of its rate that every flow gets, over time."""
    figure, both = canvas.panels("SD-FAST beyond the papers: recovered traffic on links that others fill", len(QUEUES))
    for axes, (queues, words) in zip(both, QUEUES.items(), strict=True):
        axes.set_title(words, color=INK, fontsize=10, loc="left")
        _draw(axes, own_rows(rows, queues))
    canvas.legend(figure, next((axes for axes in both if axes.lines), both[0]))
    cases = max((len(own_rows(rows, queues)) for queues in QUEUES), default=0)
    facts = [
        f"Darkstrand, links of {LINK_MBPS:g} Mbit/s, {cases} cases; a victim of {VICTIM_MBPS:g} Mbit/s "
        f"goes around a failed link, over links that flows of {OTHERS_MBPS:g} Mbit/s fill. UDP, half-second "
        "means. Thin: every flow; thick: mean over flows. Packets with a failure tag wait in the victim queue (left), "
        "or they do not (right).",
    ]
    return canvas.finish(figure, facts, caption)


def _draw(axes: Axes, rows: Sequence[LowQueueRow]) -> None:
    flows = [flow for row in rows for flow in row.measured.flows]
    if not flows:
        say_empty(axes)
        return
    shown_s = np.arange(-TIMING.before_s, TIMING.total_s - TIMING.before_s - _EDGE_S, BIN_S)
    for name, colour, of_name in (
        ("other flows", PALETTE[0], [flow for flow in flows if flow.name != VICTIM]),
        ("victim", PALETTE[2], [flow for flow in flows if flow.name == VICTIM]),
    ):
        shares = [share_over_time(flow) for flow in of_name]
        for seconds, values in shares:
            axes.plot(seconds, values, color=colour, lw=0.5, alpha=0.45)
        known = np.array([np.interp(shown_s, *share, left=np.nan, right=np.nan) for share in shares if share[0]])
        seen = ~np.isnan(known).all(axis=0)
        axes.plot(shown_s[seen], np.nanmean(known[:, seen], axis=0), color=colour, lw=2.2, label=name)
    axes.axvline(0.0, color=PAPER, lw=1.2, ls=":", label="failure")
    axes.set_xlabel("seconds since the failure", color=INK)
    axes.set_ylabel("received (% of what is sent)", color=INK)
    axes.set_xlim(shown_s[0], shown_s[-1])
    axes.set_ylim(0, 115)


def share_over_time(flow: FlowRecord) -> tuple[list[float], list[float]]:
    """Seconds since the failure, and the moving mean of what a flow receives (% of what it offers)."""
    samples = np.asarray(flow.samples_mbps, dtype=np.float64)
    if len(samples) < _SMOOTH:
        return [], []
    smooth = np.convolve(samples, np.ones(_SMOOTH) / _SMOOTH, mode="valid")
    first_s = flow.start_ms / 1000.0 + _EDGE_S
    seconds = first_s + BIN_S * np.arange(len(smooth))
    return seconds.tolist(), (100.0 * smooth / (flow.offered_mbps or 1.0)).tolist()


FIGURE = PaperFigure(
    ID,
    "beyond",
    "Beyond: SD-FAST with recovered traffic in the victim queue; who loses on full links",
    trials,
    ROWS.on(claims),
    ROWS.on(draw),
    ROWS.on(table),
)
