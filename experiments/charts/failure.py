"""Picture of what a failure costs: traffic before and after, and the losses of every class, scheme by scheme."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from experiments.charts.canvas import GRID, INK, new_figure
from te_solver.outcome import CLASSES, Outcome

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


ABORIGINAL, VICTIM, LOST, DIRECT, INDIRECT = "#1f6feb", "#e16f24", "#cf222e", "#8250df", "#57606a"
CLASS_COLOURS = dict(zip(CLASSES, (VICTIM, DIRECT, INDIRECT, GRID), strict=True))


def failure_figure(title: str, outcomes: Mapping[str, Outcome]) -> Figure:
    """Left: traffic before (pale) and after the failure; right: share of each class that is lost."""
    figure, (volumes, losses) = new_figure(12.5, 4.6, 2)
    names = list(outcomes)
    _draw_volumes(volumes, outcomes)
    _draw_losses(losses, outcomes)
    for axes in (volumes, losses):
        axes.set_xticks(range(len(names)), names, rotation=25, ha="right", rotation_mode="anchor")
        axes.legend(frameon=False, fontsize=9)
    figure.suptitle(title, color=INK, fontsize=12, x=0.01, ha="left", parse_math=False)
    return figure


def _draw_volumes(axes: Axes, outcomes: Mapping[str, Outcome]) -> None:
    for place, outcome in enumerate(outcomes.values()):
        first = place == 0
        before, after = place - 0.2, place + 0.2
        aboriginal, victim = outcome.aboriginal, outcome.victim
        axes.bar(before, aboriginal.before_mbps, 0.36, color=ABORIGINAL, alpha=0.35)
        axes.bar(before, victim.before_mbps, 0.36, aboriginal.before_mbps, color=VICTIM, alpha=0.35)
        axes.bar(after, aboriginal.after_mbps, 0.36, color=ABORIGINAL, label="aboriginal" if first else None)
        axes.bar(after, victim.after_mbps, 0.36, aboriginal.after_mbps, color=VICTIM, label="victim" if first else None)
        lost = outcome.total.before_mbps * outcome.total.lost
        axes.bar(
            after,
            lost,
            0.36,
            outcome.total.after_mbps,
            color="none",
            edgecolor=LOST,
            hatch="////",
            linewidth=0.8 if outcome.total.lost > 1e-6 else 0.0,
            label="lost" if first else None,
        )
    axes.set_ylabel("Mbit/s before (pale) and after", color=INK)
    highest = max((outcome.total.before_mbps for outcome in outcomes.values()), default=0.0)
    axes.set_ylim(0, 1.25 * highest or 1.0)


def _draw_losses(axes: Axes, outcomes: Mapping[str, Outcome]) -> None:
    shown = CLASSES[:3]
    for place, outcome in enumerate(outcomes.values()):
        for number, name in enumerate(shown):
            at = place + (number - 1) * 0.26
            if outcome.classes is None:
                lost = outcome.victim.lost if number == 0 else None
            else:
                lost = outcome.classes[name].lost if outcome.classes[name].before_mbps else None
            if lost is not None:
                axes.bar(at, 100 * lost, 0.24, color=CLASS_COLOURS[name])
                axes.annotate(
                    f"{100 * lost:.1f}" if lost > 5e-4 else "0",
                    (at, 100 * lost),
                    ha="center",
                    va="bottom",
                    fontsize=7,
                    color=INK,
                )
    for name in shown:
        axes.bar(0, 0, color=CLASS_COLOURS[name], label=name)
    axes.set_ylabel("% of the class lost", color=INK)
    axes.margins(y=0.15)
