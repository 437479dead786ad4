"""Delay of every probe packet over time, with the lost and the returned ones, and the stages of the recovery."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from experiments.analysis.timeline import stage_label
from experiments.charts.canvas import GRID, INK, panels
from experiments.charts.labels import spread_labels

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FAULT_BAND = "#fdeceb"
WAY_COLORS = {"out": "#1f6feb", "back": "#1a7f37"}
LOST, TURNED = "#cf222e", "#e16f24"
_LEAD_MS, _MIN_TAIL_MS = 40.0, 60.0
_PANEL_HEIGHT_IN, _DPI = 3.1, 150


@dataclass(frozen=True, slots=True)
class Dot:
    """One packet: way ("out", "back"), sending (ms after the failure), delay (ms; None: lost), if it backtracked."""

    way: str
    sent_ms: float
    delay_ms: float | None
    backtracked: bool


@dataclass(frozen=True)
class Panel:
    """One run's picture: its title, its packets, its stages (ms after the failure), and the repair if there is one."""

    title: str
    dots: Sequence[Dot]
    stages_ms: dict[str, float | None]
    repair_ms: float | None = None
    note: str = ""


def draw_delay(runs: Sequence[Panel], paths: Sequence[Path], title: str) -> None:
    """Draw one panel under the other, all with the same delay axis, and write the picture to each path.

    Parameters
    ----------
    runs
        At least one.
    paths
        Files; the ending decides the format.
    title
        Stands above the picture.

    Raises
    ------
    MissingRequirementError
        matplotlib is not installed.
    """
    figure, grid = panels(title, 1, height=1.0 + _PANEL_HEIGHT_IN * len(runs), rows=len(runs))
    # Recoveries are compared on one time axis; one that never came would stretch it for the others.
    all_recovered = all(panel.stages_ms.get("steady") is not None for panel in runs)
    spans = [shown_time(runs if all_recovered else [panel]) for panel in runs]
    top_ms = highest_delay(
        [
            dot
            for panel, (start_ms, end_ms) in zip(runs, spans, strict=True)
            for dot in panel.dots
            if start_ms <= dot.sent_ms <= end_ms
        ]
    )
    for axes, panel, span in zip(grid, runs, spans, strict=True):
        _draw_panel(axes, panel, span, top_ms)
    grid[-1].set_xlabel("sending of the packet, ms after the failure")
    handles, labels = grid[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4, frameon=False)
    for path in paths:
        figure.savefig(path, dpi=_DPI)


def shown_time(panels: Sequence[Panel]) -> tuple[float, float]:
    """Part of the time axis that is shown: some time before the failure until well after the last stage."""
    given = [value for panel in panels for value in panel.stages_ms.values() if value is not None]
    last_dot = max((dot.sent_ms for panel in panels for dot in panel.dots), default=0.0)
    end_ms = max(given, default=0.0)
    if any(panel.stages_ms.get("steady") is None for panel in panels):
        end_ms = max(min(last_dot, 1000.0), end_ms if end_ms < last_dot / 2 else 0.0)
    return -max(_LEAD_MS, 0.25 * end_ms), min(end_ms * 1.35 + _MIN_TAIL_MS, max(last_dot, _MIN_TAIL_MS))


def highest_delay(dots: Sequence[Dot]) -> float:
    """Top of the delay axis: above nearly all packets; a few stragglers may be outside."""
    delays = sorted(dot.delay_ms for dot in dots if dot.delay_ms is not None)
    if not delays:
        return 1.0
    return max(1.15 * delays[min(len(delays) - 1, int(0.998 * len(delays)))], 0.5)


def _draw_panel(axes: Axes, panel: Panel, span_ms: tuple[float, float], top_ms: float) -> None:
    shown = [dot for dot in panel.dots if span_ms[0] <= dot.sent_ms <= span_ms[1]]
    axes.axvspan(0, min(panel.repair_ms or span_ms[1], span_ms[1]), color=FAULT_BAND, zorder=0)
    for way, name in (("out", "way there"), ("back", "way back")):
        good = [dot for dot in shown if dot.way == way and dot.delay_ms is not None and not dot.backtracked]
        _dots(axes, good, WAY_COLORS[way], 9, f"delivered, {name}")
    turned = [dot for dot in shown if dot.backtracked and dot.delay_ms is not None]
    _dots(axes, turned, TURNED, 34, "backtracked, delivered")
    lost = [dot.sent_ms for dot in shown if dot.delay_ms is None]
    (ticks,) = axes.plot(lost, [-0.055 * top_ms] * len(lost), "|", color=LOST, markersize=9, mew=1.4, label="lost")
    ticks.set_in_layout(False)  # matplotlib places an empty line at the corner of the picture
    axes.set_xlim(*span_ms)
    axes.set_ylim(-0.11 * top_ms, top_ms)
    axes.set_ylabel("one-way delay, ms")
    axes.grid(color=GRID, zorder=0)
    _stage_lines(axes, panel.stages_ms, span_ms)
    axes.set_title(panel.title, loc="left", fontsize=10.5, color=INK, pad=34)
    if panel.note:
        axes.set_title(panel.note, loc="right", fontsize=9, color=INK, pad=34)


def _dots(axes: Axes, dots: Sequence[Dot], color: str, size: float, label: str) -> None:
    axes.scatter(
        [dot.sent_ms for dot in dots],
        [dot.delay_ms or 0.0 for dot in dots],
        s=size,
        color=color,
        linewidths=0,
        alpha=0.8,
        zorder=3,
        label=label,
    )


def _stage_lines(axes: Axes, stages_ms: dict[str, float | None], span_ms: tuple[float, float]) -> None:
    """Vertical lines with labels above the panel; labels of close stages are moved aside."""
    marks = [("failure", 0.0)]
    marks += [(stage_label(name), value) for name, value in stages_ms.items() if value is not None]
    marks = sorted((mark for mark in marks if span_ms[0] <= mark[1] <= span_ms[1]), key=lambda mark: mark[1])
    width_ms = span_ms[1] - span_ms[0]
    places = spread_labels([value for _, value in marks], 0.082 * width_ms, span_ms)
    for (label, value), place in zip(marks, places, strict=True):
        color = LOST if label == "failure" else INK
        axes.axvline(value, color=color, lw=0.9, ls="-" if label == "failure" else (0, (3, 2)), zorder=2)
        note = axes.annotate(
            f"{label}\n{value:.1f}" if label != "failure" else "failure\n0",
            xy=(value, 1.0),
            xycoords=("data", "axes fraction"),
            xytext=(place, 1.045),
            textcoords=("data", "axes fraction"),
            ha="center",
            va="bottom",
            fontsize=8,
            color=color,
            arrowprops={"arrowstyle": "-", "color": color, "lw": 0.6, "shrinkA": 0, "shrinkB": 0, "relpos": (0.5, 0)},
            annotation_clip=False,
        )
        note.set_in_layout(False)  # the title's distance from the panel leaves room for it
