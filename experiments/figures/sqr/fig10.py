"""Figure 10: with SB' and SQR a hit flow takes little longer than the same flow without failures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from experiments.campaign.figure import PaperFigure
from experiments.campaign.verdicts import MARGIN, AtMost, Claim, ClaimResult, judge
from experiments.charts import canvas
from experiments.charts.canvas import INK, say_empty
from experiments.figures.sqr import flow_measures as measures
from experiments.figures.sqr import flow_setup as setup
from experiments.figures.sqr.comparisons import BESIDE, COLOURS, FLOWS_TEXT, SCALE, flows_table, steps
from experiments.figures.sqr.flow_measures import ROWS, FlowsRow
from experiments.testbed.workloads.decide.sizes import DATA_MINING, WEB_SEARCH

if TYPE_CHECKING:
    from matplotlib.figure import Figure


PAPER_ADDED = round(200 / 760, 2)


def claims(rows: Sequence[FlowsRow]) -> list[ClaimResult]:
    """With SB' and SQR a hit flow takes little longer than the same flow without failures."""
    calm, own = measures.rows_of(rows, setup.NO_FAILURE), measures.rows_of(rows, setup.SB_SQR)
    added = measures.added_ms(own, calm)
    down_ms = {number: measures.outage_ms(row for row in own if row.round == number) for number in added}
    shares = {number: [each / down_ms[number] for each in found] for number, found in added.items()}
    name = "added to the completion time of hit flows, median, SB' + SQR"
    claim = Claim(name, "route failure times", PAPER_ADDED, AtMost(1.0), asks=MARGIN)
    alone = measures.added_ms(measures.rows_of(rows, setup.SB), calm)
    return [
        judge(claim, measures.mean_of_rounds(shares, 0.5)),
        judge(Claim("the same in milliseconds", "ms"), measures.mean_of_rounds(added, 0.5)),
        judge(Claim("the same, SB' alone", "ms"), measures.mean_of_rounds(alone, 0.5)),
    ]


def draw(rows: Sequence[FlowsRow], caption: str) -> Figure:
    """Completion times of hit flows with SQR, of the same flows without failures, and without SQR."""
    figure, both = canvas.panels("SQR, Figure 10: completion times of hit flows", 2)
    for axes, table in zip(both, (WEB_SEARCH, DATA_MINING), strict=True):
        axes.set_title(table.title, fontsize=10, color=INK, loc="left")
        helped = measures.rows_of(rows, setup.SB_SQR, table.name)
        calm = measures.rows_of(rows, setup.NO_FAILURE, table.name)
        steps(axes, _same_flows(helped, calm), COLOURS[setup.NO_FAILURE], "the same flows as with SQR, no failure")
        for variant in (setup.SB_SQR, setup.SB):
            times = [hit.completion_ms for hit in measures.all_hits(measures.rows_of(rows, variant, table.name))]
            steps(axes, times, COLOURS[variant], f"hit, {setup.LABELS[variant.name]}")
        if axes.lines:
            axes.set_xscale("log")
            axes.set_ylim(0, 100)
        else:
            say_empty(axes)
        axes.set_xlabel("flow completion time, ms (log)", color=INK)
        axes.set_ylabel("flows with at most so much, %", color=INK)
    if both[0].lines:
        canvas.legend(figure, both[0])
    return canvas.finish(figure, [FLOWS_TEXT, BESIDE, SCALE], caption)


def _same_flows(hit_rows: Sequence[FlowsRow], calm_rows: Sequence[FlowsRow]) -> list[float]:
    calm = {row.round: measures.completions_ms(row) for row in calm_rows}
    return [
        calm[hit.round][hit.number] for hit in measures.all_hits(hit_rows) if hit.number < len(calm.get(hit.round, []))
    ]


FIGURE = PaperFigure(
    setup.FIG10,
    setup.PAPER,
    "Figure 10: completion times of hit flows",
    setup.flow_trials,
    ROWS.on(claims),
    ROWS.on(draw),
    ROWS.on(flows_table(setup.ALL_VARIANTS)),
)
