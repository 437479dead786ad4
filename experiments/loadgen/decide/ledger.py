"""What became of every packet-in: kept while the load runs, summed up per class afterwards.

A packet's delay counts from the instant at which it was due, not from its sending: a generator or a connection that is
held up makes delays longer instead of hiding them (no coordinated omission). Each packet has the same patience: what
is answered later is lost.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from experiments.loadgen.decide.load import CLASSES, Floats, Schedule

Json = dict[str, Any]

PERCENTILES = {"p50_ms": 50.0, "p90_ms": 90.0, "p99_ms": 99.0}
# Upper edges of the delay histogram, four a decade from 0.1 ms to 100 s; one more bucket for what is above.
EDGES_MS = tuple(round(10 ** (power / 4), 6) for power in range(-4, 21))


@dataclass(frozen=True, slots=True)
class Delays:
    """Delays of answered packets in milliseconds; all None when none was answered."""

    mean_ms: float | None
    p50_ms: float | None
    p90_ms: float | None
    p99_ms: float | None
    max_ms: float | None


@dataclass(frozen=True, slots=True)
class ClassResult:
    """What became of a class in the measured window.

    Attributes
    ----------
    offered
        Packets that were due: answered + refused + waiting + unanswered, each packet in one of them.
    sent
        Packet-ins that were given to the kernel whole.
    answered
        Answered within the patience.
    refused
        Not sent, because the switch's queue was full or its connection gone.
    waiting
        Still in the switch's queue at the end.
    unanswered
        Sent, and not answered in time.
    dropped
        Packet-ins that found the queue full or the connection gone; of one packet several, when the switch retransmits.
    answers_pps
        Answers that came within the measured window, a second.
    delays
        From the instant at which a packet was due to its answer.
    histogram
        Answered packets by delay: at most `EDGES_MS[k]`, and one bucket above.
    """

    name: str
    offered: int
    sent: int
    answered: int
    refused: int
    waiting: int
    unanswered: int
    dropped: int
    answers_pps: float
    delays: Delays
    histogram: tuple[int, ...]

    @property
    def lost(self) -> int:
        """Packets that got no answer in time, for whatever reason."""
        return self.offered - self.answered

    @property
    def lost_percent(self) -> float | None:
        """Share of packets that got no answer; None when none was offered."""
        return 100.0 * self.lost / self.offered if self.offered else None

    @property
    def dropped_percent(self) -> float | None:
        """Share of packet-ins, retransmitted ones too, that the switch dropped; None when it raised none."""
        raised = self.dropped + self.sent
        return 100.0 * self.dropped / raised if raised else None

    def to_json(self) -> Json:
        """JSON value, delays flat beside the counts."""
        value = asdict(self)
        delays = value.pop("delays")
        lost = {"lost": self.lost, "lost_percent": self.lost_percent, "dropped_percent": self.dropped_percent}
        return {**value, **lost, **delays, "histogram": list(self.histogram)}


class Ledger:
    """Sending and first answer of every packet of a schedule; times are seconds after its start."""

    def __init__(self, schedule: Schedule) -> None:
        self.schedule = schedule
        size = len(schedule)
        self._sent_s = np.full(size, np.nan)
        self._answered_s = np.full(size, np.nan)
        self._refused = np.zeros(size, dtype=bool)
        self._drops = np.zeros(size, dtype=np.int64)
        self.n_sent = 0
        self.n_answered = 0
        self.repeated_answers = 0
        self.unexpected_answers = 0

    def refuse(self, serial: int) -> None:
        """A packet found its switch's queue full, or no connection, for the last time."""
        self._refused[serial] = True
        self.drop(serial)

    def drop(self, serial: int) -> None:
        """One packet-in of a packet found its switch's queue full, or no connection."""
        self._drops[serial] += 1

    def send(self, serial: int, now_s: float) -> None:
        """The last byte of a packet-in was given to the kernel."""
        self._sent_s[serial] = now_s
        self.n_sent += 1

    def answer(self, serial: int, now_s: float) -> None:
        """An answer came: the first counts; one for a packet that was never sent is counted as unexpected."""
        if not 0 <= serial < len(self._sent_s) or np.isnan(self._sent_s[serial]):
            self.unexpected_answers += 1
        elif np.isnan(self._answered_s[serial]):
            self._answered_s[serial] = now_s
            self.n_answered += 1
        else:
            self.repeated_answers += 1

    def results(self, patience_s: float) -> dict[str, ClassResult]:
        """Per class name what became of its packets.

        Parameters
        ----------
        patience_s
            How long after its due instant an answer counts.
        """
        return {each.name: self._result(number, each.name, patience_s) for number, each in enumerate(CLASSES)}

    def _result(self, class_id: int, name: str, patience_s: float) -> ClassResult:
        plan = self.schedule
        mine = (plan.class_ids == class_id) & (plan.due_s >= plan.warm_up_s)
        due_s, answered_s = plan.due_s[mine], self._answered_s[mine]
        was_sent, was_refused = ~np.isnan(self._sent_s[mine]), self._refused[mine]
        delays_s = answered_s - due_s
        in_time = delays_s <= patience_s  # False where there is no answer
        end_s = plan.warm_up_s + plan.seconds
        all_of_class = self._answered_s[plan.class_ids == class_id]
        # Answers of the window, whatever packet they are for: in a steady state as many come in as go out.
        in_window = np.count_nonzero((all_of_class >= plan.warm_up_s) & (all_of_class < end_s))
        return ClassResult(
            name,
            offered=int(mine.sum()),
            sent=int(was_sent.sum()),
            answered=int(in_time.sum()),
            refused=int(was_refused.sum()),
            waiting=int((~was_sent & ~was_refused).sum()),
            unanswered=int((was_sent & ~in_time).sum()),
            dropped=int(self._drops[mine].sum()),
            answers_pps=float(in_window / plan.seconds),
            delays=delays_of(1000 * delays_s[in_time]),
            histogram=histogram_of(1000 * delays_s[in_time]),
        )


def delays_of(values_ms: Floats) -> Delays:
    """Mean, percentiles and maximum; a percentile is a value that was measured (nearest rank).

    Examples
    --------
    >>> delays_of(np.array([4.0, 1.0, 2.0, 3.0]))
    Delays(mean_ms=2.5, p50_ms=2.0, p90_ms=4.0, p99_ms=4.0, max_ms=4.0)
    """
    if not len(values_ms):
        return Delays(None, None, None, None, None)
    ranks = {name: np.percentile(values_ms, at, method="inverted_cdf") for name, at in PERCENTILES.items()}
    found: Mapping[str, float] = {name: round(float(value), 4) for name, value in ranks.items()}
    return Delays(round(float(values_ms.mean()), 4), **found, max_ms=round(float(values_ms.max()), 4))


def histogram_of(values_ms: Floats) -> tuple[int, ...]:
    """Counts of values up to each of `EDGES_MS`, and above the last."""
    places = np.searchsorted(np.array(EDGES_MS), values_ms, side="left")
    return tuple(int(count) for count in np.bincount(places, minlength=len(EDGES_MS) + 1))
