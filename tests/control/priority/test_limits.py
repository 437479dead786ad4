"""What the queues of the service do when much waits, and what they count; without sockets."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from ryu_apps.control.priority.decide.counters import APPS, RECEIVE, SEND, Counters
from ryu_apps.control.priority.decide.policies import Strict
from ryu_apps.control.priority.decide.queue import HARD_LIMIT, MEAN_BYTES, ClassQueue, Entry, Kind
from ryu_apps.openflow import encode
from ryu_apps.openflow.wire import MsgType
from tests.control.priority.running import punt
from tests.pmt.messages import bare

pytestmark = pytest.mark.ryu

HIGH, LOW = 1, 2


class WaitedError(Exception):
    """Somebody has waited for room."""


def fail_to_wait() -> None:
    """Take the place of a wait that a test cannot end."""
    raise WaitedError


def queue_of(capacity: int) -> ClassQueue:
    return ClassQueue((HIGH, LOW), Strict(), capacity)


class Conversation:
    """A switch whose messages pass both queues on the way to an app."""

    def __init__(self, app_capacity: int) -> None:
        from ryu_apps.control.priority.receiver import AppEvents, Receiver

        self.counters = Counters()
        self.receiver = Receiver(queue_of(100), self.counters, set(), lambda _datapath, _message: None)
        self.events = AppEvents(queue_of(app_capacity), self.counters, set())

    def deliver(self, _message: bytes, decorate: Callable[[Any], None]) -> None:
        """What a datapath does with a message."""
        event = SimpleNamespace()
        decorate(event)
        self.events.put((event, "main"))

    def counts(self, direction: str) -> tuple[int, int, int, int]:
        """Messages of the low class that were received, served, dropped and removed."""
        found = self.counters.of(direction, LOW)
        return found.received, found.served, found.dropped, found.removed


def test_a_connection_is_read_again_when_all_that_waited_of_it_has_been_dropped() -> None:
    from ryu_apps.control.priority.receiver import MOST_BACKLOG, Receiver

    receiver = Receiver(queue_of(MOST_BACKLOG), Counters(), set(), lambda _datapath, _message: None)
    rung: list[str] = []
    caught_up: Any = SimpleNamespace(ring=lambda: rung.append("rung"))
    for xid in range(MOST_BACKLOG):
        receiver.take("s1", punt(xid), LOW)
    assert receiver.is_behind("s1", LOW, caught_up)
    assert rung == []
    for xid in range(MOST_BACKLOG):
        receiver.take("flooding", punt(xid), HIGH)
    assert rung == ["rung"]


def test_the_delay_of_an_app_begins_when_the_message_came(monkeypatch) -> None:
    now_s = 1.0
    conversation = Conversation(app_capacity=10)
    monkeypatch.setattr("ryu_apps.control.priority.receiver.time", SimpleNamespace(monotonic=lambda: now_s))
    conversation.receiver.take(conversation, punt(1), LOW)
    now_s = 2.0
    assert conversation.receiver._next()
    now_s = 4.0
    conversation.events.get()
    delays_s = {way: conversation.counters.of(way, LOW).delay.sum_s for way in (RECEIVE, APPS)}
    assert delays_s == {RECEIVE: 1.0, APPS: 3.0}


def test_what_an_app_does_not_get_is_counted_apart_from_what_was_never_parsed() -> None:
    conversation = Conversation(app_capacity=2)
    for xid in range(4):
        conversation.receiver.take(conversation, punt(xid), LOW)
    for _ in range(3):
        conversation.receiver._next()
    conversation.events.get()
    assert conversation.counts(RECEIVE) == (4, 3, 0, 0)
    assert conversation.counts(APPS) == (3, 1, 1, 0)
    conversation.receiver.forget(conversation)
    conversation.events.forget(conversation)
    assert conversation.counts(RECEIVE) == (4, 3, 0, 1)
    assert conversation.counts(APPS) == (3, 1, 1, 1)


def test_what_a_switch_does_not_get_before_its_connection_ends_is_counted() -> None:
    from ryu_apps.control.priority.sender import Sender

    counters = Counters()
    sender = Sender((HIGH, LOW), Strict(), 10, counters, set())
    sender.open_apart(LOW, lambda: None, lambda: None)
    sender.put(bare(MsgType.PACKET_OUT), LOW)
    assert sender.next_apart(LOW)
    sender.put(encode.barrier_request(), HIGH)
    sender.put(encode.set_config(128), HIGH)
    assert sender._gather_main() == (b"", False), "the barrier waits for the other connection"
    sender.close()
    high = counters.of(SEND, HIGH)
    assert (high.received, high.served, high.removed) == (2, 0, 2)


def test_large_events_hold_up_the_deliverer_before_their_number_does(monkeypatch) -> None:
    events = Conversation(app_capacity=2).events
    mark = Entry(LOW, "s1", Kind.ORDERED, HARD_LIMIT * 2 * MEAN_BYTES, False, b"")
    item = SimpleNamespace(pso_entry=mark), "main"
    events.put(item)
    monkeypatch.setattr(events._room, "wait", fail_to_wait)
    with pytest.raises(WaitedError):
        events.put(item)
