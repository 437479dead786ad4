"""What the agent writes to the event log: after the bytes are sent, and what comes in masses once a second."""

from __future__ import annotations

from collections import Counter

from machine.event_log import EventLog
from ovsdb_backup.decide.agent_types import Log

COUNTED = ("packet_dropped", "agent_release")  # one line a second and reason, however many packets
COUNT_INTERVAL_S = 1.0


class Journal:
    """The event log of one agent.

    Parameters
    ----------
    node
        Name of the switch in every line.
    """

    def __init__(self, events: EventLog, node: str) -> None:
        self._events = events
        self._node = node
        self._unwritten: list[tuple[Log, float]] = []
        self._counts: Counter[tuple[str, str]] = Counter()
        self._counted_s = 0.0
        self.received_s = 0.0

    def note(self, log: Log, *, is_sent: bool, sent_s: float | None = None) -> None:
        """Count a line, write it, or keep it until what it reports is sent; `sent_s`: when that was (None: now)."""
        if log.event in COUNTED:
            self.count(log.event, str(log.fields.get("reason", "")))
        elif is_sent:
            self.write(log.event, sent_s, **log.fields)
        else:
            self._unwritten.append((log, self.received_s))

    def sent(self) -> None:
        """All bytes are sent: write what waited for that."""
        unwritten, self._unwritten = self._unwritten, []
        for log, received_s in unwritten:
            self.write(log.event, **{"t_received_s": received_s, **log.fields})

    def forget_unsent(self) -> None:
        """The connection broke: what was not sent has not happened."""
        self._unwritten.clear()

    def count(self, event: str, reason: str) -> None:
        """One more of what is counted."""
        self._counts[event, reason] += 1

    @property
    def report_due_s(self) -> float | None:
        """When the counts are due; None: nothing was counted."""
        return self._counted_s + COUNT_INTERVAL_S if self._counts else None

    def report(self, now_s: float) -> None:
        """Write the counts, and count from 0 again."""
        for (event, reason), count in self._counts.items():
            self.write(event, reason=reason, packets=count)
        self._counts.clear()
        self._counted_s = now_s

    def write(self, event: str, at_s: float | None = None, /, **fields: str | int | float | bool) -> None:
        """Write a line, stamped `at_s` (None: now); `received_s` is when the agent heard of the cause."""
        self._events.write(event, at_s, **{"node": self._node, "t_received_s": self.received_s, **fields})

    def close(self) -> None:
        """Close the event log."""
        self._events.close()
