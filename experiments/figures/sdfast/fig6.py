"""Figure 6: mean throughput, four links of Darkstrand (and of USNET) failed at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from experiments.campaign.figure import PaperFigure, Table
from experiments.campaign.values import CampaignPlan, Json, Trial, Variant
from experiments.campaign.verdicts import MEASURED, ClaimResult, judge_order
from experiments.charts import canvas
from experiments.charts.canvas import INK
from experiments.figures.sdfast import measures, setup
from experiments.figures.sdfast.comparisons import (
    CLOSE,
    CLOSE_THROUGHPUTS,
    CONVERGED_CBC,
    MOST,
    MOST_TABLE,
    ON_USNET,
    OPPONENTS,
    SCALED,
    TABLES,
    UNDER_FAILURE,
    USNET_UNDER_FAILURE,
    affected_pairs,
    both_topologies,
    draw_loads,
    draw_parts,
    over_loads,
    shown_variants,
    swept_choices,
    throughput_change,
    throughput_table,
    throughputs_beside,
    where,
)
from experiments.figures.sdfast.measures import AFTER
from experiments.figures.sdfast.setup import LABELS

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def trials(plan: CampaignPlan) -> tuple[Trial, ...]:
    """Those of Figure 5, and other loads on Darkstrand."""
    return (*both_topologies(plan), *setup.swept_trials(plan, MOST, setup.RECOVERING))


def claims(rows: Sequence[Json]) -> list[ClaimResult]:
    """Mean throughput, four links of Darkstrand failed at once."""
    order = _throughput_order(rows, setup.AGENT_PAIR).with_note(f"{CONVERGED_CBC}; {TABLES}")
    beside = replace(_throughput_order(rows, setup.LEARNED), verdict=MEASURED, band=None)
    usnet = [
        throughput_change(rows, USNET_UNDER_FAILURE, (opponent, setup.AGENT_PAIR), AFTER, CLOSE, band=CLOSE_THROUGHPUTS)
        for opponent in ON_USNET
    ]
    others = throughputs_beside(rows, UNDER_FAILURE, all_windows=True)
    return [order, *usnet, beside, *others, *over_loads(rows, MOST)]


def _throughput_order(rows: Sequence[Json], sdfast: Variant) -> ClaimResult:
    measure = measures.goodput_percent(AFTER)
    estimates = {
        LABELS[variant]: measures.pair_estimate(measures.chosen(rows, UNDER_FAILURE, variant), measure)
        for variant in (*OPPONENTS, sdfast)
    }
    return judge_order(f"throughput, {where(UNDER_FAILURE)}, {AFTER}", "% of offered", estimates)


def draw(rows: Sequence[Json], caption: str) -> Figure:
    """Throughput on both topologies, and over the load on Darkstrand."""
    figure, axes = canvas.panels("Throughput under failure", 3, 4.4)
    for axis, topology in zip(axes, (setup.USNET, setup.DARKSTRAND), strict=False):
        draw_parts(axis, rows, topology, shown_variants(rows, topology), measures.goodput_percent)
        axis.set_title(topology, loc="left", fontsize=10, color=INK)
    draw_loads(axes[2], rows, MOST)
    axes[2].set_title("darkstrand, all after the failure", loc="left", fontsize=10, color=INK)
    axes[0].set_ylabel("UDP delivered, % of offered", color=INK)
    canvas.legend(figure, axes[1])
    return canvas.finish(figure, [affected_pairs(rows, UNDER_FAILURE), SCALED], caption)


def table(rows: Sequence[Json]) -> Table:
    """Throughput of every variant in the parts of the run, on both topologies."""
    return throughput_table(rows, (*MOST_TABLE, *swept_choices(rows, MOST)))


FIGURE = PaperFigure(
    "sdfast-fig6",
    "sd-fast",
    "Mean throughput under failure, USNET and Darkstrand",
    trials,
    claims,
    draw,
    table,
)
