"""Memory and file descriptors of processes: whether they stay bounded."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

_TIMES, _MEGABYTES, _FILES = 1.5, 60.0, 40


class Usage(NamedTuple):
    """What a process holds."""

    resident_mb: float
    files: int


def grown(before: Mapping[str, Usage], now: Mapping[str, Usage]) -> list[str]:
    """A sentence for each process that holds much more than after the first calm."""
    found = []
    for name in sorted(before.keys() & now.keys()):
        first, last = before[name], now[name]
        if last.resident_mb > _TIMES * first.resident_mb + _MEGABYTES:
            found.append(
                f"{name} holds {last.resident_mb:.0f} MB of memory, {first.resident_mb:.0f} after the first calm"
            )
        if last.files > first.files + _FILES:
            found.append(f"{name} has {last.files} files open, {first.files} after the first calm")
    return found
