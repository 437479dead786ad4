"""Who knew when: one mark a switch, at the time at which a notification first left or reached it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from experiments.charts.canvas import GRID, INK, panels, say_instead
from experiments.charts.run_panels import MAX_PANELS, failure_title

if TYPE_CHECKING:
    from matplotlib.axes import Axes

KNOWS, BESIDE = "#1f6feb", "#cf222e"
_DPI = 150
_LINE_IN, _LEAST_IN, _EMPTY_IN, _MOST_LABELS = 0.125, 1.6, 0.9, 60


@dataclass(frozen=True)
class KnowledgePanel:
    """One failure of one run.

    Attributes
    ----------
    knew_ms
        By switch, ms after `since`; None: nothing left or reached it. Empty where notifications are off.
    beside
        Ends of the failed link.
    """

    title: str
    note: str
    since: str
    knew_ms: Mapping[str, float | None]
    beside: Sequence[str] = ()

    @property
    def height_in(self) -> float:
        """A line for each label."""
        return max(_LEAST_IN, _LINE_IN * min(len(self.knew_ms), _MOST_LABELS)) if self.knew_ms else _EMPTY_IN


def knowledge_panels(runs: Sequence[dict[str, Any]]) -> list[KnowledgePanel]:
    """One panel for each failure of each run in verdict.json, the first `MAX_PANELS` of them."""
    found = [_panel(run, failure) for run in runs for failure in run["failures"]]
    return found[:MAX_PANELS]


def _panel(run: dict[str, Any], failure: dict[str, Any]) -> KnowledgePanel:
    known = failure.get("notification")
    title = failure_title(run, failure)
    if known is None:
        return KnowledgePanel(title, "", "detection", {})
    last = "" if known["last_ms"] is None else f", the last after {known['last_ms']:.1f} ms"
    note = f"{known['frames']:,} frames; {known['knew']} of {known['switches']} switches knew{last}"
    return KnowledgePanel(title, note, known["since"], known["knew_ms"], failure.get("link") or ())


def draw_knowledge(shown: Sequence[KnowledgePanel], paths: Sequence[Path], title: str) -> None:
    """Draw one panel under the other and write the picture to each path.

    Parameters
    ----------
    shown
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
    heights = [panel.height_in for panel in shown]
    figure, grid = panels(title, 1, height=0.9 + sum(heights) + 0.8 * len(shown), rows=len(shown), heights=heights)
    for axes, panel in zip(grid, shown, strict=True):
        _draw_panel(axes, panel)
    for path in paths:
        figure.savefig(path, dpi=_DPI)


def _draw_panel(axes: Axes, panel: KnowledgePanel) -> None:
    axes.set_title(panel.title, loc="left", fontsize=10.5, color=INK)
    axes.set_title(panel.note, loc="right", fontsize=9, color=INK)
    known = sorted((value, node) for node, value in panel.knew_ms.items() if value is not None)
    if not known:
        say_instead(axes, "no switch was notified" if panel.knew_ms else "notifications are off")
        return
    stamps = [value for value, _ in known]
    counts = range(1, len(known) + 1)
    axes.step(stamps, counts, where="post", color=GRID, lw=1.2, zorder=1)
    axes.scatter(stamps, counts, s=16, color=[BESIDE if node in panel.beside else KNOWS for _, node in known], zorder=3)
    if len(known) <= _MOST_LABELS:
        for count, (value, node) in zip(counts, known, strict=True):
            axes.annotate(node, (value, count), (5, 0), textcoords="offset points", va="center", fontsize=7, color=INK)
    axes.axvline(0, color=INK, lw=0.9, ls=(0, (3, 2)), zorder=2)
    axes.margins(x=0.06)
    axes.set_ylim(0, len(panel.knew_ms) + 1)
    axes.grid(color=GRID, axis="x", linewidth=0.7)
    axes.set_xlabel(f"ms after {panel.since}", color=INK)
    axes.set_ylabel("switches that know", color=INK)
