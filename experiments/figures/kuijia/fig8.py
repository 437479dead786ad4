"""Kuijia's Figure 8: memory of flow entries against the number of priorities, for three shapes of the tables.

Its network is the example of Figure 7, as `ryu_apps.plan.kuijia.figure8` reads it. The numbers are computed: they
depend neither on a seed nor on the machine. The paper does not say which tables its curve counts, so the label tables
(as its Figure 6) and all tables (with the ingress, as its Figure 7) are judged alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple
from typing import TYPE_CHECKING

from experiments.campaign.computed.memory import ROWS, SCOPES, Memory, MemoryParameters, Point
from experiments.campaign.figure import PaperFigure, Table
from experiments.campaign.rows import Row
from experiments.campaign.statistics import Estimate
from experiments.campaign.values import CampaignPlan, Trial
from experiments.campaign.verdicts import AtLeast, AtMost, Claim, ClaimResult, judge
from experiments.charts import canvas
from experiments.charts.canvas import INK, PAPER, paper_handle, say_empty
from experiments.figures.kuijia.trials import SHAPE_COLOURS, SHAPE_MARKS, computed_trial
from ryu_apps.plan.choices import DECOMPOSED, SHAPES
from ryu_apps.plan.decompose.count import memory_bits
from ryu_apps.plan.kuijia.figure8 import MAX_PRIORITIES, slope

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


ID = "kuijia-fig8"
MemoryRow = Row[MemoryParameters, Memory]
TITLES = {"labels": "label tables", "all": "all tables, ingress too"}
PAPER_SLOPE, HALF_PERCENT = 0.36, 50.0
DEFINED = "how many rows a table shape needs follows from its definition"
HEADER = ("tables", "priorities", "replicated", "two-table", "decomposed", "saved %")


def trials(plan: CampaignPlan) -> tuple[Trial, ...]:
    """One trial for the label tables and one for all tables; quick is the same."""
    return tuple(computed_trial(ID, scope, "kuijia-figure7", plan, MemoryParameters(scope)) for scope in SCOPES)


def points_of(rows: Sequence[MemoryRow]) -> dict[str, list[Point]]:
    """Points by scope, in the order of the scopes, as far as they are there."""
    found = {row.parameters.scope: list(row.measured.points) for row in rows}
    return {scope: found[scope] for scope in SCOPES if scope in found}


def relative_slope(points: Sequence[Point], shape: str) -> float:
    """Slope of a shape's curve relative to that of replicated rows."""
    return slope([getattr(point, shape) for point in points]) / slope([point.replicated for point in points])


def saved_percent(point: Point) -> float:
    """What decomposition saves (%)."""
    return 100.0 * (1 - point.decomposed / point.replicated)


def claims(rows: Sequence[MemoryRow]) -> list[ClaimResult]:
    """Slope of decomposed tables at most 0.36 of replicated ones, and over half saved with 8 priorities."""
    found, results = points_of(rows), []
    for scope, title in TITLES.items():
        points = found.get(scope)
        steepness = Claim(
            f"slope of decomposed against replicated, {title}",
            "ratio",
            PAPER_SLOPE,
            AtMost(PAPER_SLOPE),
            neutral=1.0,
            by_construction=DEFINED,
        )
        half = Claim(
            f"memory saved with {MAX_PRIORITIES} priorities, {title}",
            "%",
            "more than half",
            AtLeast(HALF_PERCENT),
            by_construction=DEFINED,
        )
        greedy = Claim(f"slope of two-table (greedy) against replicated, {title}", "ratio", neutral=1.0)
        values = (
            (None, None, None)
            if points is None
            else (
                _exact(relative_slope(points, "decomposed")),
                _exact(saved_percent(points[-1])),
                _exact(relative_slope(points, "two_table")),
            )
        )
        results += [judge(claim, value) for claim, value in zip((steepness, half, greedy), values, strict=True)]
    return results


def table(rows: Sequence[MemoryRow]) -> Table:
    """Fields for every number of priorities."""
    return Table(
        HEADER,
        tuple(
            (TITLES[scope], *(f"{number:,}" for number in astuple(point)), f"{saved_percent(point):.1f}")
            for scope, points in points_of(rows).items()
            for point in points
        ),
    )


def kilobits(n_fields: int) -> float:
    """Memory of fields (kbit)."""
    return memory_bits(n_fields) / 1000


def _exact(value: float) -> Estimate:
    return Estimate(value, None, None)


def draw(rows: Sequence[MemoryRow], caption: str) -> Figure:
    """Memory over the number of priorities, a panel for the label tables and one for all."""
    figure, both = canvas.panels("Kuijia, Figure 8: memory of flow entries against priorities", 2)
    found = points_of(rows)
    for axes, (scope, title) in zip(both, TITLES.items(), strict=True):
        axes.set_title(title, color=INK, fontsize=10, loc="left")
        if scope not in found:
            say_empty(axes)
            continue
        _draw_memory(axes, found[scope])
    shown = next((axes for axes in both if axes.lines), both[0])
    canvas.legend(figure, shown, [paper_handle("slope of the paper (0.36 of replicated)", "--")])
    facts = [
        "Match fields and actions of all switches, 32 bits each; a goto counts as an action.",
        "Computed, so there is no spread. With all eight values of the TC planned, a table takes every packet and "
        "the port may be found first: decomposed tables get smaller.",
    ]
    return canvas.finish(figure, facts, caption)


def _draw_memory(axes: Axes, points: Sequence[Point]) -> None:
    numbers = [point.n_priorities for point in points]
    for shape in SHAPES:
        values = [kilobits(getattr(point, shape.replace("-", "_"))) for point in points]
        axes.plot(
            numbers, values, marker=SHAPE_MARKS[shape], markersize=5, color=SHAPE_COLOURS[shape], lw=1.6, label=shape
        )
    first, last = points[0], points[-1]
    rise = PAPER_SLOPE * kilobits(last.replicated - first.replicated)
    start = kilobits(first.decomposed)
    axes.plot([numbers[0], numbers[-1]], [start, start + rise], color=PAPER, lw=1.4, ls="--", zorder=1)
    ratio, saved = relative_slope(points, DECOMPOSED), saved_percent(last)
    said = f"slope {ratio:.2f} of replicated\n{saved:.0f} % saved at {last.n_priorities}"
    axes.text(0.03, 0.95, said, transform=axes.transAxes, va="top", fontsize=9, color=SHAPE_COLOURS[DECOMPOSED])
    axes.set_xlabel("priorities", color=INK)
    axes.set_ylabel("memory of all flow entries (kbit)", color=INK)
    axes.set_xticks(numbers)
    axes.set_ylim(bottom=0)


FIGURE = PaperFigure(
    ID,
    "kuijia",
    "Memory of flow entries against the number of priorities, three shapes of tables",
    trials,
    ROWS.on(claims),
    ROWS.on(draw),
    ROWS.on(table),
)
