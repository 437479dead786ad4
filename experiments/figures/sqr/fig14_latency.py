"""Figure 14 and the time added at the switch: what a packet costs with SQR beside plain forwarding."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from experiments.campaign.figure import PaperFigure
from experiments.campaign.kinds.paths import CostMeasured, CostParameters
from experiments.campaign.rows import RowType
from experiments.campaign.statistics import Estimate, median_interval
from experiments.campaign.values import CampaignPlan, Trial
from experiments.campaign.verdicts import Claim, ClaimResult, judge
from experiments.charts import canvas
from experiments.charts.canvas import INK
from experiments.figures.p4protect.comparisons import (
    QUARTILES,
    AnyRow,
    Case,
    bars,
    field_of,
    good_rows,
    ratio_of,
    table_of,
)
from experiments.figures.p4protect.setup import COST_FRAMES, two_path_trials
from experiments.figures.sqr import setup
from experiments.figures.sqr.comparisons import TESTBED

if TYPE_CHECKING:
    from matplotlib.figure import Figure


PAPER_LATENCY_NS = 4.3
COST_LOOKS = {
    variant: (setup.COLOURS[variant], setup.LABELS[variant.name]) for variant in (setup.PLAIN, setup.SQR, setup.IN_SEND)
}
_COST_TABLE = table_of(
    {variant: label for variant, (_, label) in COST_LOOKS.items()},
    {f"{size} bytes": {"frame_bytes": size} for size in setup.COST_BYTES},
    {"first_node_ns": "at the switch, ns", "whole_ns": "whole way, ns"},
)


def trials(plan: CampaignPlan) -> tuple[Trial, ...]:
    """Frames as fast as one processor takes them all the way."""
    cases = {str(size): CostParameters(setup.LATENCY, size, COST_FRAMES) for size in setup.COST_BYTES}
    return two_path_trials(plan, cases, (setup.PLAIN, setup.SQR, setup.IN_SEND))


def latency_claims(rows: Sequence[AnyRow]) -> list[ClaimResult]:
    """What keeping a copy adds to the program at the switch."""
    results = []
    for size in setup.COST_BYTES:
        for variant in (setup.SQR, setup.IN_SEND):
            case = {"frame_bytes": size}
            added = _added_ns(rows, variant.name, case)
            name = f"time added at the switch, {setup.LABELS[variant.name]}, {size} bytes"
            results.append(judge(Claim(name, "ns", PAPER_LATENCY_NS), added))
    return [result.with_note(QUARTILES) for result in results]


def _added_ns(rows: Sequence[AnyRow], variant_name: str, case: Case) -> Estimate | None:
    """Median over rounds of the run time with SQR less that of plain forwarding in the same round."""
    variant = next(each for each in (setup.SQR, setup.IN_SEND) if each.name == variant_name)
    with_sqr, plain = (
        {row.round: row.measured.first_node_ns for row in good_rows(rows, each, case)}
        for each in (variant, setup.PLAIN)
    )
    both = sorted(with_sqr.keys() & plain.keys())
    return median_interval([with_sqr[number] - plain[number] for number in both]) if both else None


def whole_claims(rows: Sequence[AnyRow]) -> list[ClaimResult]:
    """What normal traffic pays: the whole way of a packet on one processor."""
    results = []
    for size in setup.COST_BYTES:
        whole = ratio_of(
            rows,
            (setup.SQR, setup.PLAIN),
            {"frame_bytes": size},
            lambda row: row.measured.whole_ns,
            scale=100.0,
        )
        name = f"whole way of a packet, SQR against plain, {size} bytes"
        results.append(judge(Claim(name, "% of plain", "750 Mbit/s of 10 Gbit/s", neutral=100.0), whole))
    return [result.with_note(QUARTILES) for result in results]


def draw(rows: Sequence[AnyRow], caption: str) -> Figure:
    """Run time of the program at the switch, and of the whole way."""
    figure, axes = canvas.panels("SQR: cost of a packet", 2)
    cases = {f"{size} bytes": {"frame_bytes": size} for size in setup.COST_BYTES}
    for place, (field, title) in enumerate(
        (
            ("first_node_ns", "program at the switch, ns a packet"),
            ("whole_ns", "whole way on one processor, ns a packet"),
        )
    ):
        bars(axes[place], rows, COST_LOOKS, cases, value=field_of(field))
        axes[place].set_title(title, fontsize=9.5, color=INK, loc="left")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="upper right", fontsize=9, frameon=False, ncols=3)
    facts = [
        f"Run times are the kernel's own; seen by sending, a run contains the sending itself. {TESTBED}",
        "Bars: median over rounds; whiskers: quartiles.",
    ]
    return canvas.finish(figure, facts, caption)


ROWS = RowType("paths", CostParameters, CostMeasured, f"{setup.LATENCY}/")
_DRAWN = (ROWS.on(draw), ROWS.on(_COST_TABLE))
WHOLE = PaperFigure(
    "sqr-fig14", setup.PAPER, "Figure 14: what normal traffic pays", trials, ROWS.on(whole_claims), *_DRAWN
)
ADDED = PaperFigure(setup.LATENCY, setup.PAPER, "Time added at the switch", trials, ROWS.on(latency_claims), *_DRAWN)
