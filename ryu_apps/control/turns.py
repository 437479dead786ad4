"""Work of a greenlet in turns: after a quarter of a millisecond of it, others run.

eventlet lets others run only where a greenlet waits. Who takes from a full queue never waits: Ryu's queue of 128 events
of an app, or sixty messages that came with one read, could keep every other switch waiting for milliseconds. An urgent
message of PSO passes four greenlets (reader, deliverer, app, writer), and at a full processor waits for each until all
others that have work had their turn (docs/decisions/pso-figures.md).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

from ryu.lib import hub

TURN_S = 0.25e-3
Result = TypeVar("Result")


class Turns:
    """Counts how long a greenlet has worked since it gave way."""

    def __init__(self) -> None:
        self._worked_s = 0.0

    def do(self, work: Callable[[], Result]) -> Result:
        """Do some work, and let others run if this turn was long enough."""
        began_s = time.monotonic()
        result = work()
        self._worked_s += time.monotonic() - began_s
        if self._worked_s >= TURN_S:
            self._worked_s = 0.0
            hub.sleep(0)
        return result
