"""Rounds of a torture or a drill over time: how long each took until all was right, or until requests were answered."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass

from experiments.charts.canvas import INK, PALETTE, panels

_DPI = 120
_VIOLATED = PALETTE[5]


@dataclass(frozen=True)
class Rounds:
    """What is drawn.

    Attributes
    ----------
    title, what
        Of the picture and of its vertical axis, with a unit.
    at_min, value
        Of each round: minutes since the beginning, and its outcome (None: there is none).
    violated
        Whether something did not hold after the round.
    bound
        Drawn as a line; None: there is none.
    """

    title: str
    what: str
    at_min: Sequence[float]
    value: Sequence[float | None]
    violated: Sequence[bool]
    bound: float | None = None


def rounds_png(rounds: Rounds) -> bytes:
    """A dot for each round; where something did not hold, a cross.

    Raises
    ------
    MissingRequirementError
        matplotlib is not installed.
    """
    figure, (axes,) = panels(rounds.title, 1, 3.4)
    for violated, mark, color, size in ((False, "o", PALETTE[0], 4), (True, "x", _VIOLATED, 8)):
        shown = [
            (at_min, 0.0 if value is None else value)
            for at_min, value, is_violated in zip(rounds.at_min, rounds.value, rounds.violated, strict=True)
            if is_violated == violated and (violated or value is not None)
        ]
        axes.plot([x for x, _ in shown], [y for _, y in shown], mark, color=color, markersize=size, alpha=0.75)
    if rounds.bound is not None:
        axes.axhline(rounds.bound, color=_VIOLATED, linewidth=1, linestyle="--")
    axes.set_ylim(bottom=0)
    axes.set_xlabel("minutes since the beginning", color=INK, fontsize=9)
    axes.set_ylabel(rounds.what, color=INK, fontsize=9)
    data = io.BytesIO()
    figure.savefig(data, format="png", dpi=_DPI)
    return data.getvalue()
