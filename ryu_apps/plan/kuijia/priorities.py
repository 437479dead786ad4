"""Traffic classes and the queues that keep them apart: Kuijia sections 4.2, 4.3 and 5.4.

Queue 0 goes first. The traffic class (TC) of the MPLS label says what a packet is; every switch maps it to a queue.
Packets name their class by DSCP where there is more than one; all DSCPs stay below those of control packets (CS4, CS5).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from mininet_topos.errors import BadInputError
from ryu_apps.plan.rows import QueueRow
from te_solver.values import DEFAULT_PRIORITY, HIGH_VICTIM, LOW, LOW_VICTIM


@dataclass(frozen=True, slots=True)
class ClassMarking:
    """What a packet in a tunnel is: the TC of its label and the queue that it waits in."""

    tc: int
    queue_id: int


@dataclass(frozen=True, slots=True)
class TrafficClass:
    """Traffic of one priority.

    Attributes
    ----------
    normal, victim
        While its own tunnel carries it, and once another one has taken it over.
    dscp
        DSCP of its packets; None: all packets.
    """

    name: str
    normal: ClassMarking
    victim: ClassMarking
    dscp: int | None = None


@dataclass(frozen=True, slots=True)
class PrioritySetup:
    """Classes, from first to last priority, and how many queues a port has.

    Attributes
    ----------
    class_at : tuple of (int, int)
        Priority of a demand (1 to 4, or 6 for background) and the position of its class.
    ldi
        Of packets from switch to switch about failed tunnels (transit.py); no class has its TC.
    """

    name: str
    summary: str
    classes: tuple[TrafficClass, ...]
    class_at: tuple[tuple[int, int], ...]
    n_queues: int
    ldi: ClassMarking

    def class_of(self, priority: int) -> TrafficClass:
        """Class of a demand.

        Raises
        ------
        BadInputError
            A priority that is none.
        """
        positions = dict(self.class_at)
        if priority not in positions:
            raise BadInputError(f"priority {priority} is none of {', '.join(map(str, positions))}; change the demand")
        return self.classes[positions[priority]]


def _own(number: int) -> ClassMarking:
    """TC and queue of one number."""
    return ClassMarking(number, number)


_HIGH = range(DEFAULT_PRIORITY, HIGH_VICTIM)
# AF31, AF21, AF11 and CS1 for the high classes; background traffic is best effort.
_DSCP = {1: 26, 2: 18, 3: 10, 4: 8, LOW: 0}

# The TC of network control; where TCs are numbers of queues, that of the control queue.
_FIRST = ClassMarking(7, 0)

# The paper's: TC 0 is aboriginal traffic, TC 1 is victim traffic.
SINGLE = PrioritySetup(
    "single",
    "queue 0 control, 1 normal, 2 victims",
    (TrafficClass("normal", ClassMarking(0, 1), ClassMarking(1, 2)),),
    (*((priority, 0) for priority in _HIGH), (LOW, 0)),
    3,
    _FIRST,
)
FOUR = PrioritySetup(
    "four",
    "queue 0 high, 1 high victims, 2 low, 3 low victims (section 5.4)",
    (TrafficClass("high", _own(0), _own(1), _DSCP[1]), TrafficClass("low", _own(2), _own(3), _DSCP[LOW])),
    (*((priority, 0) for priority in _HIGH), (LOW, 1)),
    4,
    _FIRST,
)
EIGHT = PrioritySetup(
    "eight",
    "queue 0 control, 1-4 high, 5 high victims, 6 low, 7 low victims (section 4.3)",
    (
        *(TrafficClass(f"high {priority}", _own(priority), _own(HIGH_VICTIM), _DSCP[priority]) for priority in _HIGH),
        TrafficClass("low", _own(LOW), _own(LOW_VICTIM), _DSCP[LOW]),
    ),
    (*((priority, priority - DEFAULT_PRIORITY) for priority in _HIGH), (LOW, len(_HIGH))),
    8,
    _own(0),
)
PRIORITY_SETUPS = {setup.name: setup for setup in (SINGLE, FOUR, EIGHT)}


def queue_rows(setup: PrioritySetup, capacity_of: Mapping[int, float | None]) -> tuple[QueueRow, ...]:
    """Queues of every port: strict priority by number, each up to the port's capacity, nothing kept for the last.

    Parameters
    ----------
    capacity_of
        Capacity (Mbit/s) by port number; None: not limited.
    """
    return strict_queues(setup.n_queues, capacity_of)


def strict_queues(n_queues: int, capacity_of: Mapping[int, float | None]) -> tuple[QueueRow, ...]:
    """`queue_rows` of any number of queues."""
    last = n_queues - 1
    return tuple(
        QueueRow(port_no, queue_id, queue_id, 0.0 if queue_id == last else None, capacity_of[port_no])
        for port_no in sorted(capacity_of)
        for queue_id in range(n_queues)
    )
