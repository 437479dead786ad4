"""A bounded queue of messages by class: what is most urgent leaves first, in an order that its readers can rely on.

Laws, each held by a test:

- Work conserving: something leaves while anything that may leave waits.
- Order: messages of one source and class leave in the order of their arrival (those that pass barriers among
  themselves, the others among themselves).
- Barrier: what came before a barrier of its source leaves before it, what came after leaves after it, except
  messages that are `FREE`.
- Bound: a message that may be dropped never makes the queue longer than its capacity. The least urgent class loses
  first, in it the source with most messages, of those the newest; a full queue refuses what is least urgent itself.
- Fairness: sources of one class take turns, so that a switch that floods a class harms itself.

A message that may not be dropped is always taken; `is_full` tells its sender to wait.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Hashable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from ryu_apps.control.priority.decide.policies import Policy

MEAN_BYTES = 2048  # above a full frame with its header: only hostile messages fill a queue before its number does
HARD_LIMIT = 8  # times the number or the bytes that fill a queue: more may not wait, whatever it is
FAR_TOO_MANY = 64  # times the number, for senders that may not wait: an app installs many small rules from one handler


class Kind(Enum):
    """How a message stands to the barriers of its source."""

    ORDERED = "ordered"
    FREE = "free"  # passes barriers
    BARRIER = "barrier"


@dataclass(slots=True, eq=False)
class Entry:
    """One message that waits.

    Attributes
    ----------
    source : hashable
        Whose barriers it heeds, and with whom it shares turns.
    payload : object
        Ignored here.
    at_s
        When it came, for measurements of delay.
    """

    class_id: int
    source: Hashable
    kind: Kind
    size_bytes: int
    may_be_dropped: bool
    payload: Any
    at_s: float = 0.0


class _Fifo:
    """Messages of one class, one queue a source; sources take turns."""

    __slots__ = ("droppable", "length", "queues", "turns")

    def __init__(self) -> None:
        self.queues: dict[Hashable, deque[Entry]] = {}
        self.turns: deque[Hashable] = deque()
        self.droppable: dict[Hashable, int] = {}
        self.length = 0

    def push(self, entry: Entry) -> None:
        queue = self.queues.get(entry.source)
        if queue is None:
            queue = self.queues[entry.source] = deque()
            self.turns.append(entry.source)
        queue.append(entry)
        self.length += 1
        if entry.may_be_dropped:
            self.droppable[entry.source] = self.droppable.get(entry.source, 0) + 1

    def head(self) -> Entry:
        return self.queues[self.turns[0]][0]

    def pop(self) -> Entry:
        entry = self.queues[self.turns[0]].popleft()
        self._removed(entry)
        if self.turns and self.turns[0] == entry.source:
            self.turns.rotate(-1)
        return entry

    def drop(self) -> Entry | None:
        """Give up the newest message of the source with most that may go."""
        if not self.droppable:
            return None
        source = max(self.droppable, key=self.droppable.__getitem__)
        queue = self.queues[source]
        at = next(at for at in range(len(queue) - 1, -1, -1) if queue[at].may_be_dropped)
        entry = queue[at]
        del queue[at]
        self._removed(entry)
        return entry

    def remove_source(self, source: Hashable) -> list[Entry]:
        removed = list(self.queues.get(source, ()))
        for entry in removed:
            self.queues[source].popleft()
            self._removed(entry)
        return removed

    def _removed(self, entry: Entry) -> None:
        self.length -= 1
        if entry.may_be_dropped:
            self.droppable[entry.source] -= 1
            if not self.droppable[entry.source]:
                del self.droppable[entry.source]
        if not self.queues[entry.source]:
            del self.queues[entry.source]
            self.turns.remove(entry.source)


@dataclass(slots=True)
class _Order:
    """What a source's barriers hold back."""

    open: int  # ordered messages in the fifos
    is_closed: bool  # a barrier stands in a fifo, or has left without having passed
    held: deque[Entry]


class ClassQueue:
    """The queue (see the laws above).

    Parameters
    ----------
    classes
        Class ids, most urgent first.
    capacity
        Messages that may wait; all together they may have `MEAN_BYTES` each.
    """

    def __init__(self, classes: Sequence[int], policy: Policy, capacity: int) -> None:
        self.classes = tuple(classes)
        self.capacity = capacity
        self._capacity_bytes = capacity * MEAN_BYTES
        self._bytes = 0
        self._policy = policy
        self._fifos = {each: _Fifo() for each in self.classes}
        self._orders: dict[Hashable, _Order] = {}
        self._length = 0

    def __len__(self) -> int:
        """Messages that wait."""
        return self._length

    @property
    def is_full(self) -> bool:
        """Whether a sender should wait."""
        return self._length >= self.capacity or self._bytes >= self._capacity_bytes

    def is_overfull(self, times: int = HARD_LIMIT) -> bool:
        """Whether so much waits that even a sender that cannot wait must stop.

        Parameters
        ----------
        times
            How many times the number that fills it may wait; of the bytes it is always `HARD_LIMIT`.
        """
        return self._length >= times * self.capacity or self._bytes >= HARD_LIMIT * self._capacity_bytes

    def backlog(self, class_id: int, source: Hashable) -> int:
        """Messages of a class and source that wait and may be dropped."""
        return self._fifos[class_id].droppable.get(source, 0)

    def put(self, entry: Entry) -> list[Entry]:
        """Take a message; what had to go for it, or itself when it is the one to go."""
        lost: list[Entry] = []
        while entry.may_be_dropped and self.is_full:
            victim = self._drop_below(entry)
            if victim is None:
                return [*lost, entry]
            lost.append(victim)
        self._admit(entry)
        return lost

    def pop(self, only: Collection[int] | None = None) -> Entry | None:
        """The message that leaves now; None when none may.

        Parameters
        ----------
        only
            Classes to choose from; all when left out.
        """
        if not self._length:
            return None
        waiting = [each for each in self.classes if self._fifos[each].length and (only is None or each in only)]
        if not waiting:
            return None
        # A class that is alone owes nobody anything.
        alone = len(waiting) == 1
        chosen = waiting[0] if alone else self._policy.choose(waiting, self._head_bytes)
        entry = self._fifos[chosen].pop()
        self._count(entry, -1)
        if entry.kind is Kind.ORDERED:
            self._orders[entry.source].open -= 1
            self._release(entry.source)
        return entry

    def _head_bytes(self, class_id: int) -> int:
        return self._fifos[class_id].head().size_bytes

    def barrier_passed(self, source: Hashable) -> None:
        """The barrier that left last has taken effect: what came after it may leave."""
        order = self._orders.get(source)
        if order is not None and order.is_closed:
            order.is_closed = False
            self._release(source)

    def remove_source(self, source: Hashable) -> list[Entry]:
        """Forget a source and all that it has waiting; what that was."""
        removed = [entry for fifo in self._fifos.values() for entry in fifo.remove_source(source)]
        order = self._orders.pop(source, None)
        if order is not None:
            removed += order.held
        for entry in removed:
            self._count(entry, -1)
        return removed

    def _drop_below(self, entry: Entry) -> Entry | None:
        """Room for a message, from the least urgent class that has any to give and is no more urgent than its own."""
        for each in reversed(self.classes):
            fifo = self._fifos[each]
            # Of its own class and source, the newest is the one that has just come.
            is_own = each == entry.class_id
            if is_own and fifo.droppable.get(entry.source, 0) >= max(fifo.droppable.values(), default=0):
                return None
            victim = fifo.drop()
            if victim is not None:
                self._after_loss(victim)
                return victim
            if is_own:
                return None
        return None

    def _count(self, entry: Entry, sign: int) -> None:
        self._length += sign
        self._bytes += sign * entry.size_bytes

    def _after_loss(self, victim: Entry) -> None:
        self._count(victim, -1)
        if victim.kind is Kind.ORDERED:
            self._orders[victim.source].open -= 1
            self._release(victim.source)

    def _admit(self, entry: Entry) -> None:
        self._count(entry, 1)
        if entry.kind is Kind.FREE:
            self._fifos[entry.class_id].push(entry)
            return
        order = self._orders.setdefault(entry.source, _Order(0, False, deque()))
        order.held.append(entry)
        self._release(entry.source)

    def _release(self, source: Hashable) -> None:
        """Move what no barrier holds back any more into the fifos."""
        order = self._orders[source]
        while order.held and not order.is_closed:
            entry = order.held[0]
            if entry.kind is Kind.BARRIER:
                if order.open:
                    break
                order.is_closed = True
            else:
                order.open += 1
            order.held.popleft()
            self._fifos[entry.class_id].push(entry)
        if not order.held and not order.is_closed and not order.open:
            del self._orders[source]
