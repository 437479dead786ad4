"""Controllers under the same loads, taking turns: tables for people, and the difference of their throughput."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any, NamedTuple

from experiments.campaign.statistics import Estimate, change_interval, mean_interval

Json = dict[str, Any]

HEADER = ("class", "offered", "sent", "answered", "lost", "lost %", "p50 ms", "p90 ms", "p99 ms", "max ms", "answers/s")
COUNTS = ("offered", "sent", "answered", "lost")
DELAYS = ("p50_ms", "p90_ms", "p99_ms", "max_ms")


def result_rows(run: Json) -> list[tuple[str, ...]]:
    """Table rows of one run: a line a class, and one for all."""
    rows = [_row(name, each) for name, each in run["classes"].items()]
    total = {name: sum(each[name] for each in run["classes"].values()) for name in COUNTS}
    share = 100 * total["lost"] / total["offered"] if total["offered"] else None
    counts = [f"{total[name]:,}" for name in COUNTS]
    return [*rows, ("all", *counts, _number(share), "", "", "", "", f"{run['answers_pps']:,.1f}")]


def _row(name: str, each: Json) -> tuple[str, ...]:
    counts = [f"{each[count]:,}" for count in COUNTS]
    delays = [_number(each[delay]) for delay in DELAYS]
    return (name, *counts, _number(each["lost_percent"]), *delays, f"{each['answers_pps']:,.1f}")


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


def orders(variants: Sequence[str], repetitions: int) -> list[tuple[int, str]]:
    """(repetition, variant) in the order of running: variants take turns, and who is first changes every time."""
    return [
        (number, variant)
        for number in range(1, repetitions + 1)
        for variant in (variants if number % 2 else tuple(reversed(variants)))
    ]


def throughputs(runs: Mapping[str, Sequence[Json]]) -> dict[str, Estimate]:
    """Answers a second of each variant, mean and 95 % interval."""
    return {variant: mean_interval([run["answers_pps"] for run in each]) for variant, each in runs.items() if each}


class Spread(NamedTuple):
    """Median of repetitions, the least and the most."""

    median: float
    least: float
    most: float

    def __str__(self) -> str:
        return f"{self.median:.4g} ({self.least:.4g} to {self.most:.4g})"


def spreads(runs: Mapping[str, Sequence[Json]], key: str) -> dict[str, Spread]:
    """Spread of one number of each variant's runs; variants whose runs do not have it are left out.

    Examples
    --------
    >>> print(spreads({"stock": [{"x": 3.0}, {"x": 1.0}, {"x": 2.5}]}, "x")["stock"])
    2.5 (1 to 3)
    """
    values = {variant: [float(run[key]) for run in each if key in run] for variant, each in runs.items()}
    return {variant: Spread(median(each), min(each), max(each)) for variant, each in values.items() if each}


def throughput_changes(runs: Mapping[str, Sequence[Json]], seed: int) -> dict[str, Estimate | None]:
    """Change of every variant's answers a second from the first variant's (%), the same repetition compared.

    Parameters
    ----------
    runs : mapping of variant to runs, one a repetition
        The first variant is the baseline.
    seed
        Of the resamples.
    """
    first, *others = runs
    baseline = _by_repetition(runs[first])
    return {variant: change_interval(baseline, _by_repetition(runs[variant]), seed) for variant in others}


def _by_repetition(runs: Sequence[Json]) -> dict[int, float]:
    return {number: float(run["answers_pps"]) for number, run in enumerate(runs)}


def with_interval(estimate: Estimate | None, unit: str) -> str:
    """A value with its interval for people.

    Examples
    --------
    >>> with_interval(Estimate(1.0, -0.5, 2.25), "%")
    '1 [-0.5, 2.25] %'
    """
    if estimate is None:
        return "-"
    if estimate.low is None or estimate.high is None:
        return f"{estimate.value:.4g} {unit}"
    return f"{estimate.value:.4g} [{estimate.low:.4g}, {estimate.high:.4g}] {unit}"
