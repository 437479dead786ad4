"""Violations, and which faults cause one: the shortest prefix of a storm after which it is there again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from experiments.torture.decide.faults import Fault


@dataclass(frozen=True)
class Violation:
    """Something that does not hold after a calm.

    Attributes
    ----------
    what
        A sentence.
    at_s
        Seconds since the torture began.
    round_number
        The storm before it.
    faults
        The storm's; or, once replays have found it, its shortest prefix with a violation.
    is_replayed
        Whether a replay of the storm alone, in a new network, brought a violation.
    """

    what: str
    at_s: float
    round_number: int
    faults: tuple[Fault, ...] = field(default=())
    is_replayed: bool = False

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "what": self.what,
            "at_s": self.at_s,
            "round": self.round_number,
            "replayed": self.is_replayed,
            "faults": [fault.to_json() for fault in self.faults],
        }


def shortest_prefix(faults: Sequence[Fault], fails: Callable[[Sequence[Fault]], bool]) -> tuple[Fault, ...] | None:
    """The shortest prefix that fails, by bisection; None when the whole does not fail (any more).

    Parameters
    ----------
    fails
        Replays some faults. What fails is taken to fail with more faults, too.
    """
    if not fails(faults):
        return None
    low, high = 0, len(faults)  # a prefix of `low` holds, one of `high` fails
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if fails(faults[:middle]) else (middle, high)
    return tuple(faults[:high])
