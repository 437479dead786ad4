"""Figure 3: flows that a failure hit end when a timer of TCP lets them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from experiments.campaign.figure import PaperFigure
from experiments.campaign.kinds.paths import FlowsMeasured, FlowsParameters
from experiments.campaign.rows import RowType
from experiments.campaign.statistics import Estimate, mean_interval
from experiments.campaign.values import CampaignPlan, Trial
from experiments.campaign.verdicts import MARGIN, AtLeast, Claim, ClaimResult, judge
from experiments.charts import canvas
from experiments.charts.canvas import GRID, INK, PALETTE, PAPER, say_empty
from experiments.figures.p4protect.setup import two_path_trials
from experiments.figures.sqr import flow_measures as measures
from experiments.figures.sqr import flow_setup as setup
from experiments.figures.sqr.comparisons import FLOWS_TEXT, SCALE, flows_table
from experiments.figures.sqr.flow_measures import FlowsRow
from experiments.testbed.workloads.decide.sizes import WEB_SEARCH

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


NEAR_PERCENT, ORDERS, TIMES = 80.0, 1.5, 10.0


def trials(plan: CampaignPlan) -> tuple[Trial, ...]:
    """Recovery alone, without background traffic."""
    own = setup.flows_parameters(plan, setup.ALONE, WEB_SEARCH.name, "nothing")
    return two_path_trials(plan, {f"{own.workload}-{own.seconds}-{own.beside}": own}, (setup.SB,))


def claims(rows: Sequence[FlowsRow]) -> list[ClaimResult]:
    """Flows that a failure hit end when a timer of TCP lets them."""
    own = measures.rows_of(rows, setup.SB)
    by_round = [
        [measures.nearest_cluster(hit.completion_ms) for hit in measures.hits_of(row) if hit.retransmits] for row in own
    ]
    shares = [100 * sum(each is not None for each in found) / len(found) for found in by_round if found]
    name = f"hit flows whose completion time is within {setup.NEAR_SHARE:.0%} of a timer's"
    claim = Claim(name, "%", "clusters at 10 ms, 100 ms, 1 s", AtLeast(NEAR_PERCENT), asks=MARGIN)
    results = [judge(claim, mean_interval(shares) if shares else None)]
    counts = Counter(each for found in by_round for each in found)
    for cluster, centre_ms in setup.CLUSTERS_MS.items():
        share = Estimate(100 * counts[cluster] / counts.total(), None, None) if counts else None
        results.append(judge(Claim(f"hit flows that waited for {cluster}, {centre_ms:g} ms", "%"), share))
    return results


def draw(rows: Sequence[FlowsRow], caption: str) -> Figure:
    """Completion times in the order of the flows."""
    figure, (axes,) = canvas.panels("SQR, Figure 3: completion times under failures, recovery by SB' alone", 1)
    offset = 0
    for row in measures.rows_of(rows, setup.SB):
        times, hits = measures.completions_ms(row), measures.hits_of(row)
        calm = sorted(set(range(len(times))) - {hit.number for hit in hits})
        label = None if offset else "no failure met"
        axes.plot([offset + each for each in calm], [times[each] for each in calm], ".", ms=2, color=GRID, label=label)
        places, label = [offset + hit.number for hit in hits], None if offset else "hit by a failure"
        axes.plot(places, [hit.completion_ms for hit in hits], ".", ms=6, color=PALETTE[0], label=label)
        offset += len(times)
    if not offset:
        say_empty(axes)
    else:
        _mark_clusters(axes, offset)
        canvas.legend(figure, axes)
    axes.set_ylabel("flow completion time, ms (log)", color=INK)
    axes.set_xlabel("flow, in the order of their starts, all rounds", color=INK)
    axes.grid(False)
    return canvas.finish(figure, [FLOWS_TEXT, "Web search, no other traffic.", SCALE], caption)


def _mark_clusters(axes: Axes, count: int) -> None:
    """A band around each of the times that a timer makes, with its name."""
    axes.set_yscale("log")
    axes.set_xlim(0, 1.25 * count)
    for name, centre in setup.CLUSTERS_MS.items():
        axes.axhspan(centre * (1 - setup.NEAR_SHARE), centre * (1 + setup.NEAR_SHARE), color=PAPER, alpha=0.08, lw=0)
        axes.annotate(
            f"{name}, {centre:g} ms", (1.245 * count, centre), ha="right", va="center", fontsize=8.5, color=PAPER
        )


ROWS = RowType("paths", FlowsParameters, FlowsMeasured, f"{setup.ALONE}/")
FIGURE = PaperFigure(
    setup.ALONE,
    setup.PAPER,
    "Figure 3: completion times with recovery alone",
    trials,
    ROWS.on(claims),
    ROWS.on(draw),
    ROWS.on(flows_table((setup.SB,))),
)
