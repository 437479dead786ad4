"""x-why-controller: is it the controller's speed that makes CBC better here than in the paper?

Explains every "differs" of sdfast-fig5, fig7, fig8 and fig9 against CBC. The factor is the control delay: 5 ms each
way, at which those figures judge, and 205 ms, with which a rewriting takes the paper's 420 ms (docs/results.md). All
else is equal: four links of Darkstrand fail at once under pings and UDP, the same pairs for all. If the controller's
speed is the cause, the paper's changes appear against the slow one. Bands are those of the figures, set before anything
was measured.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import TYPE_CHECKING, Any

from experiments.campaign.draws.paths import MOST_FAILURES
from experiments.campaign.figure import PaperFigure, Table
from experiments.campaign.statistics import Estimate
from experiments.campaign.values import CampaignPlan, Json, Trial, Variant
from experiments.campaign.verdicts import AtMost, Claim, ClaimResult, around, judge
from experiments.charts import canvas
from experiments.charts.canvas import INK, grouped
from experiments.figures.sdfast import measures, setup
from experiments.figures.sdfast.comparisons import (
    SCALED,
    UNDER_FAILURE,
    cell,
    delay_change,
    throughput_change,
    versus,
    where,
)
from experiments.figures.sdfast.measures import AFTER
from experiments.figures.sdfast.setup import COLOURS, LABELS

if TYPE_CHECKING:
    from matplotlib.figure import Figure


SPEEDS = (setup.CBC, setup.CBC_AS_PAPER)
VARIANTS = (*setup.BOTH_MODES, *SPEEDS)
BACKTRACKING = AtMost(-73.0)


def trials(plan: CampaignPlan) -> tuple[Trial, ...]:
    """Four links of Darkstrand failed at once, under both modes and CBC at both delays."""
    return tuple(setup.mixed_trials(plan, setup.DARKSTRAND, (MOST_FAILURES,), VARIANTS))


def claims(rows: Sequence[Json]) -> list[ClaimResult]:
    """The paper's changes against a CBC as slow as its own; the same against ours stand beside, not judged."""
    results = []
    for opponent in reversed(SPEEDS):
        judged = opponent == setup.CBC_AS_PAPER
        results += [_backtracking(rows, (opponent, variant), judged) for variant in setup.BOTH_MODES]
        for variant, (change, paper, points) in product(
            setup.BOTH_MODES, ((delay_change, -27.0, 15), (throughput_change, 27.0, 20))
        ):
            held: dict[str, Any] = {"paper": paper, "band": around(paper, points)} if judged else {}
            results.append(change(rows, UNDER_FAILURE, (opponent, variant), AFTER, **held))
    return results


def _backtracking(rows: Sequence[Json], variants: tuple[Variant, Variant], judged: bool) -> ClaimResult:
    """Change of the mean backtracking time over directions."""
    name = f"backtracking time, {versus(variants)}, {where(UNDER_FAILURE)}, mean over directions, since detection"
    claim = Claim(name, "% change", *((-73.0, BACKTRACKING) if judged else (None, None)))
    both = " and ".join(f"{cell(_time_ms(rows, variant), 1)} ms" for variant in variants)
    return judge(claim, measures.direction_change(rows, UNDER_FAILURE, variants)).with_note(both)


def _time_ms(rows: Sequence[Json], variant: Variant) -> Estimate | None:
    return measures.estimate(measures.by_direction(measures.chosen(rows, UNDER_FAILURE, variant)).values())


def _values(rows: Sequence[Json], variant: Variant) -> tuple[Estimate | None, Estimate | None, Estimate | None]:
    """Backtracking time (ms), delay (ms) and throughput (% of offered) after the failure."""
    own = measures.chosen(rows, UNDER_FAILURE, variant)
    delay, delivered = (measures.pair_estimate(own, of(AFTER)) for of in (measures.delay_ms, measures.goodput_percent))
    return _time_ms(rows, variant), delay, delivered


PANELS = ("backtracking time since detection, ms", "mean round trip, ms", "UDP delivered, % of offered")


def draw(rows: Sequence[Json], caption: str) -> Figure:
    """Backtracking time, delay and throughput of both modes, and of CBC at both delays."""
    figure, axes_of = canvas.panels("Is it the controller's speed? Darkstrand, four links failed at once", len(PANELS))
    measured = {
        variant: _values(rows, variant) for variant in VARIANTS if measures.chosen(rows, UNDER_FAILURE, variant)
    }
    for number, (axes, label) in enumerate(zip(axes_of, PANELS, strict=True)):
        grouped(axes, [""], {each: [values[number]] for each, values in measured.items()}, LABELS, COLOURS)
        axes.set_ylabel(label, color=INK)
    canvas.legend(figure, axes_of[0])
    facts = [
        "CBC's control delay is the factor: 205 ms each way gives the paper's 420 ms for a rewriting.",
        "Delay and throughput: everything after the failure.",
        SCALED,
    ]
    return canvas.finish(figure, facts, caption)


def table(rows: Sequence[Json]) -> Table:
    """The three values of every variant."""
    found = []
    for variant in VARIANTS:
        own = measures.chosen(rows, UNDER_FAILURE, variant)
        if own:
            pairs = sum(len(measures.counted_pairs(row)) for row in own)
            found.append((LABELS[variant], str(pairs), *(cell(each, 1) for each in _values(rows, variant))))
    return Table(("scheme", "pairs", *PANELS), tuple(found))


FIGURE = PaperFigure(
    "x-why-controller",
    "beyond",
    "Why SD-FAST gains less against CBC: the controller's speed",
    trials,
    claims,
    draw,
    table,
    with_paper="sd-fast",
)
