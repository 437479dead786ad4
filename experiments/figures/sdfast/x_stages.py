"""x-stages: stages of the recovery, scheme by scheme, with one and with four links failed at once.

Beside them the outage after detection on USNET, where FFG recovers too (pings 1 ms apart), held to goals of this
repository that were set before anything was measured; and the processor time of agents, switches and controller.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import product
from statistics import median
from typing import TYPE_CHECKING

from experiments.analysis.timeline import STAGES, stage_label
from experiments.campaign.draws.paths import MOST_FAILURES
from experiments.campaign.figure import PaperFigure, Table
from experiments.campaign.kinds.probed import ProbedRow
from experiments.campaign.values import CampaignPlan, Json, Trial, Variant
from experiments.campaign.verdicts import MARGIN, MEASURED, AtMost, Claim, ClaimResult, judge
from experiments.charts import canvas
from experiments.charts.canvas import GRID, INK, PALETTE, say_empty, write_out
from experiments.figures.sdfast import measures, setup
from experiments.figures.sdfast.comparisons import cell, versus, where
from experiments.figures.sdfast.measures import Choice
from experiments.figures.sdfast.setup import LABELS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


BUSY_USNET = Choice("flow", setup.USNET, (MOST_FAILURES,))
# Change (%) of the outage against FFG: at most 1.1 times in learned mode, 3 times with agents.
GOALS = {setup.LEARNED: AtMost(10.0), setup.AGENT_PAIR: AtMost(200.0)}
PROCESSES = ("agent", "ovs-vswitchd", "controller")
STAGE_MARKS = dict(zip(STAGES, ("o", "s", "^", "X", "D", "P"), strict=True))


def trials(plan: CampaignPlan) -> tuple[Trial, ...]:
    """One link and four links of Darkstrand, every variant; and USNET with pings 1 ms apart."""
    stages = setup.mixed_trials(plan, setup.DARKSTRAND, (1, MOST_FAILURES), setup.STAGED)
    return (*stages, *setup.busy_trials(plan, setup.USNET, setup.ON_BUSY_USNET))


def stage_values(rows: Iterable[ProbedRow], stage: str) -> list[float]:
    """A stage of every trial that reached it, ms after the failure."""
    values = [measures.stage_ms(row, stage) for row in rows]
    return [value for value in values if value is not None]


def claims(rows: Sequence[Json]) -> list[ClaimResult]:
    """Outage on USNET against FFG; stages of the recovery, variant by variant, with one and with four links failed."""
    results = [_outage_against_ffg(rows, variant, band) for variant, band in GOALS.items()]
    for failures, variant, stage in product((1, MOST_FAILURES), setup.STAGED, STAGES):
        trials = measures.chosen(rows, Choice("mixed", setup.DARKSTRAND, (failures,)), variant)
        values = stage_values(trials, stage)
        if trials:
            name = f"{stage_label(stage)}, {LABELS[variant]}, {failures} failed"
            result = judge(Claim(name, "ms after the failure"), measures.estimate(values))
            # A stage that no trial reached was measured too: CB never stops backtracking.
            results.append(
                replace(result, verdict=MEASURED).with_note(f"{len(values)} of {len(trials)} trials reached it")
            )
    return results


def _outage_against_ffg(rows: Sequence[Json], variant: Variant, band: AtMost) -> ClaimResult:
    """Change of the mean outage after detection from FFG to a variant, over directions."""
    variants = (setup.FFG, variant)
    found = measures.direction_change(rows, BUSY_USNET, variants, "outage_ms")
    name = f"outage after detection, {versus(variants)}, {where(BUSY_USNET)}, mean over directions, pings 1 ms apart"
    claim = Claim(name, "% change", f"goal: at most {1 + band.bound / 100:g} times", band, asks=MARGIN)
    values = [
        cell(measures.estimate(measures.by_direction(measures.chosen(rows, BUSY_USNET, each), "outage_ms").values()), 1)
        for each in variants
    ]
    return judge(claim, found).with_note(f"{' and '.join(values)} ms")


def draw(rows: Sequence[Json], caption: str) -> Figure:
    """A horizontal timeline for every variant: small marks are trials, large ones their median."""
    figure, axes = canvas.panels("Stages of the recovery, Darkstrand", 2, 5.0)
    variants = [
        variant for variant in setup.STAGED if _stage_trials(rows, variant, 1) or _stage_trials(rows, variant, 4)
    ]
    for axis, failures in zip(axes, (1, MOST_FAILURES), strict=True):
        for place, variant in enumerate(variants):
            _timeline(axis, -place, _stage_trials(rows, variant, failures))
        if not any(_stage_trials(rows, variant, failures) for variant in variants):
            say_empty(axis)
        axis.set_title(f"{failures} link{'s' * (failures > 1)} failed", loc="left", fontsize=10, color=INK)
        axis.set_xscale("log")
        write_out(axis.xaxis)
        axis.set_xlabel("ms after the failure", color=INK)
        axis.set_yticks([-place for place in range(len(variants))], [LABELS[variant] for variant in variants])
        axis.set_ylim(-len(variants) + 0.4, 0.6)
        axis.grid(True, axis="x", color=GRID, linewidth=0.7)
    for number, (stage, mark) in enumerate(STAGE_MARKS.items()):
        axes[0].plot([], [], mark, color=PALETTE[number], ls="none", label=stage_label(stage))
    canvas.legend(figure, axes[0])
    facts = [
        "Over all pairs and both ways of a trial; a stage that a trial did not reach has no mark.",
        "Small: one trial. Large: median. Controllers with a control delay of 5 ms.",
    ]
    return canvas.finish(figure, facts, caption)


def _stage_trials(rows: Sequence[Json], variant: Variant, failures: int) -> list[ProbedRow]:
    return measures.chosen(rows, Choice("mixed", setup.DARKSTRAND, (failures,)), variant)


def _timeline(axes: Axes, height: float, trials: Sequence[ProbedRow]) -> None:
    middles = []
    for number, (stage, mark) in enumerate(STAGE_MARKS.items()):
        # Nothing can be drawn at 0 on a logarithmic axis; the capture does not resolve 0.1 ms.
        values = [max(value, 0.1) for value in stage_values(trials, stage)]
        level = height + 0.09 * (2.5 - number)
        axes.plot(values, [level] * len(values), mark, color=PALETTE[number], markersize=3, alpha=0.45, ls="none")
        if values:
            middles.append(median(values))
            axes.plot([middles[-1]], [level], mark, color=PALETTE[number], markersize=7.5, mec="white", mew=0.6)
    if middles:
        axes.plot([min(middles), max(middles)], [height, height], color=GRID, lw=8, zorder=0, solid_capstyle="butt")


def table(rows: Sequence[Json]) -> Table:
    """Mean of every stage (ms after the failure), with its interval; and mean processor time in a trial, seconds."""
    names = tuple(f"{stage_label(stage)}, ms" for stage in STAGES)
    found = []
    for failures, variant in product((1, MOST_FAILURES), setup.STAGED):
        trials = measures.chosen(rows, Choice("mixed", setup.DARKSTRAND, (failures,)), variant)
        if trials:
            values = [cell(measures.estimate(stage_values(trials, stage)), 1) for stage in STAGES]
            values += [cell(measures.estimate(_processor_s(trials, process)), 1) for process in PROCESSES]
            found.append((LABELS[variant], str(failures), str(len(trials)), *values))
    processes = tuple(f"{process}, processor s" for process in PROCESSES)
    return Table(("scheme", "links failed", "trials", *names, *processes), tuple(found))


def _processor_s(trials: Iterable[ProbedRow], process: str) -> list[float]:
    """Processor time of all processes of a name, of every trial that had one."""
    return [trial.processor_s[process] for trial in trials if process in trial.processor_s]


FIGURE = PaperFigure(
    "x-stages",
    "beyond",
    "Stages of the recovery, scheme by scheme",
    trials,
    claims,
    draw,
    table,
    with_paper="sd-fast",
)
