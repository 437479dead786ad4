"""The table of what papers say beside what was measured, and the section of one id."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from experiments.campaign.verdicts import MEASURED
from experiments.report.blocks import Block, Cell, Facts, Fold, Grid, Picture, Section, Text
from experiments.report.folders import FigureResult
from experiments.report.words import NONE, interval, listed, number, verdict_cell
from mininet_topos.wording import counted

Json = dict[str, Any]

_HEADER = ("claim", "verdict", "paper", "measured (interval)", "unit", "band")
# Columns that hold sentences; behind a column for the id they are one further.
_WIDE = (0, 3)
MAX_OPEN_ROWS = 45
VERDICT_KEY = (
    "✔ holds: the measured value lies in the band that was chosen beforehand, and its interval excludes that nothing "
    "changes; for equalities and bounds the whole interval lies in the band. ≈ direction: not in the band, but the "
    "change has the paper's sign. ? undecided: too few trials, the interval leaves it open. ✘ differs: the measurement "
    "contradicts the claim. ≡ by construction: true by definition or formula. ○ measured: the paper gives no number to "
    "test. ∅ no data: trials failed, so there is nothing to judge. Intervals: 95 % confidence for all that is judged, "
    "quartiles for medians beside."
)


def overview_grid(figures: Iterable[tuple[FigureResult, str]]) -> Grid:
    """Every claim of every id that was judged; the id leads to its section (given as an anchor)."""
    rows: list[tuple[str | Cell, ...]] = []
    for figure, place in figures:
        judged, beside = _parted(figure.verdict)
        rows += [(Cell(name_of(figure), link=place), *_cells(claim)) for claim in judged]
        if not judged:
            verdict = verdict_cell(figure.verdict.get("verdict"))
            words = counted(len(beside), "comparison") if beside else "no claim"
            rows.append((Cell(name_of(figure), link=place), words, verdict, *[NONE] * (len(_HEADER) - 2)))
    wide = tuple(column + 1 for column in _WIDE)
    title = "Paper and measurement, all ids of this page. Comparisons without a band stand with their ids."
    return Grid(title, ("id", *_HEADER), tuple(rows), wide=wide)


def _parted(verdict: Json) -> tuple[list[Json], list[Json]]:
    """Claims that were judged, and comparisons for which the paper gives nothing to judge by."""
    claims = verdict.get("claims") or []
    judged = [claim for claim in claims if claim.get("verdict") != MEASURED]
    return judged, [claim for claim in claims if claim.get("verdict") == MEASURED]


def verdict_counts(figures: Iterable[FigureResult]) -> str:
    """How many claims got which verdict, in words.

    Returns
    -------
    For example "12 claims: 9 holds, 2 direction and 1 measured"; empty without claims.
    """
    words = [
        verdict_cell(claim.get("verdict")).text for figure in figures for claim in figure.verdict.get("claims") or []
    ]
    if not words:
        return ""
    counts = Counter(words)
    return f"{counted(len(words), 'claim')}: {listed(f'{count} {word}' for word, count in counts.most_common())}"


def figure_section(figure: FigureResult, place: str) -> Section:
    """Picture, claims and table of one id."""
    verdict = figure.verdict
    blocks: list[Block] = []
    paper = {None: "", "beyond": "Beyond the papers. "}.get(verdict.get("paper"), f"Paper: {verdict.get('paper')}. ")
    quick = " Quick set-up: fewer pairs and repetitions." if verdict.get("quick") else ""
    blocks.append(Text(f"{paper}Verdict: {verdict_cell(verdict.get('verdict')).text}.{quick}"))
    blocks += _failed(verdict)
    if figure.picture is not None:
        # The caption stands in the picture; the alternative text repeats it.
        caption = " ".join(str(verdict.get("caption") or "").split())
        alt = f"{figure.picture.alt}. {caption}".rstrip(". ") + "."
        blocks.append(Picture(alt, figure.picture.data, figure.picture.ending))
    else:
        blocks.append(Text("This id has no picture.", "warning"))
    judged, beside = _parted(verdict)
    blocks += _claims("Claims", judged)
    blocks += _table(verdict.get("table"))
    if beside:
        words = f"{counted(len(beside), 'comparison')} for which the paper gives no band"
        blocks.append(Fold(words, tuple(_claims("Comparisons without a band", beside))))
    title = f"{name_of(figure)}: {verdict['title']}" if verdict.get("title") else name_of(figure)
    return Section(title, place, tuple(blocks))


def _claims(title: str, claims: Sequence[Json]) -> list[Block]:
    """Claims, and the remarks on them."""
    if not claims:
        return []
    return [Grid(title, _HEADER, tuple(_cells(claim) for claim in claims), wide=_WIDE), *_notes(claims)]


def name_of(figure: FigureResult) -> str:
    """The id."""
    return str(figure.verdict.get("id", "unnamed"))


def _cells(claim: Json) -> tuple[str | Cell, ...]:
    band = claim.get("band")
    low, high = claim.get("low"), claim.get("high")
    if "band" not in claim:
        # Sweeps compute and do not sample: what they give as bounds is what the claim asks.
        band, low, high = interval(low, high), None, None
    bounds = "" if low is None and high is None else f" ({interval(low, high)})"
    return (
        str(claim.get("name", "")),
        verdict_cell(claim.get("verdict")),
        number(claim.get("paper")),
        number(claim.get("measured")) + bounds,
        str(claim.get("unit") or ""),
        NONE if band is None else str(band),
    )


def _failed(verdict: Json) -> list[Block]:
    """Trials that this id lacks, by name and reason where the verdict tells them."""
    count, named = int(verdict.get("failed_trials") or 0), verdict.get("failed") or []
    if not count:
        return []
    text = f"{counted(count, 'trial')} of {number(verdict.get('trials'))} failed or did not run."
    if not named:
        return [Text(text, "warning")]
    rows = tuple((str(trial.get("trial", "")), str(trial.get("error", ""))) for trial in named)
    grid = Grid("Trials without a result, and why.", ("trial", "reason"), rows, wide=(1,))
    return [Text(text, "warning"), Fold("Their names, and why", (grid,))]


def _notes(claims: Sequence[Json]) -> list[Block]:
    """Each remark once, with the claims that it belongs to."""
    having: dict[str, list[str]] = {}
    for claim in claims:
        if claim.get("note"):
            having.setdefault(str(claim["note"]), []).append(str(claim.get("name", "")))
    if not having:
        return []
    facts = tuple(
        (listed(names) if len(names) < 3 else counted(len(names), "claim"), note) for note, names in having.items()
    )
    return [Text("Notes on the claims:"), Facts(facts)]


def _table(table: Json | None) -> list[Block]:
    """The table that people read on the terminal, as it is; a long one is folded."""
    if not table or not table.get("rows"):
        return []
    header = tuple(str(name) for name in table["header"])
    rows = tuple(tuple(number(value) for value in row) for row in table["rows"])
    grid = Grid("Numbers behind the figure.", header, rows, right=tuple(range(1, len(header))))
    return [grid] if len(rows) <= MAX_OPEN_ROWS else [Fold(f"All numbers ({counted(len(rows), 'row')})", (grid,))]
