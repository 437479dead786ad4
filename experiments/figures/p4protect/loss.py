"""Exactly nothing is lost or duplicated; without protection about rate x outage is lost."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from experiments.campaign.figure import PaperFigure
from experiments.campaign.kinds.paths import LossMeasured, LossParameters
from experiments.campaign.rows import RowType
from experiments.campaign.statistics import Estimate, mean_interval, total_interval
from experiments.campaign.values import CampaignPlan, Trial
from experiments.campaign.verdicts import MARGIN, Claim, ClaimResult, Exactly, Within, judge
from experiments.charts import canvas
from experiments.charts.canvas import INK, whisker
from experiments.figures.p4protect import setup
from experiments.figures.p4protect.comparisons import (
    COLOURS,
    INTERVALS,
    SCALE,
    TWO,
    AnyRow,
    field_of,
    label_of,
    mean_of,
    table_of,
    values,
)
from experiments.figures.p4protect.setup import two_path_trials

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def trials(plan: CampaignPlan) -> tuple[Trial, ...]:
    """A numbered stream while each path fails in turn."""
    own = LossParameters(setup.LOSS, setup.LOSS_PPS, setup.LOSS_SECONDS, setup.LOSS_FAILURES)
    return two_path_trials(plan, {str(own.rate_pps): own}, (setup.PLAIN, setup.PROTECTED))


def claims(rows: Sequence[AnyRow]) -> list[ClaimResult]:
    """Exactly nothing is lost or duplicated; without protection about rate x outage is lost."""
    sums = {}
    for name in ("lost", "duplicated", "reordered"):
        found = values(rows, setup.PROTECTED, {}, field_of(name))
        sums[name] = total_interval(found) if found else None
    outage_s = sum(seconds for path, _, seconds in setup.LOSS_FAILURES if path == "p1")
    control = ratio_of_outage(rows, outage_s)
    results = [
        judge(
            Claim(
                f"packets {name}, 1+1, each path failed in turn, all rounds", "packets", 0.0, Exactly(0.0), asks=MARGIN
            ),
            sums[name],
        )
        for name in ("lost", "duplicated")
    ]
    results.append(
        judge(Claim("packets reordered, 1+1, each path failed in turn, all rounds", "packets"), sums["reordered"])
    )
    wanted = Claim(
        "packets lost without protection, by rate x outage of its path",
        "ratio",
        "about 1",
        Within(0.8, 1.2),
        asks=MARGIN,
    )
    return [*results, judge(wanted, control)]


def ratio_of_outage(rows: Sequence[AnyRow], outage_s: float) -> Estimate | None:
    """Losses of the unprotected stream by what its path's outage amounts to."""
    found = values(rows, setup.PLAIN, {}, lambda row: row.measured.lost / (row.parameters.rate_pps * outage_s))
    return mean_interval(found) if found else None


def draw(rows: Sequence[AnyRow], caption: str) -> Figure:
    """Packets lost, doubled and reordered while each path fails in turn."""
    figure, (axes,) = canvas.panels("P4-Protect: a path fails, each in turn", 1)
    variants = (setup.PLAIN, setup.PROTECTED)
    width = 0.35
    for number, variant in enumerate(variants):
        for group, name in enumerate(("lost", "duplicated", "reordered")):
            estimate = mean_of(rows, variant, {}, field_of(name))
            if estimate is None:
                continue
            place = group + (number - 0.5) * width
            axes.bar(
                place, estimate.value, 0.92 * width, color=COLOURS[variant], label=None if group else label_of(variant)
            )
            whisker(axes, place, estimate)
            axes.annotate(
                f"{estimate.value:,.0f}",
                (place, estimate.high or estimate.value),
                xytext=(0, 3),
                textcoords="offset points",
                ha="center",
                fontsize=9,
                color=INK,
            )
    axes.set_xticks(range(3), ["lost", "duplicated", "reordered"])
    axes.set_ylabel("packets a round")
    axes.set_ylim(bottom=0)
    figure.legend(*axes.get_legend_handles_labels(), loc="upper right", fontsize=9, frameon=False, ncols=2)
    outages = ", then ".join(f"{path} for {seconds:g} s" for path, _, seconds in setup.LOSS_FAILURES)
    facts = [f"{setup.LOSS_PPS:,} UDP packets a second for {setup.LOSS_SECONDS:g} s; {outages}.", SCALE, INTERVALS]
    return canvas.finish(figure, facts, caption)


ROWS = RowType("paths", LossParameters, LossMeasured, f"{setup.LOSS}/")
FIGURE = PaperFigure(
    setup.LOSS,
    setup.PAPER,
    "A path fails: nothing lost, nothing duplicated",
    trials,
    ROWS.on(claims),
    ROWS.on(draw),
    ROWS.on(
        table_of(
            TWO,
            {"": {}},
            {"sent": "sent", "lost": "lost", "duplicated": "duplicated", "reordered": "reordered"},
        )
    ),
)
