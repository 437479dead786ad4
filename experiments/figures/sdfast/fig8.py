"""Figure 8: mean throughput over one to four failed links of Darkstrand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from experiments.campaign.figure import PaperFigure, Table
from experiments.campaign.values import CampaignPlan, Json, Trial
from experiments.campaign.verdicts import ClaimResult, around
from experiments.charts import canvas
from experiments.charts.canvas import INK
from experiments.figures.sdfast import measures, setup
from experiments.figures.sdfast.comparisons import (
    CONVERGED_CBC,
    OVER_FAILURES,
    OVER_TABLE,
    SCALED,
    UNDER_FAILURE,
    affected_pairs,
    draw_changes,
    draw_lines,
    over_failures,
    over_loads,
    swept_choices,
    throughput_change,
    throughput_table,
    throughputs_beside,
)
from experiments.figures.sdfast.measures import AFTER

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def trials(plan: CampaignPlan) -> tuple[Trial, ...]:
    """Those of Figure 7, and other loads with one and with four links failed."""
    return (*over_failures(plan), *setup.swept_trials(plan, setup.SWEPT_FAILURES, setup.RECOVERING))


def claims(rows: Sequence[Json]) -> list[ClaimResult]:
    """Mean throughput over one to four failed links of Darkstrand."""
    judged = [
        throughput_change(rows, OVER_FAILURES, (opponent, setup.AGENT_PAIR), AFTER, paper, band=around(paper, 20))
        for opponent, paper in ((setup.CB, 57.0), (setup.CBC, 27.0))
    ]
    judged[1] = judged[1].with_note(CONVERGED_CBC)
    return [*judged, *throughputs_beside(rows, OVER_FAILURES), *over_loads(rows, setup.SWEPT_FAILURES)]


def draw(rows: Sequence[Json], caption: str) -> Figure:
    """Throughput over the number of failed links, and the change against CB and CBC."""
    figure, axes = canvas.panels(
        "Throughput against the number of failed links, all after the failure, Darkstrand", 2, 4.9
    )
    draw_lines(axes[0], rows, measures.goodput_percent(AFTER))
    axes[0].set_ylabel("UDP delivered, % of offered", color=INK)
    draw_changes(axes[1], rows, measures.goodput_mbps(AFTER), {setup.CB: 57.0, setup.CBC: 27.0})
    canvas.legend(figure, axes[0])
    return canvas.finish(
        figure, [affected_pairs(rows, UNDER_FAILURE), SCALED, '"20 %" of the links cannot fail.'], caption
    )


def table(rows: Sequence[Json]) -> Table:
    """Throughput of every variant for each number of failed links."""
    return throughput_table(rows, (*OVER_TABLE, *swept_choices(rows, setup.SWEPT_FAILURES)))


FIGURE = PaperFigure(
    "sdfast-fig8",
    "sd-fast",
    "Throughput against the number of failed links, Darkstrand",
    trials,
    claims,
    draw,
    table,
)
