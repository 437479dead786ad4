"""Errors inside the running controller: counted, kept, written to the event log, never lost.

Ryu logs an exception of a handler and goes on, so that a broken switch cannot stop the others. That is right
for a controller, but a log line is easily missed: here every such error also counts in /armor/state. Lines of one kind
of error at one switch are limited (`decide.line_limit`), so that a switch cannot fill a disk; every error is counted.
"""

from __future__ import annotations

import functools
import logging
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from machine.event_log import EventLog
from mininet_topos.errors import ArmorError
from ryu_apps.control.limited_lines import LimitedLines

KEPT = 50


@dataclass(frozen=True, slots=True)
class Fault:
    """One error: when (CLOCK_MONOTONIC, seconds), in what, at which switch ("" for none), and its sentence."""

    at_s: float
    what: str
    node: str
    text: str


class Faults:
    """The errors of this process so far.

    Parameters
    ----------
    lines
        Which of them may be written now; None: by the clock.

    Attributes
    ----------
    count
        All of them.
    recent
        The latest of those that were written.
    """

    def __init__(self, events: EventLog, logger: logging.Logger, lines: LimitedLines | None = None) -> None:
        self._events = events
        self._logger = logger
        self._lines = lines or LimitedLines()
        self.count = 0
        self.recent: deque[Fault] = deque(maxlen=KEPT)

    def report(self, what: str, error: BaseException | str, node: str = "") -> None:
        """Count an error; keep it and write it to the event log and to the log, unless too many came at once."""
        expected = isinstance(error, str | ArmorError)
        text = str(error) if expected else f"{type(error).__name__}: {error}"
        self.count += 1
        if not self._lines.admits((what, node), functools.partial(self._left_out, what, node)):
            self._events.observe("error", what=what, node=node, text=text)
            return
        self._events.write("error", what=what, node=node, text=text)
        self._say(what, node, text, None if expected or isinstance(error, str) else error)

    def _left_out(self, what: str, node: str, number: int) -> None:
        self._events.write("errors_left_out", what=what, node=node, number=number)
        self._say(what, node, f"{number} more errors of this kind came at once; they are counted, and not written")

    def _say(self, what: str, node: str, text: str, trace: BaseException | None = None) -> None:
        self.recent.append(Fault(time.monotonic(), what, node, text))
        self._logger.error("%s%s: %s", what, f" ({node})" if node else "", text, exc_info=trace)

    @contextmanager
    def surfaced(self, what: str, node: str = "") -> Iterator[None]:
        """Report whatever is raised inside, and go on behind it: what failed must not end a loop or a handler."""
        try:
            yield
        except Exception as error:  # noqa: BLE001 - nothing is hidden: it is counted, kept and logged
            self.report(what, error, node)


def surfaced(handler: Callable[..., None]) -> Callable[..., None]:
    """Event handler of something with `faults`, whose errors are reported there."""

    @functools.wraps(handler)
    def reporting(self: Any, *arguments: Any) -> None:
        with self.faults.surfaced(handler.__name__):
            handler(self, *arguments)

    return reporting
