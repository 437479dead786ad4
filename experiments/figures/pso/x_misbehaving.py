"""x-misbehaving: high class of well-behaved switches beside one that misbehaves."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from experiments.campaign.figure import PaperFigure, Table
from experiments.campaign.kinds.control import ROWS, ControlRow
from experiments.campaign.values import CampaignPlan, Trial
from experiments.campaign.verdicts import MARGIN, Claim, ClaimResult, Exactly, judge
from experiments.charts import canvas
from experiments.charts.canvas import INK
from experiments.figures.pso import setup
from experiments.figures.pso.comparisons import COLOURS, LEAST_MS, cell, from_nothing
from experiments.figures.pso.measures import HIGH, LOW, Choice, Measure, chosen, estimate, lost_percent, of_class
from experiments.figures.pso.setup import BEHAVIOURS, MISBEHAVING, MISBEHAVING_NL, _in_turn, _trial, repetitions

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def trials(plan: CampaignPlan) -> tuple[Trial, ...]:
    """Trials with one switch that misbehaves, in every way, both variants one after the other."""
    return tuple(
        _trial(plan, MISBEHAVING, number, variant, {"nl": MISBEHAVING_NL, "behaviour": behaviour})
        for number, behaviour, variant in _in_turn(repetitions(plan, MISBEHAVING), BEHAVIOURS)
    )


def claims(rows: Sequence[ControlRow]) -> list[ClaimResult]:
    """High class of well-behaved switches beside one that misbehaves."""
    found = []
    for behaviour in setup.BEHAVIOURS:
        for variant in setup.VARIANTS:
            mine = behaving(rows, behaviour, variant.name)
            band = Exactly(0.0) if variant == setup.PSO else None
            label = f"{setup.LABELS[variant.name]}, {setup.WORDS[behaviour]}"
            found.append(
                judge(
                    Claim(f"high class lost, {label}", "%", None, band, asks=MARGIN), estimate(mine, lost_percent(HIGH))
                )
            )
            delay = estimate(mine, of_class(HIGH, "p99_ms"))
            if delay is not None or not mine:  # where nothing was answered the loss says it all
                found.append(judge(Claim(f"high class p99, {label}", "ms"), delay))
            found.append(judge(Claim(f"memory gained, {label}", "MB"), estimate(mine, gained_mb)))
    return sorted(found, key=lambda result: result.band is None)


def behaving(rows: Sequence[ControlRow], behaviour: str, variant: str) -> list[ControlRow]:
    """Rows of one behaviour and variant."""
    return [row for row in chosen(rows, Choice(setup.MISBEHAVING), variant) if row.parameters.behaviour == behaviour]


def gained_mb(row: ControlRow) -> float:
    """Memory that the controller took during the trial."""
    return float(row.measured.controller_rss_mb - row.measured.controller_first_rss_mb)


def draw(rows: Sequence[ControlRow], caption: str) -> Figure:
    """Loss and 99th percentile of the high class of others, and the controller's memory."""
    figure, axes = canvas.panels("One switch misbehaves: the high class of four others, and the controller", 3, 4.8)
    measured: tuple[tuple[str, Measure], ...] = (
        ("high class lost, %", lost_percent(HIGH)),
        ("high class, 99th percentile, ms (log)", of_class(HIGH, "p99_ms")),
        ("memory of the controller, MB", lambda row: float(row.measured.controller_rss_mb)),
    )
    for axis, (words, measure) in zip(axes, measured, strict=True):
        for side, variant in ((-0.2, setup.FIFO), (0.2, setup.PSO)):
            for place, behaviour in enumerate(setup.BEHAVIOURS):
                found = estimate(behaving(rows, behaviour, variant.name), measure)
                if found is None:
                    axis.plot([place + side], [LEAST_MS], "x", color=INK, markersize=6, clip_on=False, zorder=4)
                else:
                    canvas.bar(axis, place + side, found, 0.36, color=COLOURS[variant.name])
            axis.bar([0], [0], color=COLOURS[variant.name], label=setup.LABELS[variant.name])
        names = [setup.WORDS[behaviour] for behaviour in setup.BEHAVIOURS]
        axis.set_xticks(range(len(names)), names, rotation=30, ha="right", rotation_mode="anchor")
        axis.set_ylabel(words, color=INK)
        axis.set_ylim(bottom=0)
    from_nothing(axes[0])
    if any(patch.get_height() > 0 for patch in axes[1].patches):  # type: ignore[attr-defined]
        axes[1].set_yscale("log")
        axes[1].set_ylim(bottom=LEAST_MS)
    canvas.legend(figure, axes[0])
    facts = [
        f"Four switches at {setup.MISBEHAVING_NL:g} of what Ryu answers, {setup.HIGH_PPS:g} high packet-ins a second. "
        "A cross: nothing was answered."
    ]
    return canvas.finish(figure, [*facts, "Whiskers are 95 % intervals."], caption)


_BESIDE: tuple[tuple[str, Measure], ...] = (
    ("high lost %", lost_percent(HIGH)),
    ("high p99 ms", of_class(HIGH, "p99_ms")),
    ("low lost %", lost_percent(LOW)),
    ("memory MB", lambda row: float(row.measured.controller_rss_mb)),
    ("gained MB", gained_mb),
)


def table(rows: Sequence[ControlRow]) -> Table:
    """High class of others, and memory, for every behaviour."""
    lines = []
    for behaviour in setup.BEHAVIOURS:
        for variant in setup.VARIANTS:
            mine = behaving(rows, behaviour, variant.name)
            if mine:
                name = f"{setup.WORDS[behaviour]}, {variant.name.upper()}"
                cells = (cell(mine, measure) for _, measure in _BESIDE)
                lines.append((name, str(len(mine)), *cells, _named_errors(mine)))
    return Table(("behaviour", "trials", *(name for name, _ in _BESIDE), "errors named"), tuple(lines))


def _named_errors(rows: Sequence[ControlRow]) -> str:
    """Errors of all trials by name, the most frequent first."""
    counts: Counter[str] = Counter()
    for row in rows:
        counts.update(row.measured.faults or {})
    return "; ".join(f"{count} {name}" for name, count in counts.most_common(4)) or "-"


FIGURE = PaperFigure(
    "x-misbehaving",
    "beyond",
    "High class of well-behaved switches beside one that misbehaves",
    trials,
    ROWS.on(claims),
    ROWS.on(draw),
    ROWS.on(table),
    with_paper="pso",
)
