"""Figure 5: mean end-to-end delay, four links of Darkstrand (and of USNET) failed at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from experiments.campaign.figure import PaperFigure, Table
from experiments.campaign.values import Json, Variant
from experiments.campaign.verdicts import Claim, ClaimResult, judge
from experiments.charts import canvas
from experiments.charts.canvas import INK, mark_paper, paper_handle, widen
from experiments.figures.sdfast import measures, setup
from experiments.figures.sdfast.comparisons import (
    CLOSE,
    CLOSE_DELAYS,
    CONVERGED_CBC,
    GOAL_CB,
    GROUPS,
    MOST_TABLE,
    ON_USNET,
    SCALED,
    UNDER_FAILURE,
    USNET_UNDER_FAILURE,
    affected_pairs,
    both_topologies,
    delay_change,
    delay_goals,
    delay_table,
    delays_beside,
    draw_parts,
    fail_free_delays,
    judged_delay,
    shown_variants,
)
from experiments.figures.sdfast.measures import AFTER, PairMeasure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def claims(rows: Sequence[Json]) -> list[ClaimResult]:
    """Mean end-to-end delay, four links of Darkstrand (and of USNET) failed at once."""
    judged = [
        judged_delay(rows, UNDER_FAILURE, setup.CB, -54.0),
        judged_delay(rows, UNDER_FAILURE, setup.CBC, -27.0).with_note(CONVERGED_CBC),
    ]
    usnet = [
        delay_change(rows, USNET_UNDER_FAILURE, (opponent, setup.AGENT_PAIR), AFTER, CLOSE, band=CLOSE_DELAYS)
        for opponent in ON_USNET
    ]
    judged += delay_goals(rows, UNDER_FAILURE, setup.CB, GOAL_CB)
    return [*judged, *usnet, *delays_beside(rows, UNDER_FAILURE), *fail_free_delays(rows), _ffg_delivers(rows)]


def _ffg_delivers(rows: Sequence[Json]) -> ClaimResult:
    """Why FFG has no bar on Darkstrand: it delivers only the pairs that have an alternative at the failure."""
    ffg = measures.chosen(rows, UNDER_FAILURE, setup.FFG)
    lost = measures.by_pair(ffg, measures.lost_percent("converged"))
    served = measures.estimate([100.0 if value < 50 else 0.0 for value in lost.values()])
    claim = Claim("pairs that FFG serves, darkstrand, 4 links failed, converged", "% of pairs", "absent")
    return judge(claim, served).with_note(
        "without an alternative at the failing switch FFG drops; those pairs are lost"
    )


def draw(rows: Sequence[Json], caption: str) -> Figure:
    """Delay on both topologies above, lost pings below."""
    figure, axes = canvas.panels("End-to-end delay under failure, and what was lost meanwhile", 2, 6.6, 2)
    for column, topology in enumerate((setup.USNET, setup.DARKSTRAND)):
        served = [
            variant
            for variant in shown_variants(rows, topology)
            if (variant, topology) != (setup.FFG, setup.DARKSTRAND)
        ]
        upper, lower = axes[column], axes[2 + column]
        places = draw_parts(upper, rows, topology, served, measures.delay_ms)
        draw_parts(lower, rows, topology, shown_variants(rows, topology), measures.lost_percent)
        upper.set_title(topology, loc="left", fontsize=10, color=INK)
        if topology == setup.DARKSTRAND:
            _mark(upper, rows, places, measures.delay_ms(AFTER), {setup.CB: -54.0, setup.CBC: -27.0})
    for axis in axes[:2]:
        axis.set_ylabel("mean round trip, ms", color=INK)
        widen(axis)
    axes[2].set_ylabel("pings lost, %", color=INK)
    canvas.legend(figure, axes[3], _paper_lines("-54 %", "-27 %"))
    facts = [
        f"{affected_pairs(rows, UNDER_FAILURE)} Mean round trip of pings that returned.",
        "FFG has no delay on Darkstrand: it drops what has no alternative at the failing switch (lower panel).",
        SCALED,
    ]
    return canvas.finish(figure, facts, caption)


def _mark(
    axes: Axes,
    rows: Sequence[Json],
    places: dict[tuple[Variant, int], tuple[float, float]],
    measure: PairMeasure,
    changes: dict[Variant, float],
) -> None:
    """Lines across SD-FAST's last bar: the paper's change from each measured opponent."""
    place = places.get((setup.AGENT_PAIR, len(GROUPS) - 1))
    for style, (opponent, change) in zip(("-", ":"), changes.items(), strict=True):
        value = measures.pair_estimate(measures.chosen(rows, UNDER_FAILURE, opponent), measure)
        if value is not None and place is not None:
            mark_paper(axes, place, value.value * (1 + change / 100), style)


def _paper_lines(against_cb: str, against_cbc: str) -> list[object]:
    return [
        paper_handle(f"paper: {against_cb} of CB"),
        paper_handle(f"paper: {against_cbc} of CBC", ":"),
    ]


def table(rows: Sequence[Json]) -> Table:
    """Delay of every variant in the parts of the run, on both topologies."""
    return delay_table(rows, MOST_TABLE)


FIGURE = PaperFigure(
    "sdfast-fig5",
    "sd-fast",
    "Mean end-to-end delay under failure, USNET and Darkstrand",
    both_topologies,
    claims,
    draw,
    table,
)
