"""Timing shared by the traffic engineering benchmarks: processor seconds, medians, one table at the end.

Peers run beside ours in the same process and minute. Run without settings of threads: ours sets its own, as for every
user. Wall times depend on what else the machine does, processor seconds less so.
"""

from __future__ import annotations

import argparse
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


def begin(about: str | None, *words: str) -> list[str]:
    """Read the command line, on which some of `words` may stand, and say what else the machine is doing."""
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    if words:
        parser.add_argument("words", nargs="*", metavar="|".join(words))
    given: list[str] = getattr(parser.parse_args(), "words", [])
    unknown = [word for word in given if word not in words]
    if unknown:
        parser.error(f"{unknown[0]!r} is unknown; use {', '.join(words)}")
    load = ", ".join(f"{value:.1f}" for value in os.getloadavg())
    print(f"{os.cpu_count()} cores, load {load}", flush=True)
    return given
