"""What PSO's ids share: PSO beside FIFO over the normalised load, as claims, pictures and tables.

Chosen before anything was measured: "NL > 0.8" are the loads 0.9 to 1.2 together ("NL > 0.6" in-band: 0.8 to 1.2), each
round's PSO compared with its FIFO. The link-bound regime is judged, as in the paper the link is what fills up; the
CPU-bound one stands beside it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from experiments.campaign.figure import Table
from experiments.campaign.kinds.control import ControlRow
from experiments.campaign.statistics import Estimate
from experiments.campaign.values import CampaignPlan, Trial
from experiments.campaign.verdicts import MARGIN, AtLeast, AtMost, Claim, ClaimResult, Within, around, judge
from experiments.charts.canvas import INK, PALETTE, PAPER, paper_handle, say_empty, whisker
from experiments.figures.pso import setup
from experiments.figures.pso.measures import (
    HIGH,
    LOW,
    Choice,
    Measure,
    all_answers_pps,
    answered_kbps,
    change_percent,
    chosen,
    dropped_percent,
    estimate,
    knee_interval,
    less,
    lost_percent,
    mean_ms,
    nls_of,
    of_class,
    ratio,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes


ABOVE_08 = tuple(nl for nl in setup.LINK_NLS if nl > 0.8)
FIFO, PSO = setup.FIFO.name, setup.PSO.name
_SPACING = 0.15  # of loads around the paper's knees
_ACKNOWLEDGED = (
    "flow-mods come on the main connection and packet-ins go on others, with acknowledgements in packets of their own"
)
COLOURS = {setup.FIFO.name: PALETTE[2], setup.PSO.name: PALETTE[0]}
_MARKS = {setup.FIFO.name: "s", setup.PSO.name: "o"}
LINK, CPU, REAL = Choice(setup.LINK), Choice(setup.CPU), Choice(setup.REAL)
SCALED = (
    f"Scaled: a control link of {setup.LINK_MBPS:g} Mbit/s for 100, packet-ins of 220 bytes (IP), Poisson arrivals; "
    "whiskers are 95 % intervals."
)
LEAST_MS = 0.3
# Least difference between shares of packets that counts, in points: what PSO itself may lack of the throughput offered.
# The paper's means and intervals leave at least 3.6 (Figure 7), 4.7 (Figure 8) and 4.9 (Figure 9).
LEAST_POINTS = 1.0
EDGE = {"out": 0.8, "in": 0.6}
_LOAD: tuple[tuple[str, Measure], ...] = (
    ("high lost %", lost_percent(HIGH)),
    ("high mean ms", mean_ms(HIGH)),
    ("high p99 ms", of_class(HIGH, "p99_ms")),
    ("high kbit/s", answered_kbps(HIGH)),
    ("high dropped %", dropped_percent(HIGH)),
    ("low lost %", lost_percent(LOW)),
    ("low mean ms", mean_ms(LOW)),
    ("answers/s", all_answers_pps),
)


def out_of_band_trials(plan: CampaignPlan) -> tuple[Trial, ...]:
    """Packet-ins over a control link of their own, which fills up."""
    return setup.load_trials(plan, setup.LINK, setup.LINK_NLS)


def high_lost(
    rows: Sequence[ControlRow], choice: Choice, name: str, band: AtMost | None, variant: str, *, paper: float | None
) -> ClaimResult:
    """Share of the high class that a variant lost."""
    return judge(
        Claim(name, "%", paper, band, asks=MARGIN), estimate(chosen(rows, choice, variant), lost_percent(HIGH))
    )


def share_apart(
    rows: Sequence[ControlRow], choice: Choice, name: str, paper: float | str, measure: Measure, *, larger: str
) -> ClaimResult:
    """Difference between both variants' shares of packets, held to the least that counts, interval and all."""
    smaller = FIFO if larger == PSO else PSO
    claim = Claim(name, "points", paper, AtLeast(LEAST_POINTS), asks=MARGIN)
    return judge(claim, less(rows, choice, measure, larger, smaller))


def delay_ratio(rows: Sequence[ControlRow], choice: Choice, name: str, paper: float, most: float) -> ClaimResult:
    """Mean delay of the high class, PSO over FIFO, held to an upper bound."""
    claim = Claim(name, "ratio", round(paper, 3), AtMost(most), neutral=1.0)
    return judge(claim, ratio(rows, choice, mean_ms(HIGH)))


def all_answers(rows: Sequence[ControlRow], choice: Choice) -> ClaimResult:
    """Whether low classes get all that is left: the sum of answers."""
    claim = Claim("answers of all classes, PSO against FIFO, NL 1.1", "%", "nothing wasted", Within(-5, 5), asks=MARGIN)
    return judge(claim, change_percent(rows, choice, all_answers_pps))


def judged_knee(rows: Sequence[ControlRow], choice: Choice, paper: float, where: str) -> ClaimResult:
    """Load up to which FIFO is not congested, held to the paper's."""
    claim = Claim(f"knee of FIFO, {where}", "NL", paper, around(paper, _SPACING), asks=MARGIN)
    return judge(claim, knee_interval(rows, choice, HIGH, FIFO))


def delays_beside(rows: Sequence[ControlRow], choice: Choice, above: tuple[float, ...]) -> list[ClaimResult]:
    """Mean delays of both variants, below and above the knee; ours are of a slower link, so nothing is judged."""
    low = replace(choice, nls=tuple(nl for nl in _nls(choice) if nl not in above))
    high = replace(choice, nls=above)
    return [
        judge(
            Claim(f"mean delay, {variant.name.upper()}, {words}", "ms"),
            estimate(chosen(rows, part, variant.name), mean_ms(HIGH)),
        )
        for words, part in (("below", low), ("above", high))
        for variant in setup.VARIANTS
    ]


def _nls(choice: Choice) -> tuple[float, ...]:
    return {setup.IN_BAND: setup.IN_BAND_NLS, setup.REAL: setup.REAL_NLS}.get(choice.regime, setup.LINK_NLS)


def exact(value: float | None) -> Estimate | None:
    """A computed value, which has no interval."""
    return None if value is None else Estimate(value, None, None)


def over_load(
    axes: Axes,
    rows: Sequence[ControlRow],
    choice: Choice,
    measure: Measure,
    edge: float | None,
    *,
    style: str = "-",
    label: str = "{}",
) -> None:
    """A line of each variant over the load."""
    if not chosen(rows, choice):
        if edge is not None:
            say_empty(axes)
        return
    for variant in setup.VARIANTS:
        points = []
        for nl in nls_of(rows, choice):
            found = estimate(chosen(rows, replace(choice, nls=(nl,)), variant.name), measure)
            if found is not None:
                points.append((nl, found))
        axes.plot(
            [nl for nl, _ in points],
            [found.value for _, found in points],
            marker=_MARKS[variant.name],
            markersize=4,
            color=COLOURS[variant.name],
            ls=style,
            lw=1.5,
            label=label.format(setup.LABELS[variant.name]),
        )
        for nl, found in points:
            whisker(axes, nl, found)
    if edge is not None:
        axes.axvline(edge, color=PAPER, lw=1, ls=":", zorder=1)
    axes.set_xlabel("normalised load (NL)", color=INK)
    axes.set_xlim(0.1, 1.3)


def from_nothing(axes: Axes) -> None:
    """A share from 0 up to 1 % at least, so that nothing lost looks like nothing; whiskers end at 100 %."""
    axes.set_ylim(0, min(100.0, max(1.0, axes.get_ylim()[1])))


def logarithmic(axes: Axes, words: str) -> None:
    """Give an axis that has something on it a logarithmic scale, and its words."""
    if axes.lines:
        axes.set_yscale("log")
    axes.set_ylabel(words, color=INK)


def paper_level(axes: Axes, *levels: float) -> None:
    """Mark the paper's values at the right edge."""
    for level in levels:
        axes.plot([1.22, 1.3], [level, level], color=PAPER, lw=2.2, clip_on=False)


def paper_words(text: str) -> object:
    """Legend entry of the paper's values."""
    return paper_handle(f"paper: {text}")


def repetitions_text(rows: Sequence[ControlRow], choice: Choice) -> str:
    """How many trials a point has."""
    counts = [
        len(chosen(rows, replace(choice, nls=(nl,)), variant.name))
        for nl in nls_of(rows, choice)
        for variant in setup.VARIANTS
    ]
    if not counts:
        return ""
    span = str(min(counts)) if min(counts) == max(counts) else f"{min(counts)} to {max(counts)}"
    return f"{span} trial{'s' * (span != '1')} a point, FIFO and PSO in turn."


def load_table(rows: Sequence[ControlRow], choices: Sequence[Choice]) -> Table:
    """Loss, delay and throughput over the load, mean with 95 % interval."""
    lines = []
    for choice in choices:
        for nl in nls_of(rows, choice):
            for variant in setup.VARIANTS:
                mine = chosen(rows, replace(choice, nls=(nl,)), variant.name)
                bursts = f", bursts of {choice.burst_pkts}" if choice.burst_pkts else ""
                bursts += ", retransmitted" if choice.retransmit_after_s else ""
                name = f"{choice.regime}{bursts}, NL {nl:g}, {variant.name.upper()}"
                lines.append((name, str(len(mine)), *(cell(mine, measure) for _, measure in _LOAD)))
    return Table(("load", "trials", *(name for name, _ in _LOAD)), tuple(lines))


def with_spread(found: Estimate | None) -> str:
    """A mean and half of its interval, for people."""
    if found is None:
        return "-"
    if found.low is None or found.high is None:
        return f"{found.value:.3g}"
    return f"{found.value:.3g} ±{found.high - found.value:.2g}"


def cell(rows: Sequence[ControlRow], measure: Measure) -> str:
    """Mean over trials and half of its interval, for people."""
    return with_spread(estimate(rows, measure))
