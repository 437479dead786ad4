"""From the sockets of all switches to the apps: messages wait unparsed, by class; one greenlet parses and delivers.

Parsing is expensive, so nothing is parsed that will be dropped. The deliverer gives way after some work
(`control/turns.py`): an app that is not waiting for something handles them before more are parsed, and its own queue
stays short. An app that does wait holds up nobody else: its queue, by class too, fills and drops.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from typing import Any

from ryu.lib import hub

from ryu_apps.control.priority.decide.channels import receive_treatment
from ryu_apps.control.priority.decide.counters import APPS, RECEIVE, Counters
from ryu_apps.control.priority.decide.queue import ClassQueue, Entry, Kind
from ryu_apps.control.priority.waiting import Condition, Event
from ryu_apps.control.turns import Turns

MAX_UNDROPPABLE_BYTES = 1 << 18  # of one switch: with more waiting the controller stops reading from it
MOST_BACKLOG, RESUME_BACKLOG = 128, 64  # messages of a per-class connection: with more waiting it is not read from
_MARK = "pso_entry"


class Receiver:
    """Messages on their way to the apps.

    Parameters
    ----------
    event_loops
        Greenlets that handle events of all switches; the deliverer adds itself.
    delivered : function of (datapath, message)
        Called with every message once the apps have it.
    """

    def __init__(
        self,
        queue: ClassQueue,
        counters: Counters,
        event_loops: set[Any],
        delivered: Callable[[Any, bytes], None],
    ) -> None:
        self._queue, self._counters = queue, counters
        self._event_loops, self._delivered = event_loops, delivered
        self._undroppable: dict[Any, int] = {}
        self._paused: dict[tuple[Any, int], Event] = {}
        self._work, self._room = Event(), Condition()

    def is_behind(self, datapath: Any, class_id: int, caught_up: Event) -> bool:
        """Whether so much of a class of a switch waits that its connection need not be read; if so, rings later.

        Reading and sorting cost as much as anything else here, so what would be dropped anyway stays where it is: the
        switch has a queue for each connection, and drops the class that is too much for the controller.
        """
        if self._queue.backlog(class_id, datapath) < MOST_BACKLOG:
            return False
        self._paused[datapath, class_id] = caught_up
        return True

    def take(self, datapath: Any, message: bytes, class_id: int) -> None:
        """Let a message of a switch wait for its turn; returns when the switch may send more."""
        treatment = receive_treatment(message[1])
        entry = Entry(class_id, datapath, treatment.kind, len(message), treatment.may_be_dropped, message)
        entry.at_s = time.monotonic()
        self._counters.of(RECEIVE, class_id).received += 1
        for lost in self._queue.put(entry):
            self._counters.of(RECEIVE, lost.class_id).dropped += 1
            self._resume((lost.source, lost.class_id))  # what is dropped is never popped
        self._work.ring()
        if not entry.may_be_dropped:
            self._undroppable[datapath] = self._undroppable.get(datapath, 0) + len(message)
            while self._undroppable.get(datapath, 0) > MAX_UNDROPPABLE_BYTES:
                self._room.wait()

    def forget(self, datapath: Any) -> None:
        """A connection is gone, and with it what it still had to say."""
        for lost in self._queue.remove_source(datapath):
            self._counters.of(RECEIVE, lost.class_id).removed += 1
        self._undroppable.pop(datapath, None)
        self._room.open()
        for key in [key for key in self._paused if key[0] is datapath]:
            self._paused.pop(key).ring()

    def run(self) -> None:
        """Deliver, for ever."""
        self._event_loops.add(hub.getcurrent())
        turns = Turns()
        while True:
            if not turns.do(self._next):
                self._work.wait()

    def _next(self) -> bool:
        """Deliver the most urgent message; whether there was one."""
        entry = self._queue.pop()
        if entry is None:
            return False
        datapath: Any = entry.source
        counters = self._counters.of(RECEIVE, entry.class_id)
        counters.served += 1
        counters.delay.observe(time.monotonic() - entry.at_s)
        if not entry.may_be_dropped and datapath in self._undroppable:
            self._undroppable[datapath] -= entry.size_bytes
            self._room.open()
        if self._paused:
            self._resume((datapath, entry.class_id))
        datapath.deliver(entry.payload, lambda event: setattr(event, _MARK, entry))
        self._delivered(datapath, entry.payload)
        if entry.kind is Kind.BARRIER:
            self._queue.barrier_passed(datapath)
        return True

    def _resume(self, key: tuple[Any, int]) -> None:
        if key in self._paused and self._queue.backlog(key[1], key[0]) <= RESUME_BACKLOG:
            self._paused.pop(key).ring()


class AppEvents:
    """The events of one app, by class, in place of Ryu's FIFO of 128 (`RyuApp.events`).

    Events that are no message of a switch (state changes, requests between apps) keep their own order and come first.

    Parameters
    ----------
    event_loops
        Greenlets that handle events of all switches; the app's adds itself.
    """

    def __init__(self, queue: ClassQueue, counters: Counters, event_loops: set[Any]) -> None:
        self._queue, self._counters, self._event_loops = queue, counters, event_loops
        self._internal: deque[tuple[Any, Any]] = deque()
        self._work, self._room = Event(), Condition()
        self.maxsize = queue.capacity

    def put(self, item: tuple[Any, Any]) -> None:
        """Take (event, state); what is least urgent is dropped when too much waits."""
        mark = getattr(item[0], _MARK, None)
        if mark is None:
            self._internal.append(item)
            self._work.ring()
            return
        entry = Entry(mark.class_id, mark.source, mark.kind, mark.size_bytes, mark.may_be_dropped, item, mark.at_s)
        while not entry.may_be_dropped and self._queue.is_overfull():
            self._room.wait()
        self._counters.of(APPS, entry.class_id).received += 1
        for lost in self._queue.put(entry):
            self._counters.of(APPS, lost.class_id).dropped += 1
        self._work.ring()

    def get(self) -> tuple[Any, Any]:
        """The next event; waits for one."""
        self._event_loops.add(hub.getcurrent())
        while True:
            if self._internal:
                return self._internal.popleft()
            entry = self._queue.pop()
            if entry is not None:
                self._room.open()
                counters = self._counters.of(APPS, entry.class_id)
                counters.served += 1
                counters.delay.observe(time.monotonic() - entry.at_s)
                if entry.kind is Kind.BARRIER:
                    # The app handles this event before it asks for the next.
                    self._queue.barrier_passed(entry.source)
                item: tuple[Any, Any] = entry.payload
                return item
            self._work.wait()

    def forget(self, datapath: Any) -> None:
        """A connection is gone, and with it what it still had to say."""
        for lost in self._queue.remove_source(datapath):
            self._counters.of(APPS, lost.class_id).removed += 1
        self._room.open()

    def empty(self) -> bool:
        """Whether nothing waits."""
        return self.qsize() == 0

    def qsize(self) -> int:
        """Events that wait."""
        return len(self._internal) + len(self._queue)


class NoLimit:
    """Takes the place of an app's semaphore: the queue has its own bound."""

    def acquire(self) -> None:
        """Nothing to wait for."""

    def release(self) -> None:
        """Nothing to give back."""
