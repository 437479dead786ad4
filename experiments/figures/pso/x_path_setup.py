"""x-path-setup: what it is worth that later switches get their rules with a flow's first packet-in (section 5.1, D2).

Every packet is the first of its flow and goes through four switches of a real Open vSwitch, which share a control link.
Bands were fixed after one pilot run, before the runs that are judged: asking at every switch costs four packet-ins a
flow, a confirmed path one; where the control link has room, a path at once is no slower, and where asking at every
switch needs nearly all of it (150 flows a second: the answers alone are 2.1 Mbit/s of 2) it takes at most half as long.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from experiments.campaign.figure import PaperFigure, Table
from experiments.campaign.kinds.control import PATH_SETUP, ROWS, ControlParameters, ControlRow
from experiments.campaign.statistics import Estimate, change_interval
from experiments.campaign.values import CampaignPlan, Trial, Variant
from experiments.campaign.verdicts import AtMost, Claim, ClaimResult, Within, judge
from experiments.charts import canvas
from experiments.charts.canvas import INK, PALETTE
from experiments.figures.pso import setup
from experiments.figures.pso.comparisons import LEAST_MS, with_spread
from experiments.figures.pso.measures import HIGH, LOW, Measure, as_ratio, estimate, mean_ms, of_class

if TYPE_CHECKING:
    from matplotlib.figure import Figure


ID = "x-path-setup"
N_SWITCHES = 4
ASKS, AT_ONCE, CONFIRMED, BEHIND_PSO = (
    Variant("each-asks"),
    Variant("at-once"),
    Variant("confirmed"),
    Variant("at-once-pso"),
)
VARIANTS = (ASKS, AT_ONCE, CONFIRMED, BEHIND_PSO)
LABELS = {
    ASKS.name: "each switch asks",
    AT_ONCE.name: "path at once",
    CONFIRMED.name: "path at once, confirmed",
    BEHIND_PSO.name: "path at once, with PSO",
}
SETTINGS = {
    ASKS.name: {"ARMOR_REACTIVE_PATH": "hop"},
    AT_ONCE.name: {},
    CONFIRMED.name: {"ARMOR_REACTIVE_CONFIRM": "on"},
    BEHIND_PSO.name: {},
}
FLOWS_PPS = (40.0, 150.0)
HIGH_SHARE = 0.2
SECONDS, QUICK_SECONDS = 5.0, 2.0
_SEED = 1
_PATH_COLOURS = (PALETTE[2], PALETTE[6], PALETTE[7], PALETTE[0])


def trials(plan: CampaignPlan) -> tuple[Trial, ...]:
    """Every variant at every load, one after the other; who is first changes."""
    found = []
    for number, rate_pps in enumerate(FLOWS_PPS * setup.repetitions(plan, PATH_SETUP)):
        first = number // len(FLOWS_PPS) % len(VARIANTS)
        found += [_trial(plan, number + 1, rate_pps, variant) for variant in (*VARIANTS[first:], *VARIANTS[:first])]
    return tuple(found)


def _trial(plan: CampaignPlan, number: int, rate_pps: float, variant: Variant) -> Trial:
    seconds = QUICK_SECONDS if plan.quick else SECONDS
    parameters = ControlParameters(
        PATH_SETUP,
        seconds,
        setup.LINK_PARAMETERS,
        setup.PMT[setup.REAL] if variant == BEHIND_PSO else None,
        tuple(SETTINGS[variant.name].items()),
        flows_pps=rate_pps,
        high_share=HIGH_SHARE,
        line=setup.LINE,
    )
    return setup.control_trial(plan, f"{PATH_SETUP}/{rate_pps:g}", "line", number, variant, parameters=parameters)


def rows_of(rows: Sequence[ControlRow], variant: Variant, flows_pps: float | None = None) -> list[ControlRow]:
    """Good rows of a variant, at one load or at all."""
    return [
        row
        for row in rows
        if row.parameters.regime == PATH_SETUP
        and row.variant == variant.name
        and flows_pps in (None, row.parameters.flows_pps)
    ]


def packet_ins_a_flow(row: ControlRow) -> float | None:
    """Packets that the switches sent to the controller, for each flow."""
    sent, flows = row.measured.packet_ins, row.measured.flows
    return sent / flows if sent is not None and flows else None


SENT = "packet-ins are what the variants are defined by"
MEDIAN_MS = of_class(LOW, "p50_ms")  # most packets; a mean would show the machine's hiccups too


def lost_percent(row: ControlRow) -> float | None:
    """Share of first packets that did not arrive within the patience."""
    offered = sum(each.offered for each in row.measured.classes.values())
    answered = sum(each.answered for each in row.measured.classes.values())
    return 100.0 * (offered - answered) / offered if offered else None


def ratio(
    rows: Sequence[ControlRow], one: Variant, other: Variant, flows_pps: float, measure: Measure
) -> Estimate | None:
    """Mean of the second variant over that of the first, the same rounds compared."""
    both = [
        {row.round: value for row in rows_of(rows, variant, flows_pps) if (value := measure(row)) is not None}
        for variant in (one, other)
    ]
    return as_ratio(change_interval(both[0], both[1], _SEED))


def claims(rows: Sequence[ControlRow]) -> list[ClaimResult]:
    """Packet-ins a flow, and the delay of first packets."""
    light, heavy = FLOWS_PPS
    counts = ((ASKS, Within(3.9, 4.1)), (CONFIRMED, Within(0.99, 1.05)), (AT_ONCE, None))
    found = [
        judge(
            Claim(
                f"packet-ins a flow over {N_SWITCHES} switches, {LABELS[variant.name]}",
                "",
                None,
                band,
                by_construction=None if band is None else SENT,
            ),
            estimate(rows_of(rows, variant), packet_ins_a_flow),
        )
        for variant, band in counts
    ]
    for flows_pps, most in ((light, 1.0), (heavy, 0.5)):
        name = f"median delay of first packets, path at once / each switch asks, {flows_pps:g} flows/s"
        claim = Claim(name, "ratio", None, AtMost(most), neutral=1.0)
        found.append(judge(claim, ratio(rows, ASKS, AT_ONCE, flows_pps, MEDIAN_MS)))
    name = f"median delay of first packets, confirmed / each switch asks, {heavy:g} flows/s"
    found.append(judge(Claim(name, "ratio", neutral=1.0), ratio(rows, ASKS, CONFIRMED, heavy, MEDIAN_MS)))
    for kind in (HIGH, LOW):
        name = f"mean delay of first packets, {kind} class, path at once: PSO / stock Ryu, {heavy:g} flows/s"
        claim = Claim(name, "ratio", neutral=1.0)
        found.append(judge(claim, ratio(rows, AT_ONCE, BEHIND_PSO, heavy, mean_ms(kind))))
    return found


_COLUMNS: tuple[tuple[str, Measure], ...] = (
    ("packet-ins a flow", packet_ins_a_flow),
    ("high p50 ms", of_class(HIGH, "p50_ms")),
    ("low p50 ms", MEDIAN_MS),
    ("high mean ms", mean_ms(HIGH)),
    ("low mean ms", mean_ms(LOW)),
    ("lost %", lost_percent),
    ("controller CPU %", lambda row: float(row.measured.controller_cpu_percent)),
)


def table(rows: Sequence[ControlRow]) -> Table:
    """A line for every load and variant."""
    lines = []
    for flows_pps in FLOWS_PPS:
        for variant in VARIANTS:
            mine = rows_of(rows, variant, flows_pps)
            if mine:
                cells = (with_spread(estimate(mine, measure)) for _, measure in _COLUMNS)
                lines.append((f"{flows_pps:g} flows/s, {LABELS[variant.name]}", str(len(mine)), *cells))
    return Table(("load", "trials", *(name for name, _ in _COLUMNS)), tuple(lines))


def draw(rows: Sequence[ControlRow], caption: str) -> Figure:
    """Packet-ins a flow, and delays of first packets by class, at a light and at a heavy load."""
    figure, axes = canvas.panels("First packets of flows through four switches", 3, 4.6)
    measured: tuple[tuple[str, Measure], ...] = (
        ("packet-ins a flow", packet_ins_a_flow),
        ("median delay, high class, ms (log)", of_class(HIGH, "p50_ms")),
        ("median delay, low class, ms (log)", of_class(LOW, "p50_ms")),
    )
    width = 0.8 / len(VARIANTS)
    for axis, (words, measure) in zip(axes, measured, strict=True):
        for number, variant in enumerate(VARIANTS):
            for place, flows_pps in enumerate(FLOWS_PPS):
                found = estimate(rows_of(rows, variant, flows_pps), measure)
                canvas.bar(axis, place + (number - 1.5) * width, found, 0.92 * width, color=_PATH_COLOURS[number])
            axis.bar([0], [0], color=_PATH_COLOURS[number], label=LABELS[variant.name])
        names = [f"{flows_pps:g} flows/s" for flows_pps in FLOWS_PPS]
        axis.set_xticks(range(len(names)), names)
        axis.set_ylabel(words, color=INK)
        axis.set_ylim(bottom=0)
        if "log" in words and any(patch.get_height() > 0 for patch in axis.patches):  # type: ignore[attr-defined]
            axis.set_yscale("log")
            axis.set_ylim(bottom=LEAST_MS)
    canvas.legend(figure, axes[0])
    facts = [
        f"Four bridges of one Open vSwitch share a control link of {setup.LINK_MBPS:g} Mbit/s; every packet is the "
        f"first of its flow; delay from host to host. {100 * HIGH_SHARE:g} % are of the high class."
    ]
    return canvas.finish(figure, [*facts, "Whiskers are 95 % intervals."], caption)


FIGURE = PaperFigure(
    ID,
    "beyond",
    "First packets through four switches: each switch asks, or the path is set up at once",
    trials,
    ROWS.on(claims),
    ROWS.on(draw),
    ROWS.on(table),
    with_paper="pso",
)
