"""Which BFD interval a machine can hold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from emulation.decide.options import BFD_CANDIDATES_MS


@dataclass(frozen=True, slots=True)
class BfdChoice:
    """The chosen interval, whether it was seen to be stable, and the flaps seen at every interval tried."""

    interval_ms: int
    stable: bool
    flaps: tuple[tuple[int, int], ...]

    def describe(self) -> str:
        """One sentence for people."""
        seen = ", ".join(f"{interval} ms: {count}" for interval, count in self.flaps)
        if self.stable:
            return f"BFD interval {self.interval_ms} ms holds on this machine (flaps seen at {seen})"
        return (
            f"no BFD interval is stable on this machine (flaps at {seen}); {self.interval_ms} ms is used all the same"
        )


def choose_bfd_interval(flaps_by_interval: Mapping[int, int]) -> BfdChoice:
    """The shortest interval without a flap; else the longest.

    Parameters
    ----------
    flaps_by_interval : mapping of interval (ms) to flaps seen while nothing failed
        Counts are not compared: a probe ends at the first flaps that it sees.

    Examples
    --------
    >>> choose_bfd_interval({5: 494, 20: 4, 50: 0}).interval_ms
    50
    """
    if not flaps_by_interval:
        return BfdChoice(BFD_CANDIDATES_MS[-1], stable=False, flaps=())
    flaps = tuple(sorted(flaps_by_interval.items()))
    quiet = [interval for interval, count in flaps if count == 0]
    if quiet:
        return BfdChoice(quiet[0], stable=True, flaps=flaps)
    return BfdChoice(flaps[-1][0], stable=False, flaps=flaps)
