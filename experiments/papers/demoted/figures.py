"""The id `x-demoted` and its picture: rates over time around the cut, with and without demotion."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from experiments.campaign.values import Json
from experiments.flows.values import BIN_S
from experiments.papers.demoted import measures, setup
from experiments.papers.demoted.setup import QUEUES, VICTIM
from experiments.papers.figure import PaperFigure
from experiments.papers.sdfast.canvas import PAPER, finish, legend, panels, say_empty
from experiments.te.pictures import INK, PALETTE

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_SMOOTH = 5  # samples of a moving mean: half a second
_EDGE_S = BIN_S * _SMOOTH / 2


def draw_demoted(rows: Sequence[Json], caption: str) -> Figure:
    """A panel for each set-up of queues: share of its rate that every flow gets, over time."""
    figure, both = panels("SD-FAST beyond the papers: recovered traffic on links that others fill", len(QUEUES))
    for axes, (queues, words) in zip(both, QUEUES.items(), strict=True):
        axes.set_title(words, color=INK, fontsize=10, loc="left")
        _draw(axes, measures.own_rows(rows, queues))
    legend(figure, next((axes for axes in both if axes.lines), both[0]))
    cases = max((len(measures.own_rows(rows, queues)) for queues in QUEUES), default=0)
    facts = [
        f"Darkstrand, links of {setup.LINK_MBPS:g} Mbit/s, {cases} cases; a victim of {setup.VICTIM_MBPS:g} Mbit/s "
        f"goes around a failed link, over links that flows of {setup.OTHERS_MBPS:g} Mbit/s fill. UDP, half-second "
        "means. Thin: every flow; thick: mean over flows. Packets with a failure tag wait in the victim queue (left), "
        "or they do not (right).",
    ]
    return finish(figure, facts, caption)


def _draw(axes: Axes, rows: Sequence[Json]) -> None:
    flows = [flow for row in rows for flow in row["flows"]]
    if not flows:
        say_empty(axes)
        return
    shown_s = np.arange(-setup.TIMING.before_s, setup.TIMING.total_s - setup.TIMING.before_s - _EDGE_S, BIN_S)
    for name, colour, of_name in (
        ("other flows", PALETTE[0], [flow for flow in flows if flow["name"] != VICTIM]),
        ("victim", PALETTE[2], [flow for flow in flows if flow["name"] == VICTIM]),
    ):
        shares = [share_over_time(flow) for flow in of_name]
        for seconds, values in shares:
            axes.plot(seconds, values, color=colour, lw=0.5, alpha=0.45)
        known = np.array([np.interp(shown_s, *share, left=np.nan, right=np.nan) for share in shares if share[0]])
        seen = ~np.isnan(known).all(axis=0)
        axes.plot(shown_s[seen], np.nanmean(known[:, seen], axis=0), color=colour, lw=2.2, label=name)
    axes.axvline(0.0, color=PAPER, lw=1.2, ls=":", label="cut")
    axes.set_xlabel("seconds since the cut", color=INK)
    axes.set_ylabel("received (% of what is sent)", color=INK)
    axes.set_xlim(shown_s[0], shown_s[-1])
    axes.set_ylim(0, 115)


def share_over_time(flow: Json) -> tuple[list[float], list[float]]:
    """Seconds since the cut, and the moving mean of what a flow receives (% of what it offers)."""
    samples = np.asarray(flow["samples_mbps"], dtype=np.float64)
    if len(samples) < _SMOOTH:
        return [], []
    smooth = np.convolve(samples, np.ones(_SMOOTH) / _SMOOTH, mode="valid")
    first_s = flow["start_ms"] / 1000.0 + _EDGE_S
    seconds = first_s + BIN_S * np.arange(len(smooth))
    return seconds.tolist(), (100.0 * smooth / flow["offered_mbps"]).tolist()


FIGURES = (
    PaperFigure(
        setup.ID,
        "beyond",
        "Beyond: SD-FAST with recovered traffic in the victim queue; who loses on full links",
        setup.trials,
        measures.claims,
        draw_demoted,
        measures.table,
    ),
)
