"""P4-Protect's ids as pictures and tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from experiments.campaign.statistics import Estimate
from experiments.campaign.values import Arm, Json
from experiments.papers.figure import Table
from experiments.papers.p4protect import setup
from experiments.papers.p4protect.claims import Value, mean_of
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
    "arms one after another in every round. Whiskers: 95 % interval over rounds."
)
Cases = Mapping[str, Json]


def _bars(axes: Axes, rows: Sequence[Json], figure_id: str, arms: Sequence[Arm], cases: Cases, value: Value) -> None:
    width = 0.8 / len(arms)
    for number, arm in enumerate(arms):
        for group, case in enumerate(cases.values()):
            estimate = mean_of(rows, figure_id, arm, case, value)
            place = group + (number - (len(arms) - 1) / 2) * width
            if estimate is None:
                axes.plot([place], [0], marker="x", color=INK, markersize=5, clip_on=False)
                continue
            axes.bar(place, estimate.value, 0.92 * width, color=COLOURS[arm], label=None if group else _label(arm))
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


def draw_loss(rows: Sequence[Json], caption: str) -> Figure:
    """Packets lost, doubled and overtaken while each path is cut in turn."""
    figure, (axes,) = panels("P4-Protect: a path dies, each in turn", 1)
    arms = (setup.PLAIN, setup.PROTECTED)
    width = 0.35
    for number, arm in enumerate(arms):
        for group, name in enumerate(("lost", "duplicated", "reordered")):
            estimate = mean_of(rows, setup.LOSS, arm, {}, _field(name))
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
    facts = [f"{setup.LOSS_PPS:,} UDP packets a second for {setup.LOSS_SECONDS:g} s; {outages}.", _SCALE]
    return finish(figure, facts, caption)


def draw_cost(rows: Sequence[Json], caption: str) -> Figure:
    """Processing time a packet."""
    figure, axes = panels("P4-Protect, Figure 6: processing time of a packet", 3)
    arms = (setup.PLAIN, setup.UNPROTECTED, setup.PROTECTED)
    cases = {f"{size} bytes": {"frame_bytes": size} for size in setup.FRAME_BYTES}
    for place, (field, title) in enumerate(
        (
            ("first_node_ns", "program at the sending end, ns a run"),
            ("second_node_ns", "program at the receiving end, ns a run"),
            ("whole_ns", "whole way on one processor, ns a packet"),
        )
    ):
        _bars(axes[place], rows, setup.COST, arms, cases, _field(field))
        axes[place].set_title(title, fontsize=9.5, color=INK, loc="left")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="upper right", fontsize=9, frameon=False, ncols=3)
    facts = [
        "Run times are the kernel's own; a run at a protecting sending end contains the sending of one of the copies, "
        "and the receiving end has a run for each copy.",
        _SCALE,
    ]
    return finish(figure, facts, caption)


def draw_goodput(rows: Sequence[Json], caption: str) -> Figure:
    """TCP goodput and retransmissions."""
    figure, axes = panels("P4-Protect, Figure 7: TCP goodput", 2)
    arms = (setup.PLAIN, setup.UNPROTECTED, setup.PROTECTED)
    cases = {f"{flows} flow{'s' if flows > 1 else ''}": {"flows": flows} for flows in setup.FLOWS}
    _bars(axes[0], rows, setup.GOODPUT, arms, cases, _field("goodput_mbps"))
    axes[0].set_ylabel("goodput, Mbit/s")
    _bars(axes[1], rows, setup.GOODPUT, arms, cases, _field("retransmits"))
    axes[1].set_ylabel("segments sent again")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="upper right", fontsize=9, frameon=False, ncols=3)
    facts = ["Without segmentation offloads, which protection rules out; the processors are the bottleneck.", _SCALE]
    return finish(figure, facts, caption)


def draw_jitter(rows: Sequence[Json], caption: str) -> Figure:
    """Mean and deviation of round trips against jitter, with the model beside."""
    figure, axes = panels("P4-Protect, Figure 8: jitter of the paths", 2)
    curves: tuple[tuple[str, str, Callable[[Arm, float], float]], ...] = (
        ("mean_ms", "mean round trip, ms", _mean_model),
        ("deviation_ms", "deviation of round trips, ms", _deviation_model),
    )
    for place, (field, title, model) in enumerate(curves):
        for arm in (setup.PLAIN, setup.PROTECTED):
            found = [mean_of(rows, setup.JITTER, arm, {"jitter_ms": each}, _field(field)) for each in setup.JITTERS_MS]
            _curve(axes[place], setup.JITTERS_MS, found, COLOURS[arm], _label(arm))
            modelled = [model(arm, each) for each in setup.JITTERS_MS]
            axes[place].plot(setup.JITTERS_MS, modelled, color=COLOURS[arm], linestyle=":", linewidth=1.2)
        axes[place].set_xlabel("jitter of each path and direction: a delay from 0 to so many ms")
        axes[place].set_ylabel(title)
        axes[place].set_ylim(bottom=0)
    figure.legend(*axes[0].get_legend_handles_labels(), loc="upper right", fontsize=9, frameon=False, ncols=2)
    facts = [
        f"Dotted: the model of two independent, evenly distributed delays (mean 2/3, deviation 0.82 of plain), beside "
        f"{2 * setup.BASE_DELAY_MS:g} ms that the paths take both ways.",
        _SCALE,
    ]
    return finish(figure, facts, caption)


def _mean_model(arm: Arm, jitter_ms: float) -> float:
    return 2 * setup.BASE_DELAY_MS + (2 / 3 if arm == setup.PROTECTED else 1.0) * jitter_ms


def _deviation_model(arm: Arm, jitter_ms: float) -> float:
    # Of one direction: J / sqrt(12) for one even delay, J / sqrt(18) for the smaller of two.
    variance = 1 / 18 if arm == setup.PROTECTED else 1 / 12
    return float((2 * variance) ** 0.5 * jitter_ms)


def _curve(axes: Axes, xs: Sequence[float], found: Sequence[Estimate | None], colour: str, label: str) -> None:
    known = [(x, estimate) for x, estimate in zip(xs, found, strict=True) if estimate is not None]
    axes.plot([x for x, _ in known], [each.value for _, each in known], color=colour, marker="o", label=label)
    for x, estimate in known:
        whisker(axes, x, estimate)


def _field(name: str) -> Value:
    return lambda row: float(row[name])


def table_of(
    figure_id: str, arms: Sequence[Arm], cases: Cases, fields: Mapping[str, str]
) -> Callable[[Sequence[Json]], Table]:
    """Means of some fields for every case and arm; `fields` maps a row's field to its heading."""

    def table(rows: Sequence[Json]) -> Table:
        lines = []
        for name, case in cases.items():
            for arm in arms:
                found = [mean_of(rows, figure_id, arm, case, _field(field)) for field in fields]
                cells = ["-" if each is None else f"{each.value:,.4g}" for each in found]
                lines.append((f"{name}, {_label(arm)}" if name else _label(arm), *cells))
        return Table(("", *fields.values()), tuple(lines))

    return table
