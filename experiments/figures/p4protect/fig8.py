"""Figure 8: the first of two copies arrives earlier, and at less different times."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from experiments.campaign.figure import PaperFigure
from experiments.campaign.kinds.paths import JitterMeasured, JitterParameters
from experiments.campaign.rows import RowType
from experiments.campaign.statistics import Estimate, mean_interval
from experiments.campaign.values import CampaignPlan, Trial, Variant
from experiments.campaign.verdicts import AtMost, Claim, ClaimResult, Within, judge
from experiments.charts import canvas
from experiments.charts.canvas import whisker
from experiments.figures.p4protect import setup
from experiments.figures.p4protect.comparisons import (
    COLOURS,
    INTERVALS,
    SCALE,
    TWO,
    AnyRow,
    Value,
    field_of,
    label_of,
    mean_of,
    ratios_of,
    table_of,
)
from experiments.figures.p4protect.setup import (
    two_path_trials,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


MEAN_RATIO, MEAN_SPARE, DEVIATION_RATIO = 2 / 3, 0.08, 1.0


def trials(plan: CampaignPlan) -> tuple[Trial, ...]:
    """One-way delays while each path delays each packet by a time drawn evenly from 0 to the jitter."""
    packets = setup.QUICK_PACKETS if plan.quick else setup.PACKETS
    times = setup.PACKET_INTERVAL_MS, setup.BASE_DELAY_MS
    cases = {f"{each}-{packets}": JitterParameters(setup.JITTER, each, packets, *times) for each in setup.JITTERS_MS}
    return two_path_trials(plan, cases, (setup.PLAIN, setup.PROTECTED))


def claims(rows: Sequence[AnyRow]) -> list[ClaimResult]:
    """The first of two copies arrives earlier, and at less different times."""
    mean = pooled(rows, lambda row: row.measured.mean_ms - setup.BASE_DELAY_MS)
    deviation = pooled(rows, lambda row: row.measured.deviation_ms)
    band = Within(MEAN_RATIO - MEAN_SPARE, MEAN_RATIO + MEAN_SPARE)
    return [
        judge(Claim("mean extra delay, 1+1 against plain", "ratio", "about half", band, neutral=1.0), mean),
        judge(
            Claim("deviation of delays, 1+1 against plain", "ratio", "about half", AtMost(DEVIATION_RATIO), 1.0),
            deviation,
        ),
    ]


def pooled(rows: Sequence[AnyRow], value: Value) -> Estimate | None:
    """Protected by plain, over all rounds and jitters but none; the paths' own delay is taken off the mean."""
    found: list[float] = []
    for jitter_ms in setup.JITTERS_MS[1:]:
        found += ratios_of(rows, (setup.PROTECTED, setup.PLAIN), {"jitter_ms": jitter_ms}, value)
    return mean_interval(found) if found else None


def draw(rows: Sequence[AnyRow], caption: str) -> Figure:
    """Mean and deviation of one-way delays against jitter, with the model beside."""
    figure, axes = canvas.panels("P4-Protect, Figure 8: jitter of the paths", 2)
    curves: tuple[tuple[str, str, Callable[[Variant, float], float]], ...] = (
        ("mean_ms", "mean one-way delay, ms", _mean_model),
        ("deviation_ms", "standard deviation, ms", _deviation_model),
    )
    for place, (field, title, model) in enumerate(curves):
        for variant in (setup.PLAIN, setup.PROTECTED):
            found = [mean_of(rows, variant, {"jitter_ms": each}, field_of(field)) for each in setup.JITTERS_MS]
            draw_curve(axes[place], setup.JITTERS_MS, found, COLOURS[variant], label_of(variant))
            modelled = [model(variant, each) for each in setup.JITTERS_MS]
            axes[place].plot(setup.JITTERS_MS, modelled, color=COLOURS[variant], linestyle=":", linewidth=1.2)
        axes[place].set_xlabel("jitter of each path and direction: a delay from 0 to so many ms")
        axes[place].set_ylabel(title)
        axes[place].set_ylim(bottom=0)
    figure.legend(*axes[0].get_legend_handles_labels(), loc="upper right", fontsize=9, frameon=False, ncols=2)
    facts = [
        f"Dotted: the model of two independent, evenly distributed delays (mean 2/3, deviation 0.82 of plain), beside "
        f"the {setup.BASE_DELAY_MS:g} ms that the paths take anyway. The paper pings, which is not protected here.",
        SCALE,
        INTERVALS,
    ]
    return canvas.finish(figure, facts, caption)


def _mean_model(variant: Variant, jitter_ms: float) -> float:
    return setup.BASE_DELAY_MS + (1 / 3 if variant == setup.PROTECTED else 1 / 2) * jitter_ms


def _deviation_model(variant: Variant, jitter_ms: float) -> float:
    # J / sqrt(12) for one even delay, J / sqrt(18) for the smaller of two.
    variance = 1 / 18 if variant == setup.PROTECTED else 1 / 12
    return float(variance**0.5 * jitter_ms)


def draw_curve(axes: Axes, xs: Sequence[float], found: Sequence[Estimate | None], colour: str, label: str) -> None:
    """A line through the estimates that there are, with their intervals."""
    known = [(x, estimate) for x, estimate in zip(xs, found, strict=True) if estimate is not None]
    axes.plot([x for x, _ in known], [each.value for _, each in known], color=colour, marker="o", label=label)
    for x, estimate in known:
        whisker(axes, x, estimate)


ROWS = RowType("paths", JitterParameters, JitterMeasured, f"{setup.JITTER}/")
FIGURE = PaperFigure(
    setup.JITTER,
    setup.PAPER,
    "Figure 8: jitter of the paths",
    trials,
    ROWS.on(claims),
    ROWS.on(draw),
    ROWS.on(
        table_of(
            TWO,
            {f"jitter {each:g} ms": {"jitter_ms": each} for each in setup.JITTERS_MS},
            {"mean_ms": "mean, ms", "deviation_ms": "deviation, ms", "arrived": "arrived"},
        )
    ),
)
