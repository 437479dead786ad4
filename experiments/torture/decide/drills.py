"""Drills: one fault at a time, many times; what is drawn for each, and how its outcome is judged."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from experiments.torture.decide.faults import Fault
from ryu_apps.plan.damping import Damping
from ryu_apps.plan.rows import FlowRow, RulePlan

_LINK_FAILS_S, _LINK_DOWN_S = 0.5, 2.0
_KILL_WINDOW_S = (0.3, 1.5)  # before the link fails, while nobody knows, while rows change, and after that
SLACK_MS = 50.0
_LAST_REQUESTS = 5
INTERVAL_S = 0.005
"""Between requests of drills that measure."""


def draw_kill(targets: Mapping[str, Sequence[str]], chance: tuple[int, int], process: str) -> tuple[Fault, ...]:
    """One link that fails silently, and kill -9 of one process of a kind around that moment.

    Parameters
    ----------
    targets
        What each kind of fault can break (`faults.targets_of`).
    chance
        Seed, and number of the round.
    process
        Name of the program, as "agent"; of which switch is drawn.
    """
    dice = np.random.default_rng(chance)
    links = targets["silent"]
    processes = [name for name in targets["kill"] if name.partition("@")[0] == process]
    link, killed = str(dice.choice(links)), str(dice.choice(processes))
    kill = Fault(round(float(dice.uniform(*_KILL_WINDOW_S)), 3), "kill", killed, 0.1)
    return tuple(sorted((kill, Fault(_LINK_FAILS_S, "silent", link, _LINK_DOWN_S))))


def draw_link(links: Sequence[str], seed: int, number: int) -> str:
    """The link of a round: each fails once, in a drawn order, before one fails again."""
    cycle, place = divmod(number - 1, len(links))
    return str(np.random.default_rng((seed, cycle)).permutation(list(links))[place])


@dataclass(frozen=True)
class Outage:
    """What requests across a link met when it failed.

    Attributes
    ----------
    link
        Its name.
    requests, lost
        Requests between the hosts at both ends, and those without an answer.
    recovered_ms
        From the failure to the first request after the last lost one; 0 when none was lost, None when the last
        requests were lost.
    late_ms
        How late the latest request left: more than a little when the machine stood still.
    """

    link: str
    requests: int
    lost: int
    recovered_ms: float | None
    late_ms: float = 0.0

    @classmethod
    def of(
        cls,
        link: str,
        span_s: tuple[float, float],
        requests: int,
        unanswered_s: Sequence[float],
        *,
        late_ms: float = 0.0,
    ) -> Outage:
        """From the times of the unanswered requests.

        Parameters
        ----------
        span_s
            When the link failed, and until when requests were sent at least; all times are seconds of one clock.
        requests
            How many were sent, `INTERVAL_S` apart.
        unanswered_s
            When each unanswered request was sent, in order.
        """
        failed_s, until_s = span_s
        last_s = max(unanswered_s, default=-np.inf)
        recovered_ms = 0.0 if last_s < failed_s - INTERVAL_S else max(0.0, 1000 * (last_s + INTERVAL_S - failed_s))
        is_over = last_s < until_s - _LAST_REQUESTS * INTERVAL_S
        return cls(link, requests, len(unanswered_s), float(recovered_ms) if is_over else None, late_ms)

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {**asdict(self), "recovered_ms": None if self.recovered_ms is None else round(self.recovered_ms, 1)}


def detection_bound_ms(bfd_interval_ms: int, multiplier: int) -> float:
    """Longest time from a silent failure to its detection (RFC 5880 section 6.8.4: from the last packet received)."""
    return float(bfd_interval_ms * multiplier)


def outages_summary(outages: Sequence[Mapping[str, Any]], bound_ms: float) -> dict[str, Any]:
    """How many recovered within a bound, and how much was lost.

    Parameters
    ----------
    outages
        Rows of `Outage.to_json`, with "counted".
    bound_ms
        Detection and slack.
    """
    counted = [row for row in outages if row["counted"]]
    times_ms = [row["recovered_ms"] for row in counted if row["recovered_ms"] is not None]
    lost = [row["lost"] for row in counted]
    within = sum(time_ms <= bound_ms for time_ms in times_ms)
    return {
        "bound_ms": bound_ms,
        "failures": len(counted),
        "not_counted": len(outages) - len(counted),
        "within_bound": within,
        "within_bound_percent": round(100 * within / len(counted), 2) if counted else None,
        "not_recovered": len(counted) - len(times_ms),
        "recovered_ms": _quantiles(times_ms),
        "lost_requests": _quantiles(lost),
    }


def _quantiles(values: Sequence[float]) -> dict[str, float] | None:
    """Median, 99th percentile and maximum."""
    if not values:
        return None
    return {
        "median": round(float(np.median(values)), 1),
        "p99": round(float(np.percentile(values, 99)), 1),
        "max": round(float(max(values)), 1),
    }


def longest_gap_ms(unanswered: Sequence[tuple[int, float]]) -> float:
    """Longest time in which no request at all was answered.

    Parameters
    ----------
    unanswered
        Number of each unanswered request and when it was sent (s), in order; numbers say which follow each other,
        since a machine that stands still sends late.
    """
    longest_s = run_s = INTERVAL_S if unanswered else 0.0
    for (before, before_s), (number, now_s) in pairwise(unanswered):
        run_s = run_s + now_s - before_s if number == before + 1 else INTERVAL_S
        longest_s = max(longest_s, run_s)
    return 1000 * longest_s


def most_changes_a_minute(one_failure: int, damping: Damping) -> float:
    """Rule changes of a link that flaps, when damping holds: so many returns a minute, each with a failure.

    Parameters
    ----------
    one_failure
        Rule changes of one failure and its return, at all switches.
    """
    return one_failure * (1.0 + 60.0 / damping.max_wait_s)


def lost_rows(found: Sequence[FlowRow], acknowledged: Sequence[FlowRow], under_way: Sequence[FlowRow] | None) -> int:
    """Acknowledged backup rows that are gone; none when the write under way has become current as a whole.

    Parameters
    ----------
    found
        Rows of the plan that the database holds.
    acknowledged
        Of the last write that was acknowledged.
    under_way
        Of the write whose answer was lost.
    """
    if under_way is not None and set(found) == set(under_way):
        return 0
    return len(set(acknowledged) - set(found))


def kills_summary(rows: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    """Sums over the rows of kills of a database."""
    return {
        "kills_during_a_write": sum(row["killed_during_a_write"] for row in rows),
        "writes": sum(row["writes"] for row in rows),
        "acknowledged_rows": sum(row["acknowledged_rows"] for row in rows),
        "lost_rows": sum(row["lost_rows"] for row in rows),
    }


def largest_plan(plans: Iterable[RulePlan]) -> RulePlan:
    """The plan with most flows."""
    return max(plans, key=lambda plan: len(plan.flows))
