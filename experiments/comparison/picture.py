"""A picture of a comparison: what is delivered, how far packets go, and how many rows that takes."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from experiments.charts.canvas import INK, WIDTH_IN, new_figure
from experiments.comparison.decide.row import FIRST, SETTLED, Row, by_scheme, label
from ryu_apps.schemes import find_scheme

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_LINE_IN, _FRAME_IN = 0.34, 1.5
# First packets hollow and above settled ones, which show as a thicker ring where both are equal.
_FIRST = {"marker": "o", "markersize": 7, "markerfacecolor": "white", "zorder": 3}
_SETTLED = {"marker": "o", "markersize": 9, "zorder": 2}


def picture(rows: Sequence[Row], title: str) -> Figure:
    """Three panels with a line for each scheme, mode and number of failed links.

    Raises
    ------
    MissingRequirementError
        matplotlib is not installed.
    """
    lines = by_scheme(rows)
    figure, panels = new_figure(WIDTH_IN, _FRAME_IN + _LINE_IN * len(lines), 3)
    figure.suptitle(title, color=INK, fontsize=12, x=0.01, ha="left", fontweight="bold", parse_math=False)
    for place, stages in enumerate(lines):
        _delivered(panels[0], place, stages)
        _stretched(panels[1], place, stages[SETTLED])
        _filled(panels[2], place, stages[SETTLED])
    _label(panels, [stages[SETTLED] for stages in lines])
    return figure


def as_bytes(figure: Figure, ending: str) -> bytes:
    """A figure as the bytes of a file, ".svg" or ".png"; the same figure gives the same bytes."""
    import matplotlib as mpl

    data = io.BytesIO()
    with mpl.rc_context({"svg.hashsalt": "armor"}):
        figure.savefig(data, format=ending[1:], dpi=160, metadata={"Date": None} if ending == ".svg" else None)
    return data.getvalue()


def _delivered(axes: Axes, place: int, stages: dict[str, Row]) -> None:
    first, settled = (_percent(stages[each]) for each in (FIRST, SETTLED))
    _pair(axes, place, (first, settled), stages[SETTLED])


def _percent(row: Row) -> float | None:
    """Share of packets with a path that are delivered; None where no packet has one."""
    return 100 * row.delivered / row.served if row.served else None


def _stretched(axes: Axes, place: int, row: Row) -> None:
    _pair(axes, place, (row.first_stretch, row.mean_stretch), row)


def _pair(axes: Axes, place: int, values: tuple[float | None, float | None], row: Row) -> None:
    """Hollow for first packets and full for settled ones, with a line between them."""
    colour = find_scheme(row.scheme).colour
    there = [value for value in values if value is not None]
    axes.plot(there, [place] * len(there), color=colour, linewidth=2, alpha=0.5)
    looks: tuple[dict[str, Any], ...] = (_FIRST, _SETTLED)
    for value, look in zip(values, looks, strict=True):
        if value is not None:
            axes.plot([value], [place], color=colour, clip_on=False, **look)


def _filled(axes: Axes, place: int, row: Row) -> None:
    colour = find_scheme(row.scheme).colour
    axes.plot([row.flows_most + row.groups_most], [place], color=colour, markersize=9, marker="o")
    text = f"   {row.flows_most:,}" + (f" + {row.groups_most:,}" if row.groups_most else "")
    axes.text(row.flows_most + row.groups_most, place, text, va="center", fontsize=8, color=INK)


def _label(panels: Sequence[Axes], rows: Sequence[Row]) -> None:
    several = len({row.failures for row in rows}) > 1
    names = [f"{label(row)}, {row.failures} failed" if several else label(row) for row in rows]
    for axes in panels:
        axes.set_ylim(len(rows) - 0.5, -0.5)
        axes.grid(True, axis="x", color="#d0d7de", linewidth=0.7)
        axes.grid(False, axis="y")
        axes.set_yticks(range(len(rows)), [""] * len(rows))
    panels[0].set_yticklabels(names, fontsize=9, color=INK, parse_math=False)
    panels[0].set_xlim(0, 100)
    panels[2].set_xscale("log")
    panels[2].set_xlim(right=panels[2].get_xlim()[1] * 6)
    titles = ("delivered, % of cases with a path", "links crossed / fewest left", "rows + groups, fullest switch (log)")
    for axes, title in zip(panels, titles, strict=True):
        axes.set_title(title, fontsize=10, color=INK, loc="left")
    panels[0].set_xlabel("hollow: first packets; full: once all have acted", fontsize=8.5, color=INK, loc="left")
