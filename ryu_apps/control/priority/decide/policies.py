"""Which class is served next: strict priority, weighted fair, or a guaranteed minimum.

PSO leaves the choice open ("WFQ or PQ or min rate or other suitable queues", KSII TIIS 13(2), 2019, section 4.3).
All three are work conserving: while anything waits, something is served. Time plays no part: shares are shares of
the bytes served.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from mininet_topos.errors import BadInputError
from ryu_apps.pmt.scheduling import SchedulerKind

HeadBytes = Callable[[int], int]
QUANTUM_BYTES = 512


class Policy(Protocol):
    """Chooses among the classes that wait."""

    def choose(self, waiting: Sequence[int], head_bytes: HeadBytes) -> int:
        """Class to serve now.

        Parameters
        ----------
        waiting
            Class ids with something to serve, most urgent first; at least one.
        head_bytes : function
            Size of the message that a class would send next.
        """
        ...


class Strict:
    """The most urgent class that waits; the others get what it leaves."""

    def choose(self, waiting: Sequence[int], head_bytes: HeadBytes) -> int:  # noqa: ARG002 - one interface for all
        """Class to serve now."""
        return waiting[0]


class WeightedFair:
    """Deficit round robin (Shreedhar, Varghese, SIGCOMM 1995): bytes in proportion to the weights.

    Parameters
    ----------
    weights : mapping of class id to weight
        A class without a weight has 1.
    """

    def __init__(self, weights: Mapping[int, float]) -> None:
        _check_shares("weight", weights)
        self._weights = weights
        self._deficit_bytes: dict[int, float] = {}
        self._turn: int | None = None

    def choose(self, waiting: Sequence[int], head_bytes: HeadBytes) -> int:
        """Class to serve now."""
        # A class with nothing to send keeps no credit.
        self._deficit_bytes = {each: self._deficit_bytes.get(each, 0.0) for each in waiting}
        at = waiting.index(self._turn) if self._turn in waiting else 0
        while True:
            each = waiting[at % len(waiting)]
            size = head_bytes(each)
            if self._deficit_bytes[each] >= size:
                self._deficit_bytes[each] -= size
                self._turn = each
                return each
            at += 1
            each = waiting[at % len(waiting)]
            self._deficit_bytes[each] += QUANTUM_BYTES * self._weights.get(each, 1.0)


class MinRate:
    """A guaranteed share for some classes; what is left goes by strict priority.

    Parameters
    ----------
    shares : mapping of class id to share
        Fraction of the bytes served, in sum at most 1 (OpenFlow's OFPQT_MIN_RATE counts in 1/10 of a percent).
    """

    def __init__(self, shares: Mapping[int, float]) -> None:
        _check_shares("share", shares)
        if sum(shares.values()) > 1 + 1e-9:
            raise BadInputError(f"guaranteed shares add up to {sum(shares.values()):g}; use at most 1")
        self._shares = shares
        self._credit_bytes: dict[int, float] = {}

    def choose(self, waiting: Sequence[int], head_bytes: HeadBytes) -> int:
        """Class to serve now."""
        credit = self._credit_bytes = {each: self._credit_bytes.get(each, 0.0) for each in waiting}
        owed = (each for each in waiting if self._shares.get(each, 0.0) and credit[each] >= head_bytes(each))
        chosen = next(owed, waiting[0])
        size = head_bytes(chosen)
        for each in waiting:
            credit[each] += self._shares.get(each, 0.0) * size
        # A class that is served by priority has used its guarantee too, but does not get into debt by it.
        credit[chosen] = max(0.0, credit[chosen] - size)
        return chosen


def make_policy(kind: SchedulerKind, shares: Mapping[int, float]) -> Policy:
    """Policy of a scheduler.

    Parameters
    ----------
    shares : mapping of class id to weight (weighted) or to guaranteed fraction (min-rate)
        As `PolicyMapTable.class_shares` has them.

    Raises
    ------
    BadInputError
        An unusable share.
    """
    if kind is SchedulerKind.STRICT:
        return Strict()
    return WeightedFair(shares) if kind is SchedulerKind.WEIGHTED else MinRate(shares)


def _check_shares(word: str, shares: Mapping[int, float]) -> None:
    for each, share in shares.items():
        if not 0 < share < float("inf"):
            raise BadInputError(f"{word} of class {each} is {share:g}; give a number above 0")
