"""Pictures of Kuijia's measured rates: Tables 2 and 3 as throughput over time, Figure 16 as traffic over a link."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from experiments.campaign.values import Json
from experiments.papers.kuijia import claims, tables, testbed
from experiments.papers.kuijia.loss_pictures import facts_of
from experiments.papers.kuijia.measures import SETTLED_S, busiest_directions, chosen, demands_of, seconds_of
from experiments.papers.sdfast.canvas import finish, legend, panels, say_empty
from experiments.te.pictures import GRID, INK, PALETTE

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_FLOW_COLOURS = {"f1": PALETTE[2], "f2": PALETTE[4], "f3": PALETTE[0], "f4": PALETTE[3]}
_GROUP_COLOURS = dict(zip(tables.GROUPS, (PALETTE[0], "#8bb7f7", PALETTE[1], PALETTE[2]), strict=True))
_SMOOTH = 5  # samples of a tenth of a second


def figure1_picture(table: str, title: str) -> Callable[[Sequence[Json], str], Figure]:
    """Throughput of f1 to f4 over time, a panel for each scheme; the fluid model's end dashed."""

    def draw(rows: Sequence[Json], caption: str) -> Figure:
        figure, axes_of = panels(title, 2)
        for axes, arm in zip(axes_of, (testbed.RESCALING, testbed.KUIJIA), strict=True):
            axes.set_title(testbed.ARM_NAMES[arm.name], color=INK, fontsize=10, loc="left")
            here = [row for row in chosen(rows, claims.FIGURE1, arm) if row["parameters"].get("table") == table]
            if not here:
                say_empty(axes)
                continue
            _draw_flows(axes, here[0])
        shown = next((axes for axes in axes_of if axes.lines), axes_of[0])
        legend(figure, shown)
        facts = [
            f"Figure 1's network, scaled 1:{testbed.SCALE:.0f}, links of "
            f"{testbed.LINK_MBPS * testbed.TABLE_HEADROOM[table]:g} Mbit/s of frames; s2-s4 is cut at 0, and with it "
            "the tunnel of f1 and f2; f1 goes over to the tunnel of f3, f2 to that of f4.",
            "First round; means of half a second at the receiver; dashed: the fluid model's rate after the failure.",
        ]
        return finish(figure, facts, caption)

    return draw


def _draw_flows(axes: Axes, row: Json) -> None:
    for flow in row["flows"]:
        name, colour = flow["name"], _FLOW_COLOURS[flow["name"]]
        samples = [testbed.SCALE * sample for sample in flow["samples_mbps"]]
        means = [sum(samples[at : at + _SMOOTH]) / _SMOOTH for at in range(len(samples) - _SMOOTH + 1)]
        seconds = seconds_of(flow)
        middle = seconds[_SMOOTH // 2 : _SMOOTH // 2 + len(means)]
        axes.plot(middle, means, color=colour, lw=1.4, label=name)
        fluid = testbed.SCALE * row["fluid"][name]["after_mbps"]
        axes.plot([0.0, seconds[-1]], [fluid, fluid], color=colour, lw=1.0, ls="--", zorder=1)
    axes.axvline(0.0, color=INK, lw=1.0, ls=":")
    axes.set_xlabel("seconds after the cut", color=INK)
    axes.set_ylabel("Mbit/s (measured times 100)", color=INK)
    axes.set_ylim(bottom=0)


def draw_fig16(rows: Sequence[Json], caption: str) -> Figure:
    """Traffic of flows over the busiest link by priority, before and after the failure; a panel for each demand."""
    own = chosen(rows, claims.CLASSES_TCP)
    directions = busiest_directions(own)
    demands = demands_of(own)
    figure, axes_of = panels("Kuijia, Figure 16: traffic over a link by priority", max(1, len(demands)))
    if not directions:
        say_empty(axes_of[0])
        return finish(figure, [], caption)
    for axes, demand in zip(axes_of, demands, strict=True):
        axes.set_title(f"{demand} Mbit/s a pair", color=INK, fontsize=10, loc="left")
        here = [row for row in own if row["parameters"]["demand_mbps"] == demand]
        _draw_stacks(axes, here, directions)
    axes_of[0].set_ylabel("Mbit/s (measured times 100)", color=INK)
    highest = max(axes.get_ylim()[1] for axes in axes_of)
    for axes in axes_of:
        axes.set_ylim(0, highest)
    legend(figure, axes_of[0])
    facts = [
        f"Flows that cross {', '.join(dict.fromkeys(directions.values()))}, measured at their receivers, mean over "
        f"rounds; after: from {SETTLED_S:g} s after the cut on; white: less than before.",
        *facts_of(rows, [claims.CLASSES_TCP]),
    ]
    return finish(figure, facts, caption)


def _draw_stacks(axes: Axes, rows: Sequence[Json], directions: Mapping[int, str]) -> None:
    ticks: dict[float, str] = {}
    for place, arm in enumerate(testbed.ARMS):
        here = chosen(rows, claims.CLASSES_TCP, arm)
        bottoms = [0.0, 0.0]
        for title, which in reversed(tables.GROUPS.items()):
            means = tables.group_mean(here, directions, which) or (0.0, 0.0)
            for side, mbps in enumerate(means):
                label = title if place == 0 and side == 0 else None
                where = 2.4 * place + side
                axes.bar(where, mbps, 0.8, bottoms[side], color=_GROUP_COLOURS[title], label=label)
                bottoms[side] += mbps
        axes.bar(2.4 * place + 1, max(0.0, bottoms[0] - bottoms[1]), 0.8, bottoms[1], color="none", edgecolor=GRID)
        for shift, name in ((0.0, "before"), (0.5, f"\n{testbed.ARM_NAMES[arm.name]}"), (1.0, "after")):
            ticks[2.4 * place + shift] = name
    axes.set_xticks(list(ticks), list(ticks.values()), fontsize=8)
    axes.tick_params(axis="x", length=0)
