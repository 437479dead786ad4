"""The table of what papers say beside what was measured, and the section of one id."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from experiments.report.blocks import Block, Cell, Grid, Picture, Section, Text
from experiments.report.folders import FigureResult
from experiments.report.words import NONE, counted, interval, listed, number, verdict_cell

Json = dict[str, Any]

_HEADER = ("claim", "unit", "paper", "measured", "95 % interval", "asked", "verdict")
_RIGHT = (3, 4)
VERDICT_KEY = (
    "✔ holds: the measured value lies in the band that was chosen beforehand. ≈ direction: not in the band, but the "
    "change has the paper's sign. ✘ differs: neither. ○ measured: the paper gives no number to test. ∅ no data: "
    "trials failed, so there is nothing to judge."
)


def overview_grid(figures: Iterable[tuple[FigureResult, str]]) -> Grid:
    """Every claim of every id; the id leads to its section (given as an anchor)."""
    rows: list[tuple[str | Cell, ...]] = []
    for figure, place in figures:
        claims = figure.verdict.get("claims") or []
        rows += [(Cell(name_of(figure), link=place), *_cells(claim)) for claim in claims]
        if not claims:
            dashes = [NONE] * (len(_HEADER) - 2)
            rows.append(
                (Cell(name_of(figure), link=place), "no claim", *dashes, verdict_cell(figure.verdict.get("verdict")))
            )
    right = tuple(column + 1 for column in _RIGHT)
    return Grid("Paper and measurement, all ids of this page.", ("id", *_HEADER), tuple(rows), right)


def verdict_counts(figures: Iterable[FigureResult]) -> str:
    """How many claims got which verdict, in words.

    Returns
    -------
    str
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
    paper = f"Paper: {verdict['paper']}. " if verdict.get("paper") else ""
    quick = " Quick set-up: fewer pairs and repetitions." if verdict.get("quick") else ""
    blocks.append(Text(f"{paper}Verdict: {verdict_cell(verdict.get('verdict')).text}.{quick}"))
    failed = verdict.get("failed_trials")
    if failed:
        count = len(failed) if isinstance(failed, list) else int(failed)
        blocks.append(
            Text(f"{counted(count, 'trial')} of this figure failed; all are listed with the trials.", "warning")
        )
    caption = str(verdict.get("caption") or "")
    if figure.picture is not None:
        blocks.append(Picture(figure.picture.alt, figure.picture.data, figure.picture.ending, caption))
    else:
        blocks.append(Text("This id has no picture.", "warning"))
    claims = verdict.get("claims") or []
    if claims:
        blocks.append(Grid("Claims", _HEADER, tuple(_cells(claim) for claim in claims), _RIGHT))
    blocks += _notes(claims)
    blocks += _table(verdict.get("table"))
    title = f"{name_of(figure)}: {verdict['title']}" if verdict.get("title") else name_of(figure)
    return Section(title, place, tuple(blocks))


def name_of(figure: FigureResult) -> str:
    """The id."""
    return str(figure.verdict.get("id", "unnamed"))


def _cells(claim: Json) -> tuple[str | Cell, ...]:
    band = claim.get("band")
    low, high = claim.get("low"), claim.get("high")
    if "band" not in claim:
        # Sweeps compute and do not sample: what they give as bounds is what the claim asks.
        band, low, high = interval(low, high), None, None
    return (
        str(claim.get("name", "")),
        str(claim.get("unit") or ""),
        number(claim.get("paper")),
        number(claim.get("measured")),
        interval(low, high),
        NONE if band is None else str(band),
        verdict_cell(claim.get("verdict")),
    )


def _notes(claims: Sequence[Json]) -> list[Text]:
    return [Text(f"{claim.get('name', '')}: {claim['note']}.") for claim in claims if claim.get("note")]


def _table(table: Json | None) -> list[Block]:
    """The table that people read on the terminal, as it is."""
    if not table or not table.get("rows"):
        return []
    header = tuple(str(name) for name in table["header"])
    rows = tuple(tuple(number(value) for value in row) for row in table["rows"])
    return [Grid("By arm", header, rows, right=tuple(range(1, len(header))))]
