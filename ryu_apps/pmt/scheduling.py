"""How the classes of a PMT share the rate of a control port, or the time of a controller.

PSO leaves the choice to the administrator: "WFQ or PQ or min rate or other suitable queues" (KSII TIIS 13(2), 2019,
section 4.3). The controller follows the choice of the switch (section 4.1), so the table says it once for both.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

UNMATCHED_NAME = "unmatched"


class SchedulerKind(Enum):
    """Which class is served next."""

    STRICT = "strict"  # the most urgent that waits
    WEIGHTED = "weighted"  # each in proportion to its weight
    MIN_RATE = "min-rate"  # each up to its guarantee, the rest by strict priority


@dataclass(frozen=True, slots=True)
class Scheduler:
    """The scheduler of a table.

    Attributes
    ----------
    shares : tuple of (str, float)
        By action of a class ("queue_id:1"), or `UNMATCHED_NAME`: weights of `WEIGHTED`, percents of `MIN_RATE`. Empty:
        as `full_shares` says.
    """

    kind: SchedulerKind = SchedulerKind.STRICT
    shares: tuple[tuple[str, float], ...] = ()


STRICT = Scheduler()


def full_shares(kind: SchedulerKind, given: Mapping[int, float], classes: Sequence[int]) -> dict[int, float]:
    """Weight or guaranteed fraction of every class that has one.

    Parameters
    ----------
    given : mapping of class id to weight or percent
        Empty: each class has twice the weight of the next, or half of what the classes before it left.
    classes
        Class ids, most urgent first.

    Examples
    --------
    >>> full_shares(SchedulerKind.WEIGHTED, {2: 3.0}, (1, 2, 0))
    {1: 1.0, 2: 3.0, 0: 1.0}
    >>> full_shares(SchedulerKind.MIN_RATE, {2: 30.0}, (1, 2, 0))
    {2: 0.3}
    """
    if kind is SchedulerKind.STRICT:
        return {}
    if kind is SchedulerKind.WEIGHTED:
        if given:
            return {each: given.get(each, 1.0) for each in classes}
        return {each: 2.0 ** (len(classes) - rank) for rank, each in enumerate(classes, 1)}
    if given:
        return {each: given[each] / 100 for each in classes if each in given}
    return {each: 0.5**rank for rank, each in enumerate(classes, 1)}
