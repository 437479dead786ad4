"""Figure 8: a flow that was under way sees a gap of a little more than the route failure time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from experiments.campaign.figure import PaperFigure
from experiments.campaign.statistics import Estimate, mean_interval
from experiments.campaign.verdicts import Claim, ClaimResult, judge, judge_order
from experiments.charts import canvas
from experiments.charts.canvas import INK, PALETTE, PAPER, say_empty
from experiments.figures.sqr import flow_measures as measures
from experiments.figures.sqr import flow_setup as setup
from experiments.figures.sqr.comparisons import BESIDE, FLOWS_TEXT, MODEL, SCALE, flows_table, steps
from experiments.figures.sqr.flow_measures import ROWS, FlowsRow
from experiments.testbed.workloads.decide.sizes import DATA_MINING, WEB_SEARCH

if TYPE_CHECKING:
    from matplotlib.figure import Figure


PAPER_ABOVE_PERCENT = 90.0
NO_ROUTE = "no packet of a flow can arrive while it has no route"


def claims(rows: Sequence[FlowsRow]) -> list[ClaimResult]:
    """A flow that was under way sees a gap of a little more than the route failure time."""
    own = measures.rows_of(rows, setup.SB_SQR)
    found = measures.recoveries_ms(own)
    outages = [float(each) for row in own for each in row.measured.outages_ms]
    failure = mean_interval(outages) if outages else None
    results = [
        judge_order(
            "recovery time of flows that were under way",
            "ms",
            # Every flow has a failure of its own, as every outage is one.
            {"route failure time": failure, "recovery time": mean_interval(found) if found else None},
            by_construction=NO_ROUTE,
        )
    ]
    above = None
    if found and failure is not None:
        above = Estimate(100 * sum(each > failure.value for each in found) / len(found), None, None)
    results.append(judge(Claim("recovery times above the route failure time", "%", PAPER_ABOVE_PERCENT), above))
    return results


def draw(rows: Sequence[FlowsRow], caption: str) -> Figure:
    """Distribution of the gaps that receivers see."""
    figure, (axes,) = canvas.panels("SQR, Figure 8: recovery time with SB' + SQR", 1)
    for table, colour in ((WEB_SEARCH, PALETTE[0]), (DATA_MINING, PALETTE[2])):
        gaps = measures.recoveries_ms(measures.rows_of(rows, setup.SB_SQR, table.name))
        steps(axes, gaps, colour, f"{table.title}, {len(gaps)} flows")
    if axes.lines:
        axes.axvline(MODEL.down_ms, color=PAPER, lw=1.4, ls="--", label="route failure time")
        axes.set_xlim(left=0)
        axes.set_ylim(0, 100)
        canvas.legend(figure, axes)
    else:
        say_empty(axes)
    axes.set_xlabel("longest time in which the receiver of a flow saw nothing, ms", color=INK)
    axes.set_ylabel("flows with at most so much, %", color=INK)
    return canvas.finish(
        figure, ["Flows that were under way when their path failed.", FLOWS_TEXT, BESIDE, SCALE], caption
    )


FIGURE = PaperFigure(
    setup.FIG8,
    setup.PAPER,
    "Figure 8: recovery time",
    setup.flow_trials,
    ROWS.on(claims),
    ROWS.on(draw),
    ROWS.on(flows_table(setup.ALL_VARIANTS)),
)
