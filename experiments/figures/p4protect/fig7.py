"""Figure 7: protected TCP is as fast as plain TCP, within 10 %, and nothing is retransmitted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from experiments.campaign.figure import PaperFigure
from experiments.campaign.kinds.paths import GoodputMeasured, GoodputParameters
from experiments.campaign.rows import RowType
from experiments.campaign.statistics import median_confidence
from experiments.campaign.values import CampaignPlan, Trial, Variant
from experiments.campaign.verdicts import MARGIN, Claim, ClaimResult, Within, judge
from experiments.charts import canvas
from experiments.figures.p4protect import setup
from experiments.figures.p4protect.comparisons import (
    ALL,
    LOOKS,
    QUARTILE_BARS,
    SCALE,
    AnyRow,
    Case,
    bars,
    field_of,
    ratios_of,
    table_of,
)
from experiments.figures.p4protect.setup import (
    two_path_trials,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure


GOODPUT_WITHIN = 10.0


def trials(plan: CampaignPlan) -> tuple[Trial, ...]:
    """TCP flows at once, as fast as they can."""
    seconds = setup.QUICK_GOODPUT_SECONDS if plan.quick else setup.GOODPUT_SECONDS
    cases = {f"{flows}-{seconds}": GoodputParameters(setup.GOODPUT, flows, seconds) for flows in setup.FLOWS}
    return two_path_trials(plan, cases, (setup.PLAIN, setup.UNPROTECTED, setup.PROTECTED))


def claims(rows: Sequence[AnyRow]) -> list[ClaimResult]:
    """Protected TCP is as fast as plain TCP, within 10 %, and nothing is retransmitted."""
    return [
        slower(rows, variant, {"flows": flows}, f"{flows} flow{'s' if flows > 1 else ''}")
        for flows in setup.FLOWS
        for variant in (setup.UNPROTECTED, setup.PROTECTED)
    ]


def slower(rows: Sequence[AnyRow], variant: Variant, case: Case, named: str, *, is_judged: bool = True) -> ClaimResult:
    """Change of TCP's goodput against plain forwarding in a case."""
    ratios = ratios_of(rows, (variant, setup.PLAIN), case, field_of("goodput_mbps"))
    less = median_confidence([100.0 * (each - 1) for each in ratios]) if ratios else None
    claim = Claim(f"TCP claims, {setup.LABELS[variant.name]} against plain, {named}", "%", asks=MARGIN)
    if is_judged:
        claim = replace(claim, paper=0.0, band=Within(-GOODPUT_WITHIN, GOODPUT_WITHIN))
    return judge(claim, less).with_note("median over rounds, and its interval")


def draw(rows: Sequence[AnyRow], caption: str) -> Figure:
    """TCP goodput and retransmissions."""
    figure, axes = canvas.panels("P4-Protect, Figure 7: TCP goodput", 2)
    cases = {f"{flows} flow{'s' if flows > 1 else ''}": {"flows": flows} for flows in setup.FLOWS}
    bars(axes[0], rows, LOOKS, cases, value=field_of("goodput_mbps"))
    axes[0].set_ylabel("goodput, Mbit/s")
    bars(axes[1], rows, LOOKS, cases, value=field_of("retransmits"))
    axes[1].set_ylabel("segments retransmitted")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="upper right", fontsize=9, frameon=False, ncols=3)
    facts = [
        "Without segmentation offloads, which protection rules out; the processors are the bottleneck.",
        SCALE,
        QUARTILE_BARS,
    ]
    return canvas.finish(figure, facts, caption)


ROWS = RowType("paths", GoodputParameters, GoodputMeasured, f"{setup.GOODPUT}/")
FIGURE = PaperFigure(
    setup.GOODPUT,
    setup.PAPER,
    "Figure 7: TCP goodput",
    trials,
    ROWS.on(claims),
    ROWS.on(draw),
    ROWS.on(
        table_of(
            ALL,
            {f"{flows} flow{'s' if flows > 1 else ''}": {"flows": flows} for flows in setup.FLOWS},
            {"goodput_mbps": "goodput, Mbit/s", "retransmits": "retransmitted"},
        )
    ),
)
