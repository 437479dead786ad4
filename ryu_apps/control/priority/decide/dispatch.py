"""Which fifo a message to a switch takes, so that messages that depend on each other keep their order.

A *fifo* keeps its order from the app to the switch: a queue that one connection serves. Nothing orders two fifos but a
barrier (the sender makes one hold for all of them). So a message takes the fifo of its class, unless a message since
the last barrier touches the same resource (see `footprint`) on another fifo. Then:

| messages that it depends on | the message |
| --- | --- |
| none, or all on the fifo of its class | takes that fifo |
| all on one other fifo, and both kinds may be carried | follows them there, behind them |
| on several fifos, or one of them concerns the whole switch | waits behind a barrier of PSO's own |

Where one connection serves its fifos by strict priority, the least urgent fifo of those in question comes last anyway:
then the message takes that one, and no barrier is needed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ryu_apps.control.priority.decide.footprint import CARRIED, SWITCH, Footprint, Resource, footprint

MOST_OUTSTANDING = 16384  # resources since the last barrier that are remembered, about 10 MB for one switch


@dataclass(frozen=True, slots=True)
class Placement:
    """Fifo of a message, and whether a barrier must come before it."""

    fifo: int
    needs_barrier: bool = False


class _Touched:
    """Resources that messages since the last barrier touch, each with their fifos."""

    def __init__(self) -> None:
        self._at: dict[Resource, set[int]] = {}
        self._below: dict[Resource, set[int]] = {}

    def __len__(self) -> int:
        return len(self._at)

    def has(self, resource: Resource) -> bool:
        """Whether a message touches just this."""
        return resource in self._at

    def add(self, resource: Resource, fifo: int) -> None:
        self._at.setdefault(resource, set()).add(fifo)
        for size in range(len(resource)):
            self._below.setdefault(resource[:size], set()).add(fifo)

    def overlapping(self, resource: Resource) -> set[int]:
        """Fifos of what overlaps a resource."""
        found = set(self._below.get(resource, ()))
        for size in range(len(resource) + 1):
            found |= self._at.get(resource[:size], set())
        return found

    def clear(self) -> None:
        self._at.clear()
        self._below.clear()


class Dispatcher:
    """What has been sent to one switch since the last barrier."""

    def __init__(self) -> None:
        self._read, self._written = _Touched(), _Touched()
        self._first: tuple[bytes, int] | None = None  # what it touches is looked at when a second message comes

    def barrier(self) -> None:
        """A barrier separates what is placed from now on from all before."""
        self._read.clear()
        self._written.clear()
        self._first = None

    def place_first(self, message: bytes, fifo: int) -> None:
        """Let a message that comes after all others, wherever they went, take the fifo of its class."""
        self.barrier()
        self._first = message, fifo

    def place(self, message: bytes, fifo: int, urgency: Sequence[int] = ()) -> Placement:
        """Where a message goes; it counts as sent.

        Parameters
        ----------
        message
            Any but a barrier request.
        fifo
            That of its class.
        urgency
            Fifos that one connection serves by strict priority, most urgent first.
        """
        if self._first is not None:
            self._remember(footprint(self._first[0]), self._first[1])
            self._first = None
        needs = footprint(message)
        others = _union(self._written.overlapping(each) for each in (*needs.reads, *needs.writes))
        others |= _union(self._read.overlapping(each) for each in needs.writes)
        is_full = len(self._read) + len(self._written) >= MOST_OUTSTANDING
        concerns_all = SWITCH in needs.writes or self._written.has(SWITCH)
        placement = Placement(fifo)
        if others and others <= set(urgency) and not is_full:
            placement = Placement(max((fifo, *others), key=urgency.index))
        elif is_full or (others - {fifo} and (len(others) > 1 or concerns_all or message[1] not in CARRIED)):
            self.barrier()
            placement = Placement(fifo, needs_barrier=True)
        elif others:
            placement = Placement(others.pop())
        self._remember(needs, placement.fifo)
        return placement

    def _remember(self, needs: Footprint, fifo: int) -> None:
        if needs.is_request:
            return
        for each in needs.reads:
            self._read.add(each, fifo)
        for each in needs.writes:
            self._written.add(each, fifo)


def _union(sets: Iterable[set[int]]) -> set[int]:
    return set().union(*sets)
