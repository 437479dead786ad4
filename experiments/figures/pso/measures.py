"""Numbers from the rows of PSO's trials: loss, delay and throughput of a class over the normalised load."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from experiments.campaign.kinds.control import ControlRow
from experiments.campaign.statistics import Estimate, change_interval, mean_interval
from experiments.figures.pso import setup

HIGH, LOW = "high", "low"
SEED = 1  # of resamples, so that the same rows give the same intervals

Measure = Callable[[ControlRow], float | None]
Key = tuple[int, float]
"""(round, normalised load): both variants of a round have the same load and arrivals."""


@dataclass(frozen=True, slots=True)
class Choice:
    """Which trials: a regime, loads (None: all), whether data comes in bursts, and whether switches retransmit."""

    regime: str
    nls: tuple[float, ...] | None = None
    burst_pkts: int | None = None
    retransmit_after_s: float | None = None


def chosen(rows: Sequence[ControlRow], choice: Choice, variant: str | None = None) -> list[ControlRow]:
    """Good rows of a choice, of one variant or of all, in the order of their rounds."""
    found = [
        row
        for row in rows
        if row.parameters.regime == choice.regime
        and (variant is None or row.variant == variant)
        and (choice.nls is None or row.parameters.nl in choice.nls)
        and row.parameters.burst_pkts == choice.burst_pkts
        and row.parameters.retransmit_after_s == choice.retransmit_after_s
    ]
    return sorted(found, key=lambda row: row.round)


def nls_of(rows: Sequence[ControlRow], choice: Choice) -> list[float]:
    """Loads that have a good trial."""
    return sorted({row.parameters.nl or 0.0 for row in chosen(rows, choice)})


def of_class(name: str, key: str) -> Measure:
    """A number of one class; None when no packet gave it."""

    def measure(row: ControlRow) -> float | None:
        value = getattr(row.measured.classes[name], key)
        return None if value is None else float(value)

    return measure


def lost_percent(name: str) -> Measure:
    """Share of packets without an answer in time."""
    return of_class(name, "lost_percent")


def dropped_percent(name: str) -> Measure:
    """Share of packet-ins, retransmitted ones too, that the switch dropped."""
    return of_class(name, "dropped_percent")


def mean_ms(name: str) -> Measure:
    """Mean delay of answered packets."""
    return of_class(name, "mean_ms")


def answered_percent(name: str) -> Measure:
    """Packets that were answered in time, of those offered."""

    def measure(row: ControlRow) -> float | None:
        each = row.measured.classes[name]
        return 100.0 * each.answered / each.offered if each.offered else None

    return measure


def answered_kbps(name: str) -> Measure:
    """Throughput of a class whose packets go on when they are answered."""

    def measure(row: ControlRow) -> float | None:
        each = row.measured.classes[name]
        return float(8 * row.measured.frame_bytes * each.answered / row.measured.window_s / 1000)

    return measure


def all_answers_pps(row: ControlRow) -> float | None:
    """Answers a second of all classes."""
    return float(row.measured.answers_pps)


def link_percent(row: ControlRow) -> float | None:
    """Share of the control link's rate that was used towards the controller."""
    return None if row.measured.link_mbps is None else float(100.0 * row.measured.link_mbps / setup.LINK_MBPS)


def acknowledgement_percent(row: ControlRow) -> float | None:
    """Share of the link's bytes on PSO's main connection, where answers come: hardly more than TCP acknowledgements."""
    classes = row.measured.link_classes
    if not classes or setup.MAIN_CLASS not in classes:
        return None
    return float(100.0 * classes[setup.MAIN_CLASS]["bytes"] / sum(each["bytes"] for each in classes.values()))


def estimate(rows: Sequence[ControlRow], measure: Measure) -> Estimate | None:
    """Mean over trials with its 95 % interval; None without a value."""
    values = [value for value in map(measure, rows) if value is not None]
    return mean_interval(values) if values else None


def by_key(rows: Sequence[ControlRow], measure: Measure) -> dict[Key, float]:
    """Values by what both variants share."""
    found = {(row.round, row.parameters.nl or 0.0): measure(row) for row in rows}
    return {key: value for key, value in found.items() if value is not None}


def change_percent(rows: Sequence[ControlRow], choice: Choice, measure: Measure) -> Estimate | None:
    """Change from FIFO to PSO (%), the same rounds compared."""
    fifo, pso = (by_key(chosen(rows, choice, variant.name), measure) for variant in (setup.FIFO, setup.PSO))
    return change_interval(fifo, pso, SEED)


def less(rows: Sequence[ControlRow], choice: Choice, measure: Measure, larger: str, smaller: str) -> Estimate | None:
    """Mean difference of two variants, the larger less the smaller, the same rounds compared."""
    above, below = (by_key(chosen(rows, choice, name), measure) for name in (larger, smaller))
    steps = [above[key] - below[key] for key in above if key in below]
    return mean_interval(steps) if steps else None


def ratio(rows: Sequence[ControlRow], choice: Choice, measure: Measure) -> Estimate | None:
    """PSO's mean over FIFO's, the same rounds compared."""
    return as_ratio(change_percent(rows, choice, measure))


def as_ratio(change: Estimate | None) -> Estimate | None:
    """The ratio that a change (%) makes."""
    if change is None:
        return None
    low, high = (None if bound is None else 1 + bound / 100 for bound in (change.low, change.high))
    return Estimate(1 + change.value / 100, low, high)


def knee_interval(rows: Sequence[ControlRow], choice: Choice, name: str, variant: str) -> Estimate | None:
    """Mean over repetitions of the knee, with its interval; a repetition congested at its first load counts as 0.

    None without trials, or when every repetition is congested at its first load.
    """
    repetitions: list[list[ControlRow]] = []
    for row in chosen(rows, choice, variant):  # a round is one load of a repetition, and loads rise in each
        if not repetitions or (row.parameters.nl or 0.0) <= (repetitions[-1][-1].parameters.nl or 0.0):
            repetitions.append([])
        repetitions[-1].append(row)
    n_loads = len(nls_of(rows, choice))
    knees = [knee(each, choice, name, variant) for each in repetitions if len(each) == n_loads]
    return mean_interval([each or 0.0 for each in knees]) if any(each is not None for each in knees) else None


def knee(rows: Sequence[ControlRow], choice: Choice, name: str, variant: str) -> float | None:
    """Largest load up to which nothing is congested: loss at most 0.1 % and mean delay at most thrice the first load's.

    None without trials, or when the first load is congested itself.
    """
    found, first_ms = None, None
    for nl in nls_of(rows, choice):
        mine = chosen(rows, replace(choice, nls=(nl,)), variant)
        lost, delay = estimate(mine, lost_percent(name)), estimate(mine, mean_ms(name))
        if lost is None or delay is None:
            return None
        first_ms = delay.value if first_ms is None else first_ms
        if lost.value > 0.1 or delay.value > 3 * first_ms:
            return found
        found = nl
    return found
