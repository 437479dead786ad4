"""How greenlets wait for each other."""

from __future__ import annotations

from typing import Any

from ryu.lib import hub


class Bell:
    """Wakes the one greenlet that waits; rung before it waits, it is not forgotten."""

    def __init__(self) -> None:
        self._event: Any = hub.Event()

    def ring(self) -> None:
        """Wake whoever waits, or will."""
        if not self._event.is_set():
            self._event.set()

    def wait(self) -> None:
        """Wait for the bell, then silence it."""
        self._event.wait()
        self._event.clear()


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
