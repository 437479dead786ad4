"""Table 4: TCP converges below 1 s with Kuijia, above 10 s with rescaling once demand exceeds capacity."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import pstdev
from typing import TYPE_CHECKING

from experiments.campaign.draws import tunnel_traffic
from experiments.campaign.figure import PaperFigure, Table
from experiments.campaign.kinds.flows import ROWS, FlowsRow
from experiments.campaign.rows import of_variant
from experiments.campaign.statistics import Estimate, median_interval
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
    draw_measure,
    facts_of,
    median_of,
    points,
    tcp_trials,
)
from experiments.figures.kuijia.measures import (
    LEAST_STEADY_MBPS,
    by_rounds,
    chosen,
    convergences_s,
    demands_of,
    difference,
    steady_convergence_s,
    steady_convergences_s,
    typical_convergence_s,
    unaffected_convergence_s,
    whole_convergence_s,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


ABOVE_CAPACITY_MBPS = 1000


MEASURES = {
    "all flows": whole_convergence_s,
    "affected flows of 100 Mbit/s and more": steady_convergence_s,
    "median of these": typical_convergence_s,
    "unaffected flows": unaffected_convergence_s,
}


def claims(rows: Sequence[FlowsRow]) -> list[ClaimResult]:
    """TCP convergence of all flows: below 1 s with Kuijia, above 10 s with rescaling once demand exceeds capacity."""
    kuijia, rescaling = both(rows, TCP, whole_convergence_s)
    above = {point: value for point, value in rescaling.items() if point[1] > ABOVE_CAPACITY_MBPS}
    name = "TCP convergence, all flows"
    results = [
        judge(Claim(f"{name}, Kuijia", "s", "below 1", AtMost(1.0), asks=MARGIN), by_rounds(kuijia)),
        judge_difference(f"{name}, rescaling less Kuijia", "s", ABOVE, difference(rescaling, kuijia)),
        judge(
            Claim(f"{name}, rescaling above capacity", "s", "over 10", AtLeast(10.0), asks=MARGIN),
            by_rounds(above),
        ),
    ]
    for variant, found in zip(testbed.VARIANTS, (kuijia, rescaling), strict=True):
        claim = Claim(f"standard deviation of the {name}, {testbed.VARIANT_NAMES[variant.name]}", "s")
        spread = pstdev(found.values()) if found else None
        results.append(judge(claim, None if spread is None else Estimate(spread, None, None)))
    for what, measure in list(MEASURES.items())[1:]:
        for variant in testbed.VARIANTS:
            values = list(points(rows, TCP, variant, measure).values())
            claim = Claim(f"TCP convergence, {what}, {testbed.VARIANT_NAMES[variant.name]}", "s")
            results.append(judge(claim, median_of(values)))
    return results


def draw(rows: Sequence[FlowsRow], caption: str) -> Figure:
    """Left: until all flows have settled; middle: until well-measured affected ones have; right: every flow."""
    figure, axes_of = canvas.panels("Kuijia, Table 4: convergence of TCP after the failure", 3)
    own = chosen(rows, TCP)
    if not own:
        for axes in axes_of:
            say_empty(axes)
        return canvas.finish(figure, [], caption)
    for axes, (name, measure) in zip(axes_of, list(MEASURES.items())[:2], strict=False):
        axes.set_title(name, color=INK, fontsize=10, loc="left")
        for variant in testbed.VARIANTS:
            draw_measure(axes, chosen(own, TCP, variant), variant, measure)
        axes.set_xlabel(DEMAND, color=INK)
        axes.set_ylabel("seconds after the failure", color=INK)
        axes.set_xticks(demands_of(own))
        axes.set_ylim(bottom=0)
    axes_of[0].axhline(1.0, color=PAPER, lw=1.2, ls=":", zorder=1)
    axes_of[2].set_title("flows that have settled", color=INK, fontsize=10, loc="left")
    draw_settled(axes_of[2], own)
    canvas.legend(figure, axes_of[0], [paper_handle("paper: Kuijia below 1 s", ":")])
    rule = (
        f"{rule_of(own)} All flows, small ones too, whose few packets a second arrive in bursts; "
        "middle: victims and directly affected flows of at least "
        f"{tunnel_traffic.SCALE * LEAST_STEADY_MBPS:.0f} Mbit/s. Flows that end with nothing have no rate to settle at."
    )
    return canvas.finish(figure, [*facts_of(rows, [TCP]), rule], caption)


def rule_of(rows: Sequence[FlowsRow]) -> str:
    """When a flow has settled, in a sentence."""
    watched_s = rows[0].measured.windows_s.after_s
    return (
        "Rule: from when on the moving mean of 1 s stays within 10 % of the mean of the last 5 s; "
        f"{watched_s:g} s where it never does."
    )


def draw_settled(axes: Axes, rows: Sequence[FlowsRow]) -> None:
    """Share of flows that have settled, over time."""
    for variant in testbed.VARIANTS:
        values = sorted(value for row in of_variant(rows, variant) for value in convergences_s(row))
        if values:
            share = [100.0 * (number + 1) / len(values) for number in range(len(values))]
            middle = median_interval(values)
            name = testbed.VARIANT_NAMES[variant.name]
            axes.step([0.0, *values], [0.0, *share], where="post", color=COLOURS[variant], lw=1.6, label=name)
            axes.plot([middle.value], [50.0], marker=MARKS[variant], color=COLOURS[variant])
    axes.set_xlabel("seconds after the failure", color=INK)
    axes.set_ylabel("flows (%)", color=INK)
    axes.set_ylim(0, 101)
    axes.set_xlim(left=-0.2)


def table(rows: Sequence[FlowsRow]) -> Table:
    """Mean convergence (s) over trials by demand: all flows, those measured well, and those that nothing affected."""
    found = []
    own = chosen(rows, TCP)
    for demand in demands_of(own):
        for variant in testbed.VARIANTS:
            here = [row for row in chosen(own, TCP, variant) if row.parameters.demand_mbps == demand]
            flows = (sum(len(each(row)) for row in here) for each in (convergences_s, steady_convergences_s))
            known = [[value for row in here if (value := measure(row)) is not None] for measure in MEASURES.values()]
            means = (f"{sum(values) / len(values):.2f}" if values else "" for values in known)
            counts = (*map(str, flows), str(len(here)))
            found.append((testbed.VARIANT_NAMES[variant.name], str(demand), *means, *counts))
    header = ("scheme", "Mbit/s a pair", *(f"{what}, s" for what in MEASURES), "flows", "of 100 Mbit/s", "trials")
    return Table(header, tuple(found))


FIGURE = PaperFigure(
    "kuijia-table4",
    "kuijia",
    "Table 4: convergence time of TCP",
    tcp_trials,
    ROWS.on(claims),
    ROWS.on(draw),
    ROWS.on(table),
)
