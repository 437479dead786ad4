"""How much of something may come: some at once, and from then on a rate (a token bucket)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Rate:
    """What is allowed: `per_s` on average, and `at_once` after a pause."""

    per_s: float
    at_once: float


class Allowance:
    """What of a rate is left.

    Parameters
    ----------
    now_s
        Time at which everything is left.

    Attributes
    ----------
    rate
        What it allows.
    """

    def __init__(self, rate: Rate, now_s: float) -> None:
        self.rate = rate
        self._left = rate.at_once
        self._last_s = now_s

    def admits(self, now_s: float) -> bool:
        """Whether one more may come at this time; it counts if so."""
        if self.is_spent(now_s):
            return False
        self._left -= 1
        return True

    def is_spent(self, now_s: float) -> bool:
        """Whether no more may come at this time."""
        self._left = min(self.rate.at_once, self._left + max(0.0, now_s - self._last_s) * self.rate.per_s)
        self._last_s = now_s
        return self._left < 1
