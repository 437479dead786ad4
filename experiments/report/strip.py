"""The stages of a recovery as a strip: one row a run, time in milliseconds after the failure, as SVG text."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

from experiments.analysis.timeline import STAGES, stage_label
from experiments.charts.labels import spread_labels

INK, FAINT, FAILURE, MARK = "#24292f", "#57606a", "#cf222e", "#0b5cad"
WIDTH, LEFT, RIGHT, ROW, FOOT = 960.0, 128.0, 44.0, 84.0, 34.0
# Labels are at least this far apart; the longest word is about this wide in 11 point letters.
_GAP = 76.0


@dataclass(frozen=True, slots=True)
class StripRow:
    """A run's name and its stages (ms after the failure; None where a stage never came)."""

    name: str
    stages_ms: Mapping[str, float | None]


def strip_svg(rows: Sequence[StripRow]) -> str:
    """SVG of the rows, all on one time axis.

    Parameters
    ----------
    rows
        At least one.
    """
    end_ms = axis_end([value for row in rows for value in row.stages_ms.values() if value is not None])
    height = ROW * len(rows) + FOOT
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH:g} {height:g}" width="{WIDTH:g}" '
        f'height="{height:g}" font-family="Helvetica, Arial, sans-serif" font-size="11">',
        f'<rect width="{WIDTH:g}" height="{height:g}" fill="#ffffff"/>',
    ]
    for place, row in enumerate(rows):
        parts += _row(row, place * ROW, end_ms)
    parts += _axis(ROW * len(rows), end_ms)
    return "".join([*parts, "</svg>"])


def axis_end(values: Sequence[float]) -> float:
    """End of the time axis: a round number that is not less than any value.

    Examples
    --------
    >>> axis_end([13.2, 18.3]), axis_end([]), axis_end([100.0])
    (20.0, 1.0, 100.0)
    """
    highest = max([*values, 0.0])
    if highest < sys.float_info.min:  # nothing, or less than a power of ten can tell
        return 1.0
    unit = 10.0 ** math.floor(math.log10(highest))
    return next(step * unit for step in (1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0) if step * unit >= highest)


def _row(row: StripRow, top: float, end_ms: float) -> list[str]:
    base = top + ROW - 14
    given = {name: value for name, value in row.stages_ms.items() if value is not None and name in STAGES}
    marks = sorted(given.items(), key=lambda mark: mark[1])
    parts = [
        f'<text x="8" y="{base + 4:g}" fill="{INK}" font-weight="bold">{plain(row.name)}</text>',
        f'<line x1="{LEFT:g}" y1="{base:g}" x2="{WIDTH - RIGHT:g}" y2="{base:g}" stroke="#a8b3bf" stroke-width="2"/>',
        f'<path d="M{LEFT:g} {base - 9:g}v18" stroke="{FAILURE}" stroke-width="2.5"/>',
    ]
    if not marks:
        parts.append(
            f'<text x="{LEFT + 12:g}" y="{base - 14:g}" fill="{FAINT}">no packet of the probes was affected</text>'
        )
    xs = [_x(value, end_ms) for _, value in marks]
    places = spread_labels(xs, _GAP, (LEFT + 30, WIDTH - RIGHT))
    for (name, value), x, place in zip(marks, xs, places, strict=True):
        parts += _mark(stage_label(name), value, (x, place, base))
    return parts


def _mark(word: str, value_ms: float, where: tuple[float, float, float]) -> list[str]:
    """One stage: a dot on the row, its label above, and a line that joins them."""
    x, place, base = where
    return [
        f'<path d="M{x:.1f} {base:g}L{x:.1f} {base - 12:g}L{place:.1f} {base - 24:g}" fill="none" stroke="{FAINT}"/>',
        f'<circle cx="{x:.1f}" cy="{base:g}" r="4.5" fill="{MARK}" stroke="#ffffff"/>',
        f'<text x="{place:.1f}" y="{base - 41:g}" text-anchor="middle" fill="{FAINT}">{word}</text>',
        f'<text x="{place:.1f}" y="{base - 28:g}" text-anchor="middle" fill="{INK}">{value_ms:.1f}</text>',
    ]


def _axis(top: float, end_ms: float) -> list[str]:
    parts = []
    for number in range(6):
        value = end_ms * number / 5
        x = _x(value, end_ms)
        parts.append(f'<path d="M{x:.1f} {top:g}v5" stroke="{FAINT}"/>')
        parts.append(f'<text x="{x:.1f}" y="{top + 18:g}" text-anchor="middle" fill="{FAINT}">{value:g}</text>')
    parts.append(f'<text x="8" y="{top + 18:g}" fill="{FAINT}">ms after the failure</text>')
    return parts


def _x(value_ms: float, end_ms: float) -> float:
    return LEFT + (WIDTH - LEFT - RIGHT) * max(value_ms, 0.0) / end_ms


def plain(text: str) -> str:
    """Text for SVG: escaped, without characters that XML cannot hold."""
    return escape("".join(letter for letter in text if letter >= " " and letter not in "\x7f\ufffe\uffff"))
