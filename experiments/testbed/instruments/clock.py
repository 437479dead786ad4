"""The offset between the clock of packet taps (CLOCK_REALTIME) and that of events (CLOCK_MONOTONIC)."""

from __future__ import annotations

import time

from experiments.analysis.packet_counts import Clock

_TRIES = 20


class RunClock:
    """The clock of the taps of a run, from the making of this object on."""

    def __init__(self) -> None:
        self._offset_ns = sample_offset_ns()

    def so_far(self) -> Clock:
        """With the middle of the offsets at the beginning and now."""
        drift_ns = sample_offset_ns() - self._offset_ns
        return Clock(self._offset_ns + drift_ns // 2, drift_ns)


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
