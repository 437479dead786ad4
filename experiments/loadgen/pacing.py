"""Keeps a schedule: offers each packet when it is due, whatever the answers do, and tells how late it was itself."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Protocol

from experiments.loadgen.decide.ledger import Ledger

Say = Callable[[str], None]
LONGEST_WAIT_S = 0.05


class Clock:
    """Seconds since its start."""

    def __init__(self) -> None:
        self.restart()

    def restart(self) -> None:
        """Begin again at zero."""
        self._zero = time.monotonic()

    def now(self) -> float:
        """Seconds."""
        return time.monotonic() - self._zero


class Side(Protocol):
    """What is loaded."""

    def offer(self, serial: int, now_s: float) -> bool:
        """Take a packet of the schedule; False: refused."""

    def turn(self, wait_s: float) -> None:
        """Wait so long at the most for something to do, and do it."""

    def is_idle(self) -> bool:
        """Whether nothing waits to be sent."""


def keep_schedule(clock: Clock, ledger: Ledger, patience_s: float, side: Side, progress: Say = lambda _: None) -> float:
    """Offer everything, then wait for answers until all are there or the patience of the last packet is over.

    Parameters
    ----------
    clock
        Started anew.
    progress : callable
        Called once a second.

    Returns
    -------
    How late packets were offered, 99th percentile, ms.
    """
    plan = ledger.schedule
    due_s, total_s = plan.due_s.tolist(), plan.warm_up_s + plan.seconds
    late_s: list[float] = []
    offered, reported_s, end_s = 0, 0.0, total_s + patience_s
    clock.restart()
    while (now := clock.now()) < end_s:
        while offered < len(due_s) and due_s[offered] <= now:
            if not side.offer(offered, now):
                ledger.refuse(offered)
            late_s.append(now - due_s[offered])
            offered += 1
            now = clock.now()
        if offered == len(due_s) and ledger.n_answered == ledger.n_sent and side.is_idle():
            break
        next_s = due_s[offered] if offered < len(due_s) else end_s
        side.turn(min(next_s - now, LONGEST_WAIT_S))
        if now - reported_s >= 1:
            reported_s = now
            progress(f"{now:.0f} of {total_s:.0f} s, {ledger.n_answered:,} of {offered:,} answered")
    late_s.sort()
    return 1000 * late_s[int(0.99 * (len(late_s) - 1))] if late_s else 0.0
