"""Numbers from the rows of trials: delay, loss and throughput of pairs, backtracking of trials.

A pair counts when the failure hits its primary path and leaves it joined; in a fail-free trial every pair counts. Delay
is the mean round trip of the pings that returned, so what was lost stands beside every delay.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from experiments.campaign.kinds.probed import PairRow, ProbedRow, read_row
from experiments.campaign.order import OK
from experiments.campaign.statistics import Estimate, change_interval, mean_interval
from experiments.campaign.values import Json, Variant

WINDOWS = {
    "fail-free": ("fail_free",),
    "transient": ("transient",),
    "converged": ("converged",),
    "after the failure": ("transient", "converged"),
}
AFTER = "after the failure"

PairKey = tuple[int, int, str, str]
"""(round, failures, source, destination)."""
PairMeasure = Callable[[ProbedRow, PairRow], float | None]
"""(row, pair) -> value; None when the pair has none."""
MeasureOf = Callable[[str], PairMeasure]
"""Key of `WINDOWS` -> measure."""


@dataclass(frozen=True, slots=True)
class Choice:
    """Which trials: kind, topology, numbers of failed links, and load where a figure sweeps it."""

    kind: str
    topology: str
    failures: tuple[int, ...]
    load: float | None = None


def good_rows(rows: Iterable[Json]) -> list[Json]:
    """The good row of every trial that has one."""
    return list({row["trial"]: row for row in rows if row["status"] == OK}.values())


def chosen(rows: Sequence[Json], choice: Choice, variant: Variant | None = None) -> list[ProbedRow]:
    """Good rows of a choice, of one variant or of all."""
    return [
        read_row(row)
        for row in good_rows(rows)
        if (row["kind"], row["topology"]) == (choice.kind, choice.topology)
        and row["failures"] in choice.failures
        and (row.get("parameters") or {}).get("load") == choice.load
        and (variant is None or row["variant"] == variant.name)
    ]


def loads_in(rows: Sequence[Json]) -> list[float]:
    """Loads that good rows of kind "mixed" sweep."""
    own = (row.get("parameters") or {} for row in good_rows(rows) if row["kind"] == "mixed")
    return sorted({each["load"] for each in own if each.get("load") is not None})


def counted_pairs(row: ProbedRow) -> list[PairRow]:
    """Pairs of a trial that count (see the module's text)."""
    return [pair for pair in row.pairs if pair.joined and (pair.hit or not row.failures)]


def delay_ms(window: str) -> PairMeasure:
    """Mean round trip of the pings of a window that returned."""

    def measure(_row: ProbedRow, pair: PairRow) -> float | None:
        parts = [pair.phases[name] for name in WINDOWS[window]]
        known = [(part.rtt_mean_ms, part.received) for part in parts if part.rtt_mean_ms is not None]
        received = sum(count for _, count in known)
        if not received:
            return None
        return sum(rtt_ms * count for rtt_ms, count in known) / received

    return measure


def lost_percent(window: str) -> PairMeasure:
    """Share of the pings of a window that did not come back."""

    def measure(_row: ProbedRow, pair: PairRow) -> float | None:
        parts = [pair.phases[name] for name in WINDOWS[window]]
        sent = sum(part.sent for part in parts)
        return 100 * (1 - sum(part.received for part in parts) / sent) if sent else None

    return measure


def goodput_mbps(window: str) -> PairMeasure:
    """UDP that arrived, over the window's length."""

    def measure(row: ProbedRow, pair: PairRow) -> float | None:
        total = seconds = 0.0
        for name in WINDOWS[window]:
            goodput = pair.phases[name].goodput_mbps
            if goodput is None:
                return None
            start, end = row.windows_s[name]
            total, seconds = total + goodput * (end - start), seconds + end - start
        return total / seconds

    return measure


def goodput_percent(window: str) -> PairMeasure:
    """UDP that arrived, in per cent of what was offered."""
    absolute = goodput_mbps(window)

    def measure(row: ProbedRow, pair: PairRow) -> float | None:
        value = absolute(row, pair)
        return None if value is None or row.udp_mbps is None else 100 * value / row.udp_mbps

    return measure


def download_s(row: ProbedRow, pair: PairRow) -> float | None:
    """Seconds that a file took; until it was given up, when it was not finished."""
    download = pair.download
    if download is None:
        return None
    return row.give_up_s if download.seconds is None else download.seconds


def download_mbps(row: ProbedRow, pair: PairRow) -> float | None:
    """Rate at which a file arrived, unfinished ones with what had arrived."""
    download = pair.download
    if download is None:
        return None
    return download.bytes * 8e-6 / row.give_up_s if download.goodput_mbps is None else download.goodput_mbps


def unfinished(rows: Sequence[ProbedRow]) -> int:
    """Downloads that were given up."""
    return sum(pair.download is not None and not pair.download.finished for row in rows for pair in counted_pairs(row))


def by_pair(rows: Iterable[ProbedRow], measure: PairMeasure) -> dict[PairKey, float]:
    """Value of every pair that counts and has one."""
    found: dict[PairKey, float] = {}
    for row in rows:
        for pair in counted_pairs(row):
            value = measure(row, pair)
            if value is not None:
                found[row.round, row.failures, pair.source, pair.destination] = value
    return found


def mean_by_pair(values: dict[PairKey, float], keys: Iterable[PairKey]) -> dict[tuple[int, str, str], float]:
    """Mean over the numbers of failures: a pair is one observation, however often it was measured."""
    groups: dict[tuple[int, str, str], list[float]] = defaultdict(list)
    for key in keys:
        groups[key[0], key[2], key[3]].append(values[key])
    return {key: sum(group) / len(group) for key, group in groups.items()}


def estimate(values: Iterable[float]) -> Estimate | None:
    """Mean and interval; None without a value."""
    known = list(values)
    return mean_interval(known) if known else None


def pair_estimate(rows: Sequence[ProbedRow], measure: PairMeasure) -> Estimate | None:
    """Mean over pairs with its 95 % interval."""
    values = by_pair(rows, measure)
    return estimate(mean_by_pair(values, values).values())


@dataclass(frozen=True, slots=True)
class Change:
    """Relative change from one variant to another (%), over the pairs that both have a value for."""

    estimate: Estimate | None
    used: int
    counted: int


def change(rows: Sequence[Json], choice: Choice, variants: tuple[Variant, Variant], measure: PairMeasure) -> Change:
    """Change from the first variant to the second.

    Parameters
    ----------
    variants : (Variant, Variant)
        Baseline, and what is compared with it.
    measure : callable
    """
    sides = [chosen(rows, choice, variant) for variant in variants]
    base, other = (by_pair(side, measure) for side in sides)
    counted = set.intersection(*(set(by_pair(side, lambda *_: 0.0)) for side in sides))
    common = sorted(counted & set(base) & set(other))
    found = change_interval(mean_by_pair(base, common), mean_by_pair(other, common), seed_of(rows)) if common else None
    return Change(found, len(common), len(counted))


def seed_of(rows: Sequence[Json]) -> int:
    """Seed of the campaign, which also draws the resamples."""
    return int(rows[0]["seed"]) if rows else 0


def backtracking_ms(row: ProbedRow, since: str) -> float:
    """Time until the last packet went back, since the failure or since detection ("from_failure", "from_detection").

    A trial in which packets still went back at the end counts with the length of the run.
    """
    value: float | None = None if row.backtracking_ms is None else getattr(row.backtracking_ms, since)
    return 1000 * row.windows_s["converged"][1] if value is None else value


def still_backtracking(rows: Iterable[ProbedRow]) -> int:
    """Trials in which packets still went back at the end."""
    return sum(row.backtracking_ms is None for row in rows)


def by_direction(rows: Iterable[ProbedRow], what: str = "backtracking_ms") -> dict[PairKey, float]:
    """Backtracking time, or "outage_ms", since detection of every direction whose primary path crosses a failed link.

    A direction whose packets still backtracked (or were lost) at the end counts with all the time that was left; one
    whose failed links no switch reported is left out (`undetected`).
    """
    found: dict[PairKey, float] = {}
    for row in rows:
        for each in row.directions:
            if each.detected_ms is not None:
                left_ms = 1000 * row.windows_s["converged"][1] - each.detected_ms
                value: float | None = getattr(each, what)
                found[row.round, row.failures, each.source, each.destination] = left_ms if value is None else value
    return found


def undetected(rows: Iterable[ProbedRow]) -> int:
    """Directions whose failed links no switch reported."""
    return sum(each.detected_ms is None for row in rows for each in row.directions)


def direction_change(
    rows: Sequence[Json], choice: Choice, variants: tuple[Variant, Variant], what: str = "backtracking_ms"
) -> Estimate | None:
    """Change (%) of the mean over directions of what `by_direction` gives, from one variant to another."""
    base, other = (by_direction(chosen(rows, choice, variant), what) for variant in variants)
    return change_interval(base, other, seed_of(rows))


def trial_change(
    rows: Sequence[Json], choice: Choice, variants: tuple[Variant, Variant], measure: Callable[[ProbedRow], float]
) -> Estimate | None:
    """Change (%) from one variant to another of a number that a trial has, over rounds."""
    base, other = (
        {(row.round, row.failures): measure(row) for row in chosen(rows, choice, variant)} for variant in variants
    )
    return change_interval(base, other, seed_of(rows))


def stage_ms(row: ProbedRow, stage: str) -> float | None:
    """One of the stages of a recovery, ms after the failure; None where it does not apply."""
    return row.stages_ms.get(stage)
