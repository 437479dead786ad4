"""From the apps to one switch: its messages wait by class, in one queue for all its connections.

Everything but packet-outs goes over the main connection, unless the table says `by_class`. A packet-out goes over the
connection of its class while there is one. A barrier of an app must cover it too, so before the barrier leaves, each
per-class connection that carried something answers a barrier of its own; and what is behind the barrier on per-class
connections waits for the app's barrier reply.

Each class has two fifos: one that the main connection serves, and one that its own connection serves.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

from ryu.lib import hub

from ryu_apps.control.priority.decide.channels import send_treatment
from ryu_apps.control.priority.decide.counters import SEND, Counters
from ryu_apps.control.priority.decide.policies import HeadBytes, Policy, Strict
from ryu_apps.control.priority.decide.queue import FAR_TOO_MANY, ClassQueue, Entry, Kind
from ryu_apps.control.priority.waiting import Condition, Event
from ryu_apps.openflow.wire import MsgType, header

CHUNK_BYTES = 8192  # written at once: what is more urgent waits for no more than this and the socket's own buffer
FENCE_S = 10.0  # for the answer to a fence: as long as the socket of a per-class connection may take nothing
MOST_PAUSES, _PAUSE_S = 1000, 0.001
_APART = 1000  # fifo of what goes over a per-class connection: class id + this
_SWITCH = "switch"


class _ByClass:
    """A policy of classes, asked about fifos: both fifos of a class count as the class."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy

    def choose(self, waiting: Sequence[int], head_bytes: HeadBytes) -> int:
        """Fifo to serve now."""
        fifo_of: dict[int, int] = {}
        for fifo in waiting:
            fifo_of.setdefault(fifo % _APART, fifo)
        return fifo_of[self._policy.choose(tuple(fifo_of), lambda each: head_bytes(fifo_of[each]))]


class Sender:
    """Messages on their way to one switch.

    Parameters
    ----------
    classes
        Class ids, most urgent first.
    capacity
        Messages that may wait.
    event_loops
        Greenlets that handle events of all switches: a slow switch must not hold them up.

    Attributes
    ----------
    on_overflow : function
        Called when far too much waits for the switch; it closes this.
    """

    def __init__(
        self, classes: Sequence[int], policy: Policy, capacity: int, counters: Counters, event_loops: set[Any]
    ) -> None:
        self._fifos = tuple(fifo for each in classes for fifo in (each, each + _APART))
        # Fifos of the main connection, if it serves the most urgent first, always.
        self.strict_fifos = tuple(classes) if isinstance(policy, Strict) else ()
        self._queue = ClassQueue(self._fifos, _ByClass(policy), capacity)
        self._counters, self._event_loops = counters, event_loops
        self._apart: dict[int, Callable[[], None]] = {}
        self._main_fifos = self._fifos
        self._dirty: set[int] = set()
        self._awaited: set[int] = set()
        self._fenced_at_s = 0.0  # when those that are awaited were asked
        self._n_pauses = 0  # of those that serve all switches, since the queue was not full
        self._barrier: Entry | None = None
        self._unanswered: set[int] = set()
        self._waiting_main = 0  # messages that must not be lost and that the main connection carries
        self._put_apart: dict[int, int] = {}  # by class: messages that must not be lost and that no barrier covers
        self._sent_apart: dict[int, int] = {}  # those of them that have been sent
        self._work, self._room = Event(), Condition()
        self._wake_apart: dict[int, Callable[[], None]] = {}
        self.closed = False
        self.on_overflow: Callable[[], None] = self.close

    @property
    def has_room(self) -> bool:
        """Whether a message would be taken at once."""
        return not self._queue.is_full

    @property
    def is_settled(self) -> bool:
        """Whether what the main connection carries next comes after all that was put so far and must not be lost."""
        return not self._waiting_main and not any(self._put_apart.values())

    def put(self, message: bytes, class_id: int, closes: bool = False) -> bool:
        """Let a message wait for its turn; False when the connection has ended.

        Waits while the queue is full, but for packet-outs, which are dropped. The greenlets that serve all switches
        wait when it is far too full, a second altogether, and then give the switch up.
        """
        self.wait_for_room(message)
        return self.put_in(message, self.fifo_of(class_id, message[1] == MsgType.PACKET_OUT), closes)

    def wait_for_room(self, message: bytes) -> None:
        """Wait until `put_in` may take a message; as `put`."""
        if send_treatment(message[1]).may_be_dropped:
            return
        if hub.getcurrent() in self._event_loops:
            self.limit_overflow()
            return
        while self._queue.is_full and not self.closed:
            self._room.wait()

    def limit_overflow(self) -> None:
        """Give way to the writer while far too much waits; give the switch up when that does not help."""
        if not self._queue.is_full:
            self._n_pauses = 0
        while self._queue.is_overfull(FAR_TOO_MANY) and not self.closed:
            self._n_pauses += 1
            if self._n_pauses > MOST_PAUSES:
                self.on_overflow()
                return
            hub.sleep(_PAUSE_S)

    def fifo_of(self, class_id: int, may_leave: bool) -> int:
        """Fifo of a class's messages that may leave the main connection, or may not."""
        return class_id + _APART if may_leave and class_id in self._apart else class_id

    def put_in(self, message: bytes, fifo: int, closes: bool = False) -> bool:
        """As `put`, but in a fifo, and at once: messages of one fifo reach the switch in their order."""
        if self.closed:
            return False
        treatment = send_treatment(message[1])
        class_id, is_apart = fifo % _APART, fifo >= _APART
        entry = Entry(fifo, _SWITCH, treatment.kind, len(message), treatment.may_be_dropped, (message, closes))
        entry.at_s = time.monotonic()
        self._counters.of(SEND, class_id).received += 1
        if is_apart and not entry.may_be_dropped:
            self._put_apart[class_id] = self._put_apart.get(class_id, 0) + 1
        self._waiting_main += not is_apart and not entry.may_be_dropped
        for lost in self._queue.put(entry):
            self._counters.of(SEND, lost.class_id % _APART).dropped += 1
        self._ring(class_id if is_apart else None)
        return True

    def next_main(self) -> tuple[bytes, bool]:
        """What to write to the main connection now, and whether to close it then; waits for something."""
        while not self.closed:
            chunk, closes = self._gather_main()
            if chunk:
                self._room.open()
                return chunk, closes
            self._work.wait()
        return b"", True

    def next_apart(self, class_id: int) -> bytes:
        """What to write to a per-class connection now; nothing while a barrier of the app waits for its reply."""
        chunk: list[bytes] = []
        size = 0
        while not self._unanswered and size < CHUNK_BYTES:
            entry = self._queue.pop((class_id + _APART,))
            if entry is None:
                break
            chunk.append(self._served(entry))
            size += entry.size_bytes
            if not entry.may_be_dropped:
                self._sent_apart[class_id] = self._sent_apart.get(class_id, 0) + 1
        if chunk:
            self._dirty.add(class_id)
            self._room.open()
            self._work.ring()  # a barrier may have waited for these
        return b"".join(chunk)

    def open_apart(self, class_id: int, wake: Callable[[], None], fence: Callable[[], None]) -> None:
        """A class has a connection of its own from now on.

        Parameters
        ----------
        wake
            Called when something waits for that connection.
        fence
            Sends a barrier on it, whose reply leads to `fence_passed`.
        """
        self._apart[class_id], self._wake_apart[class_id] = fence, wake
        self._set_main_fifos()

    def close_apart(self, class_id: int) -> None:
        """The connection of a class is gone; what waits for it goes over the main connection."""
        self._apart.pop(class_id, None)
        self._wake_apart.pop(class_id, None)
        self._dirty.discard(class_id)
        self._set_main_fifos()
        self.fence_passed(class_id)

    def is_unconfirmed(self, class_id: int) -> bool:
        """Whether a per-class connection has, or will have, carried what must not be lost, without a barrier since."""
        return self._put_apart.get(class_id, 0) > 0

    def fence_passed(self, class_id: int) -> None:
        """The switch has carried out all that a per-class connection brought: it brings no more until the barrier."""
        self._awaited.discard(class_id)
        self._put_apart[class_id] = self._put_apart.get(class_id, 0) - self._sent_apart.pop(class_id, 0)
        self._work.ring()

    def late_fences(self) -> set[int]:
        """Classes whose connection has not answered a fence within `FENCE_S`."""
        return set(self._awaited) if time.monotonic() - self._fenced_at_s >= FENCE_S else set()

    def barrier_answered(self, xid: int) -> None:
        """A barrier reply, or an error about one, has come on the main connection."""
        if xid in self._unanswered:
            self._unanswered.discard(xid)
            for wake in self._wake_apart.values():
                wake()

    def close(self) -> None:
        """The connection has ended: nothing more is taken, and nobody waits any more."""
        self.closed = True
        barrier = () if self._barrier is None else (self._barrier,)
        for lost in (*self._queue.remove_source(_SWITCH), *barrier):
            self._counters.of(SEND, lost.class_id % _APART).removed += 1
        self._barrier = None
        self._work.ring()
        self._room.open()

    def _ring(self, class_id: int | None) -> None:
        if class_id is None:
            self._work.ring()
        else:
            self._wake_apart.get(class_id, self._work.ring)()

    def _set_main_fifos(self) -> None:
        self._main_fifos = tuple(fifo for fifo in self._fifos if fifo < _APART or fifo % _APART not in self._apart)
        self._work.ring()

    def _gather_main(self) -> tuple[bytes, bool]:
        chunk: list[bytes] = []
        size, closes = 0, False
        while size < CHUNK_BYTES and not closes:
            entry = self._next_entry()
            if entry is None:
                break
            closes = entry.payload[1]
            self._waiting_main -= entry.class_id < _APART and not entry.may_be_dropped
            chunk.append(self._served(entry))
            size += entry.size_bytes
        return b"".join(chunk), closes

    def _next_entry(self) -> Entry | None:
        """The next message for the main connection; a barrier only once it covers the per-class connections too."""
        if self._barrier is not None and not self._awaited:
            return self._pass_barrier(self._barrier)
        entry = self._queue.pop(self._main_fifos)
        if entry is None or entry.kind is not Kind.BARRIER:
            return entry
        if not self._dirty:
            return self._pass_barrier(entry)
        self._barrier, self._awaited, self._dirty = entry, self._dirty, set()
        self._fenced_at_s = time.monotonic()
        for class_id in tuple(self._awaited):
            self._apart[class_id]()
        return self._next_entry()

    def _pass_barrier(self, barrier: Entry) -> Entry:
        self._barrier = None
        if self._apart:
            self._unanswered.add(header(barrier.payload[0]).xid)
        self._queue.barrier_passed(_SWITCH)
        return barrier

    def _served(self, entry: Entry) -> bytes:
        counters = self._counters.of(SEND, entry.class_id % _APART)
        counters.served += 1
        counters.delay.observe(time.monotonic() - entry.at_s)
        message: bytes = entry.payload[0]
        return message
