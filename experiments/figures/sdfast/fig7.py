"""Figure 7: mean end-to-end delay over one to four failed links of Darkstrand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from experiments.campaign.figure import PaperFigure, Table
from experiments.campaign.values import Json
from experiments.campaign.verdicts import ClaimResult
from experiments.charts import canvas
from experiments.charts.canvas import INK, widen
from experiments.figures.sdfast import measures, setup
from experiments.figures.sdfast.comparisons import (
    CONVERGED_CBC,
    GOAL_CBC,
    NAMED_FAILURES,
    OVER_FAILURES,
    OVER_TABLE,
    SCALED,
    UNDER_FAILURE,
    affected_pairs,
    delay_goals,
    delay_table,
    delays_beside,
    draw_changes,
    draw_lines,
    fail_free_delays,
    judged_delay,
    over_failures,
)
from experiments.figures.sdfast.measures import AFTER

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def claims(rows: Sequence[Json]) -> list[ClaimResult]:
    """Mean end-to-end delay over one to four failed links of Darkstrand."""
    judged = [
        judged_delay(rows, OVER_FAILURES, setup.CB, -60.0),
        judged_delay(rows, OVER_FAILURES, setup.CBC, -28.0).with_note(CONVERGED_CBC),
    ]
    judged += delay_goals(rows, NAMED_FAILURES, setup.CBC, GOAL_CBC)
    return [*judged, *delays_beside(rows, OVER_FAILURES), *fail_free_delays(rows)]


def draw(rows: Sequence[Json], caption: str) -> Figure:
    """Delay and loss over the number of failed links, and the change against CB and CBC."""
    figure, axes = canvas.panels("Delay against the number of failed links, all after the failure, Darkstrand", 3, 4.9)
    for axis, measure, what in (
        (axes[0], measures.delay_ms(AFTER), "mean round trip, ms"),
        (axes[1], measures.lost_percent(AFTER), "pings lost, %"),
    ):
        draw_lines(axis, rows, measure)
        axis.set_ylabel(what, color=INK)
    widen(axes[0])
    draw_changes(axes[2], rows, measures.delay_ms(AFTER), {setup.CB: -60.0, setup.CBC: -28.0})
    canvas.legend(figure, axes[0])
    return canvas.finish(
        figure, [affected_pairs(rows, UNDER_FAILURE), SCALED, '"20 %" of the links cannot fail.'], caption
    )


def table(rows: Sequence[Json]) -> Table:
    """Delay of every variant for each number of failed links."""
    return delay_table(rows, OVER_TABLE)


FIGURE = PaperFigure(
    "sdfast-fig7",
    "sd-fast",
    "Delay against the number of failed links, Darkstrand",
    over_failures,
    claims,
    draw,
    table,
)
