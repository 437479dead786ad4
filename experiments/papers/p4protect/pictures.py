"""P4-Protect's ids as pictures and tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from experiments.campaign.statistics import Estimate
from experiments.campaign.values import Arm, Json
from experiments.papers.figure import Table
from experiments.papers.p4protect import setup
from experiments.papers.p4protect.claims import Value, field_of, mean_of, median_of
from experiments.papers.sdfast.canvas import finish, panels, whisker
from experiments.te.pictures import INK, PALETTE

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS: Mapping[Arm, str] = {
    setup.PLAIN: PALETTE[1],
    setup.UNPROTECTED: PALETTE[3],
    setup.PROTECTED: PALETTE[0],
}
_SCALE = (
    "Two hosts, two nodes and two disjoint paths in network namespaces of one machine, no Open vSwitch; "
    "arms one after another in every round."
)
_INTERVALS, _QUARTILES = "Whiskers: 95 % interval over rounds.", "Bars: median over rounds; whiskers: quartiles."
Cases = Mapping[str, Json]
Looks = Mapping[Arm, tuple[str, str]]


def bars(axes: Axes, rows: Sequence[Json], figure_id: str, looks: Looks, cases: Cases, value: Value) -> None:
    """Medians of every arm in every case, side by side; `looks` are colour and label of the arms."""
    width = 0.8 / len(looks)
    for number, (arm, (colour, label)) in enumerate(looks.items()):
        for group, case in enumerate(cases.values()):
            estimate = median_of(rows, figure_id, arm, case, value)
            place = group + (number - (len(looks) - 1) / 2) * width
            if estimate is None:
                axes.plot([place], [0], marker="x", color=INK, markersize=5, clip_on=False)
                continue
            axes.bar(place, estimate.value, 0.92 * width, color=colour, label=None if group else label)
            whisker(axes, place, estimate)
            axes.annotate(
                f"{estimate.value:,.0f}" if estimate.value >= 100 else f"{estimate.value:.3g}",
                (place, estimate.high or estimate.value),
                xytext=(0, 3),
                textcoords="offset points",
                ha="center",
                fontsize=7.5,
                color=INK,
            )
    axes.set_xticks(range(len(cases)), list(cases))
    axes.set_ylim(bottom=0)


def _label(arm: Arm) -> str:
    return setup.LABELS[arm.name]


LOOKS: Looks = {arm: (COLOURS[arm], setup.LABELS[arm.name]) for arm in COLOURS}


def draw_loss(rows: Sequence[Json], caption: str) -> Figure:
    """Packets lost, doubled and overtaken while each path is cut in turn."""
    figure, (axes,) = panels("P4-Protect: a path dies, each in turn", 1)
    arms = (setup.PLAIN, setup.PROTECTED)
    width = 0.35
    for number, arm in enumerate(arms):
        for group, name in enumerate(("lost", "duplicated", "reordered")):
            estimate = mean_of(rows, setup.LOSS, arm, {}, field_of(name))
            if estimate is None:
                continue
            place = group + (number - 0.5) * width
            axes.bar(place, estimate.value, 0.92 * width, color=COLOURS[arm], label=None if group else _label(arm))
            whisker(axes, place, estimate)
            axes.annotate(
                f"{estimate.value:,.0f}",
                (place, estimate.high or estimate.value),
                xytext=(0, 3),
                textcoords="offset points",
                ha="center",
                fontsize=9,
                color=INK,
            )
    axes.set_xticks(range(3), ["lost", "arrived twice", "overtaken"])
    axes.set_ylabel("packets a round")
    axes.set_ylim(bottom=0)
    figure.legend(*axes.get_legend_handles_labels(), loc="upper right", fontsize=9, frameon=False, ncols=2)
    outages = ", then ".join(f"{path} for {seconds:g} s" for path, _, seconds in setup.LOSS_CUTS)
    facts = [f"{setup.LOSS_PPS:,} UDP packets a second for {setup.LOSS_SECONDS:g} s; {outages}.", _SCALE, _INTERVALS]
    return finish(figure, facts, caption)


def draw_cost(rows: Sequence[Json], caption: str) -> Figure:
    """Processing time a packet."""
    figure, axes = panels("P4-Protect, Figure 6: processing time of a packet", 3)
    cases = {f"{size} bytes": {"frame_bytes": size} for size in setup.FRAME_BYTES}
    for place, (field, title) in enumerate(
        (
            ("first_node_ns", "program at the sending end, ns a run"),
            ("second_node_ns", "program at the receiving end, ns a run"),
            ("whole_ns", "whole way on one processor, ns a packet"),
        )
    ):
        bars(axes[place], rows, setup.COST, LOOKS, cases, field_of(field))
        axes[place].set_title(title, fontsize=9.5, color=INK, loc="left")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="upper right", fontsize=9, frameon=False, ncols=3)
    facts = [
        "Run times are the kernel's own; a run at a protecting sending end contains the sending of one of the copies, "
        "and the receiving end has a run for each copy.",
        _SCALE,
        _QUARTILES,
    ]
    return finish(figure, facts, caption)


def draw_goodput(rows: Sequence[Json], caption: str) -> Figure:
    """TCP goodput and retransmissions."""
    figure, axes = panels("P4-Protect, Figure 7: TCP goodput", 2)
    cases = {f"{flows} flow{'s' if flows > 1 else ''}": {"flows": flows} for flows in setup.FLOWS}
    bars(axes[0], rows, setup.GOODPUT, LOOKS, cases, field_of("goodput_mbps"))
    axes[0].set_ylabel("goodput, Mbit/s")
    bars(axes[1], rows, setup.GOODPUT, LOOKS, cases, field_of("retransmits"))
    axes[1].set_ylabel("segments sent again")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="upper right", fontsize=9, frameon=False, ncols=3)
    facts = [
        "Without segmentation offloads, which protection rules out; the processors are the bottleneck.",
        _SCALE,
        _QUARTILES,
    ]
    return finish(figure, facts, caption)


def draw_jitter(rows: Sequence[Json], caption: str) -> Figure:
    """Mean and deviation of one-way delays against jitter, with the model beside."""
    figure, axes = panels("P4-Protect, Figure 8: jitter of the paths", 2)
    curves: tuple[tuple[str, str, Callable[[Arm, float], float]], ...] = (
        ("mean_ms", "mean one-way delay, ms", _mean_model),
        ("deviation_ms", "standard deviation, ms", _deviation_model),
    )
    for place, (field, title, model) in enumerate(curves):
        for arm in (setup.PLAIN, setup.PROTECTED):
            found = [
                mean_of(rows, setup.JITTER, arm, {"jitter_ms": each}, field_of(field)) for each in setup.JITTERS_MS
            ]
            _curve(axes[place], setup.JITTERS_MS, found, COLOURS[arm], _label(arm))
            modelled = [model(arm, each) for each in setup.JITTERS_MS]
            axes[place].plot(setup.JITTERS_MS, modelled, color=COLOURS[arm], linestyle=":", linewidth=1.2)
        axes[place].set_xlabel("jitter of each path and direction: a delay from 0 to so many ms")
        axes[place].set_ylabel(title)
        axes[place].set_ylim(bottom=0)
    figure.legend(*axes[0].get_legend_handles_labels(), loc="upper right", fontsize=9, frameon=False, ncols=2)
    facts = [
        f"Dotted: the model of two independent, evenly distributed delays (mean 2/3, deviation 0.82 of plain), beside "
        f"the {setup.BASE_DELAY_MS:g} ms that the paths take anyway. The paper pings, which is not protected here.",
        _SCALE,
        _INTERVALS,
    ]
    return finish(figure, facts, caption)


def _mean_model(arm: Arm, jitter_ms: float) -> float:
    return setup.BASE_DELAY_MS + (1 / 3 if arm == setup.PROTECTED else 1 / 2) * jitter_ms


def _deviation_model(arm: Arm, jitter_ms: float) -> float:
    # J / sqrt(12) for one even delay, J / sqrt(18) for the smaller of two.
    variance = 1 / 18 if arm == setup.PROTECTED else 1 / 12
    return float(variance**0.5 * jitter_ms)


def _curve(axes: Axes, xs: Sequence[float], found: Sequence[Estimate | None], colour: str, label: str) -> None:
    known = [(x, estimate) for x, estimate in zip(xs, found, strict=True) if estimate is not None]
    axes.plot([x for x, _ in known], [each.value for _, each in known], color=colour, marker="o", label=label)
    for x, estimate in known:
        whisker(axes, x, estimate)


def table_of(
    figure_id: str, labels: Mapping[Arm, str], cases: Cases, fields: Mapping[str, str]
) -> Callable[[Sequence[Json]], Table]:
    """Medians of some fields for every case and arm; `labels` names arms, `fields` maps fields of rows to headings."""

    def table(rows: Sequence[Json]) -> Table:
        lines = []
        for name, case in cases.items():
            for arm, label in labels.items():
                found = [median_of(rows, figure_id, arm, case, field_of(field)) for field in fields]
                cells = ["-" if each is None else f"{each.value:,.4g}" for each in found]
                lines.append((f"{name}, {label}" if name else label, *cells))
        return Table(("", *fields.values()), tuple(lines))

    return table
