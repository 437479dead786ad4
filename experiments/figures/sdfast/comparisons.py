"""What Figures 5 to 8 and 10 share: changes of delay and throughput against CB and CBC, their pictures and tables.

Chosen before anything was measured: delays and throughputs are judged over everything after the failure (transient and
converged together, as a mean over a run is), between the paper's SD-FAST (agent mode, pair planner) and CB or CBC with
a control delay of 5 ms. Everything else is printed beside, without a verdict. CB and CBC use the tree planner, and the
same tags as SD-FAST.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING

from experiments.campaign.draws.paths import MOST_FAILURES
from experiments.campaign.figure import Table
from experiments.campaign.statistics import Estimate
from experiments.campaign.values import CampaignPlan, Json, Trial, Variant
from experiments.campaign.verdicts import CHANGE, MARGIN, AtMost, Band, Claim, ClaimResult, Within, around, judge
from experiments.charts.canvas import INK, PAPER, grouped, say_empty, whisker
from experiments.figures.sdfast import measures, setup
from experiments.figures.sdfast.measures import AFTER, Choice, MeasureOf, PairMeasure
from experiments.figures.sdfast.setup import COLOURS, LABELS

if TYPE_CHECKING:
    from matplotlib.axes import Axes


MOST = (MOST_FAILURES,)
SEVERAL = tuple(range(1, MOST_FAILURES + 1))
UNDER_FAILURE = Choice("mixed", setup.DARKSTRAND, MOST)
OVER_FAILURES = Choice("mixed", setup.DARKSTRAND, SEVERAL)
FAIL_FREE = Choice("mixed", setup.DARKSTRAND, (0,))
USNET_UNDER_FAILURE = Choice("mixed", setup.USNET, MOST)
OPPONENTS = (setup.CB, setup.CBC)
# USNET is so well meshed that the paper finds all schemes close there; the margins were set before measuring.
CLOSE = "close"
CLOSE_DELAYS, CLOSE_THROUGHPUTS = Within(-10.0, 10.0), Within(-5.0, 5.0)
ON_USNET = (setup.CB, setup.CBC, setup.FFG)
# Goals of this repository for both modes, set before anything was measured: up to as many failures as tags name, a
# delay at most so much above that of CBC, and the paper's change against CB.
NAMED_FAILURES = Choice("mixed", setup.DARKSTRAND, (1, 2))
GOAL_CBC, GOAL_CB = AtMost(5.0), AtMost(-54.0)
CONVERGED_CBC = "a converged CBC has shortest paths and walks nothing back: compare the two parts below"
TABLES = "what a chain of tables costs a packet is measured by x-packet-cost"
_WILD_PERCENT = 400
PARTS = ("transient", "converged", AFTER)
GROUPS = ("fail-free", *PARTS)
SCALED = "Scaled: 5 Mbit/s links, seconds instead of minutes; whiskers are 95 % intervals."
NOTHING = "-"


def both_topologies(plan: CampaignPlan) -> tuple[Trial, ...]:
    """Fail-free trials and those with most failures, on Darkstrand and on USNET."""
    darkstrand = setup.mixed_trials(plan, setup.DARKSTRAND, setup.FAIL_FREE_AND_MOST, setup.ON_USNET)
    return (*darkstrand, *setup.mixed_trials(plan, setup.USNET, setup.FAIL_FREE_AND_MOST, setup.ON_USNET))


def over_failures(plan: CampaignPlan) -> tuple[Trial, ...]:
    """Every number of failures on Darkstrand."""
    return tuple(setup.mixed_trials(plan, setup.DARKSTRAND, setup.EVERY_NUMBER, setup.RECOVERING))


def versus(variants: tuple[Variant, Variant]) -> str:
    """Words for a comparison: the second variant against the first."""
    return f"{LABELS[variants[1]]} against {LABELS[variants[0]]}"


def where(choice: Choice) -> str:
    """Words for a choice: topology and failures."""
    numbers = choice.failures
    load = "" if choice.load is None else f", load {choice.load:g}"
    span = str(numbers[0]) if len(numbers) == 1 else f"{numbers[0]} to {numbers[-1]}"
    links = "fail-free" if numbers == (0,) else f"{span} link{'' if span == '1' else 's'} failed"
    return f"{choice.topology}, {links}{load}"


def over_loads(rows: Sequence[Json], failures: tuple[int, ...]) -> list[ClaimResult]:
    """Changes of throughput at every load that was swept: does CB lose where packets cross full links twice?"""
    return [
        throughput_change(rows, choice, (opponent, variant), AFTER)
        for choice in swept_choices(rows, failures)
        for variant in setup.BOTH_MODES
        for opponent in OPPONENTS
    ]


def judged_delay(rows: Sequence[Json], choice: Choice, opponent: Variant, paper: float) -> ClaimResult:
    """Change of the delay after the failure from an opponent to SD-FAST, held to the paper's."""
    return delay_change(rows, choice, (opponent, setup.AGENT_PAIR), AFTER, paper, band=around(paper, 15))


def delay_goals(rows: Sequence[Json], choice: Choice, opponent: Variant, band: AtMost) -> list[ClaimResult]:
    """Change of the delay after the failure from an opponent to SD-FAST in both modes, held to a goal."""
    goal = f"goal: {band.bound:g}"
    return [delay_change(rows, choice, (opponent, each), AFTER, goal, band=band) for each in setup.BOTH_MODES]


def delay_change(
    rows: Sequence[Json],
    choice: Choice,
    variants: tuple[Variant, Variant],
    window: str,
    paper: float | str | None = None,
    *,
    band: Band | None = None,
) -> ClaimResult:
    """Change of the mean delay of a window from the first variant to the second."""
    change = measures.change(rows, choice, variants, measures.delay_ms(window))
    claim = Claim(f"delay, {versus(variants)}, {where(choice)}, {window}", "% change", paper, band, asks=_asks(band))
    lost = ", ".join(f"{LABELS[variant]} {_lost(rows, choice, variant, window)}" for variant in variants)
    note = f"{change.used} of {change.counted} pair measurements, those answered in both; pings lost: {lost}"
    return judge(claim, change.estimate).with_note(note)


def _asks(band: Band | None) -> str:
    """A band that admits "no change" is the margin of an equality or of a bound."""
    return MARGIN if band is not None and band.holds(0) else CHANGE


def _lost(rows: Sequence[Json], choice: Choice, variant: Variant, window: str) -> str:
    found = measures.pair_estimate(measures.chosen(rows, choice, variant), measures.lost_percent(window))
    return "unknown" if found is None else f"{found.value:.1f} %"


def delays_beside(rows: Sequence[Json], choice: Choice) -> list[ClaimResult]:
    """Changes of delay that no band judges: the other windows, and learned mode."""
    parts = [
        delay_change(rows, choice, (opponent, setup.AGENT_PAIR), window)
        for window in ("transient", "converged")
        for opponent in OPPONENTS
    ]
    return parts + [
        delay_change(rows, choice, (opponent, setup.LEARNED), window)
        for window in (AFTER, "transient", "converged")
        for opponent in OPPONENTS
    ]


def fail_free_delays(rows: Sequence[Json]) -> list[ClaimResult]:
    """Changes of delay without a failure."""
    found = [delay_change(rows, FAIL_FREE, (opponent, setup.AGENT_PAIR), AFTER) for opponent in OPPONENTS]
    return [each.with_note(TABLES) for each in found]


def throughput_change(
    rows: Sequence[Json],
    choice: Choice,
    variants: tuple[Variant, Variant],
    window: str,
    paper: float | str | None = None,
    *,
    band: Band | None = None,
) -> ClaimResult:
    """Change of the mean throughput of a window from the first variant to the second."""
    change = measures.change(rows, choice, variants, measures.goodput_mbps(window))
    claim = Claim(
        f"throughput, {versus(variants)}, {where(choice)}, {window}", "% change", paper, band, asks=_asks(band)
    )
    return judge(claim, change.estimate).with_note(f"{change.used} pair measurements")


def throughputs_beside(rows: Sequence[Json], choice: Choice, all_windows: bool = False) -> list[ClaimResult]:
    """Changes of throughput that no band judges."""
    windows = (AFTER, "transient", "converged")
    parts = [
        throughput_change(rows, choice, (opponent, setup.AGENT_PAIR), window)
        for window in windows[0 if all_windows else 1 :]
        for opponent in OPPONENTS
    ]
    learned = [
        throughput_change(rows, choice, (opponent, setup.LEARNED), window)
        for window in windows
        for opponent in OPPONENTS
    ]
    fail_free = [throughput_change(rows, FAIL_FREE, (opponent, setup.AGENT_PAIR), AFTER) for opponent in OPPONENTS]
    return [*parts, *learned, *fail_free]


def shown_variants(rows: Sequence[Json], topology: str) -> list[Variant]:
    """Variants with trials of most failures on a topology."""
    return [
        variant
        for variant in variants_of(rows, Choice("mixed", topology, (MOST_FAILURES,)))
        if variant in setup.ON_USNET
    ]


def draw_parts(
    axes: Axes, rows: Sequence[Json], topology: str, variants: Sequence[Variant], measure_of: measures.MeasureOf
) -> dict[tuple[Variant, int], tuple[float, float]]:
    """Bars of every variant: the fail-free trials, then the parts of those with four links failed."""
    values = {}
    for variant in variants:
        fail_free = measures.chosen(rows, Choice("mixed", topology, (0,)), variant)
        failed = measures.chosen(rows, Choice("mixed", topology, (MOST_FAILURES,)), variant)
        values[variant] = [
            measures.pair_estimate(fail_free, measure_of(AFTER)),
            *(measures.pair_estimate(failed, measure_of(part)) for part in PARTS),
        ]
    return grouped(axes, GROUPS, values, LABELS, COLOURS)


def draw_lines(axes: Axes, rows: Sequence[Json], measure: PairMeasure) -> None:
    """A line of every variant over the number of failed links."""
    choices = {float(count): Choice("mixed", setup.DARKSTRAND, (count,)) for count in setup.EVERY_NUMBER}
    _draw_lines(axes, rows, choices, measure, spacing=0.06)
    axes.set_xticks(setup.EVERY_NUMBER)
    axes.set_xlabel("links failed at once", color=INK)


def draw_loads(axes: Axes, rows: Sequence[Json], failures: tuple[int, ...]) -> None:
    """A line of every variant over the load that shortest paths put on the fullest link."""
    choices = {setup.FULLEST_LINK: Choice("mixed", setup.DARKSTRAND, failures)}
    choices |= {each.load: each for each in swept_choices(rows, failures) if each.load is not None}
    _draw_lines(axes, rows, choices, measures.goodput_percent(AFTER), spacing=0.008)
    axes.set_xlabel("load of the fullest link, of its capacity", color=INK)


def swept_choices(rows: Sequence[Json], failures: tuple[int, ...]) -> tuple[Choice, ...]:
    """Trials at every load that was swept."""
    return tuple(Choice("mixed", setup.DARKSTRAND, failures, load) for load in measures.loads_in(rows))


def _draw_lines(
    axes: Axes, rows: Sequence[Json], choices: Mapping[float, Choice], measure: PairMeasure, *, spacing: float
) -> None:
    """Means of every variant at the place of each choice; variants stand side by side, so far apart."""
    wide = Choice("mixed", setup.DARKSTRAND, setup.EVERY_NUMBER)
    variants = [variant for variant in variants_of(rows, wide) if variant in setup.RECOVERING]
    if not variants:
        say_empty(axes)
    for number, variant in enumerate(variants):
        shift = spacing * (number - (len(variants) - 1) / 2)
        found = {
            place + shift: estimate
            for place, choice in sorted(choices.items())
            if (estimate := measures.pair_estimate(measures.chosen(rows, choice, variant), measure)) is not None
        }
        values = [estimate.value for estimate in found.values()]
        axes.plot(list(found), values, marker="o", markersize=4, color=COLOURS[variant], label=LABELS[variant])
        for place, estimate in found.items():
            whisker(axes, place, estimate)
    axes.set_ylim(bottom=0)


def draw_changes(axes: Axes, rows: Sequence[Json], measure: PairMeasure, paper: dict[Variant, float]) -> None:
    """Change of both SD-FASTs against each opponent, for each number of failures and over all; the paper's as lines."""
    numbers = [*((count,) for count in setup.EVERY_NUMBER[1:]), setup.EVERY_NUMBER[1:]]
    styles = {setup.CB: ("o", "-"), setup.CBC: ("s", ":")}
    for side, variant in ((-1, setup.AGENT_PAIR), (1, setup.LEARNED)):
        for step, opponent in enumerate(paper):
            marker = styles[opponent][0]
            label = f"{LABELS[variant]} against {LABELS[opponent]}"
            for group, failures in enumerate(numbers):
                found = measures.change(
                    rows, Choice("mixed", setup.DARKSTRAND, failures), (opponent, variant), measure
                ).estimate
                if found is not None:
                    place = group + side * 0.14 + (step - 0.5) * 0.13
                    axes.plot([place], [found.value], marker, color=COLOURS[variant], markersize=5.5, label=label)
                    whisker(axes, place, found)
                    label = "_"
    for opponent, change in paper.items():
        text = f"paper: {change:+g} % against {LABELS[opponent]}"
        axes.axhline(change, color=PAPER, lw=1.6, ls=styles[opponent][1], label=text)
    axes.axhline(0, color=INK, lw=0.8)
    if max(map(abs, axes.get_ylim())) > _WILD_PERCENT:
        axes.set_yscale("symlog", linthresh=100)
    axes.set_xticks(range(len(numbers)), [*(str(count) for (count,) in numbers[:-1]), "all"])
    axes.set_xlabel("links failed at once", color=INK)
    axes.set_ylabel("change, %", color=INK)
    axes.legend(frameon=False, fontsize=7.5, loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=2)


def affected_pairs(rows: Sequence[Json], choice: Choice) -> str:
    """How many pairs a variant has, and which count."""
    counts = [
        sum(len(measures.counted_pairs(row)) for row in measures.chosen(rows, choice, variant))
        for variant in variants_of(rows, choice)
    ]
    return f"{max(counts, default=0)} pairs a variant, only those whose primary path fails (all pairs when fail-free)."


def cell(estimate: Estimate | None, digits: int = 2) -> str:
    """An estimate as text, with its interval when there is one.

    Examples
    --------
    >>> cell(Estimate(1.5, 1.25, 1.75)), cell(Estimate(1.5, None, None), 1), cell(None)
    ('1.50 [1.25, 1.75]', '1.5', '-')
    """
    if estimate is None:
        return NOTHING
    shown = f"{estimate.value:.{digits}f}"
    if estimate.low is None or estimate.high is None:
        return shown
    return f"{shown} [{estimate.low:.{digits}f}, {estimate.high:.{digits}f}]"


def variants_of(rows: Sequence[Json], choice: Choice) -> list[Variant]:
    """Variants that have good rows of a choice, in the order of the figures."""
    present = {row.variant for row in measures.chosen(rows, choice)}
    return [variant for variant in LABELS if variant.name in present]


def delay_table(rows: Sequence[Json], choices: Iterable[Choice]) -> Table:
    """Delay of every variant in the parts of the run, and what was lost meanwhile."""
    return _mixed_table(rows, choices, measures.delay_ms, "delay, ms")


def throughput_table(rows: Sequence[Json], choices: Iterable[Choice]) -> Table:
    """Throughput of every variant in the parts of the run, in per cent of what was offered."""
    return _mixed_table(rows, choices, measures.goodput_percent, "throughput, % of offered")


def _mixed_table(rows: Sequence[Json], choices: Iterable[Choice], measure_of: MeasureOf, what: str) -> Table:
    header = ("scheme", "topology", "links failed", "pairs", *(f"{what}, {part}" for part in PARTS), "pings lost, %")
    found = []
    for choice in choices:
        for variant, failures in product(variants_of(rows, choice), choice.failures):
            trials = measures.chosen(rows, replace(choice, failures=(failures,)), variant)
            if trials:
                lost = measures.pair_estimate(trials, measures.lost_percent(AFTER))
                pairs = str(sum(len(measures.counted_pairs(row)) for row in trials))
                values = [cell(measures.pair_estimate(trials, measure_of(part))) for part in PARTS]
                load = "" if choice.load is None else f", load {choice.load:g}"
                found.append(
                    (LABELS[variant], f"{choice.topology}{load}", str(failures), pairs, *values, cell(lost, 1))
                )
    return Table(header, tuple(found))


MOST_TABLE = tuple(Choice("mixed", topology, (0, MOST_FAILURES)) for topology in (setup.USNET, setup.DARKSTRAND))
OVER_TABLE = (Choice("mixed", setup.DARKSTRAND, setup.EVERY_NUMBER),)
