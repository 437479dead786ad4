"""Figure 6: mean throughput, four links of Darkstrand (and of USNET) failed at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from experiments.campaign.figure import PaperFigure, Table
from experiments.campaign.values import Json, Variant
from experiments.campaign.verdicts import MEASURED, ClaimResult, judge_order
from experiments.charts import canvas
from experiments.charts.canvas import INK
from experiments.figures.sdfast import measures, setup
from experiments.figures.sdfast.comparisons import (
    CONVERGED_CBC,
    MOST_TABLE,
    OPPONENTS,
    SCALED,
    TABLES,
    UNDER_FAILURE,
    USNET_UNDER_FAILURE,
    affected_pairs,
    both_topologies,
    draw_parts,
    shown_variants,
    throughput_change,
    throughput_table,
    throughputs_beside,
    where,
)
from experiments.figures.sdfast.measures import AFTER
from experiments.figures.sdfast.setup import LABELS

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def claims(rows: Sequence[Json]) -> list[ClaimResult]:
    """Mean throughput, four links of Darkstrand failed at once."""
    order = _throughput_order(rows, setup.AGENT_PAIR).with_note(f"{CONVERGED_CBC}; {TABLES}")
    beside = replace(_throughput_order(rows, setup.LEARNED), verdict=MEASURED, band=None)
    usnet = [
        throughput_change(rows, USNET_UNDER_FAILURE, (opponent, setup.AGENT_PAIR), AFTER) for opponent in OPPONENTS
    ]
    return [order, beside, *throughputs_beside(rows, UNDER_FAILURE, all_windows=True), *usnet]


def _throughput_order(rows: Sequence[Json], sdfast: Variant) -> ClaimResult:
    measure = measures.goodput_percent(AFTER)
    estimates = {
        LABELS[variant]: measures.pair_estimate(measures.chosen(rows, UNDER_FAILURE, variant), measure)
        for variant in (*OPPONENTS, sdfast)
    }
    return judge_order(f"throughput, {where(UNDER_FAILURE)}, {AFTER}", "% of offered", estimates)


def draw(rows: Sequence[Json], caption: str) -> Figure:
    """Throughput on both topologies."""
    figure, axes = canvas.panels("Throughput under failure", 2, 4.4)
    for axis, topology in zip(axes, (setup.USNET, setup.DARKSTRAND), strict=True):
        draw_parts(axis, rows, topology, shown_variants(rows, topology), measures.goodput_percent)
        axis.set_title(topology, loc="left", fontsize=10, color=INK)
    axes[0].set_ylabel("UDP delivered, % of offered", color=INK)
    canvas.legend(figure, axes[1])
    return canvas.finish(figure, [affected_pairs(rows, UNDER_FAILURE), SCALED], caption)


def table(rows: Sequence[Json]) -> Table:
    """Throughput of every variant in the parts of the run, on both topologies."""
    return throughput_table(rows, MOST_TABLE)


FIGURE = PaperFigure(
    "sdfast-fig6",
    "sd-fast",
    "Mean throughput under failure, USNET and Darkstrand",
    both_topologies,
    claims,
    draw,
    table,
)
