"""Table 4: TCP converges below 1 s with Kuijia, above 10 s with rescaling once demand exceeds capacity."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from experiments.campaign.draws import tunnel_traffic
from experiments.campaign.figure import PaperFigure, Table
from experiments.campaign.kinds.flows import ROWS, FlowsRow
from experiments.campaign.statistics import median_interval
from experiments.campaign.verdicts import MARGIN, AtLeast, AtMost, Claim, ClaimResult, judge, judge_difference
from experiments.charts import canvas
from experiments.charts.canvas import INK, PAPER, paper_handle, say_empty
from experiments.figures.kuijia import testbed
from experiments.figures.kuijia.comparisons import (
    ABOVE,
    COLOURS,
    DEMAND,
    MARKS,
    TCP,
    both,
    confident_median,
    draw_measure,
    facts_of,
    median_of,
    points,
    tcp_trials,
)
from experiments.figures.kuijia.measures import (
    LEAST_STEADY_MBPS,
    chosen,
    convergences_s,
    demands_of,
    difference,
    typical_convergence_s,
    whole_convergence_s,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


ABOVE_CAPACITY_MBPS = 1000


def claims(rows: Sequence[FlowsRow]) -> list[ClaimResult]:
    """TCP convergence: below 1 s with Kuijia, above 10 s with rescaling once demand exceeds capacity."""
    kuijia, rescaling = both(rows, TCP, typical_convergence_s)
    whole = {variant: points(rows, TCP, variant, whole_convergence_s) for variant in testbed.VARIANTS}
    above = [value for (_, demand), value in whole[testbed.RESCALING].items() if demand > ABOVE_CAPACITY_MBPS]
    name = "TCP convergence of affected flows"
    results = [
        judge(
            Claim(f"{name}, median flow, Kuijia", "s", "below 1", AtMost(1.0), asks=MARGIN),
            confident_median(list(kuijia.values())),
        ),
        judge_difference(f"{name}, median flow, rescaling less Kuijia", "s", ABOVE, difference(rescaling, kuijia)),
        judge(
            Claim(f"{name}, all flows, rescaling above capacity", "s", "over 10", AtLeast(10.0), asks=MARGIN),
            confident_median(above),
        ),
    ]
    for variant in testbed.VARIANTS:
        values = list(whole[variant].values())
        claim = Claim(f"{name}, all flows, {testbed.VARIANT_NAMES[variant.name]}", "s")
        results.append(judge(claim, median_of(values)))
    return results


def draw(rows: Sequence[FlowsRow], caption: str) -> Figure:
    """Left: the median affected flow; middle: until all have settled; right: every flow."""
    figure, axes_of = canvas.panels("Kuijia, Table 4: convergence of TCP after the failure", 3)
    own = chosen(rows, TCP)
    measures = (
        ("median flow of a trial", typical_convergence_s),
        ("until all flows have settled", whole_convergence_s),
    )
    if not own:
        for axes in axes_of:
            say_empty(axes)
        return canvas.finish(figure, [], caption)
    for axes, (name, measure) in zip(axes_of, measures, strict=False):
        axes.set_title(name, color=INK, fontsize=10, loc="left")
        for variant in testbed.VARIANTS:
            draw_measure(axes, chosen(own, TCP, variant), variant, measure)
        axes.set_xlabel(DEMAND, color=INK)
        axes.set_ylabel("seconds after the failure", color=INK)
        axes.set_xticks(demands_of(own))
        axes.set_ylim(bottom=0)
    axes_of[0].axhline(1.0, color=PAPER, lw=1.2, ls=":", zorder=1)
    _draw_flows(axes_of[2], own)
    canvas.legend(figure, axes_of[0], [paper_handle("paper: Kuijia below 1 s", ":")])
    watched_s = own[0].measured.windows_s.after_s
    rule = (
        "Rule: from when on the moving mean of 1 s stays within 10 % of the mean of the last 5 s; "
        f"{watched_s:g} s where it never does. Victims and directly affected flows of at least "
        f"{tunnel_traffic.SCALE * LEAST_STEADY_MBPS:.0f} Mbit/s; "
        "victims that end with nothing have no rate to settle at."
    )
    return canvas.finish(figure, [*facts_of(rows, [TCP]), rule], caption)


def _draw_flows(axes: Axes, rows: Sequence[FlowsRow]) -> None:
    """Share of flows that have settled, over time."""
    axes.set_title("flows that have settled", color=INK, fontsize=10, loc="left")
    for variant in testbed.VARIANTS:
        values = sorted(value for row in chosen(rows, TCP, variant) for value in convergences_s(row))
        if values:
            share = [100.0 * (number + 1) / len(values) for number in range(len(values))]
            middle = median_interval(values)
            axes.step([0.0, *values], [0.0, *share], where="post", color=COLOURS[variant], lw=1.6)
            axes.plot([middle.value], [50.0], marker=MARKS[variant], color=COLOURS[variant])
    axes.set_xlabel("seconds after the failure", color=INK)
    axes.set_ylabel("flows (%)", color=INK)
    axes.set_ylim(0, 101)
    axes.set_xlim(left=-0.2)


def table(rows: Sequence[FlowsRow]) -> Table:
    """Convergence (s) by demand: median flow with quartiles of all flows, and until all have settled."""
    found = []
    own = chosen(rows, TCP)
    for demand in demands_of(own):
        for variant in testbed.VARIANTS:
            here = [row for row in chosen(own, TCP, variant) if row.parameters.demand_mbps == demand]
            values = [value for row in here for value in convergences_s(row)]
            if values:
                middle = median_interval(values)
                whole = [value for row in here if (value := whole_convergence_s(row)) is not None]
                typical = [value for row in here if (value := typical_convergence_s(row)) is not None]
                found.append(
                    (
                        testbed.VARIANT_NAMES[variant.name],
                        str(demand),
                        f"{sum(typical) / len(typical):.2f}",
                        f"{middle.low:.2f}",
                        f"{middle.high:.2f}",
                        f"{sum(whole) / len(whole):.2f}",
                        str(len(values)),
                        str(len(here)),
                    )
                )
    header = ("scheme", "Mbit/s a pair", "median flow s", "1st quartile", "3rd quartile", "all flows s")
    return Table((*header, "flows", "trials"), tuple(found))


FIGURE = PaperFigure(
    "kuijia-table4",
    "kuijia",
    "Table 4: convergence time of TCP",
    tcp_trials,
    ROWS.on(claims),
    ROWS.on(draw),
    ROWS.on(table),
)
