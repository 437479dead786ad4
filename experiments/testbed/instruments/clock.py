"""The offset between the clock of packet taps (CLOCK_REALTIME) and that of events (CLOCK_MONOTONIC)."""

from __future__ import annotations

import time

_TRIES = 20


def sample_offset_ns() -> int:
    """CLOCK_REALTIME minus CLOCK_MONOTONIC, nanoseconds; the reading that was squeezed into the shortest time wins."""
    best_width_ns, best_offset_ns = 1 << 62, 0
    for _ in range(_TRIES):
        before_ns = time.monotonic_ns()
        real_ns = time.time_ns()
        after_ns = time.monotonic_ns()
        if after_ns - before_ns < best_width_ns:
            best_width_ns, best_offset_ns = after_ns - before_ns, real_ns - (before_ns + after_ns) // 2
    return best_offset_ns
