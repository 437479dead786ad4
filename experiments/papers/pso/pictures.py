"""Pictures of PSO's ids: both arms over the normalised load, the delay of matching, and a misbehaving switch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from experiments.campaign.values import Json
from experiments.ofload.load_core import FRAME_BYTES
from experiments.papers.pso import matching, paths, setup
from experiments.papers.pso.claims import IN_BAND, IN_BAND_BURSTS, behaving
from experiments.papers.pso.measures import (
    HIGH,
    LOW,
    Choice,
    Measure,
    answered_percent,
    chosen,
    estimate,
    lost_percent,
    mean_ms,
    nls_of,
    of_class,
)
from experiments.papers.sdfast.canvas import (
    PAPER,
    bar,
    finish,
    legend,
    panels,
    paper_handle,
    say_empty,
    whisker,
)
from experiments.te.pictures import INK, PALETTE

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = {setup.FIFO.name: PALETTE[2], setup.PSO.name: PALETTE[0]}
_MARKS = {setup.FIFO.name: "s", setup.PSO.name: "o"}
LINK, CPU, REAL = Choice(setup.LINK), Choice(setup.CPU), Choice(setup.REAL)
SCALED = (
    f"Scaled: a control link of {setup.LINK_MBPS:g} Mbit/s for 100, packet-ins of 220 bytes (IP), Poisson arrivals; "
    "whiskers are 95 % intervals."
)
_LEAST_MS = 0.3
_PATH_COLOURS = (PALETTE[2], PALETTE[6], PALETTE[7], PALETTE[0])
_EDGE = {"out": 0.8, "in": 0.6}


def draw_fig7(rows: Sequence[Json], caption: str) -> Figure:
    """Loss and hop delay of the high class: link-bound above, CPU-bound below."""
    figure, axes = panels("PSO, Figure 7: high-priority packet-ins on a control link of their own", 2, 7.2, 2)
    for row, (choice, words) in enumerate(((LINK, "the link is full first"), (CPU, "Ryu's processor is full first"))):
        loss, delay = axes[2 * row : 2 * row + 2]
        _over_load(loss, rows, choice, lost_percent(HIGH), _EDGE["out"])
        _over_load(delay, rows, choice, mean_ms(HIGH), _EDGE["out"])
        _over_load(delay, rows, choice, mean_ms(LOW), None, style=":", label="{}, low class")
        loss.set_title(words, loc="left", fontsize=10, color=INK)
        loss.set_ylabel("packet-ins lost, %", color=INK)
        _from_nothing(loss)
        _logarithmic(delay, "mean delay, ms (log)")
    _paper_level(axes[1], 83, 22)
    legend(figure, axes[1], [_paper_words("83 and 22 ms")])
    facts = [f"{_repetitions(rows, LINK)} Delay: due instant of the packet-in to its answer. The paper's line: NL 0.8."]
    return finish(figure, [*facts, SCALED], caption)


def draw_fig8(rows: Sequence[Json], caption: str) -> Figure:
    """Throughput and delay of the high-priority flow through Open vSwitch, and what emulated switches say."""
    figure, (throughput, delay) = panels("PSO, Figure 8: the high-priority flow, control link of its own", 2, 4.9)
    for axes, measure in ((throughput, answered_percent(HIGH)), (delay, mean_ms(HIGH))):
        _over_load(axes, rows, REAL, measure, _EDGE["out"], label="{}, Open vSwitch")
        _over_load(axes, rows, LINK, measure, None, ":", "{}, emulated switch")
    throughput.set_ylabel("throughput, % of what is offered", color=INK)
    throughput.set_ylim(0, 105)
    _paper_level(throughput, 88.7, 99.2)
    _logarithmic(delay, "mean delay, ms (log)")
    _paper_level(delay, 103, 27.6)
    legend(figure, delay, [paper_handle("paper")])
    offered = 8 * FRAME_BYTES * setup.HIGH_PPS / 1000
    facts = [
        f"{offered:.0f} kbit/s offered (for the paper's 1000); each packet is a flow of its own, which Open vSwitch "
        "sends to the controller and lets go when the packet-out comes: end to end.",
        "The paper, FIFO and PSO: 88.7 and 99.2 %, 103 and 27.6 ms.",
    ]
    return finish(figure, [*facts, _repetitions(rows, REAL), SCALED], caption)


def draw_fig9(rows: Sequence[Json], caption: str) -> Figure:
    """Loss and delay of OpenFlow messages on a shared link."""
    figure, (loss, delay) = panels("PSO, Figure 9: OpenFlow messages on a link that data shares", 2, 4.6)
    for axes, measure in ((loss, lost_percent(HIGH)), (delay, mean_ms(HIGH))):
        _over_load(axes, rows, IN_BAND, measure, _EDGE["in"])
        _over_load(axes, rows, IN_BAND_BURSTS, measure, None, ":", f"{{}}, bursts of {setup.BURST_PKTS}")
    loss.set_ylabel("packet-ins lost, %", color=INK)
    _from_nothing(loss)
    _logarithmic(delay, "mean delay, ms (log)")
    _paper_level(delay, 100, 32)
    legend(figure, delay, [_paper_words("> 100 and 32 ms")])
    share = f"OpenFlow takes {setup.CONTROL_NL:g} of the link, data of {setup.DATA_BYTES} bytes the rest of the load."
    return finish(figure, [_repetitions(rows, IN_BAND), share, SCALED], caption)


def draw_fig10(rows: Sequence[Json], caption: str) -> Figure:
    """The paper's formula, and what classifying takes."""
    figure, (formula, measured) = panels("PSO, Figure 10: what a Policy Map Table costs a packet", 2, 4.6)
    for number, n_rules in enumerate(matching.RULES):
        values = [matching.formula_us(n_flows, n_rules) for n_flows in matching.FLOWS]
        label = f"{n_rules} rules"
        formula.plot(matching.FLOWS, values, marker="o", markersize=3, color=PALETTE[number], lw=1.5, label=label)
    formula.axhline(matching.MOST_US, color=PAPER, lw=1.4, ls="--")
    formula.set_xscale("log", base=2)
    formula.set_xticks(matching.FLOWS[::3], [str(n_flows) for n_flows in matching.FLOWS[::3]])
    formula.set_xlabel("flow entries (n)", color=INK)
    formula.set_ylabel("K log2(n m), K = 20 us (us)", color=INK, parse_math=False)
    formula.set_ylim(bottom=0)
    _draw_times(measured, rows)
    legend(figure, formula, [paper_handle("paper: less than 300 us", "--")])
    facts = ["Left: the paper's formula for a switch's TCAM, computed. Right: our classifier in Python, measured."]
    return finish(figure, facts, caption)


def _draw_times(axes: Axes, rows: Sequence[Json]) -> None:
    width = 0.38
    for side, kind, colour in ((-0.5, matching.FIRST, PALETTE[6]), (0.5, matching.LAST, PALETTE[7])):
        for place, n_rules in enumerate(matching.RULES):
            bar(axes, place + side * width, matching.time_us(rows, n_rules, kind), 0.92 * width, color=colour)
        axes.bar([0], [0], color=colour, label=f"the {kind} rule decides")
    axes.set_xticks(range(len(matching.RULES)), [f"{n_rules} rules" for n_rules in matching.RULES])
    axes.set_ylabel("classifying one packet-in (us)", color=INK)
    axes.legend(frameon=False, fontsize=9, loc="upper right")
    axes.set_ylim(bottom=0)


def draw_misbehaving(rows: Sequence[Json], caption: str) -> Figure:
    """Loss and 99th percentile of the high class of others, and the controller's memory."""
    figure, axes = panels("One switch misbehaves: the high class of four others, and the controller", 3, 4.8)
    measured: tuple[tuple[str, Measure], ...] = (
        ("high class lost, %", lost_percent(HIGH)),
        ("high class, 99th percentile, ms (log)", of_class(HIGH, "p99_ms")),
        ("memory of the controller, MB", lambda row: float(row["controller_rss_mb"])),
    )
    for axis, (words, measure) in zip(axes, measured, strict=True):
        for side, arm in ((-0.2, setup.FIFO), (0.2, setup.PSO)):
            for place, behaviour in enumerate(setup.BEHAVIOURS):
                found = estimate(behaving(rows, behaviour, arm.name), measure)
                if found is None:
                    axis.plot([place + side], [_LEAST_MS], "x", color=INK, markersize=6, clip_on=False, zorder=4)
                else:
                    bar(axis, place + side, found, 0.36, color=COLOURS[arm.name])
            axis.bar([0], [0], color=COLOURS[arm.name], label=setup.LABELS[arm.name])
        names = [setup.WORDS[behaviour] for behaviour in setup.BEHAVIOURS]
        axis.set_xticks(range(len(names)), names, rotation=30, ha="right", rotation_mode="anchor")
        axis.set_ylabel(words, color=INK)
        axis.set_ylim(bottom=0)
    _from_nothing(axes[0])
    if any(patch.get_height() > 0 for patch in axes[1].patches):  # type: ignore[attr-defined]
        axes[1].set_yscale("log")
        axes[1].set_ylim(bottom=_LEAST_MS)
    legend(figure, axes[0])
    facts = [
        f"Four switches at {setup.MISBEHAVING_NL:g} of what Ryu answers, {setup.HIGH_PPS:g} high packet-ins a second. "
        "A cross: nothing was answered."
    ]
    return finish(figure, [*facts, "Whiskers are 95 % intervals."], caption)


def draw_paths(rows: Sequence[Json], caption: str) -> Figure:
    """Packet-ins a flow, and delays of first packets by class, at a light and at a heavy load."""
    figure, axes = panels("First packets of flows through four switches", 3, 4.6)
    measured: tuple[tuple[str, Measure], ...] = (
        ("packet-ins a flow", paths.packet_ins_a_flow),
        ("median delay, high class, ms (log)", of_class(HIGH, "p50_ms")),
        ("median delay, low class, ms (log)", of_class(LOW, "p50_ms")),
    )
    width = 0.8 / len(paths.ARMS)
    for axis, (words, measure) in zip(axes, measured, strict=True):
        for number, arm in enumerate(paths.ARMS):
            for place, flows_pps in enumerate(paths.FLOWS_PPS):
                found = estimate(paths.rows_of(rows, arm, flows_pps), measure)
                bar(axis, place + (number - 1.5) * width, found, 0.92 * width, color=_PATH_COLOURS[number])
            axis.bar([0], [0], color=_PATH_COLOURS[number], label=paths.LABELS[arm.name])
        names = [f"{flows_pps:g} flows/s" for flows_pps in paths.FLOWS_PPS]
        axis.set_xticks(range(len(names)), names)
        axis.set_ylabel(words, color=INK)
        axis.set_ylim(bottom=0)
        if "log" in words and any(patch.get_height() > 0 for patch in axis.patches):  # type: ignore[attr-defined]
            axis.set_yscale("log")
            axis.set_ylim(bottom=_LEAST_MS)
    legend(figure, axes[0])
    facts = [
        f"Four bridges of one Open vSwitch share a control link of {setup.LINK_MBPS:g} Mbit/s; every packet is the "
        f"first of its flow; delay from host to host. {100 * paths.HIGH_SHARE:g} % are of the high class."
    ]
    return finish(figure, [*facts, "Whiskers are 95 % intervals."], caption)


def _over_load(
    axes: Axes,
    rows: Sequence[Json],
    choice: Choice,
    measure: Measure,
    edge: float | None,
    style: str = "-",
    label: str = "{}",
) -> None:
    """A line of each arm over the load."""
    if not chosen(rows, choice):
        if edge is not None:
            say_empty(axes)
        return
    for arm in setup.ARMS:
        points = []
        for nl in nls_of(rows, choice):
            found = estimate(chosen(rows, Choice(choice.regime, (nl,), choice.burst_pkts), arm.name), measure)
            if found is not None:
                points.append((nl, found))
        axes.plot(
            [nl for nl, _ in points],
            [found.value for _, found in points],
            marker=_MARKS[arm.name],
            markersize=4,
            color=COLOURS[arm.name],
            ls=style,
            lw=1.5,
            label=label.format(setup.LABELS[arm.name]),
        )
        for nl, found in points:
            whisker(axes, nl, found)
    if edge is not None:
        axes.axvline(edge, color=PAPER, lw=1, ls=":", zorder=1)
    axes.set_xlabel("normalised load (NL)", color=INK)
    axes.set_xlim(0.1, 1.3)


def _from_nothing(axes: Axes) -> None:
    """A share from 0 up to 1 % at least, so that nothing lost looks like nothing; whiskers end at 100 %."""
    axes.set_ylim(0, min(100.0, max(1.0, axes.get_ylim()[1])))


def _logarithmic(axes: Axes, words: str) -> None:
    if axes.lines:
        axes.set_yscale("log")
    axes.set_ylabel(words, color=INK)


def _paper_level(axes: Axes, *levels: float) -> None:
    for level in levels:
        axes.plot([1.22, 1.3], [level, level], color=PAPER, lw=2.2, clip_on=False)


def _paper_words(text: str) -> object:
    return paper_handle(f"paper: {text}")


def _repetitions(rows: Sequence[Json], choice: Choice) -> str:
    """How many trials a point has."""
    counts = [
        len(chosen(rows, Choice(choice.regime, (nl,), choice.burst_pkts), arm.name))
        for nl in nls_of(rows, choice)
        for arm in setup.ARMS
    ]
    if not counts:
        return ""
    span = str(min(counts)) if min(counts) == max(counts) else f"{min(counts)} to {max(counts)}"
    return f"{span} trial{'s' * (span != '1')} a point, FIFO and PSO in turn."
