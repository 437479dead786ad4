"""x-shares: how two classes that each fill the control link share it, by the scheduler of the table (section 4.3).

Registered before the first run. Both classes offer nearly the link's rate, in packet-ins of one size. The answers of a
class count what its packet-ins had of the link: acknowledgements of flow-mods, on the main connection, have the rest.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from experiments.campaign.figure import PaperFigure, Table
from experiments.campaign.kinds.control import ROWS, SHARES, ControlParameters, ControlRow
from experiments.campaign.rows import of_variant
from experiments.campaign.values import CampaignPlan, Trial, Variant
from experiments.campaign.verdicts import MARGIN, AtLeast, AtMost, Band, Claim, ClaimResult, Within, judge
from experiments.charts import canvas
from experiments.charts.canvas import INK, PALETTE
from experiments.figures.pso import setup
from experiments.figures.pso.comparisons import with_spread
from experiments.figures.pso.measures import HIGH, LOW, Measure, estimate, link_percent, mean_ms

if TYPE_CHECKING:
    from matplotlib.figure import Figure


STRICT, WEIGHTED, MIN_RATE = Variant("strict"), Variant("weighted"), Variant("min-rate")
VARIANTS = (STRICT, WEIGHTED, MIN_RATE)
_PMT = {
    STRICT.name: "examples/pmt/out_of_band.yaml",
    WEIGHTED.name: "examples/pmt/weighted.yaml",
    MIN_RATE.name: "examples/pmt/min_rate.yaml",
}
NL, HIGH_PPS = 2.0, 1068.0  # half of the packet-ins are of the high class: each class offers the whole link
WEIGHTED_HIGH, GUARANTEED_LOW = 75.0, 30.0  # as the examples say: 9 to 3, and 30 %
MARGIN_POINTS = 3.0


def trials(plan: CampaignPlan) -> tuple[Trial, ...]:
    """Every scheduler with the same arrivals; who is first changes."""
    found = []
    for number in range(setup.repetitions(plan, SHARES)):
        first = number % len(VARIANTS)
        found += [_trial(plan, number + 1, variant) for variant in (*VARIANTS[first:], *VARIANTS[:first])]
    return tuple(found)


def _trial(plan: CampaignPlan, number: int, variant: Variant) -> Trial:
    link, seconds = setup.LINK_PARAMETERS, setup.seconds_of(plan)
    parameters = ControlParameters(SHARES, seconds, link, _PMT[variant.name], nl=NL, high_pps=HIGH_PPS)
    return setup.control_trial(plan, f"{SHARES}/{NL:g}", "out-of-band", number, variant, parameters=parameters)


def high_of_both_percent(row: ControlRow) -> float | None:
    """Answers of the high class, of those of both classes."""
    high, low = (row.measured.classes[name].answers_pps or 0.0 for name in (HIGH, LOW))
    return 100.0 * high / (high + low) if high + low else None


def link_percent_of(name: str) -> Measure:
    """Share of the link's rate that the answered packet-ins of a class had."""

    def measure(row: ControlRow) -> float | None:
        pps, capacity_pps = row.measured.classes[name].answers_pps, row.measured.capacity_pps
        return 100.0 * pps / capacity_pps if pps is not None and capacity_pps else None

    return measure


def rows_of(rows: Sequence[ControlRow], variant: Variant) -> list[ControlRow]:
    """Rows of a scheduler."""
    return [row for row in of_variant(rows, variant) if row.parameters.regime == SHARES]


_CLAIMS: tuple[tuple[Variant, str, Measure, Band], ...] = (
    (STRICT, "strict: low class, of the link", link_percent_of(LOW), AtMost(MARGIN_POINTS)),
    (
        WEIGHTED,
        "weights 9 to 3: high class, of both classes",
        high_of_both_percent,
        Within(WEIGHTED_HIGH - MARGIN_POINTS, WEIGHTED_HIGH + MARGIN_POINTS),
    ),
    (
        MIN_RATE,
        "30 % guaranteed: low class, of the link",
        link_percent_of(LOW),
        Within(GUARANTEED_LOW - MARGIN_POINTS, GUARANTEED_LOW + MARGIN_POINTS),
    ),
)


def claims(rows: Sequence[ControlRow]) -> list[ClaimResult]:
    """The shares, and that the link is never idle."""
    found = [
        judge(Claim(name, "%", None, band, asks=MARGIN), estimate(rows_of(rows, variant), measure))
        for variant, name, measure, band in _CLAIMS
    ]
    for variant in VARIANTS:
        claim = Claim(f"{variant.name}: rate of the link in use", "%", "work conserving", AtLeast(97.0), asks=MARGIN)
        found.append(judge(claim, estimate(rows_of(rows, variant), link_percent)))
    return found


_COLUMNS: tuple[tuple[str, Measure], ...] = (
    ("high % of link", link_percent_of(HIGH)),
    ("low % of link", link_percent_of(LOW)),
    ("high mean ms", mean_ms(HIGH)),
    ("low mean ms", mean_ms(LOW)),
    ("link in use %", link_percent),
)


def table(rows: Sequence[ControlRow]) -> Table:
    """A line for every scheduler."""
    lines = []
    for variant in VARIANTS:
        mine = rows_of(rows, variant)
        if mine:
            cells = (with_spread(estimate(mine, measure)) for _, measure in _COLUMNS)
            lines.append((variant.name, str(len(mine)), *cells))
    return Table(("scheduler", "trials", *(name for name, _ in _COLUMNS)), tuple(lines))


def draw(rows: Sequence[ControlRow], caption: str) -> Figure:
    """Shares of the link and mean delays, by class and scheduler."""
    figure, axes = canvas.panels("Two classes that each could fill the control link", 2, 4.6)
    measured = (("packet-ins, % of the link", link_percent_of), ("mean delay, ms", mean_ms))
    for axis, (words, measure_of) in zip(axes, measured, strict=True):
        for side, name, colour in ((-0.2, HIGH, PALETTE[0]), (0.2, LOW, PALETTE[2])):
            for place, variant in enumerate(VARIANTS):
                found = estimate(rows_of(rows, variant), measure_of(name))
                canvas.bar(axis, place + side, found, 0.36, color=colour)
            axis.bar([0], [0], color=colour, label=f"{name} class")
        axis.set_xticks(range(len(VARIANTS)), [variant.name for variant in VARIANTS])
        axis.set_ylabel(words, color=INK)
        axis.set_ylim(bottom=0)
    canvas.legend(figure, axes[0])
    facts = [
        f"A control link of {setup.LINK_MBPS:g} Mbit/s; each class offers all of it. Weights 9 to 3 of high to low; "
        f"{GUARANTEED_LOW:g} % guaranteed to low. The rest is acknowledgements. Whiskers are 95 % intervals."
    ]
    return canvas.finish(figure, facts, caption)


FIGURE = PaperFigure(
    "x-shares",
    "beyond",
    "Two classes on a full control link: strict priority, weighted shares, minimum rates",
    trials,
    ROWS.on(claims),
    ROWS.on(draw),
    ROWS.on(table),
    with_paper="pso",
)
