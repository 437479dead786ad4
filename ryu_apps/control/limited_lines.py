"""Log lines, limited by `decide.line_limit`: a burst of each kind, then one summary a second."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Hashable
from typing import Any

from ryu.lib import hub

from ryu_apps.control.decide.line_limit import SUMMARY_S, LineLimit, offered, summarised

MOST_CHARACTERS = 2000  # of a record of somebody else's, which may repeat all that a switch has sent
_LEFT_OUT = "%s: %d more lines were left out"
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


class LimitedRecords(logging.Filter):
    """Lets a burst of a logger's warnings and errors through, then none; cuts those that are too long.

    Parameters
    ----------
    summaries
        Where the summaries go; not through this filter.
    """

    def __init__(self, summaries: logging.Logger) -> None:
        super().__init__()
        self._summaries, self._lines = summaries, LimitedLines()

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether a record may be written."""
        if record.levelno < logging.WARNING:
            return True
        kind = f"lines of {record.name}"
        if not self._lines.admits(kind, lambda number: self._summaries.error(_LEFT_OUT, kind, number)):
            return False
        text = record.getMessage()
        if len(text) > MOST_CHARACTERS:
            record.msg, record.args = f"{text[:MOST_CHARACTERS]}... ({len(text)} characters)", ()
        return True


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
        if self._lines.admits(kind, lambda number: self._logger.error(_LEFT_OUT, kind, number)):
            self._logger.error("%s", text, exc_info=trace)
