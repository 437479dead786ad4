"""How greenlets wait for each other."""

from __future__ import annotations

from typing import Any

from ryu.lib import hub


class Bell:
    """Wakes the one greenlet that waits; rung before it waits, it is not forgotten."""

    def __init__(self) -> None:
        self._rung: Any = hub.Semaphore(0)
        self._is_rung = False

    def ring(self) -> None:
        """Wake whoever waits, or will."""
        if not self._is_rung:
            self._is_rung = True
            self._rung.release()

    def wait(self) -> None:
        """Wait for the bell, then silence it."""
        self._rung.acquire()
        self._is_rung = False


class Gate:
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
