"""x-multi: one to four links of Darkstrand at once, decided by the interpreter, and a measured sample."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import TYPE_CHECKING

from experiments.campaign.figure import PaperFigure, Table
from experiments.campaign.kinds.verify import Outcomes, VerifyRow
from experiments.campaign.rows import of_variant
from experiments.campaign.statistics import Estimate
from experiments.campaign.values import CampaignPlan, Json, Trial, Variant
from experiments.campaign.verdicts import Claim, ClaimResult, judge
from experiments.charts import canvas
from experiments.charts.canvas import GRID, INK
from experiments.figures.sdfast import measures, setup
from experiments.figures.sdfast.comparisons import SEVERAL, cell
from experiments.figures.sdfast.decided import (
    DECIDED_LABELS,
    LOOP_FREE,
    OUTCOMES,
    counted,
    coverage_rows,
)
from experiments.figures.sdfast.measures import Choice
from experiments.figures.sdfast.setup import LABELS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


OUTCOME_COLOURS = {"delivered": "#1a7f37", "dropped": "#e16f24", "looped": "#cf222e", "disconnected": GRID}


def trials(plan: CampaignPlan) -> tuple[Trial, ...]:
    """What the interpreter decides, and the measured sample."""
    numbers = SEVERAL
    measured = setup.mixed_trials(plan, setup.DARKSTRAND, numbers, setup.ON_DARKSTRAND)
    return (*setup.verify_trials(plan, (setup.DARKSTRAND,), numbers), *measured)


def shares(outcomes: Outcomes) -> dict[str, float]:
    """Outcomes of a phase, per cent of all cases."""
    counts = {name: getattr(outcomes, name) for name in OUTCOMES}
    total = sum(counts.values())
    return {name: 100 * count / total if total else 0.0 for name, count in counts.items()}


def claims(rows: Sequence[Json]) -> list[ClaimResult]:
    """One to four links of Darkstrand at once: what the interpreter decides, and the measured sample."""
    results = []
    for variant in LOOP_FREE:
        decided = of_variant(coverage_rows(rows, (setup.DARKSTRAND,), SEVERAL), variant)
        results.append(counted(decided, lambda row: row.looped, f"cases that loop, {LABELS[variant]}, 1 to 4 links"))
    every = coverage_rows(rows, (setup.DARKSTRAND,), SEVERAL)
    results.append(counted(every, lambda row: row.broken, "promises broken, every scheme, 1 to 4 links"))
    for row in every:
        name = f"delivered once converged, {row.variant}, {row.failures} failed, interpreter"
        result = judge(Claim(name, "% of joined cases"), Estimate(row.converged.joined_percent, None, None))
        results.append(result.with_note(_sets(row)))
    return results + [
        _measured_sample(rows, variant, failures) for variant, failures in product(setup.ON_DARKSTRAND, SEVERAL)
    ]


def measured_delivery(rows: Sequence[Json], variant: Variant, failures: int) -> Estimate | None:
    """Pings answered in the converged window (% of those of a pair), over the pairs that count."""
    trials = measures.chosen(rows, Choice("mixed", setup.DARKSTRAND, (failures,)), variant)
    lost = measures.by_pair(trials, measures.lost_percent("converged"))
    return measures.estimate([100 - value for value in lost.values()])


def _measured_sample(rows: Sequence[Json], variant: Variant, failures: int) -> ClaimResult:
    claim = Claim(f"pings answered once converged, {LABELS[variant]}, {failures} failed, measured", "% of pings")
    return judge(claim, measured_delivery(rows, variant, failures)).with_note("only pairs whose primary path fails")


def _sets(row: VerifyRow) -> str:
    return f"{row.cases} cases of {row.failure_sets} failed sets"


def draw(rows: Sequence[Json], caption: str) -> Figure:
    """Outcomes once converged by the interpreter, stacked, and the answered pings of the measured sample."""
    figure, axes = canvas.panels("One to four links of Darkstrand at once, once converged", len(SEVERAL), 5.2)
    decided = {(row.variant, row.failures): row for row in coverage_rows(rows, (setup.DARKSTRAND,), SEVERAL)}
    for axis, failures in zip(axes, SEVERAL, strict=True):
        for place, variant in enumerate(setup.VERIFIED):
            if (variant.name, failures) in decided:
                _stack(axis, place, shares(decided[variant.name, failures].converged))
            measured = measured_delivery(rows, measured_variant(variant), failures)
            if measured is not None:
                axis.plot([place], [measured.value], "D", color="white", mec=INK, markersize=5.5, zorder=4)
        sets = next((result.failure_sets for (_, count), result in decided.items() if count == failures), 0)
        axis.set_title(f"{failures} failed, {sets} sets", loc="left", fontsize=10, color=INK)
        names = [DECIDED_LABELS[variant] for variant in setup.VERIFIED]
        axis.set_xticks(range(len(names)), names, rotation=60, ha="right", rotation_mode="anchor", fontsize=8)
        axis.set_xlim(-0.6, len(names) - 0.4)
        axis.set_ylim(0, 104)
    axes[0].set_ylabel("cases, % (pairs whose path is hit)", color=INK)
    for name, colour in OUTCOME_COLOURS.items():
        axes[0].bar([0], [0], color=colour, label=name)
    axes[0].plot([], [], "D", color="white", mec=INK, label="measured: pings answered")
    canvas.legend(figure, axes[0])
    facts = [
        "Bars: the interpreter, all pairs whose primary path is hit, after everything was learned or rewritten.",
        "Diamonds: share of pings answered in emulated networks from one second after the failure, over the sampled"
        " pairs that stay joined.",
    ]
    return canvas.finish(figure, facts, caption)


def _stack(axes: Axes, place: int, shares: dict[str, float]) -> None:
    ground = 0.0
    for name, share in shares.items():
        axes.bar(place, share, 0.82, ground, color=OUTCOME_COLOURS[name])
        ground += share


def table(rows: Sequence[Json]) -> Table:
    """Outcomes in the converged network by the interpreter, and the pings answered in the measured sample."""
    header = (
        "scheme",
        "links failed",
        "failed sets",
        "cases",
        *(f"{name}, %" for name in OUTCOMES),
        "measured: answered, %",
    )
    found = []
    for failures, variant in product(SEVERAL, setup.VERIFIED):
        for row in coverage_rows(rows, (setup.DARKSTRAND,), (failures,)):
            if row.variant == variant.name:
                parts = [f"{share:.1f}" for share in shares(row.converged).values()]
                measured = cell(measured_delivery(rows, measured_variant(variant), failures), 1)
                sets, cases = str(row.failure_sets), str(row.cases)
                found.append((DECIDED_LABELS[variant], str(failures), sets, cases, *parts, measured))
    return Table(header, tuple(found))


def measured_variant(variant: Variant) -> Variant:
    """The variant that was run for one that the interpreter decided."""
    return next(
        (each for each in setup.ON_DARKSTRAND if (each.scheme, each.mode) == (variant.scheme, variant.mode)), variant
    )


FIGURE = PaperFigure(
    "x-multi",
    "beyond",
    "One to four simultaneous failures: delivered, dropped, looped, and a measured sample",
    trials,
    claims,
    draw,
    table,
    with_paper="sd-fast",
)
