"""Set-up of `x-in-band`: OpenFlow and data share the links of an emulated network, as in PSO's Figure 9 but for real.

Four switches in a ring, the controller at s1. The host at s3 sends packets that its switch asks the controller about,
two links away, of a high and of a low class; each comes back by the controller's answer. Beside them it sends data to
h1, over the same two links. Everything that a real switch does is there: its TCP, its queues, its connections.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from typing import TYPE_CHECKING

from experiments.campaign.figure import PaperFigure, Table
from experiments.campaign.kinds.in_band import ROWS, InBandParameters, InBandRow
from experiments.campaign.rows import of_variant
from experiments.campaign.statistics import Estimate, change_interval, mean_interval
from experiments.campaign.values import CampaignPlan, Trial, Variant
from experiments.campaign.verdicts import MARGIN, AtLeast, AtMost, Claim, ClaimResult, judge
from experiments.charts import canvas
from experiments.charts.canvas import INK, PALETTE, say_empty, whisker

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


ID, KIND, TOPOLOGY = "x-in-band", "in_band", "ring:4"
FIFO, PSO = Variant("in-band-fifo"), Variant("in-band-pso")
VARIANTS = (FIFO, PSO)
LABELS = {FIFO.name: "FIFO", PSO.name: "PSO"}
PMT = "examples/pmt/in_band_service.yaml"
CONTROLLER_AT, ASKING, TARGET = "s1", "s3", "s1"
CAPACITY_MBPS, BFD_MS = 2.0, 100
PROBE_PPS, WAIT_S, WARM_S = 50.0, 2.0, 1.0
DATA_BYTES = 1200  # UDP payload
DATA_SHARES, QUICK_SHARES = (0.3, 0.6, 0.9, 1.2), (0.6, 1.2)
OVERLOAD = 1.2
ROUNDS, QUICK_ROUNDS = 5, 2
SECONDS, QUICK_SECONDS = 5.0, 4.0
HIGH, LOW = CLASSES = ("high", "low")
# The paper's Figure 9 (simulated): 32 of more than 100 ms above normalised load 0.6; the band of pso-fig9.
MOST_DELAY_RATIO, MOST_LOSS_PERCENT = 0.32, 0.1
LEAST_USE = 0.9
_SEED = 1
Measure = Callable[[InBandRow], float | None]
_COLOURS = {FIFO.name: PALETTE[7], PSO.name: PALETTE[0]}
_STYLES = {HIGH: "-", LOW: "--"}
_PANELS = (
    ("mean_ms", "mean delay, ms (log)"),
    ("p99_ms", "99th percentile of delay, ms (log)"),
    ("lost_percent", "lost, %"),
)
_DODGE = 0.012  # of the link, so that intervals stand beside each other


def trials(plan: CampaignPlan) -> tuple[Trial, ...]:
    """Every load by both variants, which take turns in going first; a variant keeps its network for a round."""
    rounds = plan.rounds or (QUICK_ROUNDS if plan.quick else ROUNDS)
    shares = QUICK_SHARES if plan.quick else DATA_SHARES
    return tuple(
        _trial(plan, number, variant, share)
        for number in range(1, rounds + 1)
        for variant in (VARIANTS if number % 2 else VARIANTS[::-1])
        for share in shares
    )


def _trial(plan: CampaignPlan, number: int, variant: Variant, share: float) -> Trial:
    return Trial(
        trial_id=f"{ID}/r{number}/{share:g}/{variant.name}",
        kind=KIND,
        topology=TOPOLOGY,
        variant=variant,
        round=number,
        failures=0,
        links=(),
        pairs=((ASKING, TARGET),),
        load=None,
        timing=None,
        seed=plan.seed + number,
        parameters=InBandParameters(
            data_share=share,
            seconds=QUICK_SECONDS if plan.quick else SECONDS,
            capacity_mbps=CAPACITY_MBPS,
            bfd_ms=BFD_MS,
            controller_at=CONTROLLER_AT,
            asking=ASKING,
            target=TARGET,
            probe_pps=PROBE_PPS,
            warm_s=WARM_S,
            wait_s=WAIT_S,
            data_bytes=DATA_BYTES,
            pmt=PMT if variant == PSO else None,
        ),
    )


def rows_of(rows: Sequence[InBandRow], variant: Variant, share: float | None = None) -> list[InBandRow]:
    """Good rows of a variant, at one load or at all."""
    return [row for row in of_variant(rows, variant) if share in (None, row.parameters.data_share)]


def shares_of(rows: Sequence[InBandRow]) -> list[float]:
    """Loads that have a good row."""
    return sorted({row.parameters.data_share for variant in VARIANTS for row in rows_of(rows, variant)})


def of_class(name: str, key: str) -> Measure:
    """A number of one class; None when no packet gave it."""

    def measure(row: InBandRow) -> float | None:
        value: float | None = getattr(row.measured.classes[name], key)
        return value

    return measure


def link_use(row: InBandRow) -> float | None:
    """Share of the shared link that carried something."""
    return row.measured.link_share


def estimate(rows: Sequence[InBandRow], measure: Measure) -> Estimate | None:
    """Mean over rounds with its interval; None without a number."""
    values = [value for row in rows if (value := measure(row)) is not None]
    return mean_interval(values) if values else None


def ratio(rows: Sequence[InBandRow], share: float, measure: Measure) -> Estimate | None:
    """PSO over FIFO, the same rounds compared; None without a round that has both."""
    both = [
        {row.round: value for row in rows_of(rows, variant, share) if (value := measure(row)) is not None}
        for variant in VARIANTS
    ]
    change = change_interval(both[0], both[1], _SEED)
    if change is None:
        return None
    low, high = (None if bound is None else 1 + bound / 100 for bound in (change.low, change.high))
    return Estimate(1 + change.value / 100, low, high)


def claims(rows: Sequence[InBandRow]) -> list[ClaimResult]:
    """The high class keeps its packets and its delay when links are full, and the links stay full."""
    full, share = OVERLOAD, f"data at {OVERLOAD:g} of the link"
    found = [
        judge(
            Claim(f"loss of the high class, PSO, {share}", "%", None, AtMost(MOST_LOSS_PERCENT), asks=MARGIN),
            estimate(rows_of(rows, PSO, full), of_class(HIGH, "lost_percent")),
        ),
        judge(
            Claim(f"mean delay of the high class, PSO / FIFO, {share}", "ratio", 0.32, AtMost(MOST_DELAY_RATIO), 1.0),
            ratio(rows, full, of_class(HIGH, "mean_ms")),
        ),
    ]
    found += [
        judge(
            Claim(
                f"use of the shared link, {LABELS[variant.name]}, {share}",
                "of it",
                None,
                AtLeast(LEAST_USE),
                asks=MARGIN,
            ),
            estimate(rows_of(rows, variant, full), link_use),
        )
        for variant in VARIANTS
    ]
    others = [each for each in shares_of(rows) if each != full]
    found += [
        judge(
            Claim(f"mean delay of the high class, PSO / FIFO, data at {each:g} of the link", "ratio", neutral=1.0),
            ratio(rows, each, of_class(HIGH, "mean_ms")),
        )
        for each in others
    ]
    lost = estimate(rows_of(rows, FIFO, full), of_class(HIGH, "lost_percent"))
    return [*found, judge(Claim(f"loss of the high class, FIFO, {share}", "%"), lost)]


_COLUMNS: tuple[tuple[str, Measure], ...] = (
    *((f"{name}: lost, %", of_class(name, "lost_percent")) for name in CLASSES),
    *((f"{name}: mean, ms", of_class(name, "mean_ms")) for name in CLASSES),
    *((f"{name}: p99, ms", of_class(name, "p99_ms")) for name in CLASSES),
    ("link used", link_use),
    ("data, Mbit/s", lambda row: row.measured.data_mbps),
)


def table(rows: Sequence[InBandRow]) -> Table:
    """A line for every load and variant."""
    lines = []
    for share in shares_of(rows):
        for variant in VARIANTS:
            own = rows_of(rows, variant, share)
            found = [estimate(own, measure) for _, measure in _COLUMNS]
            cells = (("-" if each is None else f"{each.value:,.2f}") for each in found)
            lines.append((f"data at {share:g} of the link, {LABELS[variant.name]}", str(len(own)), *cells))
    return Table(("", "rounds", *(name for name, _ in _COLUMNS)), tuple(lines))


def draw(rows: Sequence[InBandRow], caption: str) -> Figure:
    """Delay and loss of both classes over the load of data."""
    figure, found = canvas.panels(
        "In-band control on real switches: answers of the controller beside data", len(_PANELS)
    )
    for axes, (key, words) in zip(found, _PANELS, strict=True):
        _draw(axes, rows, key)
        axes.set_ylabel(words, color=INK)
        axes.set_xlabel("data offered, share of the link", color=INK)
    if shares_of(rows):
        for axes in found[:-1]:
            axes.set_yscale("log")
        found[-1].set_ylim(0, max(1.0, found[-1].get_ylim()[1]))  # a line of zeros stands on the ground of a per cent
        canvas.legend(figure, found[0])
    facts = [
        f"Ring of four switches, controller at {CONTROLLER_AT}; the host at {ASKING} sends "
        f"{PROBE_PPS:g} packets a second of each class to the controller and gets them back, and data to "
        f"h1 over the same links of {CAPACITY_MBPS:g} Mbit/s. Open vSwitch, TCP, Ryu; FIFO: one queue for "
        "everything but BFD; PSO: a connection, a mark and a queue for each class."
    ]
    return canvas.finish(figure, facts, caption)


def _draw(axes: Axes, rows: Sequence[InBandRow], key: str) -> None:
    shares = shares_of(rows)
    if not shares:
        say_empty(axes)
        return
    for number, (variant, name) in enumerate(product(VARIANTS, CLASSES)):
        measure = of_class(name, key)
        found = {share: estimate(rows_of(rows, variant, share), measure) for share in shares}
        points = [(share + (number - 1.5) * _DODGE, each) for share, each in found.items() if each is not None]
        axes.plot(
            [place for place, _ in points],
            [each.value for _, each in points],
            _STYLES[name],
            marker="o",
            markersize=4,
            clip_on=False,
            color=_COLOURS[variant.name],
            label=f"{LABELS[variant.name]}, {name} class",
        )
        for place, each in points:
            whisker(axes, place, each)


FIGURE = PaperFigure(
    ID,
    "beyond",
    "Beyond: answers of the controller over shared links of real switches, FIFO and PSO",
    trials,
    ROWS.on(claims),
    ROWS.on(draw),
    ROWS.on(table),
    with_paper="pso",
)
