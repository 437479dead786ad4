"""What happened to each class: received, served, dropped, removed, and how long it waited."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

# Ten bounds a decade, from 10 us to 100 s: a percentile is at most 26 % too high.
BOUNDS_S = tuple(10 ** (exponent / 10) for exponent in range(-50, 21))
_PERCENTILES = (50, 90, 99)


class DelayHistogram:
    """Delays in buckets whose bounds grow by a tenth of a decade."""

    def __init__(self) -> None:
        self.counts = [0] * (len(BOUNDS_S) + 1)
        self.sum_s = 0.0
        self.max_s = 0.0

    @property
    def count(self) -> int:
        """Delays observed."""
        return sum(self.counts)

    def observe(self, delay_s: float) -> None:
        """Add one delay, seconds; a clock that stands still gives 0."""
        self.counts[bisect_left(BOUNDS_S, delay_s)] += 1
        self.sum_s += delay_s
        self.max_s = max(self.max_s, delay_s)

    def percentile_s(self, percent: float) -> float | None:
        """Upper bound of the bucket in which a percentile lies (never above the longest delay); None without delays."""
        rank = math.ceil(self.count * percent / 100)
        if not rank:
            return None
        seen = 0
        for bound, count in zip((*BOUNDS_S, math.inf), self.counts, strict=True):
            seen += count
            if seen >= rank:
                return min(bound, self.max_s)
        return self.max_s


@dataclass
class ClassCounters:
    """One class in one direction.

    Attributes
    ----------
    removed
        What waited when its connection ended.
    """

    received: int = 0
    served: int = 0
    dropped: int = 0
    removed: int = 0
    delay: DelayHistogram = field(default_factory=DelayHistogram)

    def to_json(self) -> dict[str, Any]:
        """Values of one class for GET /pso; delays in milliseconds, null without any."""
        delays: dict[str, float | None] = {f"p{percent}": self._ms(percent) for percent in _PERCENTILES}
        delays["max"] = round(self.delay.max_s * 1e3, 3) if self.delay.count else None
        counts = {name: getattr(self, name) for name in ("received", "served", "dropped", "removed")}
        return {**counts, "delay_ms": delays}

    def _ms(self, percent: float) -> float | None:
        seconds = self.delay.percentile_s(percent)
        return None if seconds is None else round(seconds * 1e3, 3)


RECEIVE, APPS, SEND = "receive", "apps", "send"  # APPS: events for each app; their delay began when the message came


class Counters:
    """All classes in all directions, and errors by kind."""

    def __init__(self) -> None:
        self.by_class: dict[tuple[str, int], ClassCounters] = {}
        self.errors: dict[str, int] = {}

    def of(self, direction: str, class_id: int) -> ClassCounters:
        """Counters of one class."""
        found = self.by_class.get((direction, class_id))
        if found is None:
            found = self.by_class[direction, class_id] = ClassCounters()
        return found

    def error(self, kind: str) -> None:
        """Count an error."""
        self.errors[kind] = self.errors.get(kind, 0) + 1


def live_table(counters: Counters, names: Mapping[int, str], classes: Sequence[int]) -> str:
    """Counters as a table for people, one class a line.

    Parameters
    ----------
    names : mapping of class id to name
    classes
        Most urgent first.
    """
    lines = [f"{'class':<18} {'way':<8}{'received':>10}{'served':>10}{'dropped':>8}{'p50 ms':>10}{'p99 ms':>10}"]
    for class_id in classes:
        for direction in (RECEIVE, APPS, SEND):
            values = counters.of(direction, class_id).to_json()
            delays = [values["delay_ms"][key] for key in ("p50", "p99")]
            shown = "".join(f"{'-' if each is None else f'{each:.2f}':>10}" for each in delays)
            head = f"{class_id} {names.get(class_id, '')}".ljust(19) + f"{direction:<8}"
            lines.append(f"{head}{values['received']:>10}{values['served']:>10}{values['dropped']:>8}{shown}")
    if counters.errors:
        lines.append("errors: " + ", ".join(f"{kind} {count}" for kind, count in sorted(counters.errors.items())))
    return "\n".join(lines)
