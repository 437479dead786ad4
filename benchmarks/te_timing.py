"""Timing shared by the traffic engineering benchmarks: processor seconds, medians, one table at the end.

Peers run beside ours in the same process and minute, with one thread each. Run with OMP_NUM_THREADS=1 and
OPENBLAS_NUM_THREADS=1; wall times depend on what else the machine does, processor seconds less so.
"""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable
from typing import TypeVar

Result = TypeVar("Result")


def cpu_s(run: Callable[[], Result], repeats: int = 1) -> tuple[float, Result]:
    """Median processor seconds of `repeats` runs after nothing else, and the last result."""
    times = []
    for _ in range(repeats):
        start_s = time.process_time()
        result = run()
        times.append(time.process_time() - start_s)
    return statistics.median(times), result


def print_machine() -> None:
    """Say what else the machine is doing."""
    load = ", ".join(f"{value:.1f}" for value in os.getloadavg())
    print(f"{os.cpu_count()} cores, load {load}", flush=True)
