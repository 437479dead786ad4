"""States of a port or tunnel that may fail, for both agents: the tables PORTS and TUNNELS lead from one to the next.

The controller's `ReturnState` (ryu_apps/control/decide/returning.py) waits by the same rule (`Damping`), but follows
links: an end may be unknown, both ends must be live, and a link's return goes on until no switch holds rows about it.
A port is used again as soon as its own wait is over.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import Enum
from typing import TypeVar

from ryu_apps.plan.damping import Damping


class Liveness(Enum):
    """State of a port or tunnel."""

    NEW = "not live yet, so it has not failed either"
    UP = "live and in use"
    DOWN = "failed"
    HELD = "live again; waits for the wait-to-restore time"


NEW, UP, DOWN, HELD = Liveness


@dataclass(frozen=True, slots=True)
class Health:
    """State of one port or tunnel, and what its wait depends on.

    Attributes
    ----------
    downs
        Times of its recent failures, seconds.
    held_until_s
        Set in state HELD only.
    """

    state: Liveness = NEW
    downs: tuple[float, ...] = ()
    held_until_s: float | None = None


AnyHealth = TypeVar("AnyHealth", bound=Health)


def entered(health: AnyHealth, state: Liveness, damping: Damping, now_s: float) -> AnyHealth:
    """The health in its next state: DOWN notes the time of the failure, HELD starts the wait."""
    if state is health.state:
        return health
    if state is DOWN:
        return replace(health, state=state, downs=(*damping.remembered(health.downs, now_s), now_s), held_until_s=None)
    held_until_s = now_s + damping.required_s(health.downs, now_s) if state is HELD else None
    return replace(health, state=state, held_until_s=held_until_s)


def first_deadline_s(healths: Mapping[int, Health]) -> float | None:
    """When the first wait ends; None: nothing waits."""
    return min((each.held_until_s for each in healths.values() if each.held_until_s is not None), default=None)
