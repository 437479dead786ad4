"""Pictures of Kuijia's ids that are computed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from experiments.campaign.values import Json
from experiments.papers.kuijia import fields, memory
from experiments.papers.sdfast.canvas import PAPER, finish, legend, panels, paper_handle, say_empty, whisker
from experiments.te.pictures import INK, PALETTE
from ryu_apps.plan.choices import DECOMPOSED, REPLICATED, SHAPES
from ryu_apps.plan.decompose.figure8 import Point

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = dict(zip(SHAPES, (PALETTE[7], PALETTE[2], PALETTE[0]), strict=True))
_MARKS = dict(zip(SHAPES, "sxo", strict=True))


def draw_fig8(rows: Sequence[Json], caption: str) -> Figure:
    """Memory over the number of priorities, a panel for the label tables and one for all."""
    figure, both = panels("Kuijia, Figure 8: memory of flow entries against priorities", 2)
    found = memory.points_of(rows)
    for axes, (scope, title) in zip(both, memory.TITLES.items(), strict=True):
        axes.set_title(title, color=INK, fontsize=10, loc="left")
        if scope not in found:
            say_empty(axes)
            continue
        _draw_memory(axes, found[scope])
    shown = next((axes for axes in both if axes.lines), both[0])
    legend(figure, shown, [paper_handle("slope of the paper (0.36 of replicated)", "--")])
    facts = [
        "Match fields and actions of all switches, 32 bits each; a goto counts as an action.",
        "Computed, so there is no spread. With all eight values of the TC planned, a table takes every packet and "
        "the port may be found first: decomposed tables get smaller.",
    ]
    return finish(figure, facts, caption)


def _draw_memory(axes: Axes, points: Sequence[Point]) -> None:
    numbers = [point.n_priorities for point in points]
    for shape in SHAPES:
        values = [memory.kilobits(getattr(point, shape.replace("-", "_"))) for point in points]
        axes.plot(numbers, values, marker=_MARKS[shape], markersize=5, color=COLOURS[shape], lw=1.6, label=shape)
    first, last = points[0], points[-1]
    rise = memory.PAPER_SLOPE * memory.kilobits(last.replicated - first.replicated)
    start = memory.kilobits(first.decomposed)
    axes.plot([numbers[0], numbers[-1]], [start, start + rise], color=PAPER, lw=1.4, ls="--", zorder=1)
    ratio, saved = memory.relative_slope(points, DECOMPOSED), memory.saved_percent(last)
    said = f"slope {ratio:.2f} of replicated\n{saved:.0f} % saved at {last.n_priorities}"
    axes.text(0.03, 0.95, said, transform=axes.transAxes, va="top", fontsize=9, color=COLOURS[DECOMPOSED])
    axes.set_xlabel("priorities", color=INK)
    axes.set_ylabel("memory of all flow entries (kbit)", color=INK)
    axes.set_xticks(numbers)
    axes.set_ylim(bottom=0)


def draw_fields(rows: Sequence[Json], caption: str) -> Figure:
    """Left: mean fields of every case and shape; right: what decomposition changes, drawing by drawing."""
    figure, (volumes, changes) = panels("Kuijia, section 5.4: fields of all flow entries, Gscale", 2)
    cases = list(fields.every_case())
    if not fields.table(rows).rows:
        for axes in (volumes, changes):
            say_empty(axes)
        return finish(figure, [], caption)
    _draw_fields(volumes, rows, cases)
    _draw_changes(changes, rows, cases)
    for axes in (volumes, changes):
        axes.set_xticks(range(len(cases)), [fields.title_of(case).replace(", ", "\n") for case in cases])
        axes.set_xlim(-0.5, len(cases) - 0.5)
    legend(figure, volumes, [paper_handle("paper")])
    drawings = max(int(row[-1]) for row in fields.table(rows).rows)
    facts = [
        f"{drawings} drawings of {fields.PAIRS} pairs, {fields.TUNNELS} tunnels each, weights of the allocation; "
        "whiskers are 95 % intervals of the mean.",
        "The paper's number is judged with 4 queues and all tables; our ingress holds hash ranges as masked rows, "
        "where the paper has buckets of a group.",
    ]
    return finish(figure, facts, caption)


def _draw_fields(axes: Axes, rows: Sequence[Json], cases: Sequence[fields.Case]) -> None:
    width = 0.27
    for number, shape in enumerate(SHAPES):
        for group, case in enumerate(cases):
            estimate = fields.estimate_of(list(fields.fields_of(rows, case)[shape].values()))
            place = group + (number - 1) * width
            if estimate is None:
                continue
            axes.bar(place, estimate.value, 0.92 * width, color=COLOURS[shape])
            whisker(axes, place, estimate)
            if case == fields.JUDGED and shape in fields.PAPER_FIELDS:
                paper = fields.PAPER_FIELDS[shape]
                axes.plot([place - width / 2, place + width / 2], [paper, paper], color=PAPER, lw=2.2, zorder=5)
        axes.bar([0], [0], color=COLOURS[shape], label=shape)
    axes.set_ylabel("fields of all switches", color=INK)


def _draw_changes(axes: Axes, rows: Sequence[Json], cases: Sequence[fields.Case]) -> None:
    for group, case in enumerate(cases):
        for shape in SHAPES:
            if shape == REPLICATED:
                continue
            values = fields.changes_percent(rows, case, shape)
            spread = [0.3 * ((number + 0.5) / len(values) - 0.5) for number in range(len(values))]
            places = [group + (0.2 if shape == DECOMPOSED else -0.2) + shift for shift in spread]
            axes.plot(places, values, marker=_MARKS[shape], color=COLOURS[shape], ls="none", markersize=4.5)
    axes.plot([-0.45, 0.45], [fields.PAPER_PERCENT] * 2, color=PAPER, lw=2.2)
    axes.set_ylabel("change, each drawing (%)", color=INK)
    axes.set_ylim(-100, 0)
