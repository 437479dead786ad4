"""What Kuijia's measured ids share: Kuijia beside rescaling, losses over demand as picture and table."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from experiments.campaign.draws import tunnel_traffic
from experiments.campaign.figure import PaperFigure, Table
from experiments.campaign.kinds.flows import ROWS, FlowsRow
from experiments.campaign.statistics import Estimate, median_interval
from experiments.campaign.values import CampaignPlan, Trial, Variant
from experiments.campaign.verdicts import ClaimResult
from experiments.charts import canvas
from experiments.charts.canvas import INK, PALETTE, PAPER, paper_handle, say_empty
from experiments.figures.kuijia import testbed
from experiments.figures.kuijia.measures import (
    Choice,
    Class,
    Measure,
    Point,
    by_demand,
    by_point,
    chosen,
    demands_of,
    flows_of,
    fluid_lost_percent,
    lost_percent,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


TCP, UDP = Choice("tcp"), Choice("udp")
CLASSES_TCP = Choice("tcp", tunnel_traffic.FOUR)
DIRECT, VICTIM, INDIRECT = Class("direct"), Class("victim"), Class("indirect")
UNHARMED_PERCENT = 3.0  # lost by flows that the paper says lose nothing, or little
LOW_DIRECT, LOW_VICTIM = Class("direct", "low"), Class("victim", "low")
HIGH_DIRECT, HIGH_VICTIM = Class("direct", "high"), Class("victim", "high")
GROWS, ABOVE = "grows with demand", "in this order"
Values = Mapping[Point, float]
COLOURS = {testbed.KUIJIA: PALETTE[0], testbed.RESCALING: PALETTE[2]}
MARKS = {testbed.KUIJIA: "o", testbed.RESCALING: "s"}
_SHIFT_MBPS = {testbed.KUIJIA: -12.0, testbed.RESCALING: 12.0}
DEMAND = "Mbit/s a pair (paper's scale)"
Draw = Callable[[Sequence[FlowsRow], str], "Figure"]
MakeTable = Callable[[Sequence[FlowsRow]], Table]
_PAIRED = tuple(
    f"{testbed.VARIANT_NAMES[variant.name]}: {what}" for variant in testbed.VARIANTS for what in ("lost %", "fluid %")
)


def tcp_trials(plan: CampaignPlan) -> tuple[Trial, ...]:
    """TCP on Gscale, one class."""
    return testbed.gscale_trials(plan, "tcp")


def udp_trials(plan: CampaignPlan) -> tuple[Trial, ...]:
    """UDP on Gscale, one class."""
    return testbed.gscale_trials(plan, "udp")


def class_trials(plan: CampaignPlan) -> tuple[Trial, ...]:
    """TCP on Gscale, two classes with queues of their own."""
    return testbed.gscale_trials(plan, "tcp", tunnel_traffic.FOUR)


def points(rows: Sequence[FlowsRow], choice: Choice, variant: Variant, measure: Measure) -> Values:
    """A measure of every trial of a variant."""
    return by_point(chosen(rows, choice, variant), measure)


def both(rows: Sequence[FlowsRow], choice: Choice, measure: Measure) -> tuple[Values, Values]:
    """A measure under Kuijia and under rescaling."""
    kuijia, rescaling = (points(rows, choice, variant, measure) for variant in testbed.VARIANTS)
    return kuijia, rescaling


def median_of(values: Sequence[float]) -> Estimate | None:
    """Median with its quartiles; None without values."""
    return median_interval(values) if values else None


def loss_figure(
    name: str,
    title: str,
    trials: Callable[[CampaignPlan], tuple[Trial, ...]],
    judged: Callable[[Sequence[FlowsRow]], list[ClaimResult]],
    cases: Mapping[str, tuple[Choice, Class]],
    *,
    band: float | None = None,
) -> PaperFigure:
    """An id whose picture and table are losses over demand."""
    heading = f"Kuijia, {title}"
    return PaperFigure(
        f"kuijia-{name}",
        "kuijia",
        title,
        trials,
        ROWS.on(judged),
        ROWS.on(loss_picture(heading, cases, band)),
        ROWS.on(loss_table(cases)),
    )


def loss_picture(title: str, cases: Mapping[str, tuple[Choice, Class]], band: float | None = None) -> Draw:
    """A panel for each kind of flows: mean loss over demand by scheme, every trial as a dot, the fluid model dashed.

    Parameters
    ----------
    cases : mapping of str to (Choice, Class)
        By the title of the panel.
    band
        What the paper allows Kuijia (%), as a line.
    """

    def draw(rows: Sequence[FlowsRow], caption: str) -> Figure:
        figure, axes_of = canvas.panels(title, len(cases))
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
        canvas.legend(figure, shown, extra)
        facts = facts_of(rows, [choice for choice, _ in cases.values()])
        return canvas.finish(figure, [*facts, "Small dots: trials, where there are several rounds."], caption)

    return draw


def _draw_case(axes: Axes, rows: Sequence[FlowsRow], choice: Choice, which: Class) -> None:
    for variant in testbed.VARIANTS:
        here = chosen(rows, choice, variant)
        draw_measure(axes, here, variant, lost_percent(which))
        expected = by_demand(by_point(here, fluid_lost_percent(which)))
        rates = [each.value for each in expected.values()]
        axes.plot(list(expected), rates, color=COLOURS[variant], lw=1.2, ls="--", marker="_", markersize=9, zorder=2)
    axes.set_xlabel(DEMAND, color=INK)
    axes.set_ylabel("lost (%)", color=INK)
    axes.set_xticks(demands_of(rows))
    low, high = axes.get_ylim()
    # Noise of a per cent must not fill a panel.
    axes.set_ylim(min(low, -0.5), max(high, 5.0))
    axes.margins(x=0.08)


def draw_measure(axes: Axes, rows: Sequence[FlowsRow], variant: Any, measure: Measure) -> None:
    """Mean over rounds with its interval, and every trial as a small dot beside."""
    values = by_point(rows, measure)
    estimates = by_demand(values)
    shift = _SHIFT_MBPS[variant]
    places = [demand + shift for demand in estimates]
    means = [estimate.value for estimate in estimates.values()]
    style: dict[str, Any] = {"color": COLOURS[variant], "marker": MARKS[variant]}
    axes.plot(places, means, lw=1.8, markersize=6, label=testbed.VARIANT_NAMES[variant.name], zorder=4, **style)
    if len(values) > len(estimates):
        dots = [demand + 2 * shift for _, demand in values]
        axes.plot(dots, list(values.values()), ls="none", markersize=3, alpha=0.45, zorder=3, **style)


def _fluid_handle() -> Any:
    from matplotlib.lines import Line2D

    return Line2D([], [], color=INK, lw=1.2, ls="--", label="fluid model, same allocation")


def facts_of(rows: Sequence[FlowsRow], choices: Sequence[Choice]) -> list[str]:
    """What the picture's trials are, in sentences."""
    own = [row for choice in dict.fromkeys(choices) for row in chosen(rows, choice)]
    failed = sorted({row.measured.failed_links[0] for row in own})
    rounds = len({row.round for row in own})
    scales = sorted({(row.parameters.scale, row.parameters.transport.upper()) for row in own})
    ratios = " and ".join(f"1:{scale:.0f} ({transport})" for scale, transport in scales)
    links = " and ".join(f"{tunnel_traffic.LINK_MBPS / scale:g}" for scale, _ in scales)
    return [
        f"Gscale, {tunnel_traffic.PAIRS} random pairs and one failed link a round "
        f"({', '.join(failed)}; rounds: {rounds}).",
        f"Scaled {ratios}: links carry {links} Mbit/s of payload, flows send "
        f"{100 * testbed.OFFERED_SHARE:.0f} % of their allocation.",
    ]


def loss_table(cases: Mapping[str, tuple[Choice, Class]]) -> MakeTable:
    """Mean loss by flows and demand, for both schemes.

    Parameters
    ----------
    cases : mapping of str to (Choice, Class)
        What the first column calls them.
    """

    def table(rows: Sequence[FlowsRow]) -> Table:
        found = []
        for title, (choice, which) in cases.items():
            own = chosen(rows, choice)
            values = {
                (variant, fluid): by_demand(by_point(chosen(own, choice, variant), measure(which)))
                for variant in testbed.VARIANTS
                for fluid, measure in ((False, lost_percent), (True, fluid_lost_percent))
            }
            for demand in demands_of(own):
                cells = (
                    cell(values[variant, fluid].get(demand)) for variant in testbed.VARIANTS for fluid in (False, True)
                )
                here = [row for row in own if row.parameters.demand_mbps == demand]
                flows = sum(len(flows_of(row, which)) for row in here) / max(1, len(here))
                found.append((title, str(demand), *cells, f"{flows:.0f}", str(len(here))))
        return Table(("flows", "Mbit/s a pair", *_PAIRED, "flows a trial", "trials"), tuple(found))

    return table


def cell(estimate: Estimate | None, digits: int = 2) -> str:
    """An estimate's value as text; empty without one."""
    return "" if estimate is None else f"{estimate.value:.{digits}f}"
