"""Tables 2 and 3: throughput of the four flows of section 3, with room on the other tunnels and without."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from experiments.campaign.draws import tunnel_traffic
from experiments.campaign.figure import PaperFigure, Table
from experiments.campaign.kinds.flows import ROWS, FlowsRow
from experiments.campaign.rows import of_variant
from experiments.campaign.statistics import Estimate, mean_interval
from experiments.campaign.verdicts import CHANGE, MARGIN, AtMost, Band, Claim, ClaimResult, Within, around, judge
from experiments.charts import canvas
from experiments.charts.canvas import INK, PALETTE, say_empty
from experiments.figures.kuijia import testbed
from experiments.figures.kuijia.comparisons import MakeTable, cell
from experiments.figures.kuijia.measures import Choice, Point, chosen, seconds_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


ABORIGINAL, VICTIMS = ("f3", "f4"), ("f1", "f2")
_FLOW_COLOURS = {"f1": PALETTE[2], "f2": PALETTE[4], "f3": PALETTE[0], "f4": PALETTE[3]}
_SCALE = tunnel_traffic.SCALE
_SMOOTH = 5  # samples of a tenth of a second
Groups = Mapping[str, Sequence[FlowsRow]]
"""Rows by the name of what they have in common."""
Grouped = Callable[[Sequence[FlowsRow]], Groups]


def table2(rows: Sequence[FlowsRow]) -> list[ClaimResult]:
    """800, 800 and 400 + 400 Mbit/s: Kuijia leaves f3 and f4 whole, victims get the spare 200 a tunnel."""
    whole = _kept_whole(rows)
    spare = [
        judge(
            Claim(f"{name} after the failure, Kuijia", "Mbit/s", 200.0, around(200.0, 20.0), asks=MARGIN),
            figure1_rate(of_variant(rows, testbed.KUIJIA), name, "after"),
        )
        for name in VICTIMS
    ]
    return [*whole, *spare, *degraded(of_variant(rows, testbed.RESCALING), (*ABORIGINAL, *VICTIMS), "rescaling")]


def table3(rows: Sequence[FlowsRow]) -> list[ClaimResult]:
    """1000, 1000 and 500 + 500 Mbit/s: rescaling leaves f3 and f4 about 470; Kuijia all, and victims nothing."""
    shared = [
        judge(
            Claim(f"{name} after the failure, rescaling", "Mbit/s", 470.0, around(470.0, 47.0), asks=MARGIN),
            figure1_rate(of_variant(rows, testbed.RESCALING), name, "after"),
        )
        for name in ABORIGINAL
    ]
    nothing = [
        judge(
            Claim(f"{name} after the failure, Kuijia", "Mbit/s", 0.0, AtMost(50.0), asks=MARGIN),
            figure1_rate(of_variant(rows, testbed.KUIJIA), name, "after"),
        )
        for name in VICTIMS
    ]
    return [*_kept_whole(rows), *nothing, *shared]


def of_table(rows: Sequence[FlowsRow], table: str, transport: str = testbed.TCP) -> list[FlowsRow]:
    """Rows of the trials that send the flows of a table."""
    choice = Choice(transport, topology=tunnel_traffic.FIGURE1)
    return [row for row in chosen(rows, choice) if row.parameters.table == table]


def by_scheme(rows: Sequence[FlowsRow], table: str) -> Groups:
    """Rows of a table, those of each scheme under its name."""
    here = of_table(rows, table)
    return {
        testbed.VARIANT_NAMES[variant.name]: of_variant(here, variant)
        for variant in (testbed.RESCALING, testbed.KUIJIA)
    }


def _kept_whole(rows: Sequence[FlowsRow]) -> list[ClaimResult]:
    here = of_variant(rows, testbed.KUIJIA)
    return [_changed(here, name, "Kuijia", "not affected", band=Within(-10.0, 10.0)) for name in ABORIGINAL]


def degraded(rows: Sequence[FlowsRow], names: Sequence[str], under: str) -> list[ClaimResult]:
    """Less by 1 % at least: a smaller change is within what TCP's rate does by itself, and its sign is chance."""
    return [_changed(rows, name, under, "degrades", band=AtMost(-1.0)) for name in names]


def _changed(rows: Sequence[FlowsRow], name: str, under: str, paper: str, *, band: Band) -> ClaimResult:
    values = list(changes_percent(rows, name).values())
    asks = CHANGE if isinstance(band, AtMost) else MARGIN
    claim = Claim(f"change of {name}, {under}", "%", paper, band, asks=asks)
    return judge(claim, mean_interval(values) if values else None)


def changes_percent(rows: Sequence[FlowsRow], name: str) -> dict[Point, float]:
    """By how much the failure changed the throughput of one of f1 to f4, in the trials of a scheme."""
    rates = {
        (row.round, 0): (_SCALE * flow.before_mbps, _SCALE * flow.after_mbps)
        for row in rows
        for flow in row.measured.flows
        if flow.name == name
    }
    return {point: 100.0 * (after / before - 1) for point, (before, after) in rates.items() if before}


def figure1_rate(rows: Sequence[FlowsRow], name: str, when: str) -> Estimate | None:
    """Throughput of one of f1 to f4, in the paper's Mbit/s."""
    values = [
        _SCALE * getattr(flow, f"{when}_mbps") for row in rows for flow in row.measured.flows if flow.name == name
    ]
    return mean_interval(values) if values else None


def figure1_picture(table: str, title: str, grouped: Grouped) -> Callable[[Sequence[FlowsRow], str], Figure]:
    """Throughput of f1 to f4 over time, a panel for each of two groups; the fluid model's end dashed."""

    def draw(rows: Sequence[FlowsRow], caption: str) -> Figure:
        figure, axes_of = canvas.panels(title, 2)
        for axes, (name, here) in zip(axes_of, grouped(rows).items(), strict=True):
            axes.set_title(name, color=INK, fontsize=10, loc="left")
            if not here:
                say_empty(axes)
                continue
            _draw_flows(axes, here[0])
        shown = next((axes for axes in axes_of if axes.lines), axes_of[0])
        canvas.legend(figure, shown)
        facts = [
            f"Figure 1's network, scaled 1:{_SCALE:.0f}, links of "
            f"{tunnel_traffic.LINK_MBPS / _SCALE * testbed.TABLE_HEADROOM[table]:g} Mbit/s of frames; "
            "s2-s4 fails at 0, and with it the tunnel of f1 and f2; f1 goes over to the "
            "tunnel of f3, f2 to that of f4.",
            "First round; means of half a second at the receiver; dashed: the fluid model's rate after the failure.",
        ]
        return canvas.finish(figure, facts, caption)

    return draw


def _draw_flows(axes: Axes, row: FlowsRow) -> None:
    for flow in row.measured.flows:
        name, colour = flow.name, _FLOW_COLOURS[flow.name]
        samples = [_SCALE * sample for sample in flow.samples_mbps]
        means = [sum(samples[at : at + _SMOOTH]) / _SMOOTH for at in range(len(samples) - _SMOOTH + 1)]
        seconds = seconds_of(flow)
        middle = seconds[_SMOOTH // 2 : _SMOOTH // 2 + len(means)]
        axes.plot(middle, means, color=colour, lw=1.4, label=name)
        fluid = _SCALE * row.measured.fluid[name].after_mbps
        axes.plot([0.0, seconds[-1]], [fluid, fluid], color=colour, lw=1.0, ls="--", zorder=1)
    axes.axvline(0.0, color=INK, lw=1.0, ls=":")
    axes.set_xlabel("seconds after the failure", color=INK)
    axes.set_ylabel("Mbit/s (measured times 100)", color=INK)
    axes.set_ylim(bottom=0)


def figure1_table(grouped: Grouped) -> MakeTable:
    """Throughput of f1 to f4 in the paper's Mbit/s, before and after, beside the fluid model."""

    def make(rows: Sequence[FlowsRow]) -> Table:
        found = []
        for group, here in grouped(rows).items():
            for name in (*VICTIMS, *ABORIGINAL) if here else ():
                before, after = (figure1_rate(here, name, when) for when in ("before", "after"))
                fluid = _SCALE * here[0].measured.fluid[name].after_mbps
                cells = (cell(before, 0), cell(after, 0), f"{fluid:.0f}", str(len(here)))
                found.append((f"{name}, {group}", *cells))
        return Table(("flow", "before Mbit/s", "after Mbit/s", "fluid after Mbit/s", "trials"), tuple(found))

    return make


def _table_figure(table: str, title: str, judged: Callable[[Sequence[FlowsRow]], list[ClaimResult]]) -> PaperFigure:
    grouped = partial(by_scheme, table=table)
    return PaperFigure(
        f"kuijia-{table}",
        "kuijia",
        title,
        lambda plan: testbed.figure1_trials(plan, table),
        ROWS.on(lambda rows: judged(of_table(rows, table))),
        ROWS.on(figure1_picture(table, f"Kuijia, {title}", grouped)),
        ROWS.on(figure1_table(grouped)),
    )


TABLE_2 = _table_figure("table2", "Table 2: throughput with room on the other tunnels", table2)
TABLE_3 = _table_figure("table3", "Table 3: throughput without room on the other tunnels", table3)
