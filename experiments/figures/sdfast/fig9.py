"""Figure 9: backtracking time since detection, from captures of every link, four links failed at once.

Judged: the mean over directions of flows whose primary path crosses a failed link. Beside it the last of all
directions, and the mean with pings 1 ms apart, which takes the spacing of the pings out of the number. The paper's
number is -73 %; the other two bands are goals of this repository, set before anything was measured.

Rows of versions that knew no single directions are judged as those versions judged them: by the last of all directions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from experiments.campaign.draws.paths import MOST_FAILURES
from experiments.campaign.figure import PaperFigure, Table
from experiments.campaign.kinds.probed import ProbedRow
from experiments.campaign.statistics import Estimate
from experiments.campaign.values import CampaignPlan, Json, Trial, Variant
from experiments.campaign.verdicts import DIFFERS, MEASURED, AtMost, Claim, ClaimResult, judge
from experiments.charts import canvas
from experiments.charts.canvas import INK, grouped, mark_paper, paper_handle, widen
from experiments.figures.sdfast import measures, setup
from experiments.figures.sdfast.comparisons import NOTHING, SCALED, UNDER_FAILURE, cell, versus, where
from experiments.figures.sdfast.measures import Choice
from experiments.figures.sdfast.setup import COLOURS, LABELS

if TYPE_CHECKING:
    from matplotlib.figure import Figure


BUSY = Choice("flow", setup.DARKSTRAND, (MOST_FAILURES,))
SPACING_MS = {UNDER_FAILURE: setup.PING_INTERVAL_MS, BUSY: setup.BUSY_PING_INTERVAL_MS}


@dataclass(frozen=True, slots=True)
class Metric:
    """A number of a variant, and its change between two."""

    words: str
    counted: str
    values: Callable[[Sequence[ProbedRow]], list[float]]
    change: Callable[[Sequence[Json], Choice, tuple[Variant, Variant]], Estimate | None]


def _mean_of_directions(rows: Sequence[ProbedRow]) -> list[float]:
    return list(measures.by_direction(rows).values())


def _last(since: str, words: str) -> Metric:
    def change(rows: Sequence[Json], choice: Choice, variants: tuple[Variant, Variant]) -> Estimate | None:
        return measures.trial_change(rows, choice, variants, lambda row: measures.backtracking_ms(row, since))

    def values(rows: Sequence[ProbedRow]) -> list[float]:
        return [measures.backtracking_ms(row, since) for row in rows]

    return Metric(f"last of all directions, {words}", "trials", values, change)


MEAN = Metric("mean over directions, since detection", "directions", _mean_of_directions, measures.direction_change)
LAST, LAST_SINCE_FAILURE = _last("from_detection", "since detection"), _last("from_failure", "since the failure")
# (metric, trials, the paper's number or a goal, band) of SD-FAST against CBC 5 ms, in both modes.
JUDGED: tuple[tuple[Metric, Choice, float | str, AtMost], ...] = (
    (MEAN, UNDER_FAILURE, -73.0, AtMost(-73.0)),
    (LAST, UNDER_FAILURE, "goal: -50", AtMost(-50.0)),
    (MEAN, BUSY, "goal: -85", AtMost(-85.0)),
)
# What stands in the first one's place for rows that know no single directions.
EARLIER = replace(LAST, words=f"{LAST.words}, in rows without single directions")
# Pairs of variants that are compared without a band.
BESIDE = (
    *((opponent, variant) for opponent in (setup.CBC_AT_ONCE, setup.CBC_FAR) for variant in setup.BOTH_MODES),
    *zip(setup.UNNOTIFIED, setup.BOTH_MODES, strict=True),
    *((setup.CBC, variant) for variant in setup.UNNOTIFIED),
)
GROUPS = {
    "mean over directions": (MEAN, UNDER_FAILURE),
    "last of all directions": (LAST, UNDER_FAILURE),
    f"mean, pings {setup.BUSY_PING_INTERVAL_MS:g} ms apart": (MEAN, BUSY),
}


def trials(plan: CampaignPlan) -> tuple[Trial, ...]:
    """Four links of Darkstrand failed at once, by every variant that backtracks; and with pings 1 ms apart."""
    sparse = setup.mixed_trials(plan, setup.DARKSTRAND, (MOST_FAILURES,), (*setup.BACKTRACKING, setup.CB))
    busy = setup.QUICK_BUSY if plan.quick else setup.BUSY
    return (*sparse, *setup.busy_trials(plan, setup.DARKSTRAND, busy))


def claims(rows: Sequence[Json]) -> list[ClaimResult]:
    """Backtracking time of SD-FAST in both modes against CBC, and with notification against without."""
    measured = [each for each in ((MEAN, UNDER_FAILURE), (LAST, UNDER_FAILURE), (MEAN, BUSY)) if _has(rows, *each)]
    is_earlier = bool(measures.chosen(rows, UNDER_FAILURE)) and (MEAN, UNDER_FAILURE) not in measured
    first, *goals = JUDGED
    judged = [
        _reduction(rows, metric, choice, (setup.CBC, variant), paper=paper, band=band)
        for metric, choice, paper, band in ((EARLIER if is_earlier else first[0], *first[1:]), *goals)
        for variant in setup.BOTH_MODES
    ]
    beside = [
        _reduction(rows, metric, choice, variants)
        for variants in BESIDE
        for metric, choice in measured
        if all(_has(rows, metric, choice, variant) for variant in variants)
    ]
    since = [
        _reduction(rows, LAST_SINCE_FAILURE, UNDER_FAILURE, (opponent, variant))
        for opponent in (setup.CBC, setup.CBC_AT_ONCE, setup.CBC_FAR)
        for variant in setup.BOTH_MODES
    ]
    return [*judged, *beside, *since]


def _has(rows: Sequence[Json], metric: Metric, choice: Choice, variant: Variant | None = None) -> bool:
    """Whether rows of a choice are there, and of a version that measured this."""
    return bool(metric.values(measures.chosen(rows, choice, variant)))


def _reduction(
    rows: Sequence[Json],
    metric: Metric,
    choice: Choice,
    variants: tuple[Variant, Variant],
    *,
    paper: float | str | None = None,
    band: AtMost | None = None,
) -> ClaimResult:
    """Change of a metric from the first variant to the second."""
    name = (
        f"backtracking time, {versus(variants)}, {where(choice)}, {metric.words}, pings {SPACING_MS[choice]:g} ms apart"
    )
    found = metric.change(rows, choice, variants)
    sides = [measures.chosen(rows, choice, variant) for variant in variants]
    values = [metric.values(side) for side in sides]
    note = " and ".join(_milliseconds(measures.estimate(each)) for each in values)
    note += f" in {len(values[0])} and {len(values[1])} {metric.counted}"
    result = judge(Claim(name, "% change", paper, band), found)
    if found is None and all(values) and not any(values[0]):
        # There is data: a zero to compare with. The claim is a reduction, which nothing can be of zero.
        result = replace(result, verdict=MEASURED if band is None else DIFFERS)
        note += f"; no packet backtracked under {LABELS[variants[0]]}, and no change of 0 can be given in per cent"
    return result.with_note("; ".join([note, *_exceptions(sides)]))


def _exceptions(sides: Sequence[Sequence[ProbedRow]]) -> list[str]:
    """What a reader must know of rows that are no plain numbers."""
    endless = sum(measures.still_backtracking(side) for side in sides)
    unseen = sum(measures.undetected(side) for side in sides)
    parts = [f"{endless} trials still backtracked at the end and count with the length of the run"] * bool(endless)
    return parts + [f"{unseen} directions left out, whose failed links no switch reported"] * bool(unseen)


def _milliseconds(estimate: Estimate | None) -> str:
    return "nothing" if estimate is None else f"{estimate.value:.1f} ms"


def _estimate(rows: Sequence[Json], metric: Metric, choice: Choice, variant: Variant) -> Estimate | None:
    return measures.estimate(metric.values(measures.chosen(rows, choice, variant)))


def draw(rows: Sequence[Json], caption: str) -> Figure:
    """Backtracking time since detection: mean over directions, last of all, and with pings 1 ms apart."""
    figure, (axes,) = canvas.panels("Backtracking time since detection, Darkstrand, four links failed at once", 1, 4.4)
    values = {
        variant: [_estimate(rows, metric, choice, variant) for metric, choice in GROUPS.values()]
        for variant in setup.BACKTRACKING
        if measures.chosen(rows, UNDER_FAILURE, variant)
    }
    places = grouped(axes, list(GROUPS), values, LABELS, COLOURS)
    for (variant, group), (place, _) in places.items():
        estimate = values[variant][group]
        if estimate is not None:
            top = estimate.value if estimate.high is None else estimate.high
            axes.annotate(
                f"{estimate.value:.0f}", (place, top), (0, 3), textcoords="offset points", ha="center", size=8
            )
    opponent = values.get(setup.CBC, [None])[0]
    if opponent is not None and (setup.AGENT_PAIR, 0) in places:
        mark_paper(axes, places[setup.AGENT_PAIR, 0], 0.27 * opponent.value)
    axes.set_ylabel("backtracking time, ms", color=INK)
    widen(axes)
    canvas.legend(figure, axes, [paper_handle("paper: -73 % of CBC 5 ms")])
    trials = max((len(measures.chosen(rows, UNDER_FAILURE, variant)) for variant in values), default=0)
    facts = [f"{trials} trial{'s' * (trials != 1)} a variant; from captures of every link."]
    return canvas.finish(figure, [*facts, "CB backtracks until the link returns.", SCALED], caption)


def table(rows: Sequence[Json]) -> Table:
    """Backtracking time of every variant (ms): distribution over directions, and the last of all."""
    header = ("scheme", "pings, ms", "directions", "mean", "median", "90th", "most", "none at all", "last of all")
    found = []
    for choice, spacing_ms in SPACING_MS.items():
        for variant in (*setup.BACKTRACKING, setup.CB):
            trials = measures.chosen(rows, choice, variant)
            if trials:
                last = cell(measures.estimate(LAST.values(trials)), 1)
                found.append((LABELS[variant], f"{spacing_ms:g}", *_distribution(MEAN.values(trials)), last))
    return Table(header, tuple(found))


def _distribution(values: Sequence[float]) -> tuple[str, ...]:
    """Count, mean, median, 90th percentile, most, and how many are 0."""
    if not values:
        return ("0", *[NOTHING] * 5)
    middle, high = np.quantile(values, (0.5, 0.9))
    shown = (f"{middle:.1f}", f"{high:.1f}", f"{max(values):.1f}", str(sum(value == 0 for value in values)))
    return str(len(values)), cell(measures.estimate(values), 1), *shown


FIGURE = PaperFigure(
    "sdfast-fig9",
    "sd-fast",
    "Backtracking time, SD-FAST and CBC at three control delays",
    trials,
    claims,
    draw,
    table,
)
