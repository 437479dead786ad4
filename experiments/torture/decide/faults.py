"""Faults of a storm, drawn from a seed: what breaks, when, for how long."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from mininet_topos.topology import Topology

FLAP_S = 0.6
_DOWN_SHARE = 0.5  # of a flap's period
_SHORTEST_S, _LONGEST_S = 0.2, 8.0
_PART = 0.5
LINK_KINDS = ("silent", "carrier", "flap")
PART_KINDS = ("lossy", "control-slow")
CLOCK_KINDS = ("clock-ahead", "clock-back")
KINDS = (
    *LINK_KINDS,
    "one-way",
    "node",
    "control",
    "control-part",
    "control-all",
    "disk-full",
    "kill",
    "stop",
    *CLOCK_KINDS,
    "topology",
    *PART_KINDS,
)
"""Links: silent, without carrier, flapping, in one direction, lossy. Every link of a switch. Control links: of one
switch, of about half of them, of all; slow. The disk of databases, sockets and logs. Kill -9 and SIGSTOP. The wall
clock of a process. The controller's topology, which lacks a link, so that ports at both of its ends are wrong too."""


@dataclass(frozen=True, order=True)
class Fault:
    """A fault of a storm.

    Attributes
    ----------
    at_s, for_s
        Seconds from the beginning of the storm, and how long it lasts; a killed process is started again at once.
    target
        A link "s1-s2", a direction "s1>s2", a switch, some switches "s1+s2", "controller", "disk", or a process
        "agent@s3". Of "topology": the link that it lacks.
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


def targets_of(topology: Topology, processes: Sequence[str], *, drops_a_part: bool) -> dict[str, tuple[str, ...]]:
    """What each kind of fault can break; kinds that can break nothing are left out.

    Parameters
    ----------
    processes
        That may be killed or stopped, as "agent@s3".
    drops_a_part
        Whether a link can lose a part of its packets.
    """
    links, nodes = tuple(map(str, topology.link_ids)), topology.node_names
    targets = {
        **dict.fromkeys(LINK_KINDS, links),
        "one-way": tuple(str(link.direction) for link in topology.links),
        **dict.fromkeys(("node", "control", "control-part"), nodes),
        "control-all": ("controller",),
        "disk-full": ("disk",),
        **dict.fromkeys(("kill", "stop", *CLOCK_KINDS), tuple(processes)),
        "topology": tuple(str(link) for link in topology.link_ids if topology.is_connected([link])),
        **({"lossy": links, "control-slow": nodes} if drops_a_part else {}),
    }
    return {kind: targets[kind] for kind in KINDS if targets.get(kind)}


def draw_faults(
    targets: Mapping[str, Sequence[str]], chance: tuple[int, int], seconds: float, count: int
) -> tuple[Fault, ...]:
    """Faults of a storm, in the order of their beginnings.

    Parameters
    ----------
    targets
        What each kind can break (`targets_of`).
    chance
        Seed, and number of the round.
    seconds
        Length of the storm; every fault has ended by then.
    count
        How many are drawn; those that meet another on the same target are left out.
    """
    dice = np.random.default_rng(chance)
    drawn = sorted(_draw(targets, dice, seconds) for _ in range(count))
    kept: list[Fault] = []
    for fault in drawn:
        if not any(_meet(fault, other) for other in kept):
            kept.append(fault)
    return tuple(kept)


def _draw(targets: Mapping[str, Sequence[str]], dice: np.random.Generator, seconds: float) -> Fault:
    kind = str(dice.choice(list(targets)))
    longest_s = min(_LONGEST_S, seconds / 2)
    for_s = float(np.exp(dice.uniform(np.log(_SHORTEST_S), np.log(longest_s))))
    at_s = float(dice.uniform(0, seconds - for_s))
    among = targets[kind]
    if kind == "control-part":
        target = "+".join(name for name in among if dice.random() < _PART) or among[0]
    else:
        target = among[int(dice.integers(len(among)))]
    return Fault(round(at_s, 3), kind, target, round(for_s, 3))


def _meet(one: Fault, other: Fault) -> bool:
    """Whether two faults would be confused: the same target, at the same time or right after another."""
    if _place(one) != _place(other):
        return False
    return one.at_s < other.at_s + other.for_s + FLAP_S and other.at_s < one.at_s + one.for_s + FLAP_S


def _place(fault: Fault) -> str:
    """Where only one fault is at a time: its target; for all links that a topology lacks, the one file."""
    return fault.kind if fault.kind == "topology" else fault.target


def steps_of(faults: Sequence[Fault], flap_s: float = FLAP_S) -> tuple[Step, ...]:
    """Acts of a storm in their order; a flap is a silent failure again and again, each `flap_s`."""
    steps = []
    for fault in faults:
        for begin_s, end_s in _periods(fault, flap_s):
            steps += [Step(begin_s, True, fault), Step(end_s, False, fault)]
    return tuple(sorted(steps))


def _periods(fault: Fault, flap_s: float) -> list[tuple[float, float]]:
    if fault.kind != "flap":
        return [(fault.at_s, fault.at_s + fault.for_s)]
    number = max(2, int(fault.for_s / flap_s))
    period_s = fault.for_s / number
    begins = [fault.at_s + each * period_s for each in range(number)]
    return [(begin_s, begin_s + _DOWN_SHARE * period_s) for begin_s in begins]
