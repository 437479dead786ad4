"""Faults of a storm, drawn from a seed: what breaks, when, for how long."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from mininet_topos.topology import Topology

FLAP_S = 0.6
_DOWN_SHARE = 0.5  # of a flap's period
_SHORTEST_S, _LONGEST_S = 0.2, 8.0
LINK_KINDS = ("silent", "carrier", "flap")
KINDS = (*LINK_KINDS, "one-way", "node", "control", "control-all", "kill", "stop")
"""Silent, without carrier, flapping, in one direction; every link of a switch; the control link of a switch, of all;
kill -9 and SIGSTOP of a process."""


@dataclass(frozen=True, order=True)
class Fault:
    """A fault of a storm.

    Attributes
    ----------
    at_s, for_s
        Seconds from the beginning of the storm, and how long it lasts; a killed process is started again at once.
    target
        A link "s1-s2", a direction "s1>s2", a switch, "controller", or a process "agent@s3".
    """

    at_s: float
    kind: str
    target: str
    for_s: float

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return asdict(self)


@dataclass(frozen=True, order=True)
class Step:
    """One act of a storm: a fault begins, or ends."""

    at_s: float
    begins: bool
    fault: Fault


def draw_faults(
    topology: Topology, processes: Sequence[str], chance: tuple[int, int], seconds: float, count: int
) -> tuple[Fault, ...]:
    """Faults of a storm, in the order of their beginnings.

    Parameters
    ----------
    processes
        That may be killed or stopped, as "agent@s3".
    chance
        Seed, and number of the round.
    seconds
        Length of the storm; every fault has ended by then.
    count
        How many are drawn; those that meet another on the same target are left out.
    """
    dice = np.random.default_rng(chance)
    kinds = KINDS if processes else tuple(kind for kind in KINDS if kind not in ("kill", "stop"))
    drawn = sorted(_draw(topology, processes, dice, kinds, seconds) for _ in range(count))
    kept: list[Fault] = []
    for fault in drawn:
        if not any(_meet(fault, other) for other in kept):
            kept.append(fault)
    return tuple(kept)


def _draw(
    topology: Topology, processes: Sequence[str], dice: np.random.Generator, kinds: Sequence[str], seconds: float
) -> Fault:
    kind = str(dice.choice(kinds))
    longest_s = min(_LONGEST_S, seconds / 2)
    for_s = float(np.exp(dice.uniform(np.log(_SHORTEST_S), np.log(longest_s))))
    at_s = float(dice.uniform(0, seconds - for_s))
    targets: dict[str, Sequence[str]] = {
        "one-way": [str(link.direction) for link in topology.links],
        "node": topology.node_names,
        "control": topology.node_names,
        "control-all": ("controller",),
        "kill": processes,
        "stop": processes,
    }
    among = targets.get(kind) or [str(link) for link in topology.link_ids]
    return Fault(round(at_s, 3), kind, str(among[int(dice.integers(len(among)))]), round(for_s, 3))


def _meet(one: Fault, other: Fault) -> bool:
    """Whether two faults would be confused: the same target, at the same time or right after another."""
    if one.target != other.target:
        return False
    return one.at_s < other.at_s + other.for_s + FLAP_S and other.at_s < one.at_s + one.for_s + FLAP_S


def steps_of(faults: Sequence[Fault]) -> tuple[Step, ...]:
    """Acts of a storm in their order; a flap is a silent failure again and again."""
    steps = []
    for fault in faults:
        for begin_s, end_s in _periods(fault):
            steps += [Step(begin_s, True, fault), Step(end_s, False, fault)]
    return tuple(sorted(steps))


def _periods(fault: Fault) -> list[tuple[float, float]]:
    if fault.kind != "flap":
        return [(fault.at_s, fault.at_s + fault.for_s)]
    number = max(2, int(fault.for_s / FLAP_S))
    period_s = fault.for_s / number
    begins = [fault.at_s + each * period_s for each in range(number)]
    return [(begin_s, begin_s + _DOWN_SHARE * period_s) for begin_s in begins]
