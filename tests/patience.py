"""Waiting for others. How long tests wait for a condition: a limit for broken tests, not a claim about speed.

ARMOR_TEST_PATIENCE stretches it on machines that are slow by nature; the guest of `make test-kernel` sets 10.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

Value = TypeVar("Value")
LONGEST_PAUSE_S = 0.1


def patient_s(seconds: float) -> float:
    """Seconds to wait here for what takes at most `seconds` on an ordinary machine that is busy."""
    return seconds * float(os.environ.get("ARMOR_TEST_PATIENCE", "1"))


def wait_until(condition: Callable[[], Value], what: str, timeout_s: float = 20.0) -> Value:
    """The first true value of a condition.

    The pause before it is asked again is as long as asking took, or longer after a long wait; at most
    `LONGEST_PAUSE_S`. What is waited for needs the processor.

    Raises
    ------
    AssertionError
        It stayed false; `what` says what was waited for.
    """
    begun_s = time.monotonic()
    while True:
        asked_s = time.monotonic()
        is_last = asked_s - begun_s >= patient_s(timeout_s)  # asked once more even if the machine stood still till then
        value = condition()
        if value:
            return value
        assert not is_last, f"not within {patient_s(timeout_s):g} s: {what}"
        now_s = time.monotonic()
        time.sleep(min(LONGEST_PAUSE_S, max(0.01, now_s - asked_s, (now_s - begun_s) / 20)))


def whole_lines(path: Path) -> list[str]:
    """Lines of a file that somebody may be writing right now, without the one that is not finished; none without it."""
    return path.read_text(encoding="utf-8").rpartition("\n")[0].splitlines() if path.exists() else []
