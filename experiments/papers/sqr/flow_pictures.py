"""SQR's ids with TCP as pictures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from experiments.campaign.values import Arm, Json
from experiments.papers.p4protect.claims import good_rows
from experiments.papers.sdfast.canvas import PAPER, finish, legend, panels, say_empty
from experiments.papers.sqr import flow_measures as measures
from experiments.papers.sqr import flow_setup as setup
from experiments.papers.sqr.flow_claims import range_name
from experiments.te.pictures import GRID, INK, PALETTE
from experiments.workloads.sizes_core import DATA_MINING, WEB_SEARCH

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS: Mapping[Arm, str] = {
    setup.NO_FAILURE: PALETTE[1],
    setup.SB: PALETTE[7],
    setup.SB_SQR: PALETTE[0],
    setup.LRR: PALETTE[2],
    setup.LRR_SQR: PALETTE[6],
}
MODEL = setup.MODEL
_SCALE = (
    f"Scaled {setup.SCALE} times: route failure {MODEL.dead_ms:g} ms (SB'), {MODEL.detection_ms:g} ms (LRR), RTOmin "
    f"{setup.RTO_MIN_MS:g} ms; not scaled: round trip 0.1 to 0.2 ms, 1 s until a SYN is repeated."
)
_FLOWS = (
    f"TCP flows of at most {setup.LIMIT_BYTES // 1000} kB, one at a time, {setup.PAUSE_MS:g} ms apart on average, a "
    f"failure every {MODEL.interval_ms:g} ms; namespaces of one machine, no Open vSwitch."
)
_BESIDE = (
    f"Beside them transfers of {setup.BACKGROUND_BYTES // 1_000_000} MB at {setup.BACKGROUND_MBPS:g} Mbit/s both ways, "
    f"{setup.BACKGROUND_PAUSE_MS:g} ms apart. Arms take turns in every round, with the same flows."
)


def draw_fig3(rows: Sequence[Json], caption: str) -> Figure:
    """Completion times in the order of the flows."""
    figure, (axes,) = panels("SQR, Figure 3: completion times under failures, recovery by SB' alone", 1)
    offset = 0
    for row in measures.rows_of(rows, setup.SB, figure_id=setup.ALONE):
        times, hits = measures.completions_ms(row), measures.hits_of(row)
        calm = sorted(set(range(len(times))) - {hit.number for hit in hits})
        label = None if offset else "no failure met"
        axes.plot([offset + each for each in calm], [times[each] for each in calm], ".", ms=2, color=GRID, label=label)
        places, label = [offset + hit.number for hit in hits], None if offset else "hit by a failure"
        axes.plot(places, [hit.completion_ms for hit in hits], ".", ms=6, color=PALETTE[0], label=label)
        offset += len(times)
    if not offset:
        say_empty(axes)
    else:
        _mark_clusters(axes, offset)
        legend(figure, axes)
    axes.set_ylabel("flow completion time, ms (log)", color=INK)
    axes.set_xlabel("flow, in the order of their starts, all rounds", color=INK)
    axes.grid(False)
    return finish(figure, [_FLOWS, "Web search, no other traffic.", _SCALE], caption)


def _mark_clusters(axes: Axes, count: int) -> None:
    """A band around each of the times that a timer makes, with its name."""
    axes.set_yscale("log")
    axes.set_xlim(0, 1.25 * count)
    for name, centre in setup.CLUSTERS_MS.items():
        axes.axhspan(centre * (1 - setup.NEAR_SHARE), centre * (1 + setup.NEAR_SHARE), color=PAPER, alpha=0.08, lw=0)
        axes.annotate(
            f"{name}, {centre:g} ms", (1.245 * count, centre), ha="right", va="center", fontsize=8.5, color=PAPER
        )


def draw_fig7(rows: Sequence[Json], caption: str) -> Figure:
    """Congestion window and sequence number of one flow around the cut."""
    figure, (window, sequence) = panels("SQR, Figure 7: a long flow whose path dies", 2)
    for arm in (setup.NO_FAILURE, setup.SB, setup.SB_SQR):
        own = good_rows(rows, setup.STREAM, arm, {})
        for row in sorted(own, key=lambda row: not row.get("trustworthy", True))[:1]:
            seconds = np.asarray(row["at_ms"]) / 1000
            window.plot(seconds, row["cwnd_segments"], color=COLOURS[arm], lw=1.6, label=setup.LABELS[arm.name])
            shown = (seconds > -0.02) & (seconds < 0.08)
            sent = np.asarray(row["sent_bytes"])
            since = (sent - np.interp(0.0, seconds, sent)) / 1e6
            sequence.plot(1000 * seconds[shown], since[shown], color=COLOURS[arm], lw=1.6, marker=".", ms=4)
    if not window.lines:
        say_empty(window)
        say_empty(sequence)
    else:
        for axes in (window, sequence):
            axes.axvline(0.0, color=PAPER, lw=1.2, ls=":", label="cut")
        legend(figure, window)
    window.set_ylim(bottom=0)
    window.set_xlabel("seconds since the cut", color=INK)
    window.set_ylabel("congestion window, segments", color=INK)
    sequence.set_xlabel("ms since the cut", color=INK)
    sequence.set_ylabel("sent, MB since the cut", color=INK)
    facts = [
        f"TCP CUBIC against {setup.STREAM_MBPS:g} Mbit/s at its host, TCP_INFO every {setup.SAMPLE_MS:g} ms, one "
        f"round. The path is dead for {MODEL.dead_ms:g} ms. {_SCALE}"
    ]
    return finish(figure, facts, caption)


def draw_fig8(rows: Sequence[Json], caption: str) -> Figure:
    """Distribution of the gaps that receivers see."""
    figure, (axes,) = panels("SQR, Figure 8: recovery time with SB' + SQR", 1)
    for table, colour in ((WEB_SEARCH, PALETTE[0]), (DATA_MINING, PALETTE[2])):
        gaps = measures.recoveries_ms(measures.rows_of(rows, setup.SB_SQR, table.name))
        _steps(axes, gaps, colour, f"{table.title}, {len(gaps)} flows")
    if axes.lines:
        axes.axvline(MODEL.dead_ms, color=PAPER, lw=1.4, ls="--", label="route failure time")
        axes.set_xlim(left=0)
        axes.set_ylim(0, 100)
        legend(figure, axes)
    else:
        say_empty(axes)
    axes.set_xlabel("longest time in which the receiver of a flow saw nothing, ms", color=INK)
    axes.set_ylabel("flows with at most so much, %", color=INK)
    return finish(figure, ["Flows that were under way when their path died.", _FLOWS, _BESIDE, _SCALE], caption)


def _steps(axes: Axes, values: Sequence[float], colour: str, label: str, style: str = "-") -> None:
    """An empirical distribution, in per cent."""
    if values:
        ordered = np.sort(np.asarray(values))
        shares = 100.0 * np.arange(1, len(ordered) + 1) / len(ordered)
        axes.step([ordered[0], *ordered], [0.0, *shares], where="post", color=colour, ls=style, lw=1.8, label=label)


def draw_fig10(rows: Sequence[Json], caption: str) -> Figure:
    """Completion times of hit flows with SQR, of the same flows without failures, and without SQR."""
    figure, both = panels("SQR, Figure 10: completion times of hit flows", 2)
    for axes, table in zip(both, (WEB_SEARCH, DATA_MINING), strict=True):
        axes.set_title(table.title, fontsize=10, color=INK, loc="left")
        helped = measures.rows_of(rows, setup.SB_SQR, table.name)
        calm = measures.rows_of(rows, setup.NO_FAILURE, table.name)
        _steps(axes, _same_flows(helped, calm), COLOURS[setup.NO_FAILURE], "the same flows as with SQR, no failure")
        for arm in (setup.SB_SQR, setup.SB):
            times = [hit.completion_ms for hit in measures.all_hits(measures.rows_of(rows, arm, table.name))]
            _steps(axes, times, COLOURS[arm], f"hit, {setup.LABELS[arm.name]}")
        if axes.lines:
            axes.set_xscale("log")
            axes.set_ylim(0, 100)
        else:
            say_empty(axes)
        axes.set_xlabel("flow completion time, ms (log)", color=INK)
        axes.set_ylabel("flows with at most so much, %", color=INK)
    if both[0].lines:
        legend(figure, both[0])
    return finish(figure, [_FLOWS, _BESIDE, _SCALE], caption)


def _same_flows(hit_rows: Sequence[Json], calm_rows: Sequence[Json]) -> list[float]:
    calm = {row["round"]: measures.completions_ms(row) for row in calm_rows}
    return [
        calm[hit.round][hit.number] for hit in measures.all_hits(hit_rows) if hit.number < len(calm.get(hit.round, []))
    ]


def draw_fig11(rows: Sequence[Json], caption: str) -> Figure:
    """Least, median, 95th and 99th percentile and greatest completion time of hit flows, by size."""
    figure, (axes,) = panels("SQR, Figure 11: completion times of hit flows, web search", 1)
    width = 0.8 / len(setup.ALL_ARMS)
    for number, arm in enumerate(setup.ALL_ARMS):
        own = measures.rows_of(rows, arm, WEB_SEARCH.name)
        for group, sizes in enumerate(setup.SIZE_RANGES):
            times = (
                _all_in_range(own, sizes)
                if arm == setup.NO_FAILURE
                else measures.in_range(measures.all_hits(own), sizes)
            )
            if times:
                place = group + (number - (len(setup.ALL_ARMS) - 1) / 2) * width
                _summary(axes, place, times, COLOURS[arm])
        axes.plot([], [], color=COLOURS[arm], lw=5, label=setup.LABELS[arm.name])
    if len(axes.lines) > len(setup.ALL_ARMS):
        axes.set_yscale("log")
        for marker, text in (("_", "least, median, 99th percentile"), ("o", "95th percentile"), ("^", "greatest")):
            axes.plot([], [], marker=marker, color=INK, ls="none", ms=6, label=text)
        legend(figure, axes)
        axes.set_xticks(range(len(setup.SIZE_RANGES)), [f"flows {range_name(sizes)}" for sizes in setup.SIZE_RANGES])
    else:
        say_empty(axes)
    axes.set_ylabel("flow completion time, ms (log)", color=INK)
    return finish(figure, [_FLOWS, "Without failures: all flows; number of flows above.", _BESIDE, _SCALE], caption)


def _all_in_range(rows: Sequence[Json], sizes_bytes: tuple[int, int]) -> list[float]:
    return [
        time_ms
        for row in rows
        for size, time_ms in zip(row["sizes_bytes"], measures.completions_ms(row), strict=True)
        if sizes_bytes[0] < size <= sizes_bytes[1]
    ]


def _summary(axes: Axes, place: float, times: Sequence[float], colour: str) -> None:
    least, median, high, higher, greatest = (measures.tail(times, share) for share in (0.0, 0.5, 0.95, 0.99, 1.0))
    axes.plot([place, place], [least, greatest], color=colour, lw=1.2)
    axes.plot([place] * 3, [least, median, higher], marker="_", ms=13, mew=2, ls="none", color=colour)
    axes.plot([place], [high], marker="o", ms=5, color=colour)
    axes.plot([place], [greatest], marker="^", ms=6, color=colour)
    axes.annotate(
        f"{len(times):,}",
        (place, greatest),
        xytext=(0, 6),
        textcoords="offset points",
        ha="center",
        fontsize=7.5,
        color=INK,
    )


def draw_fig12(rows: Sequence[Json], caption: str) -> Figure:
    """Share of all flows that take longer, both axes logarithmic, so that the tail can be seen."""
    figure, both = panels("SQR, Figure 12: completion times of all flows", 2)
    for axes, table in zip(both, (WEB_SEARCH, DATA_MINING), strict=True):
        axes.set_title(table.title, fontsize=10, color=INK, loc="left")
        for arm in setup.ALL_ARMS:
            own = measures.rows_of(rows, arm, table.name)
            times = np.sort([each for row in own for each in measures.completions_ms(row)])
            if len(times):
                shares = 100.0 * np.arange(len(times), 0, -1) / len(times)
                style = "--" if arm in (setup.SB, setup.LRR) else "-"
                axes.step(
                    times, shares, where="post", color=COLOURS[arm], ls=style, lw=1.8, label=setup.LABELS[arm.name]
                )
        if axes.lines:
            axes.set_xscale("log")
            axes.set_yscale("log")
            axes.axhline(100 * (1 - setup.ALL_TAIL_SHARE), color=PAPER, lw=1.0, ls=":", label="99.9th percentile")
        else:
            say_empty(axes)
        axes.set_xlabel("flow completion time, ms (log)", color=INK)
        axes.set_ylabel("flows that take longer, % (log)", color=INK)
    if both[0].lines:
        legend(figure, both[0])
    return finish(figure, [_FLOWS, _BESIDE, _SCALE], caption)
