"""x-why-timeouts: do loss probes keep the time-out away that a long flow of the paper has when its path fails?

Explains the "differs" of sqr-fig7, where no time-out expires without SQR. The factor is TCP's loss probe (RFC 8985):
on, as Linux has it, and off. All else is equal: Figure 7's flow and failure, without SQR. If probes are the cause, each
round without them has a time-out. The band is the figure's, set before anything was measured.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from experiments.campaign.figure import PaperFigure
from experiments.campaign.kinds.paths import StreamMeasured, StreamParameters
from experiments.campaign.rows import RowType
from experiments.campaign.values import CampaignPlan, Trial
from experiments.campaign.verdicts import MARGIN, AtLeast, Claim, ClaimResult, judge
from experiments.charts import canvas
from experiments.charts.canvas import INK
from experiments.figures.p4protect.comparisons import QUARTILE_BARS, AnyRow, bars, field_of, mean_of, table_of
from experiments.figures.p4protect.setup import two_path_trials
from experiments.figures.sqr import flow_setup
from experiments.figures.sqr.comparisons import COLOURS, SCALE

if TYPE_CHECKING:
    from matplotlib.figure import Figure


ID = "x-why-timeouts"
CASES = {"with loss probes": {"loss_probes": True}, "without loss probes": {"loss_probes": False}}
_LOOKS = {flow_setup.SB: (COLOURS[flow_setup.SB], flow_setup.LABELS[flow_setup.SB.name])}
_TIMEOUTS = "time-outs a round"
_BESIDE = {
    "loss_probes": ("loss probes a round", "probes"),
    "stalled_ms": ("longest time without progress around the failure", "ms"),
}


def trials(plan: CampaignPlan) -> tuple[Trial, ...]:
    """Figure 7's flow without SQR, with loss probes and without."""
    cases = {
        name.replace(" ", "-"): flow_setup.stream_parameters(ID, loss_probes=case["loss_probes"])
        for name, case in CASES.items()
    }
    return two_path_trials(plan, cases, (flow_setup.SB,))


def claims(rows: Sequence[AnyRow]) -> list[ClaimResult]:
    """A time-out in each round without loss probes; what there is with them stands beside, not judged."""
    results = []
    for name, case in reversed(CASES.items()):
        claim = Claim(f"{_TIMEOUTS}, {name}", "time-outs", asks=MARGIN)
        if not case["loss_probes"]:
            claim = replace(claim, paper="one", band=AtLeast(1.0))
        results.append(judge(claim, mean_of(rows, flow_setup.SB, case, field_of("timeouts"))))
        for field, (what, unit) in _BESIDE.items():
            results.append(judge(Claim(f"{what}, {name}", unit), mean_of(rows, flow_setup.SB, case, field_of(field))))
    return results


def draw(rows: Sequence[AnyRow], caption: str) -> Figure:
    """Time-outs and the longest time without progress, with loss probes and without."""
    figure, (timeouts, stalled) = canvas.panels("Do loss probes keep time-outs away? A long flow without SQR", 2)
    bars(timeouts, rows, _LOOKS, CASES, value=field_of("timeouts"))
    timeouts.set_ylabel(_TIMEOUTS, color=INK)
    bars(stalled, rows, _LOOKS, CASES, value=field_of("stalled_ms"))
    stalled.set_ylabel("without progress, ms", color=INK)
    return canvas.finish(figure, [SCALE, QUARTILE_BARS], caption)


ROWS = RowType("paths", StreamParameters, StreamMeasured, f"{ID}/")
FIGURE = PaperFigure(
    ID,
    "beyond",
    "Why a long flow has no time-out without SQR: TCP's loss probes",
    trials,
    ROWS.on(claims),
    ROWS.on(draw),
    ROWS.on(
        table_of(
            {flow_setup.SB: flow_setup.LABELS[flow_setup.SB.name]},
            CASES,
            {"timeouts": "time-outs", "loss_probes": "loss probes", "stalled_ms": "without progress, ms"},
        )
    ),
    with_paper="sqr",
)
