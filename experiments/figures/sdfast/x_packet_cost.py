"""x-packet-cost: what chains of tables cost a packet, cached and not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from typing import TYPE_CHECKING

from experiments.campaign.figure import PaperFigure, Table
from experiments.campaign.kinds.cost import ROWS, CostRow
from experiments.campaign.statistics import median_interval
from experiments.campaign.values import CampaignPlan, Trial
from experiments.campaign.verdicts import Claim, ClaimResult, judge
from experiments.charts import canvas
from experiments.charts.canvas import GRID, INK, PALETTE, plain_axes
from experiments.figures.sdfast import setup
from experiments.figures.sdfast.comparisons import cell

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


LOOKUPS = {"exact": "cached exactly", "megaflow": "cached by megaflow", "none": "not cached"}
COST_PATHS = {
    "plain": "one rule",
    "group": "FFG: rule and group",
    "two_tables": "two tables",
    "two_tables_group": "two tables and group",
    "cb": "CB: three tables and group",
    "agent": "SD-FAST, untagged",
    "agent_rule": "SD-FAST, agent's rule tags",
    "learned": "SD-FAST learned, untagged",
    "learned_rule": "SD-FAST learned, learned rule tags",
    "cb_turned": "CB turns a packet",
    "cb_tagged": "CB, packet backtracks",
    "learned_tagged": "SD-FAST learned, packet teaches",
}


def trials(plan: CampaignPlan) -> tuple[Trial, ...]:
    """Repetitions of the testbed."""
    return tuple(setup.cost_trials(plan))


def extra_percent(rows: Sequence[CostRow], path: str, lookup: str) -> list[float]:
    """By how much a path costs more than a plain rule looked up the same way (%), repetition by repetition."""
    return _per_repetition(rows, path, lookup, lambda cost, plain: 100 * (cost / plain - 1))


def costs_ns(rows: Sequence[CostRow], path: str, lookup: str) -> list[float]:
    """Nanoseconds a packet, repetition by repetition."""
    return _per_repetition(rows, path, lookup, lambda cost, _plain: cost)


def _per_repetition(
    rows: Sequence[CostRow], path: str, lookup: str, combine: Callable[[float, float], float]
) -> list[float]:
    found = []
    for row in rows:
        costs = {(each.path, each.lookup): each.ns_per_packet for each in row.measured.results}
        if (path, lookup) in costs and ("plain", lookup) in costs:
            found.append(combine(costs[path, lookup], costs["plain", lookup]))
    return found


def claims(rows: Sequence[CostRow]) -> list[ClaimResult]:
    """What chains of tables cost a packet, cached and not."""
    results = []
    for path, lookup in product(("group", "two_tables", "cb", "learned", "agent"), ("exact", "megaflow", "none")):
        values = extra_percent(rows, path, lookup)
        claim = Claim(f"CPU time a packet beyond a plain rule, {path.replace('_', ' ')}, {LOOKUPS[lookup]}", "%")
        median = median_interval(values) if values else None
        results.append(judge(claim, median).with_note(f"median and quartiles of {len(values)} repetitions"))
    return results


def draw(rows: Sequence[CostRow], caption: str) -> Figure:
    """Nanoseconds a packet for every chain of tables: cached, and looked up in the tables packet by packet."""
    figure, axes = canvas.panels("What a packet costs a switch", 2, 5.0)
    paths = [path for path in COST_PATHS if costs_ns(rows, path, "exact")]
    for axis, lookups, title in (
        (axes[0], ("exact", "megaflow"), "cached"),
        (axes[1], ("none",), "not cached: through the tables, packet by packet"),
    ):
        plain_axes(axis)
        axis.grid(False)
        axis.grid(True, axis="x", color=GRID, linewidth=0.7)
        for number, lookup in enumerate(lookups):
            _cost_bars(axis, rows, paths, lookup, (number - (len(lookups) - 1) / 2) * 0.4, height=0.75 / len(lookups))
        axis.set_yticks([-place for place in range(len(paths))], [COST_PATHS[path] for path in paths])
        axis.set_title(title, loc="left", fontsize=10, color=INK)
        axis.set_xlabel("ns of CPU time a packet", color=INK)
        if paths:
            axis.legend(frameon=False, fontsize=8, loc="upper center", bbox_to_anchor=(0.4, -0.12), ncols=2)
    axes[1].tick_params(labelleft=False)
    repetitions = len(rows)
    facts = [f"Userspace datapath; median and quartiles of {repetitions} repetitions; the axes differ."]
    return canvas.finish(figure, facts, caption)


def _cost_bars(
    axes: Axes, rows: Sequence[CostRow], paths: Sequence[str], lookup: str, offset: float, *, height: float
) -> None:
    colour = PALETTE[list(LOOKUPS).index(lookup)]
    for place, path in enumerate(paths):
        values = costs_ns(rows, path, lookup)
        if values:
            middle, low, high = median_interval(values)
            label = LOOKUPS[lookup] if place == 0 else "_"
            axes.barh(-place - offset, middle, height, color=colour, label=label)
            assert low is not None
            assert high is not None
            reach = [[middle - low], [high - middle]]
            axes.errorbar([middle], [-place - offset], xerr=reach, fmt="none", ecolor=INK, elinewidth=1, capsize=2)
            axes.annotate(
                f"{middle:.0f}", (middle, -place - offset), (6, 0), textcoords="offset points", size=7, va="center"
            )


def table(rows: Sequence[CostRow]) -> Table:
    """Nanoseconds a packet, median and quartiles."""
    header = ("path", *(f"{words}, ns" for words in LOOKUPS.values()), "beyond plain, exact, %")
    found = []
    for path, title in COST_PATHS.items():
        values = [costs_ns(rows, path, lookup) for lookup in LOOKUPS]
        if any(values):
            extra = extra_percent(rows, path, "exact")
            cells = [cell(median_interval(each) if each else None, 0) for each in values]
            found.append((title, *cells, cell(median_interval(extra) if extra else None, 1)))
    return Table(header, tuple(found))


FIGURE = PaperFigure(
    "x-packet-cost",
    "beyond",
    "What chains of tables cost a packet, cached and not",
    trials,
    ROWS.on(claims),
    ROWS.on(draw),
    ROWS.on(table),
    with_paper="sd-fast",
)
