"""How many log lines of one kind may be written: a burst, then one summary a second of how many were left out.

`LineLimit` is a value; time is an argument. Every line is either written or counted in a summary.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

BURST_LINES = 50
SUMMARY_S = 1.0


@dataclass(frozen=True, slots=True)
class LineLimit:
    """Lines of one kind.

    Attributes
    ----------
    allowed
        Lines that may be written now; one more each `SUMMARY_S` while none is left out, up to `BURST_LINES`.
    at_s
        Time of the step before.
    left_out
        Lines since the last summary that were not written.
    """

    allowed: float = BURST_LINES
    at_s: float = 0.0
    left_out: int = 0


def offered(limit: LineLimit, now_s: float) -> tuple[LineLimit, bool]:
    """A line is to be written: what is known after it, and whether it may be."""
    if limit.left_out:  # the next line is the summary
        return replace(limit, left_out=limit.left_out + 1), False
    earned = max(0.0, now_s - limit.at_s) / SUMMARY_S
    allowed = min(float(BURST_LINES), limit.allowed + earned)
    if allowed < 1:
        return LineLimit(allowed, now_s, 1), False
    return LineLimit(allowed - 1, now_s), True


def summarised(limit: LineLimit, now_s: float) -> tuple[LineLimit, int]:
    """A summary is due: what is known after it, and how many lines it has to count (0: none, write nothing)."""
    if not limit.left_out:
        return limit, 0
    return LineLimit(0.0, now_s), limit.left_out  # the summary is the line that waiting for it has earned
