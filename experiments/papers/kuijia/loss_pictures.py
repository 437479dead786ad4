"""Pictures of Kuijia's measured losses and convergence: schemes over demand, with what the fluid model gives."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from experiments.campaign.statistics import median_interval
from experiments.campaign.values import Json
from experiments.papers.kuijia import claims, testbed
from experiments.papers.kuijia.measures import (
    LEAST_STEADY_MBPS,
    Choice,
    Class,
    Measure,
    by_demand,
    by_point,
    chosen,
    convergences_s,
    demands_of,
    fluid_lost_percent,
    lost_percent,
    typical_convergence_s,
    whole_convergence_s,
)
from experiments.papers.sdfast.canvas import PAPER, finish, legend, panels, paper_handle, say_empty
from experiments.te.pictures import INK, PALETTE

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = {testbed.KUIJIA: PALETTE[0], testbed.RESCALING: PALETTE[2]}
_MARKS = {testbed.KUIJIA: "o", testbed.RESCALING: "s"}
_SHIFT_MBPS = {testbed.KUIJIA: -12.0, testbed.RESCALING: 12.0}

_DEMAND = "Mbit/s a pair (paper's scale)"

Draw = Callable[[Sequence[Json], str], "Figure"]


def loss_picture(title: str, cases: Mapping[str, tuple[Choice, Class]], band: float | None = None) -> Draw:
    """A panel for each kind of flows: mean loss over demand by scheme, every trial as a dot, the fluid model dashed.

    Parameters
    ----------
    title : str
    cases : mapping of str to (Choice, Class)
        By the title of the panel.
    band : float, optional
        What the paper allows Kuijia (%), as a line.
    """

    def draw(rows: Sequence[Json], caption: str) -> Figure:
        figure, axes_of = panels(title, len(cases))
        for axes, (name, (choice, which)) in zip(axes_of, cases.items(), strict=True):
            axes.set_title(name, color=INK, fontsize=10, loc="left")
            own = chosen(rows, choice)
            if not by_point(own, lost_percent(which)):
                say_empty(axes)
                continue
            _draw_case(axes, own, choice, which)
            if band is not None:
                axes.axhline(band, color=PAPER, lw=1.2, ls=":", zorder=1)
        extra = [_fluid_handle()] + ([paper_handle("band for Kuijia", ":")] if band is not None else [])
        shown = next((axes for axes in axes_of if axes.lines), axes_of[0])
        legend(figure, shown, extra)
        facts = facts_of(rows, [choice for choice, _ in cases.values()])
        return finish(figure, [*facts, "Small dots: trials, where there are several rounds."], caption)

    return draw


def _draw_case(axes: Axes, rows: Sequence[Json], choice: Choice, which: Class) -> None:
    for arm in testbed.ARMS:
        here = chosen(rows, choice, arm)
        _draw_measure(axes, here, arm, lost_percent(which))
        expected = by_demand(by_point(here, fluid_lost_percent(which)))
        rates = [each.value for each in expected.values()]
        axes.plot(list(expected), rates, color=COLOURS[arm], lw=1.2, ls="--", marker="_", markersize=9, zorder=2)
    axes.set_xlabel(_DEMAND, color=INK)
    axes.set_ylabel("lost (%)", color=INK)
    axes.set_xticks(demands_of(rows))
    low, high = axes.get_ylim()
    # Noise of a per cent must not fill a panel.
    axes.set_ylim(min(low, -0.5), max(high, 5.0))
    axes.margins(x=0.08)


def _draw_measure(axes: Axes, rows: Sequence[Json], arm: Any, measure: Measure) -> None:
    """Mean over rounds with its interval, and every trial as a small dot beside."""
    values = by_point(rows, measure)
    estimates = by_demand(values)
    shift = _SHIFT_MBPS[arm]
    places = [demand + shift for demand in estimates]
    means = [estimate.value for estimate in estimates.values()]
    style: dict[str, Any] = {"color": COLOURS[arm], "marker": _MARKS[arm]}
    axes.plot(places, means, lw=1.8, markersize=6, label=testbed.ARM_NAMES[arm.name], zorder=4, **style)
    if len(values) > len(estimates):
        dots = [demand + 2 * shift for _, demand in values]
        axes.plot(dots, list(values.values()), ls="none", markersize=3, alpha=0.45, zorder=3, **style)


def _fluid_handle() -> Any:
    from matplotlib.lines import Line2D

    return Line2D([], [], color=INK, lw=1.2, ls="--", label="fluid model, same allocation")


def facts_of(rows: Sequence[Json], choices: Sequence[Choice]) -> list[str]:
    """What the picture's trials are, in sentences."""
    own = [row for choice in dict.fromkeys(choices) for row in chosen(rows, choice)]
    cut = sorted({f"{row['failed_links'][0]}" for row in own})
    rounds = len({row["round"] for row in own})
    return [
        f"Gscale, {testbed.PAIRS} pairs drawn by lot and one failed link a round ({', '.join(cut)}; rounds: {rounds}).",
        f"Scaled 1:{testbed.SCALE:.0f}: links carry {testbed.LINK_MBPS:g} Mbit/s of payload, flows send "
        f"{100 * testbed.OFFERED_SHARE:.0f} % of their allocation.",
    ]


def draw_convergence(rows: Sequence[Json], caption: str) -> Figure:
    """Left: the median affected flow; middle: until all have settled; right: every flow."""
    figure, axes_of = panels("Kuijia, Table 4: convergence of TCP after the failure", 3)
    own = chosen(rows, claims.TCP)
    measures = (
        ("median flow of a trial", typical_convergence_s),
        ("until all flows have settled", whole_convergence_s),
    )
    if not own:
        for axes in axes_of:
            say_empty(axes)
        return finish(figure, [], caption)
    for axes, (name, measure) in zip(axes_of, measures, strict=False):
        axes.set_title(name, color=INK, fontsize=10, loc="left")
        for arm in testbed.ARMS:
            _draw_measure(axes, chosen(own, claims.TCP, arm), arm, measure)
        axes.set_xlabel(_DEMAND, color=INK)
        axes.set_ylabel("seconds after the cut", color=INK)
        axes.set_xticks(demands_of(own))
        axes.set_ylim(bottom=0)
    axes_of[0].axhline(1.0, color=PAPER, lw=1.2, ls=":", zorder=1)
    _draw_flows(axes_of[2], own)
    legend(figure, axes_of[0], [paper_handle("paper: Kuijia below 1 s", ":")])
    watched_s = own[0]["windows_s"]["after_s"]
    rule = (
        "Rule: from when on the moving mean of 1 s stays within 10 % of the mean of the last 5 s; "
        f"{watched_s:g} s where it never does. Victims and directly affected flows of at least "
        f"{testbed.SCALE * LEAST_STEADY_MBPS:.0f} Mbit/s; victims that end with nothing have no rate to settle at."
    )
    return finish(figure, [*facts_of(rows, [claims.TCP]), rule], caption)


def _draw_flows(axes: Axes, rows: Sequence[Json]) -> None:
    """Share of flows that have settled, over time."""
    axes.set_title("flows that have settled", color=INK, fontsize=10, loc="left")
    for arm in testbed.ARMS:
        values = sorted(value for row in chosen(rows, claims.TCP, arm) for value in convergences_s(row))
        if values:
            share = [100.0 * (number + 1) / len(values) for number in range(len(values))]
            middle = median_interval(values)
            axes.step([0.0, *values], [0.0, *share], where="post", color=COLOURS[arm], lw=1.6)
            axes.plot([middle.value], [50.0], marker=_MARKS[arm], color=COLOURS[arm])
    axes.set_xlabel("seconds after the cut", color=INK)
    axes.set_ylabel("flows (%)", color=INK)
    axes.set_ylim(0, 101)
    axes.set_xlim(left=-0.2)
