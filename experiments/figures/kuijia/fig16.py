"""Figure 16: traffic over a link by priority: high unchanged, low affected directly falls with rescaling only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from experiments.campaign.figure import PaperFigure, Table
from experiments.campaign.kinds.flows import ROWS, FlowsRow
from experiments.campaign.values import Variant
from experiments.campaign.verdicts import MARGIN, AtLeast, Claim, ClaimResult, Within, judge, judge_difference
from experiments.charts import canvas
from experiments.charts.canvas import GRID, INK, PALETTE, say_empty
from experiments.figures.kuijia import testbed
from experiments.figures.kuijia.comparisons import (
    ABOVE,
    CLASSES_TCP,
    HIGH_DIRECT,
    HIGH_VICTIM,
    LOW_DIRECT,
    LOW_VICTIM,
    UNHARMED_PERCENT,
    Values,
    class_trials,
    facts_of,
    points,
)
from experiments.figures.kuijia.measures import (
    SETTLED_S,
    Class,
    Crossing,
    busiest_directions,
    by_rounds,
    chosen,
    crossing,
    demands_of,
    difference,
    staying_change,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


GROUPS = {
    "high, stays": (HIGH_DIRECT, Class("indirect", "high"), Class("none", "high")),
    "high, victims": (HIGH_VICTIM,),
    "low, stays": (LOW_DIRECT, Class("indirect", "low"), Class("none", "low")),
    "low, victims": (LOW_VICTIM,),
}
_GROUP_COLOURS = dict(zip(GROUPS, (PALETTE[0], "#8bb7f7", PALETTE[1], PALETTE[2]), strict=True))


def claims(rows: Sequence[FlowsRow]) -> list[ClaimResult]:
    """Traffic over a link by priority: high unchanged in both; low affected directly falls with rescaling only."""
    directions = busiest_directions(chosen(rows, CLASSES_TCP))
    results = []
    changes: dict[Variant, Values] = {}
    for variant in testbed.VARIANTS:
        title = testbed.VARIANT_NAMES[variant.name]
        for which in (HIGH_DIRECT, HIGH_VICTIM):
            claim = Claim(
                f"change of high-priority {which.kind} traffic of flows over the link, {title}",
                "%",
                "unchanged",
                Within(-2.0, 2.0),
                asks=MARGIN,
            )
            results.append(judge(claim, by_rounds(_change(rows, variant, directions, which))))
        changes[variant] = _change(rows, variant, directions, LOW_DIRECT)
    name = "low-priority directly affected traffic that stays on the link"
    paper = 100.0 * (631.937 / 697.263 - 1)
    results += [
        judge_difference(
            f"change of {name}, Kuijia less rescaling",
            "points",
            ABOVE,
            difference(changes[testbed.KUIJIA], changes[testbed.RESCALING]),
        ),
        judge(Claim(f"change of {name}, rescaling", "%", round(paper, 1)), by_rounds(changes[testbed.RESCALING])),
        judge(
            Claim(f"change of {name}, Kuijia", "%", "none", AtLeast(-UNHARMED_PERCENT), asks=MARGIN),
            by_rounds(changes[testbed.KUIJIA]),
        ),
    ]
    return results


def _change(rows: Sequence[FlowsRow], variant: Variant, directions: Mapping[int, str], which: Class) -> Values:
    """Change (%) of the traffic of a class that crosses its round's link after the failure, since before it."""

    def measure(row: FlowsRow) -> float | None:
        return staying_change(row, directions[row.round], which) if row.round in directions else None

    return points(rows, CLASSES_TCP, variant, measure)


def draw(rows: Sequence[FlowsRow], caption: str) -> Figure:
    """Traffic of flows over the busiest link by priority, before and after the failure; a panel for each demand."""
    own = chosen(rows, CLASSES_TCP)
    directions = busiest_directions(own)
    demands = demands_of(own)
    figure, axes_of = canvas.panels("Kuijia, Figure 16: traffic over a link by priority", max(1, len(demands)))
    if not directions:
        say_empty(axes_of[0])
        return canvas.finish(figure, [], caption)
    for axes, demand in zip(axes_of, demands, strict=True):
        axes.set_title(f"{demand} Mbit/s a pair", color=INK, fontsize=10, loc="left")
        here = [row for row in own if row.parameters.demand_mbps == demand]
        _draw_stacks(axes, here, directions)
    axes_of[0].set_ylabel("Mbit/s (measured times 100)", color=INK)
    highest = max(axes.get_ylim()[1] for axes in axes_of)
    for axes in axes_of:
        axes.set_ylim(0, highest)
    canvas.legend(figure, axes_of[0])
    facts = [
        f"Flows that cross {', '.join(dict.fromkeys(directions.values()))}, measured at their receivers, mean over "
        f"rounds; after: from {SETTLED_S:g} s after the failure on; white: less than before.",
        *facts_of(rows, [CLASSES_TCP]),
    ]
    return canvas.finish(figure, facts, caption)


def _draw_stacks(axes: Axes, rows: Sequence[FlowsRow], directions: Mapping[int, str]) -> None:
    ticks: dict[float, str] = {}
    for place, variant in enumerate(testbed.VARIANTS):
        here = chosen(rows, CLASSES_TCP, variant)
        bottoms = [0.0, 0.0]
        for title, which in reversed(GROUPS.items()):
            means = group_mean(here, directions, which) or (0.0, 0.0)
            for side, mbps in enumerate(means):
                label = title if place == 0 and side == 0 else None
                where = 2.4 * place + side
                axes.bar(where, mbps, 0.8, bottoms[side], color=_GROUP_COLOURS[title], label=label)
                bottoms[side] += mbps
        axes.bar(2.4 * place + 1, max(0.0, bottoms[0] - bottoms[1]), 0.8, bottoms[1], color="none", edgecolor=GRID)
        for shift, name in ((0.0, "before"), (0.5, f"\n{testbed.VARIANT_NAMES[variant.name]}"), (1.0, "after")):
            ticks[2.4 * place + shift] = name
    axes.set_xticks(list(ticks), list(ticks.values()), fontsize=8)
    axes.tick_params(axis="x", length=0)


def table(rows: Sequence[FlowsRow]) -> Table:
    """Traffic of flows over the busiest link by priority, in the paper's Mbit/s; means over rounds."""
    own = chosen(rows, CLASSES_TCP)
    directions = busiest_directions(own)
    found = []
    for demand in demands_of(own):
        for variant in testbed.VARIANTS:
            here = [row for row in chosen(own, CLASSES_TCP, variant) if row.parameters.demand_mbps == demand]
            for title, which in GROUPS.items():
                measured, fluid = (group_mean(here, directions, which, fluid=fluid) for fluid in (False, True))
                if measured is not None and fluid is not None:
                    cells = (measured.before_mbps, measured.after_mbps, fluid.after_mbps)
                    name = f"{title}, {testbed.VARIANT_NAMES[variant.name]}"
                    found.append((name, str(demand), *(f"{cell:.1f}" for cell in cells)))
    header = ("traffic over the link", "Mbit/s a pair", "before Mbit/s", "after Mbit/s", "fluid after Mbit/s")
    return Table(header, tuple(found))


def group_mean(
    rows: Sequence[FlowsRow], directions: Mapping[int, str], which: Sequence[Class], *, fluid: bool = False
) -> Crossing | None:
    """Mean over trials of a group's traffic over its round's link; None without a trial."""
    found = [crossing(row, directions[row.round], which, fluid=fluid) for row in rows if row.round in directions]
    if not found:
        return None
    sums = (sum(each.before_mbps for each in found), sum(each.after_mbps for each in found))
    return Crossing(*(total / len(found) for total in sums))


FIGURE = PaperFigure(
    "kuijia-fig16",
    "kuijia",
    "Figure 16: traffic of every priority over a link",
    class_trials,
    ROWS.on(claims),
    ROWS.on(draw),
    ROWS.on(table),
)
