"""x-by-class: what `by_class: [commands]` costs in order, and gains where the direction to the switch is full.

An app sends commands to one emulated switch while it also floods the low class, with packet-outs or with flow-mods, at
1.2 of what the control link takes towards the switch. A command has taken effect when the switch takes it. Bands were
registered before the first run with a flood, from this estimate: 2 Mbit/s send a full packet in 6 ms, and a connection
that floods has 50 to 150 kB (0.2 to 0.6 s) in the queue of the link, whatever PSO does with what waits before that.

- Beside packet-outs the main connection has the link's most urgent queue and little to carry, so commands of the high
  class gain nothing from a connection of their class (about one full packet either way). Those of the low class wait
  with the flood: 0.4 to 1 s for 5 ms. So do those of the high class that depend on one of the low class.
- Beside flow-mods of the low class the main connection is the flood's own; commands of the high class leave its
  0.2 to 0.6 s behind: 5 to 10 ms.
- A barrier costs one round trip more without a flood, and waits for the flood with or without the option.
- Dependent commands keep their order. Of independent ones nearly every second, each of the low class, is reordered.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from experiments.campaign.figure import PaperFigure, Table
from experiments.campaign.kinds.commands import (
    ACROSS,
    BARRIERS,
    DEPENDENT,
    FLOW_MODS,
    INDEPENDENT,
    NONE,
    PACKET_OUTS,
    ROWS,
    CommandsParameters,
    CommandsRow,
)
from experiments.campaign.rows import of_variant
from experiments.campaign.statistics import Estimate, change_interval, mean_interval
from experiments.campaign.values import CampaignPlan, Trial, Variant
from experiments.campaign.verdicts import (
    COUNT,
    MARGIN,
    AtLeast,
    AtMost,
    Band,
    Claim,
    ClaimResult,
    Exactly,
    Within,
    judge,
)
from experiments.charts import canvas
from experiments.charts.canvas import INK, PALETTE
from experiments.figures.pso import setup
from experiments.figures.pso.comparisons import with_spread
from experiments.figures.pso.measures import HIGH, LOW, SEED, as_ratio

if TYPE_CHECKING:
    from matplotlib.figure import Figure


ID = "x-by-class"
MAIN, BY_CLASS = Variant("main"), Variant("by-class")
VARIANTS = (MAIN, BY_CLASS)
LABELS = {MAIN: "main connection", BY_CLASS: "connection of their class (by_class)"}
COLOURS = {MAIN: PALETTE[2], BY_CLASS: PALETTE[0]}
PMT = {MAIN: "examples/pmt/out_of_band.yaml", BY_CLASS: "examples/pmt/every_message.yaml"}
FLOODS = (NONE, PACKET_OUTS, FLOW_MODS)
POINTS = (
    (INDEPENDENT, NONE),
    (BARRIERS, NONE),
    *((stream, flood) for flood in FLOODS[1:] for stream in (INDEPENDENT, DEPENDENT, ACROSS, BARRIERS)),
)
FLOOD_SHARE, STEPS_PPS = 1.2, 20.0
SECONDS, QUICK_SECONDS = 5.0, 2.0
REPETITIONS = 10
Measure = Callable[[CommandsRow], float | None]


def trials(plan: CampaignPlan) -> tuple[Trial, ...]:
    """Every point with both variants, one after the other; who is first changes."""
    rounds = plan.rounds or (setup.QUICK_REPETITIONS if plan.quick else REPETITIONS)
    return tuple(
        _trial(plan, number, point, variant)
        for number in range(1, rounds + 1)
        for place, point in enumerate(POINTS)
        for variant in (VARIANTS if (number + place) % 2 else reversed(VARIANTS))
    )


def _trial(plan: CampaignPlan, number: int, point: tuple[str, str], variant: Variant) -> Trial:
    seconds, (stream, flood) = QUICK_SECONDS if plan.quick else SECONDS, point
    own = CommandsParameters(stream, flood, FLOOD_SHARE, STEPS_PPS, seconds, setup.LINK_PARAMETERS, PMT[variant])
    name = f"by-class/{stream}/{flood}".replace(" ", "-")
    return replace(setup.control_trial(plan, name, "out-of-band", number, variant, parameters=own), kind="commands")


def rows_of(rows: Sequence[CommandsRow], variant: Variant, *points: tuple[str, str]) -> list[CommandsRow]:
    """Rows of a variant at some points."""
    return [row for row in of_variant(rows, variant) if (row.parameters.stream, row.parameters.flood) in points]


def effect_ms(name: str) -> Measure:
    """Median time from the sending of a command of a class until the switch takes it."""
    return lambda row: row.measured.effect[name].p50_ms


def confirmed_ms(name: str) -> Measure:
    """Median time from the sending of a command of a class until the reply of its barrier."""
    return lambda row: row.measured.confirmed[name].p50_ms


def reordered_percent(row: CommandsRow) -> float | None:
    """Commands that the switch took after a later one."""
    return 100.0 * row.measured.reordered / row.measured.sent if row.measured.sent else None


def extra_barriers(row: CommandsRow) -> float | None:
    """Barriers that PSO added, for a command of the app."""
    return row.measured.extra_barriers / row.measured.sent if row.measured.sent else None


def estimate(rows: Sequence[CommandsRow], measure: Measure) -> Estimate | None:
    """Mean over trials with its 95 % interval; None without a value."""
    values = [value for value in map(measure, rows) if value is not None]
    return mean_interval(values) if values else None


def ratio(rows: Sequence[CommandsRow], point: tuple[str, str], measure: Measure) -> Estimate | None:
    """By class over main connection, the same rounds compared."""
    both = [
        {row.round: value for row in rows_of(rows, variant, point) if (value := measure(row)) is not None}
        for variant in VARIANTS
    ]
    return as_ratio(change_interval(both[0], both[1], SEED))


_RATIOS: tuple[tuple[str, tuple[str, str], Measure, Band], ...] = (
    ("effect of independent, high class", (INDEPENDENT, PACKET_OUTS), effect_ms(HIGH), Within(0.5, 2.0)),
    ("effect of independent, low class", (INDEPENDENT, PACKET_OUTS), effect_ms(LOW), AtLeast(10.0)),
    ("effect of independent, high class", (INDEPENDENT, FLOW_MODS), effect_ms(HIGH), AtMost(0.2)),
    ("effect across classes, high class", (ACROSS, PACKET_OUTS), effect_ms(HIGH), AtLeast(10.0)),
    ("reply of a barrier, high class", (BARRIERS, NONE), confirmed_ms(HIGH), AtLeast(1.2)),
    ("reply of a barrier, high class", (BARRIERS, PACKET_OUTS), confirmed_ms(HIGH), Within(0.5, 2.0)),
    ("reply of a barrier, high class", (BARRIERS, FLOW_MODS), confirmed_ms(HIGH), Within(0.5, 2.0)),
)
_REORDERED: tuple[tuple[Variant, Band], ...] = ((MAIN, AtMost(1.0)), (BY_CLASS, AtLeast(25.0)))


def claims(rows: Sequence[CommandsRow]) -> list[ClaimResult]:
    """What is gained and lost in time, the order of commands, and the barriers that PSO adds."""
    found = []
    for words, point, measure, band in _RATIOS:
        name = f"median time, by class / main connection: {words}, flood: {point[1]}"
        # The margin of "no difference" is a band around 1; a bound is a change.
        asks = MARGIN if isinstance(band, Within) else "change"
        found.append(judge(Claim(name, "ratio", None, band, neutral=1.0, asks=asks), ratio(rows, point, measure)))
    for variant, band in _REORDERED:
        claim = Claim(
            f"independent commands reordered, flood: packet-outs, {variant.name}", "%", None, band, asks=MARGIN
        )
        found.append(judge(claim, estimate(rows_of(rows, variant, (INDEPENDENT, PACKET_OUTS)), reordered_percent)))
    for variant in VARIANTS:
        claim = Claim(f"dependent commands in the wrong order, {variant.name}", "", 0, Exactly(0), asks=COUNT)
        found.append(judge(claim, _total(rows_of(rows, variant, *POINTS), lambda row: row.measured.violations)))
    unneeded = [point for point in POINTS if point[0] in (INDEPENDENT, DEPENDENT)]
    claim = Claim("barriers added to entries of one class, by class", "", 0, Exactly(0), asks=COUNT)
    found.append(judge(claim, _total(rows_of(rows, BY_CLASS, *unneeded), lambda row: row.measured.extra_barriers)))
    return found


def _total(rows: Sequence[CommandsRow], count: Callable[[CommandsRow], int]) -> Estimate | None:
    return Estimate(float(sum(map(count, rows))), None, None) if rows else None


_COLUMNS: tuple[tuple[str, Measure], ...] = (
    ("high ms", effect_ms(HIGH)),
    ("low ms", effect_ms(LOW)),
    ("high, with barrier's reply, ms", confirmed_ms(HIGH)),
    ("reordered %", reordered_percent),
    ("wrong order", lambda row: float(row.measured.violations)),
    ("PSO's barriers a command", extra_barriers),
    ("commands", lambda row: float(row.measured.sent)),
    ("not taken", lambda row: float(row.measured.not_taken)),
    ("Mbit/s to the switch", lambda row: row.measured.to_switch_mbps),
)


def table(rows: Sequence[CommandsRow]) -> Table:
    """A line for every point and variant: means of trials' medians and counts."""
    lines = []
    for stream, flood in POINTS:
        for variant in VARIANTS:
            mine = rows_of(rows, variant, (stream, flood))
            if mine:
                cells = (with_spread(estimate(mine, measure)) for _, measure in _COLUMNS)
                lines.append((f"{stream}, flood: {flood}, {variant.name}", str(len(mine)), *cells))
    return Table(("commands", "trials", *(name for name, _ in _COLUMNS)), tuple(lines))


_FLOOD_WORDS = {NONE: "no flood", PACKET_OUTS: "packet-outs beside", FLOW_MODS: "flow-mods beside"}
_PANELS: tuple[tuple[str, str, Measure], ...] = (
    ("high class, until the switch takes it", INDEPENDENT, effect_ms(HIGH)),
    ("low class, until the switch takes it", INDEPENDENT, effect_ms(LOW)),
    ("high class, until the reply of its barrier", BARRIERS, confirmed_ms(HIGH)),
    ("reordered, both classes", INDEPENDENT, reordered_percent),
)


def draw(rows: Sequence[CommandsRow], caption: str) -> Figure:
    """Times of both classes, with and without barriers, and reordering, by flood and connection."""
    figure, axes = canvas.panels("Commands to a switch behind a full control link, by class or not", 2, 7.0, rows=2)
    for axis, (words, stream, measure) in zip(axes, _PANELS, strict=True):
        axis.set_title(words, color=INK, fontsize=10, loc="left")
        axis.set_ylabel("% of commands" if measure is reordered_percent else "median, ms", color=INK)
        values = {
            variant: [estimate(rows_of(rows, variant, (stream, flood)), measure) for flood in FLOODS]
            for variant in VARIANTS
        }
        canvas.grouped(axis, [_FLOOD_WORDS[flood] for flood in FLOODS], values, LABELS, COLOURS)
        if measure is not reordered_percent:
            canvas.widen(axis)
    canvas.legend(figure, axes[0])
    facts = [
        f"A control link of {setup.LINK_MBPS:g} Mbit/s; the flood, of the low class, offers {FLOOD_SHARE:g} of it "
        f"towards an emulated switch. {STEPS_PPS:g} commands a second of each class; with barriers the app waits for "
        "each reply. "
        "Whiskers are 95 % intervals of the mean of trials."
    ]
    return canvas.finish(figure, facts, caption)


FIGURE = PaperFigure(
    ID,
    "beyond",
    "Commands on the main connection or on that of their class, where the direction to the switch is full",
    trials,
    ROWS.on(claims),
    ROWS.on(draw),
    ROWS.on(table),
    with_paper="pso",
)
