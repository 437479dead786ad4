"""x-node: a switch of Darkstrand fails, which is every link of it at once.

Pairs are those whose primary path leads through the switch and whose packets come to know of at most two failed links,
which is as many as tags name: up to there SD-FAST promises delivery.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from experiments.campaign.figure import PaperFigure, Table
from experiments.campaign.statistics import Estimate
from experiments.campaign.values import CampaignPlan, Json, Trial, Variant
from experiments.campaign.verdicts import MARGIN, AtLeast, Claim, ClaimResult, judge
from experiments.charts import canvas
from experiments.charts.canvas import INK, grouped
from experiments.figures.sdfast import measures, setup
from experiments.figures.sdfast.comparisons import SCALED, cell, versus
from experiments.figures.sdfast.measures import Choice
from experiments.figures.sdfast.setup import COLOURS, LABELS

if TYPE_CHECKING:
    from matplotlib.figure import Figure


# As many links as a switch has.
NODE = Choice("node", setup.DARKSTRAND, tuple(range(1, 32)))
# Of pings sent from one second after the failure on; the paper says nothing of failing switches.
LEAST_ANSWERED_PERCENT = 99.0


def trials(plan: CampaignPlan) -> tuple[Trial, ...]:
    """A switch a round."""
    return tuple(setup.node_trials(plan, setup.RECOVERING))


def claims(rows: Sequence[Json]) -> list[ClaimResult]:
    """SD-FAST delivers once it has converged, in both modes; backtracking against CBC stands beside."""
    results = []
    for variant in setup.RECOVERING:
        band = AtLeast(LEAST_ANSWERED_PERCENT) if variant in setup.BOTH_MODES else None
        claim = Claim(
            f"pings answered once converged, {LABELS[variant]}, a switch failed", "%", None, band, asks=MARGIN
        )
        results.append(judge(claim, answered_percent(rows, variant)))
    for variant in setup.BOTH_MODES:
        change = measures.direction_change(rows, NODE, (setup.CBC, variant))
        name = (
            f"backtracking time, {versus((setup.CBC, variant))}, a switch failed, mean over directions, since detection"
        )
        results.append(judge(Claim(name, "% change"), change))
    return results


def answered_percent(rows: Sequence[Json], variant: Variant) -> Estimate | None:
    """Pings answered in the converged window, mean over pairs."""
    lost = measures.by_pair(measures.chosen(rows, NODE, variant), measures.lost_percent("converged"))
    return measures.estimate([100 - value for value in lost.values()])


def draw(rows: Sequence[Json], caption: str) -> Figure:
    """Answered pings and backtracking time of every variant."""
    figure, (answers, times) = canvas.panels("A switch of Darkstrand failed", 2, 4.4)
    present = [variant for variant in setup.RECOVERING if measures.chosen(rows, NODE, variant)]
    answered = {variant: [answered_percent(rows, variant)] for variant in present}
    grouped(answers, ["pings answered once converged"], answered, LABELS, COLOURS)
    answers.set_ylabel("%", color=INK)
    lasted = {variant: [_mean_ms(rows, variant)] for variant in present if variant != setup.CB}
    grouped(times, ["backtracking time since detection, mean over directions"], lasted, LABELS, COLOURS)
    times.set_ylabel("ms", color=INK)
    canvas.legend(figure, answers)
    return canvas.finish(figure, ["CB backtracks until the switch returns.", SCALED], caption)


def _mean_ms(rows: Sequence[Json], variant: Variant) -> Estimate | None:
    return measures.estimate(measures.by_direction(measures.chosen(rows, NODE, variant)).values())


def table(rows: Sequence[Json]) -> Table:
    """Answered pings and backtracking time of every variant."""
    header = ("scheme", "switches", "pairs", "answered once converged, %", "backtracking since detection, ms")
    found = []
    for variant in setup.RECOVERING:
        own = measures.chosen(rows, NODE, variant)
        if own:
            pairs = str(sum(len(measures.counted_pairs(row)) for row in own))
            values = cell(answered_percent(rows, variant)), cell(_mean_ms(rows, variant), 1)
            found.append((LABELS[variant], str(len(own)), pairs, *values))
    return Table(header, tuple(found))


FIGURE = PaperFigure(
    "x-node",
    "beyond",
    "A switch fails: delivery and backtracking time",
    trials,
    claims,
    draw,
    table,
    with_paper="sd-fast",
)
