"""Medians and ranges over repetitions: nanoseconds a packet, and how much more than one plain rule."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from experiments.campaign.kinds.cost import CostMeasured, PathCost
from experiments.testbed.packet_cost.decide.counters import LOOKUPS
from experiments.testbed.packet_cost.decide.paths import PATHS

BASELINE = "plain"
Cell = tuple[str, str]


@dataclass(frozen=True, slots=True)
class CostSummary:
    """One way through the switch, found in one way, over all repetitions.

    Attributes
    ----------
    path, lookup
        Keys of `PATHS` and `LOOKUPS`.
    median_ns, low_ns, high_ns
        CPU time a packet: median, least, most.
    extra_ns, extra_low_ns, extra_high_ns
        Difference from the plain rule of the same repetition and lookup: median, least, most.
    delay_us
        Median of the repetitions' median delays through the switch.
    """

    path: str
    lookup: str
    median_ns: float
    low_ns: float
    high_ns: float
    extra_ns: float
    extra_low_ns: float
    extra_high_ns: float
    delay_us: float
    repetitions: int


def typical_cost(bursts: Sequence[float]) -> float:
    """Cost of the least disturbed tenth of equal bursts of work: the largest of the cheapest tenth, rounded up.

    Other work on a machine (caches, a shared core) only ever adds; on a busy one it moves the median of the bursts by
    more than a table costs.

    Parameters
    ----------
    bursts
        At least one.

    Examples
    --------
    >>> typical_cost([9, 5, 7, 6, 8, 5, 90, 7, 6, 70, 6])
    5
    """
    return sorted(bursts)[math.ceil(len(bursts) / 10) - 1]


def summarise(repetitions: Iterable[CostMeasured]) -> list[CostSummary]:
    """Summaries in the order of `PATHS`, lookups within; what was never measured is left out."""
    tables = [{(each.path, each.lookup): each for each in one.results} for one in repetitions]
    cells = [(path, lookup) for path in PATHS for lookup in LOOKUPS]
    return [_summary(cell, tables) for cell in cells if any(cell in table for table in tables)]


def _summary(cell: Cell, tables: Sequence[Mapping[Cell, PathCost]]) -> CostSummary:
    path, lookup = cell
    having = [table for table in tables if cell in table]
    costs = [table[cell].ns_per_packet for table in having]
    # Within a repetition both were measured seconds apart, so that what else the machine does cancels out.
    extras = [cost - table[BASELINE, lookup].ns_per_packet for cost, table in zip(costs, having, strict=True)]
    delay_us = median(table[cell].delay_us for table in having)
    return CostSummary(path, lookup, *_spread(costs), *_spread(extras), delay_us, len(having))


def _spread(values: Sequence[float]) -> tuple[float, float, float]:
    return median(values), min(values), max(values)


def summary_lines(summaries: Iterable[CostSummary]) -> list[str]:
    """The summaries as lines of text, one a way, beside each other for reading."""
    lines = [
        f"{'':52}{'lookup':10}{'ns a packet':>12}{'range':>16}{'more than plain':>17}{'range':>16}{'delay us':>10}"
    ]
    for each in summaries:
        spread, extra = f"{each.low_ns:.0f}..{each.high_ns:.0f}", f"{each.extra_low_ns:+.0f}..{each.extra_high_ns:+.0f}"
        lines.append(
            f"{PATHS[each.path]:52}{each.lookup:10}{each.median_ns:12.0f}{spread:>16}"
            f"{each.extra_ns:+17.0f}{extra:>16}{each.delay_us:10.1f}"
        )
    return lines
