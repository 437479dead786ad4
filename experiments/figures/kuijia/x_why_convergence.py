"""x-why-convergence: do flows settle late under Kuijia because there are many, of which most are small?

Explains the "differs" of kuijia-table4: the paper says that all flows settle within a second under Kuijia. On Gscale
the last of 20 to 30 needs nearly all of the 20 s that are watched, under both schemes. Flows of few packets a second
stray by more than the 10 % of the rule by themselves; victims take what the others leave. So the factor is the traffic:
Table 2's four flows of 4 and 8 Mbit/s, which have room after the failure, in place of Gscale's, judged by the rule and
bands of Table 4. Capacity of a link, scale and transport are the same; the network is Figure 1's.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter
from typing import TYPE_CHECKING

from experiments.campaign.draws import tunnel_traffic
from experiments.campaign.figure import PaperFigure, Table
from experiments.campaign.kinds.flows import ROWS, FlowsRow
from experiments.campaign.rows import of_variant
from experiments.campaign.values import CampaignPlan, Trial
from experiments.campaign.verdicts import MARGIN, AtMost, Claim, ClaimResult, judge, judge_difference
from experiments.charts import canvas
from experiments.charts.canvas import INK, PAPER, paper_handle, say_empty
from experiments.figures.kuijia import testbed
from experiments.figures.kuijia.comparisons import ABOVE, TCP, Values, cell, tcp_trials
from experiments.figures.kuijia.measures import (
    CLASSES,
    by_point,
    by_rounds,
    chosen,
    convergences_s,
    difference,
    whole_convergence_s,
)
from experiments.figures.kuijia.table2_table3 import Groups, of_table
from experiments.figures.kuijia.table4 import draw_settled, rule_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_TABLE, _DEMAND_MBPS = "table2", 1200
FOUR_FLOWS, GSCALE = "Figure 1, four flows", f"Gscale, {_DEMAND_MBPS:,} Mbit/s a pair"
_TITLE = "Why flows settle late: how many there are, and how small"


def trials(plan: CampaignPlan) -> tuple[Trial, ...]:
    """Trials of Table 2, and those of Table 4 at one demand."""
    demand_of = attrgetter("parameters.demand_mbps")
    gscale = (trial for trial in tcp_trials(plan) if demand_of(trial) == _DEMAND_MBPS)
    return (*testbed.figure1_trials(plan, _TABLE), *gscale)


def by_traffic(rows: Sequence[FlowsRow]) -> Groups:
    """Rows by what flows there are."""
    gscale = [row for row in chosen(rows, TCP) if row.parameters.demand_mbps == _DEMAND_MBPS]
    return {FOUR_FLOWS: of_table(rows, _TABLE), GSCALE: gscale}


def claims(rows: Sequence[FlowsRow]) -> list[ClaimResult]:
    """What Table 4 claims of Kuijia holds of four large flows; the same of Gscale stands beside."""
    groups = by_traffic(rows)
    kuijia, rescaling = (
        by_point(of_variant(groups[FOUR_FLOWS], variant), whole_convergence_s) for variant in testbed.VARIANTS
    )
    gscale = by_point(of_variant(groups[GSCALE], testbed.KUIJIA), whole_convergence_s)
    name = "TCP convergence, all flows"
    below = Claim(f"{name}, {FOUR_FLOWS}, Kuijia", "s", "below 1", AtMost(1.0), asks=MARGIN)
    return [
        judge(below, by_rounds(kuijia)),
        judge_difference(f"{name}, {FOUR_FLOWS}, rescaling less Kuijia", "s", ABOVE, difference(rescaling, kuijia)),
        judge(Claim(f"{name}, {GSCALE}, Kuijia", "s"), by_rounds(gscale)),
    ]


def draw(rows: Sequence[FlowsRow], caption: str) -> Figure:
    """A panel for each traffic: share of flows that have settled, over time."""
    groups = by_traffic(rows)
    figure, axes_of = canvas.panels("Is it the traffic? Convergence of TCP after the failure", len(groups))
    for axes, (name, own) in zip(axes_of, groups.items(), strict=True):
        axes.set_title(name, color=INK, fontsize=10, loc="left")
        if not own:
            say_empty(axes)
            continue
        axes.axvline(1.0, color=PAPER, lw=1.2, ls=":", zorder=1)
        draw_settled(axes, own)
    shown = next((axes for axes in axes_of if axes.lines), axes_of[0])
    canvas.legend(figure, shown, [paper_handle("paper: Kuijia below 1 s", ":")])
    facts = [f"Links of {tunnel_traffic.LINK_MBPS / tunnel_traffic.SCALE:g} Mbit/s."]
    facts += [_sizes(name, own) for name, own in groups.items() if own]
    own = [row for each in groups.values() for row in each]
    return canvas.finish(figure, [*facts, rule_of(own)] if own else [], caption)


def _sizes(name: str, rows: Sequence[FlowsRow]) -> str:
    offered_mbps = [flow.offered_mbps or 0.0 for row in rows for flow in row.measured.flows]
    counts = sorted({len(row.measured.flows) for row in rows})
    numbers = "-".join(map(str, dict.fromkeys((counts[0], counts[-1]))))
    return f"{name}: {numbers} flows of {min(offered_mbps):.2g} to {max(offered_mbps):.2g} Mbit/s a trial."


def table(rows: Sequence[FlowsRow]) -> Table:
    """Seconds until the last flow of each class has settled, mean over rounds."""
    found = []
    for name, own in by_traffic(rows).items():
        for variant in testbed.VARIANTS:
            here = of_variant(own, variant)
            last = (by_rounds(_last_s(here, kinds)) for kinds in (CLASSES, *((kind,) for kind in CLASSES)))
            flows = sum(len(convergences_s(row)) for row in here)
            found.append((name, testbed.VARIANT_NAMES[variant.name], *map(cell, last), str(flows), str(len(here))))
    header = ("traffic", "scheme", "all flows, s", *(f"{kind}, s" for kind in CLASSES), "flows", "trials")
    return Table(header, tuple(found))


def _last_s(rows: Sequence[FlowsRow], kinds: Sequence[str]) -> Values:
    """When the last flow of some classes has settled, trial by trial."""
    return by_point(rows, lambda row: max(convergences_s(row, kinds), default=None))


FIGURE = PaperFigure(
    "x-why-convergence",
    "beyond",
    _TITLE,
    trials,
    ROWS.on(claims),
    ROWS.on(draw),
    ROWS.on(table),
    with_paper="kuijia",
)
