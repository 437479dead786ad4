"""SQR's ids as pictures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from experiments.campaign.values import Arm, Json
from experiments.papers.p4protect.claims import field_of, good_rows, mean_of
from experiments.papers.p4protect.pictures import bars
from experiments.papers.sdfast.canvas import finish, panels, whisker
from experiments.papers.sqr import setup
from experiments.papers.sqr.claims import formula_bytes, window_bytes
from experiments.te.pictures import INK, PALETTE

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLOURS: Mapping[Arm, str] = {
    setup.RECOVERY: PALETTE[7],
    setup.SQR: PALETTE[0],
    setup.PLAIN: PALETTE[1],
    setup.IN_SEND: PALETTE[6],
}
_BENCH = (
    "Two hosts, two nodes and two paths in network namespaces of one machine, no Open vSwitch; arms one after another "
    "in every round."
)


def draw_fig9(rows: Sequence[Json], caption: str) -> Figure:
    """Packets lost and doubled against the time after which a failure is told."""
    figure, axes = panels("SQR, Figure 9: packets lost against route failure time", 2)
    for place, (field, title) in enumerate((("lost", "packets lost"), ("duplicated", "packets that came twice"))):
        for arm in (setup.RECOVERY, setup.SQR):
            found = [
                (
                    each,
                    mean_of(rows, setup.FIG9, arm, {"detection_ms": each}, field_of(field)),
                )
                for each in setup.DETECTION_MS
            ]
            known = [(x, estimate) for x, estimate in found if estimate is not None]
            label = setup.LABELS[arm.name]
            axes[place].plot(
                [x for x, _ in known], [each.value for _, each in known], marker="o", color=COLOURS[arm], label=label
            )
            for x, estimate in known:
                whisker(axes[place], x, estimate)
        axes[place].set_xlabel("failure told after, ms")
        axes[place].set_ylabel(title)
        axes[place].set_ylim(bottom=0)
    figure.legend(*axes[0].get_legend_handles_labels(), loc="upper right", fontsize=9, frameon=False, ncols=2)
    facts = [
        f"{setup.RATE_PPS:,} UDP packets a second; a path dies silently, once a round. {_BENCH}",
        "Whiskers: 95 % interval over rounds.",
    ]
    return finish(figure, facts, caption)


def draw_fig13(rows: Sequence[Json], caption: str) -> Figure:
    """Bytes in the window against rate x delay."""
    figure, (axes,) = panels("SQR, Figure 13: buffer against rate x delay", 1)
    for number, rate in enumerate(setup.BUFFER_RATES_PPS):
        good = [
            row
            for delta in setup.BUFFER_DELTAS_MS
            for row in good_rows(rows, setup.FIG13, setup.SQR, {"rate_pps": rate, "delta_ms": delta})
        ]
        axes.plot(
            [formula_bytes(row) / 1000 for row in good],
            [window_bytes(row) / 1000 for row in good],
            linestyle="none",
            marker="o",
            color=PALETTE[number],
            label=f"{rate:,} packets a second",
        )
    top = axes.get_xlim()[1]
    axes.plot([0, top], [0, top], color=INK, linewidth=1, linestyle=":", label="the formula")
    axes.set_xlabel("rate x delay, kB")
    axes.set_ylabel("held in the window, kB")
    axes.set_xlim(left=0)
    axes.set_ylim(bottom=0)
    figure.legend(*axes.get_legend_handles_labels(), loc="upper right", fontsize=9, frameon=False, ncols=3)
    return finish(figure, [f"Frames of {setup.FRAME_BYTES} bytes. {_BENCH}"], caption)


def draw_cost(rows: Sequence[Json], caption: str) -> Figure:
    """Run time of the program at the switch, and of the whole way."""
    figure, axes = panels("SQR: cost of a packet", 2)
    cases = {f"{size} bytes": {"frame_bytes": size} for size in setup.COST_BYTES}
    for place, (field, title) in enumerate(
        (
            ("first_node_ns", "program at the switch, ns a packet"),
            ("whole_ns", "whole way on one processor, ns a packet"),
        )
    ):
        bars(axes[place], rows, setup.LATENCY, COST_LOOKS, cases, field_of(field))
        axes[place].set_title(title, fontsize=9.5, color=INK, loc="left")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="upper right", fontsize=9, frameon=False, ncols=3)
    facts = [
        f"Run times are the kernel's own; seen by sending, a run contains the sending itself. {_BENCH}",
        "Bars: median over rounds; whiskers: quartiles.",
    ]
    return finish(figure, facts, caption)


COST_LOOKS = {arm: (COLOURS[arm], setup.LABELS[arm.name]) for arm in (setup.PLAIN, setup.SQR, setup.IN_SEND)}
