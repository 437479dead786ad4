"""Log lines, limited by `decide.line_limit`: a burst of each kind, then one summary a second."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Hashable
from typing import Any

from ryu.lib import hub

from ryu_apps.control.decide.line_limit import SUMMARY_S, LineLimit, offered, summarised

Summarise = Callable[[int], None]
"""Says how many lines were left out."""


class LimitedLines:
    """Which lines may be written now; a summary follows for those that may not.

    Parameters
    ----------
    later
        Calls a function, with its arguments, after some seconds.
    now
        Time (s).
    """

    def __init__(self, later: Callable[..., Any] = hub.spawn_after, now: Callable[[], float] = time.monotonic) -> None:
        self._later, self._now = later, now
        self._limits: dict[Hashable, LineLimit] = {}

    def admits(self, kind: Hashable, summarise: Summarise) -> bool:
        """Whether a line may be written; if not, it is counted in the next summary.

        Parameters
        ----------
        kind
            What shares one limit. Callers see to it that there are few.
        """
        before = self._limits.get(kind, LineLimit(at_s=self._now()))
        self._limits[kind], is_admitted = offered(before, self._now())
        if not is_admitted and not before.left_out:
            self._later(SUMMARY_S, self._summarise, kind, summarise)
        return is_admitted

    def _summarise(self, kind: Hashable, summarise: Summarise) -> None:
        self._limits[kind], number = summarised(self._limits[kind], self._now())
        if number:
            summarise(number)


class LimitedLog:
    """Errors of a logger, limited by kind.

    Parameters
    ----------
    logger
        Where the lines go.
    """

    def __init__(self, logger: logging.Logger) -> None:
        self._logger, self._lines = logger, LimitedLines()

    def error(self, kind: str, text: str, trace: BaseException | None = None) -> None:
        """Write a line, or count it.

        Parameters
        ----------
        kind
            Of a small set; the summary names it.
        """
        if self._lines.admits(kind, lambda number: self._logger.error("%s: %d more lines were left out", kind, number)):
            self._logger.error("%s", text, exc_info=trace)
