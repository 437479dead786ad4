"""x-why-convergence: do flows settle late because the network is a hundred times slower than the paper's?

Explains the "differs" of kuijia-table4: the paper says that all flows settle within a second under Kuijia, and here the
last one needs nearly all of the 20 s that are watched, under both schemes. Flows that carry few packets a second stray
by more than the 10 % of the rule by themselves, also those that no failure affects. So the factor is the scale, and
with it how many packets a second each flow has: 1:100 or 1:25. Pairs, failed link, allocation and tunnels are the same.
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
from experiments.campaign.verdicts import CHANGE, MARGIN, AtLeast, AtMost, Claim, ClaimResult, judge, judge_difference
from experiments.charts import canvas
from experiments.charts.canvas import INK, PAPER, paper_handle, say_empty
from experiments.figures.kuijia import testbed
from experiments.figures.kuijia.comparisons import ABOVE, TCP, Values, cell, facts_of
from experiments.figures.kuijia.measures import (
    CLASSES,
    by_point,
    by_rounds,
    chosen,
    convergences_s,
    difference,
)
from experiments.figures.kuijia.table4 import draw_settled, rule_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

USUAL, FASTER = "1:100", "1:25"
SCALES = {USUAL: TCP, FASTER: TCP._replace(scale=tunnel_traffic.SCALE / 4)}
_DEMAND_MBPS = 1200
_TITLE = "Why flows settle late: packets a second"
# A quarter of the time that is watched.
_LEAST_S = 5.0


def trials(plan: CampaignPlan) -> tuple[Trial, ...]:
    """Trials of Table 4 at one demand, and the same with links four times as fast, in turn."""
    usual, faster = (testbed.gscale_trials(plan, testbed.TCP, scale=each.scale) for each in SCALES.values())
    pairs = zip(usual, faster, strict=True)
    demand_of = attrgetter("parameters.demand_mbps")
    return tuple(each for pair in pairs for each in pair if demand_of(each) == _DEMAND_MBPS)


def by_scale(rows: Sequence[FlowsRow]) -> dict[str, list[FlowsRow]]:
    """Rows by the scale of their network."""
    return {
        name: [row for row in chosen(rows, choice) if row.parameters.demand_mbps == _DEMAND_MBPS]
        for name, choice in SCALES.items()
    }


def claims(rows: Sequence[FlowsRow]) -> list[ClaimResult]:
    """Table 4's claims about Kuijia hold at the larger scale, and flows settle sooner than at the usual one."""
    groups = by_scale(rows)
    usual, kuijia = (_last_s(of_variant(groups[scale], testbed.KUIJIA)) for scale in SCALES)
    rescaling = _last_s(of_variant(groups[FASTER], testbed.RESCALING))
    name = "TCP convergence, all flows"
    sooner = Claim(f"{name}, Kuijia, {USUAL} less {FASTER}", "s", "-", AtLeast(_LEAST_S), asks=CHANGE)
    return [
        judge(Claim(f"{name}, Kuijia, {FASTER}", "s", "below 1", AtMost(1.0), asks=MARGIN), by_rounds(kuijia)),
        judge_difference(f"{name}, rescaling less Kuijia, {FASTER}", "s", ABOVE, difference(rescaling, kuijia)),
        judge(sooner, difference(usual, kuijia)),
    ]


def draw(rows: Sequence[FlowsRow], caption: str) -> Figure:
    """A panel for each scale: share of flows that have settled, over time."""
    figure, axes_of = canvas.panels("Is it the scale? Convergence of TCP after the failure", len(SCALES))
    groups = by_scale(rows)
    for axes, (name, own) in zip(axes_of, groups.items(), strict=True):
        links_mbps = tunnel_traffic.LINK_MBPS / SCALES[name].scale
        axes.set_title(f"{name}, links of {links_mbps:g} Mbit/s", color=INK, fontsize=10, loc="left")
        if not own:
            say_empty(axes)
            continue
        draw_settled(axes, own)
        axes.axvline(1.0, color=PAPER, lw=1.2, ls=":", zorder=1)
    shown = next((axes for axes in axes_of if axes.lines), axes_of[0])
    canvas.legend(figure, shown, [paper_handle("paper: Kuijia below 1 s", ":")])
    own = [row for each in groups.values() for row in each]
    facts = [*facts_of(own, list(SCALES.values())), rule_of(own)] if own else []
    return canvas.finish(figure, facts, caption)


def table(rows: Sequence[FlowsRow]) -> Table:
    """Seconds until the last flow of each class has settled, mean over rounds."""
    found = []
    for name, own in by_scale(rows).items():
        for variant in testbed.VARIANTS:
            here = of_variant(own, variant)
            last = (by_rounds(_last_s(here, kinds)) for kinds in (CLASSES, *((kind,) for kind in CLASSES)))
            flows = sum(len(convergences_s(row)) for row in here)
            cells = (*map(cell, last), str(flows), str(len(here)))
            found.append((name, testbed.VARIANT_NAMES[variant.name], *cells))
    header = ("scale", "scheme", "all flows, s", *(f"{kind}, s" for kind in CLASSES), "flows", "trials")
    return Table(header, tuple(found))


def _last_s(rows: Sequence[FlowsRow], kinds: Sequence[str] = CLASSES) -> Values:
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
