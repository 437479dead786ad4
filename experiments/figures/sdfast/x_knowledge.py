"""x-knowledge: from the detection of a failed link until a route knows of it, over all routes and several failures.

A route is a switch and a destination whose usual path crosses the link; it knows when its recovery row is in force, by
Open vSwitch's own flow monitor. The goal was set before anything was measured.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from experiments.campaign.figure import PaperFigure, Table
from experiments.campaign.kinds.knowledge import KIND, KnowledgeRow, read_row
from experiments.campaign.values import CampaignPlan, Json, Trial, Variant
from experiments.campaign.verdicts import MARGIN, AtLeast, AtMost, Claim, ClaimResult, judge
from experiments.charts import canvas
from experiments.charts.canvas import INK
from experiments.figures.sdfast import measures, setup
from experiments.figures.sdfast.comparisons import NOTHING, cell
from experiments.figures.sdfast.setup import COLOURS, LABELS
from mininet_topos.catalogue import load_topology

if TYPE_CHECKING:
    from matplotlib.figure import Figure


GOAL_MS, GOAL_PERCENT = 15.0, 99.0


def trials(plan: CampaignPlan) -> tuple[Trial, ...]:
    """Both modes, one failed link a trial."""
    return tuple(setup.knowledge_trials(plan, setup.BOTH_MODES))


def of_variant(rows: Sequence[Json], variant: Variant, topology: str = setup.DARKSTRAND) -> list[KnowledgeRow]:
    """Good rows of a variant on a topology whose failure was detected."""
    wanted = (KIND.name, variant.name, topology)
    own = (row for row in measures.good_rows(rows) if (row["kind"], row["variant"], row["topology"]) == wanted)
    return [row for row in map(read_row, own) if row.detected_ms is not None]


def times_ms(rows: Sequence[KnowledgeRow]) -> list[float]:
    """From detection until each route knew; one that never did counts as infinitely late."""
    return [np.inf if each.knew_ms is None else each.knew_ms for row in rows for each in row.routes]


def within_percent(row: KnowledgeRow) -> float:
    """Routes of a failure that knew within the goal's time."""
    return 100 * float(np.mean(np.asarray(times_ms([row])) <= GOAL_MS))


def claims(rows: Sequence[Json]) -> list[ClaimResult]:
    """Share of routes that know in time, and notification frames, over failures."""
    results = []
    most_frames = AtMost(2.0 * len(load_topology(setup.DARKSTRAND).link_ids))
    for variant in setup.BOTH_MODES:
        own = of_variant(rows, variant)
        name = f"routes that know within {GOAL_MS:g} ms of detection, {LABELS[variant]}, one link failed"
        share = Claim(name, "%", f"goal: {GOAL_PERCENT:g}", AtLeast(GOAL_PERCENT), asks=MARGIN)
        found = measures.estimate(within_percent(row) for row in own if row.routes)
        note = f"{len(times_ms(own))} routes over {len(own)} failures; {_quantiles_text(own)}"
        results.append(judge(share, found).with_note(note))
        frames = Claim(
            f"notification frames, {LABELS[variant]}, one link failed", "frames", None, most_frames, asks=MARGIN
        )
        most = max((row.notifications for row in own), default=0)
        counted = measures.estimate(float(row.notifications) for row in own)
        results.append(judge(frames, counted).with_note(f"most {most}; the bound is both directions of every link"))
    return results


def _quantiles(rows: Sequence[KnowledgeRow]) -> list[str]:
    """Median, 90th and 99th percentile, and most of the routes' times; what lies beyond all times is "never"."""
    found = times_ms(rows)
    if not found:
        return [NOTHING] * 4
    ranks = np.quantile(found, (0.5, 0.9, 0.99, 1), method="higher")
    return [f"{value:.1f}" if np.isfinite(value) else "never" for value in ranks]


def _quantiles_text(rows: Sequence[KnowledgeRow]) -> str:
    names = ("median", "90th", "99th", "most")
    return ", ".join(f"{name} {value}" for name, value in zip(names, _quantiles(rows), strict=True)) + " (ms)"


def draw(rows: Sequence[Json], caption: str) -> Figure:
    """Share of routes that know, over the time since detection."""
    figure, (axes,) = canvas.panels("Routes that know of a failed link, Darkstrand", 1, 4.4)
    for variant in setup.BOTH_MODES:
        found = np.sort(times_ms(of_variant(rows, variant)))
        finite = found[np.isfinite(found)]
        if len(finite):
            shares = 100 * np.arange(1, len(finite) + 1) / len(found)
            axes.step(finite, shares, where="post", color=COLOURS[variant], label=LABELS[variant])
    if not axes.lines:
        canvas.say_empty(axes)
    axes.axvline(GOAL_MS, color=INK, lw=0.9, ls=":", label=f"goal: {GOAL_PERCENT:g} % by {GOAL_MS:g} ms")
    axes.set_xlabel("ms since detection", color=INK)
    axes.set_ylabel("routes that know, %", color=INK)
    axes.set_ylim(0, 104)
    canvas.legend(figure, axes)
    facts = [
        "A route: a switch and a destination whose usual path crosses the failed link.",
        "It knows when its recovery row is in force, by the flow monitor of its switch.",
    ]
    return canvas.finish(figure, facts, caption)


def table(rows: Sequence[Json]) -> Table:
    """Distribution of the routes' times since detection (ms), and notification frames per failure."""
    counts_of = (f"within {GOAL_MS:g} ms, %", "frames, mean", "frames, most")
    header = ("scheme", "failures", "routes", "median", "90th", "99th", "most", *counts_of)
    found = []
    for variant in setup.BOTH_MODES:
        own = of_variant(rows, variant)
        if own:
            share = cell(measures.estimate(within_percent(row) for row in own if row.routes), 1)
            frames = [row.notifications for row in own]
            counts = (f"{sum(frames) / len(frames):.1f}", str(max(frames)))
            routes = len(times_ms(own))
            found.append((LABELS[variant], str(len(own)), str(routes), *_quantiles(own), share, *counts))
    return Table(header, tuple(found))


FIGURE = PaperFigure(
    "x-knowledge",
    "beyond",
    "Time from detection until a route knows of a failed link; notification frames",
    trials,
    claims,
    draw,
    table,
    with_paper="sd-fast",
)
