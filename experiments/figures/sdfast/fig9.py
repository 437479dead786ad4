"""Figure 9: backtracking time, from captures of every link, four links failed at once; judged since detection."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from experiments.campaign.draws.paths import MOST_FAILURES
from experiments.campaign.figure import PaperFigure, Table
from experiments.campaign.statistics import Estimate
from experiments.campaign.values import CampaignPlan, Json, Trial, Variant
from experiments.campaign.verdicts import DIFFERS, MEASURED, AtMost, Claim, ClaimResult, judge
from experiments.charts import canvas
from experiments.charts.canvas import INK, grouped, mark_paper, paper_handle, widen
from experiments.figures.sdfast import measures, setup
from experiments.figures.sdfast.comparisons import SCALED, UNDER_FAILURE, cell, versus, where
from experiments.figures.sdfast.measures import Choice
from experiments.figures.sdfast.setup import COLOURS, LABELS

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def trials(plan: CampaignPlan) -> tuple[Trial, ...]:
    """Four links of Darkstrand failed at once, by every variant that backtracks."""
    return tuple(setup.mixed_trials(plan, setup.DARKSTRAND, (MOST_FAILURES,), (*setup.BACKTRACKING, setup.CB)))


def claims(rows: Sequence[Json]) -> list[ClaimResult]:
    """Backtracking time, from captures of every link, four links failed at once."""
    since = {"from_detection": "since detection", "from_failure": "since the failure"}
    found = []
    for variant in (setup.AGENT_PAIR, setup.LEARNED):
        for opponent in (setup.CBC, setup.CBC_AT_ONCE, setup.CBC_FAR):
            for key, words in since.items():
                judged = (variant, opponent, key) == (setup.AGENT_PAIR, setup.CBC, "from_detection")
                found.append(_backtracking(rows, (opponent, variant), key, words, judged))
    return sorted(found, key=lambda result: result.verdict == MEASURED)


def _backtracking(
    rows: Sequence[Json], variants: tuple[Variant, Variant], key: str, words: str, judged: bool
) -> ClaimResult:
    found = measures.trial_change(rows, UNDER_FAILURE, variants, lambda row: measures.backtracking_ms(row, key))
    name = f"backtracking time, {versus(variants)}, {where(UNDER_FAILURE)}, {words}"
    claim = Claim(name, "% change", -73.0 if judged else None, AtMost(-73.0) if judged else None)
    sides = [measures.chosen(rows, UNDER_FAILURE, variant) for variant in variants]
    values = " and ".join(
        _milliseconds(measures.estimate([measures.backtracking_ms(row, key) for row in side])) for side in sides
    )
    note = f"{values} in {len(sides[0])} and {len(sides[1])} trials"
    endless = sum(measures.still_backtracking(side) for side in sides)
    if endless:
        note += f"; {endless} trials still backtracked at the end and count with the length of the run"
    result = judge(claim, found)
    if found is None and all(sides):
        # There is data: a zero to compare with. The paper's claim is a reduction, which nothing can be of zero.
        result = replace(result, verdict=DIFFERS if judged else MEASURED)
        note += f"; no packet backtracked under {LABELS[variants[0]]}, and no change of 0 can be given in per cent"
    return result.with_note(note)


def _milliseconds(estimate: Estimate | None) -> str:
    return "nothing" if estimate is None else f"{estimate.value:.1f} ms"


def draw(rows: Sequence[Json], caption: str) -> Figure:
    """Backtracking time since detection and since the failure."""
    figure, (axes,) = canvas.panels("Backtracking time, Darkstrand, four links failed at once", 1, 4.4)
    keys = ("from_detection", "from_failure")
    values = {
        variant: [
            measures.estimate(
                [measures.backtracking_ms(row, key) for row in measures.chosen(rows, UNDER_FAILURE, variant)]
            )
            for key in keys
        ]
        for variant in setup.BACKTRACKING
        if measures.chosen(rows, UNDER_FAILURE, variant)
    }
    places = grouped(axes, ["since detection", "since the failure"], values, LABELS, COLOURS)
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
    axes.set_ylabel("last packet that went back, ms", color=INK)
    widen(axes)
    canvas.legend(figure, axes, [paper_handle("paper: -73 % of CBC 5 ms")])
    trials = max((len(measures.chosen(rows, UNDER_FAILURE, variant)) for variant in values), default=0)
    facts = [f"{trials} trial{'s' * (trials != 1)} a variant; from captures of every link."]
    return canvas.finish(figure, [*facts, "CB backtracks until the link returns.", SCALED], caption)


def table(rows: Sequence[Json]) -> Table:
    """Backtracking time of every variant."""
    header = ("scheme", "trials", "since detection, ms", "since the failure, ms", "still backtracking at the end")
    choice = Choice("mixed", setup.DARKSTRAND, (MOST_FAILURES,))
    found = []
    for variant in (*setup.BACKTRACKING, setup.CB):
        trials = measures.chosen(rows, choice, variant)
        if trials:
            values = [
                cell(measures.estimate([measures.backtracking_ms(row, key) for row in trials]), 1)
                for key in ("from_detection", "from_failure")
            ]
            found.append((LABELS[variant], str(len(trials)), *values, str(measures.still_backtracking(trials))))
    return Table(header, tuple(found))


FIGURE = PaperFigure(
    "sdfast-fig9",
    "sd-fast",
    "Backtracking time, SD-FAST and CBC at three control delays",
    trials,
    claims,
    draw,
    table,
)
