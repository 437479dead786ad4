"""Figure 12: of all flows, also those that no failure hit, the slowest are ten times faster at the least."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from experiments.campaign.figure import PaperFigure
from experiments.campaign.statistics import Estimate
from experiments.campaign.values import Variant
from experiments.campaign.verdicts import AtLeast, Claim, ClaimResult, judge
from experiments.charts import canvas
from experiments.charts.canvas import INK, PAPER, say_empty
from experiments.figures.sqr import flow_measures as measures
from experiments.figures.sqr import flow_setup as setup
from experiments.figures.sqr.comparisons import BESIDE, COLOURS, FLOWS_TEXT, PAIRS, SCALE, flows_table
from experiments.figures.sqr.fig3 import TIMES
from experiments.figures.sqr.flow_measures import ROWS, FlowsRow
from experiments.testbed.workloads.decide.sizes import DATA_MINING, WEB_SEARCH

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def claims(rows: Sequence[FlowsRow]) -> list[ClaimResult]:
    """Of all flows, also those that no failure hit, the slowest are ten times faster at the least."""
    results = []
    for table in (WEB_SEARCH, DATA_MINING):
        for alone, helped in PAIRS:
            claim = Claim(
                f"99.9th percentile of all flows, {table.title}, {setup.LABELS[alone.name]} against with SQR",
                "times",
                "10 to 1000",
                AtLeast(TIMES),
                neutral=1.0,
            )
            results.append(judge(claim, times_apart(rows, (alone, helped), table.name)))
    return results


def times_apart(rows: Sequence[FlowsRow], variants: tuple[Variant, Variant], workload: str) -> Estimate | None:
    """How many times longer the tail of all flows is without SQR, geometric mean over rounds."""
    both = [
        {row.round: measures.completions_ms(row) for row in measures.rows_of(rows, variant, workload)}
        for variant in variants
    ]
    orders = measures.orders_apart(both[0], both[1], setup.ALL_TAIL_SHARE)
    if orders is None:
        return None
    value, low, high = orders
    return Estimate(10**value, None if low is None else 10**low, None if high is None else 10**high)


def draw(rows: Sequence[FlowsRow], caption: str) -> Figure:
    """Share of all flows that take longer, both axes logarithmic, so that the tail can be seen."""
    figure, both = canvas.panels("SQR, Figure 12: completion times of all flows", 2)
    for axes, table in zip(both, (WEB_SEARCH, DATA_MINING), strict=True):
        axes.set_title(table.title, fontsize=10, color=INK, loc="left")
        for variant in setup.ALL_VARIANTS:
            own = measures.rows_of(rows, variant, table.name)
            times = np.sort([each for row in own for each in measures.completions_ms(row)])
            if len(times):
                shares = 100.0 * np.arange(len(times), 0, -1) / len(times)
                style = "--" if variant in (setup.SB, setup.LRR) else "-"
                axes.step(
                    times,
                    shares,
                    where="post",
                    color=COLOURS[variant],
                    ls=style,
                    lw=1.8,
                    label=setup.LABELS[variant.name],
                )
        if axes.lines:
            axes.set_xscale("log")
            axes.set_yscale("log")
            axes.axhline(100 * (1 - setup.ALL_TAIL_SHARE), color=PAPER, lw=1.0, ls=":", label="99.9th percentile")
        else:
            say_empty(axes)
        axes.set_xlabel("flow completion time, ms (log)", color=INK)
        axes.set_ylabel("flows that take longer, % (log)", color=INK)
    if both[0].lines:
        canvas.legend(figure, both[0])
    return canvas.finish(figure, [FLOWS_TEXT, BESIDE, SCALE], caption)


FIGURE = PaperFigure(
    setup.FIG12,
    setup.PAPER,
    "Figure 12: completion times of all flows",
    setup.flow_trials,
    ROWS.on(claims),
    ROWS.on(draw),
    ROWS.on(flows_table(setup.ALL_VARIANTS)),
)
