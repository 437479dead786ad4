"""Figure 6: processing time of both ends against plain forwarding, by the kernel's own counters and end to end."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from experiments.campaign.figure import PaperFigure
from experiments.campaign.kinds.paths import CostMeasured, CostParameters
from experiments.campaign.rows import RowType
from experiments.campaign.values import CampaignPlan, Trial
from experiments.campaign.verdicts import Claim, ClaimResult, judge
from experiments.charts import canvas
from experiments.charts.canvas import INK
from experiments.figures.p4protect import setup
from experiments.figures.p4protect.comparisons import (
    ALL,
    LOOKS,
    QUARTILE_BARS,
    QUARTILES,
    SCALE,
    AnyRow,
    bars,
    field_of,
    ratio_of,
    table_of,
)
from experiments.figures.p4protect.setup import two_path_trials

if TYPE_CHECKING:
    from matplotlib.figure import Figure


# Ratios by which the paper's Figure 6 gives its processing times, in per cent of plain forwarding.
PAPER_COST = {setup.UNPROTECTED.name: 127.0, setup.PROTECTED.name: 166.0}
PAPER_RECEIVING_COST = 127.0


def trials(plan: CampaignPlan) -> tuple[Trial, ...]:
    """Frames as fast as one processor takes them all the way."""
    cases = {str(size): CostParameters(setup.COST, size, setup.COST_FRAMES) for size in setup.FRAME_BYTES}
    return two_path_trials(plan, cases, (setup.PLAIN, setup.UNPROTECTED, setup.PROTECTED))


def claims(rows: Sequence[AnyRow]) -> list[ClaimResult]:
    """Processing time of both ends, in per cent of plain forwarding, by the kernel's own counters and end to end."""
    results: list[ClaimResult] = []
    for size in setup.FRAME_BYTES:
        case = {"frame_bytes": size}
        for variant in (setup.UNPROTECTED, setup.PROTECTED):
            variants = (variant, setup.PLAIN)
            sending = ratio_of(rows, variants, case, lambda row: row.measured.first_node_ns, scale=100.0)
            text = f"program at the sending end, {setup.LABELS[variant.name]}, {size} bytes"
            results.append(judge(Claim(text, "% of plain", PAPER_COST[variant.name], neutral=100.0), sending))
        variants = (setup.PROTECTED, setup.PLAIN)
        receiving = ratio_of(rows, variants, case, lambda row: row.measured.second_node_ns, scale=100.0)
        text = f"program at the receiving end, a copy, {size} bytes"
        results.append(judge(Claim(text, "% of plain", PAPER_RECEIVING_COST, neutral=100.0), receiving))
        whole = ratio_of(rows, variants, case, lambda row: row.measured.whole_ns, scale=100.0)
        results.append(
            judge(Claim(f"whole way on one processor, 1+1, {size} bytes", "% of plain", neutral=100.0), whole)
        )
    return [result.with_note(QUARTILES) for result in results]


def draw(rows: Sequence[AnyRow], caption: str) -> Figure:
    """Processing time a packet."""
    figure, axes = canvas.panels("P4-Protect, Figure 6: processing time of a packet", 3)
    cases = {f"{size} bytes": {"frame_bytes": size} for size in setup.FRAME_BYTES}
    for place, (field, title) in enumerate(
        (
            ("first_node_ns", "program at the sending end, ns a run"),
            ("second_node_ns", "program at the receiving end, ns a run"),
            ("whole_ns", "whole way on one processor, ns a packet"),
        )
    ):
        bars(axes[place], rows, LOOKS, cases, value=field_of(field))
        axes[place].set_title(title, fontsize=9.5, color=INK, loc="left")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="upper right", fontsize=9, frameon=False, ncols=3)
    facts = [
        "Run times are the kernel's own; a run at a protecting sending end contains the sending of one of the copies, "
        "and the receiving end has a run for each copy.",
        SCALE,
        QUARTILE_BARS,
    ]
    return canvas.finish(figure, facts, caption)


ROWS = RowType("paths", CostParameters, CostMeasured, f"{setup.COST}/")
FIGURE = PaperFigure(
    setup.COST,
    setup.PAPER,
    "Figure 6: processing time of a packet",
    trials,
    ROWS.on(claims),
    ROWS.on(draw),
    ROWS.on(
        table_of(
            ALL,
            {f"{size} bytes": {"frame_bytes": size} for size in setup.FRAME_BYTES},
            {"first_node_ns": "sending end, ns", "second_node_ns": "receiving end, ns", "whole_ns": "whole way, ns"},
        )
    ),
)
