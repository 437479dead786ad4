"""How greenlets wait for each other."""

from __future__ import annotations

from typing import Any

from eventlet import hubs
from ryu.lib import hub


class Event:
    """Wakes the one greenlet that waits; rung before it waits, it is not forgotten.

    Every message rings several events, so an event goes to eventlet's hub itself: half the price of a semaphore. What
    waits has to look for itself whether there is something to do.
    """

    def __init__(self) -> None:
        self._waiter: Any = None
        self._is_rung = False

    def ring(self) -> None:
        """Wake all that wait, or will."""
        if not self._is_rung:
            self._is_rung = True
            if self._waiter is not None:
                hubs.get_hub().schedule_call_global(0, self._wake)

    def wait(self) -> None:
        """Wait for the event, then silence it."""
        if not self._is_rung:
            self._waiter = hub.getcurrent()
            try:
                hubs.get_hub().switch()
            finally:
                self._waiter = None
        self._is_rung = False

    def _wake(self) -> None:
        if self._waiter is not None:  # it may have been ended meanwhile
            self._waiter.switch()


class Condition:
    """Wakes all greenlets that wait at this moment, each to look whether its own wait is over."""

    def __init__(self) -> None:
        self._event: Any = hub.Event()
        self._waiting = 0

    def open(self) -> None:
        """Wake all."""
        if self._waiting:
            event, self._event = self._event, hub.Event()
            event.set()

    def wait(self) -> None:
        """Wait for the next opening."""
        self._waiting += 1
        try:
            self._event.wait()
        finally:
            self._waiting -= 1
