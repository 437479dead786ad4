"""Completion times of short flows across a fat tree of Open vSwitch switches, and what SQR's buffer holds at failures.

The paper detects a failure within 30 us and has an RTOmin of 4 ms. Here BFD needs 0.3 s and more, so RTOmin is 1 s, as
long as the time until a SYN is repeated: a flow waits for a timer only where packets of it were lost. One direction of
an uplink fails: the way down has no loop-free alternate in a fat tree, so nothing sent down can be rerouted there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from experiments.campaign.figure import PaperFigure, Table
from experiments.campaign.kinds import network_flows as kind
from experiments.campaign.kinds.network_flows import (
    Held,
    NetworkFlowsMeasured,
    NetworkFlowsParameters,
    WorkloadMeasured,
)
from experiments.campaign.kinds.paths import FlowsMeasured, FlowsParameters
from experiments.campaign.parameters import plain, typed
from experiments.campaign.rows import Row, RowType
from experiments.campaign.statistics import Estimate, mean_interval
from experiments.campaign.values import CampaignPlan, Trial, Variant
from experiments.campaign.verdicts import MARGIN, AtLeast, AtMost, Claim, ClaimResult, Exactly, judge
from experiments.charts import canvas
from experiments.charts.canvas import INK, PALETTE, say_empty
from experiments.figures.p4protect.setup import Site, site_trials
from experiments.figures.sqr import flow_measures as measures
from experiments.figures.sqr import flow_setup as setup
from experiments.figures.sqr.comparisons import completion_lines, steps
from experiments.figures.sqr.fig13 import FORMULA_BAND, HELD
from experiments.figures.sqr.flow_measures import FlowsRow
from experiments.testbed.workloads.decide.sizes import DATA_MINING, WEB_SEARCH

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


ID = "sqr-ovs-fct"
FAT_TREE = Site("network-flows", "fattree:4", rounds=5, quick_rounds=1)
CALM, ALONE, SQR = Variant(kind.NO_FAILURE), Variant(kind.UNMARKED), Variant(kind.BUFFERED)
LABELS = {CALM.name: "no failure", ALONE.name: "fast failover alone", SQR.name: "SQR"}
COLOURS = {CALM: PALETTE[1], ALONE: PALETTE[7], SQR: PALETTE[0]}
WORKLOADS = (WEB_SEARCH, DATA_MINING)
# From the first edge switch of pod 1 to that of pod 2; the uplink from aggregation to core fails.
SOURCE, DESTINATION, FAILING = "s7", "s11", ("s5", "s1")
BFD_MS, SLOTS = 100, 8192
DELTA_MS = 600.0  # twice what BFD needs; with the replay, up to four times as fast as the window came, within the timer
TIMER_MS = 1000.0  # RTOmin, and the time until a SYN is repeated
RESTORE_S, CALM_S, REPAIR_S = 0.5, 3.0, 1.0
FAILURES, QUICK_FAILURES, FAILURE_S, SPARE_S = 6, 3, 6.0, 2.0
STREAMS_PPS, STREAM_FRAME_BYTES = (200, 800), 50
LOST_PERCENT, ADDED = 50.0, 1.0
_SIZES = {"packets": 1, "bytes": STREAM_FRAME_BYTES}  # of a packet of a stream
NetworkRow = Row[NetworkFlowsParameters, NetworkFlowsMeasured]


def trials(plan: CampaignPlan) -> tuple[Trial, ...]:
    """Both workloads and the streams on one network a variant."""
    failures = QUICK_FAILURES if plan.quick else FAILURES
    seconds = failures * FAILURE_S + SPARE_S
    own = NetworkFlowsParameters(
        *(ID, SOURCE, DESTINATION, FAILING, BFD_MS, RESTORE_S, CALM_S, REPAIR_S, DELTA_MS, SLOTS, TIMER_MS),
        workloads=tuple(each.name for each in WORKLOADS),
        seconds=seconds,
        failures=failures,
        limit_bytes=setup.LIMIT_BYTES,
        pause_ms=setup.PAUSE_MS,
        streams_pps=STREAMS_PPS,
    )
    return site_trials(FAT_TREE, plan, {f"{failures}-failures": own}, (CALM, ALONE, SQR))


def by_workload(rows: Sequence[NetworkRow]) -> list[FlowsRow]:
    """A row for each workload, as the testbed without switches has them."""
    return [_workload_row(row, found) for row in rows for found in row.measured.workloads]


def _workload_row(row: NetworkRow, found: WorkloadMeasured) -> FlowsRow:
    own, columns = row.parameters, plain(found)
    workload = columns.pop("workload")
    breaking = setup.BREAKING  # of the other testbed: nothing here reads it
    flows = FlowsParameters(
        *(ID, workload, own.seconds, "nothing", own.limit_bytes, own.pause_ms, 0, 0.0, 0.0, breaking),
    )
    place = row.trial, row.topology, row.variant, row.round, row.links, row.bfd_interval_ms
    return Row(*place, flows, typed(FlowsMeasured, columns))


def claims(stored: Sequence[NetworkRow]) -> list[ClaimResult]:
    """With SQR no hit flow waits for a timer, fast failover alone makes them; the buffer holds what delta covers."""
    rows = by_workload(stored)
    return [*_timer_claims(rows), *_time_claims(rows), *_buffer_claims(stored)]


def waited_percent(rows: Sequence[FlowsRow]) -> Estimate | None:
    """Share of hit flows that took as long as a timer of TCP, by rounds; None without hit flows."""
    waited: dict[int, list[float]] = {}
    for hit in measures.all_hits(rows):
        waited.setdefault(hit.round, []).append(100.0 * (hit.completion_ms >= TIMER_MS))
    return measures.mean_of_rounds(waited)


def _timer_claims(rows: Sequence[FlowsRow]) -> list[ClaimResult]:
    found = []
    for table in WORKLOADS:
        for variant, band in ((SQR, Exactly(0.0)), (ALONE, AtLeast(LOST_PERCENT))):
            own = measures.rows_of(rows, variant, table.name)
            name = (
                f"hit flows that took {TIMER_MS:g} ms or longer, a timer of TCP, {table.title}, {LABELS[variant.name]}"
            )
            paper = "none" if variant == SQR else "clusters at timers"
            hits = len(measures.all_hits(own))
            result = judge(Claim(name, "%", paper, band, asks=MARGIN), waited_percent(own))
            found.append(result.with_note(f"{hits} hit flows, {sum(row.measured.timeouts for row in own)} time-outs"))
    return found


def _time_claims(rows: Sequence[FlowsRow]) -> list[ClaimResult]:
    """How much longer hit flows take than the same flows without failures, and the tails of all flows."""
    added = measures.added_ms(measures.rows_of(rows, SQR), measures.rows_of(rows, CALM))
    down_ms = {number: measures.outage_ms(_of_round(rows, SQR, number)) for number, each in added.items() if each}
    shares = {number: [each / down_ms[number] for each in added[number]] for number in down_ms}
    name = "added to the completion time of hit flows, median, SQR"
    paper = round(200 / 760, 2)
    found = [
        judge(Claim(name, "detection times", paper, AtMost(ADDED), asks=MARGIN), measures.mean_of_rounds(shares, 0.5)),
        judge(Claim("the same in milliseconds", "ms"), measures.mean_of_rounds(added, 0.5)),
    ]
    for table in WORKLOADS:
        for variant in (CALM, ALONE, SQR):
            own = measures.rows_of(rows, variant, table.name)
            tails = [measures.tail(measures.completions_ms(row), setup.TAIL_SHARE) for row in own if row.measured.flows]
            name = f"99th percentile of all flows, {table.title}, {LABELS[variant.name]}"
            found.append(judge(Claim(name, "ms"), mean_interval(tails) if tails else None))
    return found


def _of_round(rows: Sequence[FlowsRow], variant: Variant, number: int) -> list[FlowsRow]:
    return [row for row in measures.rows_of(rows, variant) if row.round == number]


def held_of(rows: Sequence[NetworkRow], rate_pps: float | None) -> list[Held]:
    """What buffers held at failures during a stream, or during workloads (None)."""
    return [held for row in rows for held in row.measured.held if held.rate_pps == rate_pps]


def _amount(held: Held, unit: str) -> float:
    return float(held.packets if unit == "packets" else held.frame_bytes)


def within_delta(held: Held) -> float:
    """Packets of a stream that were sent within delta before its failure was detected; by its rate where unknown."""
    by_rate = (held.rate_pps or 0.0) * DELTA_MS / 1000
    return by_rate if held.sent_within_delta is None else float(held.sent_within_delta)


def since_failure(held: Held) -> float:
    """As `within_delta`, from the failure until its detection."""
    by_rate = (held.rate_pps or 0.0) * held.detection_ms / 1000
    return by_rate if held.sent_since_failure is None else float(held.sent_since_failure)


def _buffer_claims(rows: Sequence[NetworkRow]) -> list[ClaimResult]:
    found = []
    for rate in STREAMS_PPS:
        held = held_of(rows, float(rate))
        for unit, size in _SIZES.items():
            ratios = [_amount(each, unit) / (within_delta(each) * size) for each in held if within_delta(each)]
            name = f"{unit} held at a failure by those sent within delta, {rate} packets/s, {DELTA_MS:g} ms"
            claim = Claim(name, "ratio", 1.0, FORMULA_BAND, by_construction=HELD)
            found.append(judge(claim, mean_interval(ratios) if ratios else None))
        needed = [each.packets / since_failure(each) for each in held if since_failure(each)]
        name = f"packets held at a failure by those sent since it, {rate} packets/s"
        found.append(
            judge(Claim(name, "ratio", 1.0, AtLeast(1.0), asks=MARGIN), mean_interval(needed) if needed else None)
        )
        paces = [within_delta(each) / (rate * DELTA_MS / 1000) for each in held]
        name = f"packets sent within delta by rate x delta, {rate} packets/s"
        found.append(judge(Claim(name, "ratio"), mean_interval(paces) if paces else None))
    during = held_of(rows, None)
    for unit in _SIZES:
        amounts = [_amount(each, unit) for each in during]
        found.append(
            judge(Claim(f"{unit} held at a failure, short flows", unit), mean_interval(amounts) if amounts else None)
        )
    delays = [held.detection_ms for row in rows for held in row.measured.held]
    claim = Claim("from a failure to when SQR was notified (BFD)", "ms", 0.03)
    return [*found, judge(claim, mean_interval(delays) if delays else None)]


def draw(stored: Sequence[NetworkRow], caption: str) -> Figure:
    """Distributions of completion times of hit flows, and what buffers held against what was sent within delta."""
    rows = by_workload(stored)
    figure, axes = canvas.panels("SQR across a fat tree of Open vSwitch switches", 3)
    for panel, table in zip(axes, WORKLOADS, strict=False):
        _draw_times(panel, rows, table.name)
        panel.set_title(f"{table.title}, flows that a failure hit", fontsize=10, color=INK, loc="left")
    _draw_held(axes[2], stored)
    if axes[0].lines:
        canvas.legend(figure, axes[0])
    facts = [
        f"TCP flows of at most {setup.LIMIT_BYTES // 1000} kB from {SOURCE} to {DESTINATION}, one at a time, "
        f"{setup.PAUSE_MS:g} ms apart on average; {FAILING[0]} to {FAILING[1]} fails silently, one direction.",
        f"BFD every {BFD_MS} ms detects it; RTOmin {TIMER_MS:g} ms; delta {DELTA_MS:g} ms. 20 switches in user space "
        "on one machine; all variants have the same routes. No failure: all flows.",
    ]
    return canvas.finish(figure, facts, caption)


def _draw_times(axes: Axes, rows: Sequence[FlowsRow], workload: str) -> None:
    for variant, colour in COLOURS.items():
        own = measures.rows_of(rows, variant, workload)
        calm = [each for row in own for each in measures.completions_ms(row)]
        times = calm if variant == CALM else [hit.completion_ms for hit in measures.all_hits(own)]
        steps(axes, times, colour, LABELS[variant.name])
    if not axes.lines:
        say_empty(axes)
        return
    axes.axvline(TIMER_MS, color=INK, linewidth=1, linestyle=":")
    axes.set_xscale("log")
    axes.set_ylim(0, 100)
    axes.set_xlabel("flow completion time, ms (log); dotted: a timer", color=INK)
    axes.set_ylabel("flows with at most so much, %", color=INK)


def _draw_held(axes: Axes, rows: Sequence[NetworkRow]) -> None:
    axes.set_title("buffer at a failure of a stream", fontsize=10, color=INK, loc="left")
    found = [held for rate in STREAMS_PPS for held in held_of(rows, float(rate))]
    if not found:
        say_empty(axes)
        return
    for count, colour, label in (
        (within_delta, PALETTE[0], "within delta"),
        (since_failure, PALETTE[7], "since the failure"),
    ):
        axes.plot([count(held) for held in found], [held.packets for held in found], "o", color=colour, label=label)
    top = 1.1 * max(axes.get_xlim()[1], axes.get_ylim()[1])
    axes.plot([0, top], [0, top], color=INK, linewidth=1, linestyle=":")
    axes.set_xlim(0, top)
    axes.set_ylim(0, top)
    axes.set_xlabel("packets sent before the detection", color=INK)
    axes.set_ylabel("packets held", color=INK)
    axes.legend(fontsize=8.5, frameon=False)


def table(stored: Sequence[NetworkRow]) -> Table:
    """Completion times of all flows and of hit ones."""
    return completion_lines(by_workload(stored), LABELS)


ROWS = RowType("network-flows", NetworkFlowsParameters, NetworkFlowsMeasured, f"{ID}/")
FIGURE = PaperFigure(
    ID,
    setup.PAPER,
    "completion times and buffers across a fat tree of Open vSwitch switches",
    trials,
    ROWS.on(claims),
    ROWS.on(draw),
    ROWS.on(table),
)
