"""Figure 11: of hit flows of the web search workload the slowest are faster by orders of magnitude."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from experiments.campaign.figure import PaperFigure
from experiments.campaign.verdicts import AtLeast, Claim, ClaimResult, judge
from experiments.charts import canvas
from experiments.charts.canvas import INK, say_empty
from experiments.figures.sqr import flow_measures as measures
from experiments.figures.sqr import flow_setup as setup
from experiments.figures.sqr.comparisons import BESIDE, COLOURS, FLOWS_TEXT, PAIRS, SCALE, flows_table, range_name
from experiments.figures.sqr.fig3 import ORDERS
from experiments.figures.sqr.flow_measures import ROWS, FlowsRow
from experiments.testbed.workloads.decide.sizes import WEB_SEARCH

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


WHY_ORDERS = (
    "the second after which a SYN is repeated is not scaled, route failure times are: 2 orders lie between it and the "
    f"{setup.MODEL.down_ms:g} ms of SB' here, 3.1 in the paper"
)


def claims(rows: Sequence[FlowsRow]) -> list[ClaimResult]:
    """Of hit flows of the web search workload the slowest are faster by orders of magnitude."""
    results = []
    for alone, helped in PAIRS:
        for sizes in setup.SIZE_RANGES:
            both = [
                measures.by_round(measures.rows_of(rows, variant, WEB_SEARCH.name), sizes)
                for variant in (alone, helped)
            ]
            orders = measures.orders_apart(both[0], both[1], setup.TAIL_SHARE)
            name = f"99th percentile of hit flows {range_name(sizes)}, {setup.LABELS[helped.name]} lower by"
            result = judge(Claim(name, "orders", "3 to 4", AtLeast(ORDERS)), orders)
            results.append(result.with_note(WHY_ORDERS) if orders is not None else result)
    return results


def draw(rows: Sequence[FlowsRow], caption: str) -> Figure:
    """Least, median, 95th and 99th percentile and greatest completion time of hit flows, by size."""
    figure, (axes,) = canvas.panels("SQR, Figure 11: completion times of hit flows, web search", 1)
    width = 0.8 / len(setup.ALL_VARIANTS)
    for number, variant in enumerate(setup.ALL_VARIANTS):
        own = measures.rows_of(rows, variant, WEB_SEARCH.name)
        for group, sizes in enumerate(setup.SIZE_RANGES):
            times = (
                _all_in_range(own, sizes)
                if variant == setup.NO_FAILURE
                else measures.in_range(measures.all_hits(own), sizes)
            )
            if times:
                place = group + (number - (len(setup.ALL_VARIANTS) - 1) / 2) * width
                _summary(axes, place, times, COLOURS[variant])
        axes.plot([], [], color=COLOURS[variant], lw=5, label=setup.LABELS[variant.name])
    if len(axes.lines) > len(setup.ALL_VARIANTS):
        axes.set_yscale("log")
        for marker, text in (("_", "least, median, 99th percentile"), ("o", "95th percentile"), ("^", "greatest")):
            axes.plot([], [], marker=marker, color=INK, ls="none", ms=6, label=text)
        canvas.legend(figure, axes)
        axes.set_xticks(range(len(setup.SIZE_RANGES)), [f"flows {range_name(sizes)}" for sizes in setup.SIZE_RANGES])
    else:
        say_empty(axes)
    axes.set_ylabel("flow completion time, ms (log)", color=INK)
    return canvas.finish(
        figure, [FLOWS_TEXT, "Without failures: all flows; number of flows above.", BESIDE, SCALE], caption
    )


def _all_in_range(rows: Sequence[FlowsRow], sizes_bytes: tuple[int, int]) -> list[float]:
    return [
        time_ms
        for row in rows
        for size, time_ms in zip(row.measured.sizes_bytes, measures.completions_ms(row), strict=True)
        if sizes_bytes[0] < size <= sizes_bytes[1]
    ]


def _summary(axes: Axes, place: float, times: Sequence[float], colour: str) -> None:
    least, median, high, higher, greatest = (measures.tail(times, share) for share in (0.0, 0.5, 0.95, 0.99, 1.0))
    axes.plot([place, place], [least, greatest], color=colour, lw=1.2)
    axes.plot([place] * 3, [least, median, higher], marker="_", ms=13, mew=2, ls="none", color=colour)
    axes.plot([place], [high], marker="o", ms=5, color=colour)
    axes.plot([place], [greatest], marker="^", ms=6, color=colour)
    axes.annotate(
        f"{len(times):,}",
        (place, greatest),
        xytext=(0, 6),
        textcoords="offset points",
        ha="center",
        fontsize=7.5,
        color=INK,
    )


FIGURE = PaperFigure(
    setup.FIG11,
    setup.PAPER,
    "Figure 11: completion times of hit flows by size",
    setup.flow_trials,
    ROWS.on(claims),
    ROWS.on(draw),
    ROWS.on(flows_table(setup.ALL_VARIANTS)),
)
