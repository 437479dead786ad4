"""A switch under PSO: what the service itself says on its main connection, and keeps from the apps."""

from __future__ import annotations

import socket
from types import SimpleNamespace
from typing import Any

import pytest

from ryu_apps.control.priority.decide.channels import controller_ids
from ryu_apps.control.priority.decide.divert import sorting_messages, sorting_rows
from ryu_apps.control.priority.decide.queue import FAR_TOO_MANY, HARD_LIMIT, MEAN_BYTES
from ryu_apps.openflow import encode
from ryu_apps.openflow.wire import MsgType, split_messages
from ryu_apps.pmt.parse import parse_pmt
from ryu_apps.pmt.rules import UNMATCHED_CLASS, PolicyMapTable
from tests.control.priority.made_up import made_up_link
from tests.control.priority.running import with_xid
from tests.control.priority.test_channels import OUT_OF_BAND
from tests.control.priority.test_limits import WaitedError, fail_to_wait

pytestmark = pytest.mark.ryu


class Switch:
    """A link with what it says and what it gives to the apps, without sockets."""

    def __init__(self, capacity: int = 100, serves_all: bool = False) -> None:
        from ryu.lib import hub

        from ryu_apps.control.priority.decide.channels import class_order
        from ryu_apps.control.priority.decide.counters import Counters
        from ryu_apps.control.priority.decide.policies import Strict
        from ryu_apps.control.priority.sender import Sender

        event_loops: set[Any] = {hub.getcurrent()} if serves_all else set()
        self.sender = Sender(class_order(OUT_OF_BAND), Strict(), capacity, Counters(), event_loops)
        self.delivered: list[bytes] = []
        self.errors: list[str] = []
        self.unwanted: list[bytes] = []
        self.link = made_up_link(
            OUT_OF_BAND, self.sender, self.delivered, self.errors, self.close, lambda each: each not in self.unwanted
        )

    def close(self) -> None:
        """What the service does when the main connection is closed."""
        self.link.close()

    def connect(self, class_id: int) -> None:
        """Let a class have its own connection, and what that makes the service say be said."""
        self.link.channel_ready(quiet(class_id))
        self.said()

    def fill(self) -> None:
        """Let so much wait that there is no room."""
        while self.sender.has_room:
            self.sender.put(encode.echo_request(), UNMATCHED_CLASS)

    def written(self) -> list[bytes]:
        """All that waits for the main connection and may leave."""
        chunks = iter(lambda: self.sender._gather_main()[0], b"")
        return [message for chunk in chunks for message in split_messages(chunk)[0]]

    def said(self) -> list[bytes]:
        """What has been said on the main connection since the last call; barriers are answered at once."""
        # A reader of an empty queue waits; so there is always this, less urgent than anything else.
        self.sender.put(encode.echo_request(b"end"), UNMATCHED_CLASS)
        found: list[bytes] = []
        while not found or not found[-1].endswith(b"end"):
            messages, _rest = split_messages(self.sender.next_main()[0])
            found += messages
            for message in messages:
                if message[1] == MsgType.BARRIER_REQUEST:
                    self.link.received(bytes((4, MsgType.BARRIER_REPLY, 0, 8)) + message[4:8])
        return found[:-1]

    def asked(self) -> list[bytes]:
        """Echo requests that the service says when it is its time."""
        self.link.converse()
        return [message for message in self.said() if message[1] == MsgType.ECHO_REQUEST]


def quiet(class_id: int) -> Any:
    """A per-class connection that says nothing."""
    nothing = dict.fromkeys(("mark", "wake", "fence", "control", "say_something"), lambda *_messages: None)
    return SimpleNamespace(class_id=class_id, **nothing)


def test_a_switch_that_is_sent_messages_is_asked_for_an_echo_and_the_apps_do_not_hear_of_it() -> None:
    switch = Switch()
    switch.connect(3)
    switch.link.send(encode.set_config(128), False)
    (request,) = switch.asked()
    switch.link.send(encode.set_config(128), False)
    assert switch.asked() == [], "one question at a time"
    switch.link.received(encode.echo_reply(request))
    assert switch.delivered == []
    assert len(switch.asked()) == 1
    of_an_app = encode.echo_reply(encode.echo_request(b"app", xid=7))
    switch.link.received(of_an_app)
    assert switch.delivered == [of_an_app]


def test_what_is_not_wanted_is_neither_checked_nor_given_to_the_apps() -> None:
    switch = Switch()
    endless = bytes.fromhex("04 13 00 12 00 00 00 00 00 01 00 00 00 00 00 00 00 00")
    switch.unwanted.append(endless)
    switch.link.received(endless)
    assert switch.delivered == []


def test_a_switch_with_one_connection_is_asked_nothing() -> None:
    switch = Switch()
    switch.link.send(encode.set_config(128), False)
    assert switch.asked() == []


def test_a_switch_that_is_sent_nothing_more_is_asked_nothing_more() -> None:
    switch = Switch()
    switch.connect(3)
    assert switch.asked() == []
    switch.link.send(encode.set_config(128), False)
    (request,) = switch.asked()
    switch.link.received(encode.echo_reply(request))
    assert switch.asked() == []


@pytest.mark.parametrize("peer", ["reads nothing", "is gone"])
def test_a_switch_that_reads_nothing_and_one_that_is_gone_are_two_errors(peer: str) -> None:
    from ryu_apps.control.priority.sockets import why_unsent

    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.settimeout(0.05)
        if peer == "is gone":
            theirs.close()
        with pytest.raises(OSError) as error:  # noqa: PT011 - which one is the question
            ours.sendall(bytes(1 << 26))
    assert why_unsent(error.value) == {"reads nothing": "not read", "is gone": "broken off"}[peer]


def test_rows_that_an_app_deletes_are_back_after_its_deletion_whatever_classes_both_have() -> None:
    switch = Switch()
    switch.connect(3)
    deletion = encode.flows_delete_by_cookie(0, 0)
    switch.link.send(deletion, False)
    said = [message for message in switch.said() if message[1] == MsgType.FLOW_MOD]
    assert said[0] == deletion
    assert len(said) > 1


def test_rows_that_a_bundle_deletes_are_back_once_it_is_committed() -> None:
    switch = Switch()
    switch.connect(3)
    switch.said()
    opened, added, committed = split_messages(encode.bundle(7, [encode.flows_delete_by_cookie(0, 0)]))[0]
    for message in (opened, added):
        switch.link.send(message, False)
    assert [message for message in switch.said() if message[1] == MsgType.FLOW_MOD] == []
    switch.link.send(committed, False)
    said = switch.said()
    assert said[0] == committed
    assert [message for message in said if message[1] == MsgType.FLOW_MOD]
    switch.link.send(committed, False)
    assert [message for message in switch.said() if message[1] == MsgType.FLOW_MOD] == []


@pytest.mark.parametrize(
    ("number", "size_bytes"), [(FAR_TOO_MANY * 2, 0), (1, HARD_LIMIT * 2 * MEAN_BYTES)], ids=["messages", "bytes"]
)
def test_a_switch_for_which_far_too_much_waits_is_closed_before_it_holds_up_others(
    monkeypatch, caplog, number: int, size_bytes: int
) -> None:
    switch, reply = Switch(capacity=2, serves_all=True), encode.echo_reply(encode.echo_request(bytes(size_bytes)))
    monkeypatch.setattr(switch.sender._room, "wait", fail_to_wait)
    monkeypatch.setattr("ryu_apps.control.priority.sender.MOST_PAUSES", 3)
    assert all(switch.link.send(reply, False) for _ in range(number))
    assert switch.errors == []
    assert not switch.link.send(reply, False)
    assert switch.errors == ["not read"]
    assert "switch 1 at ('10.0.0.1', 1) takes too little: far more waits for it than send_queue allows" in caplog.text


def test_what_one_handler_sends_at_once_is_written_meanwhile_to_a_switch_that_reads() -> None:
    from ryu.lib import hub

    switch = Switch(capacity=2, serves_all=True)

    def write() -> None:
        while not switch.sender.closed:
            switch.sender.next_main()

    writer = hub.spawn(write)
    assert all(switch.link.send(encode.echo_request(), False) for _ in range(10 * FAR_TOO_MANY))
    assert switch.errors == []
    switch.link.close()
    writer.wait()


def test_large_messages_make_a_sender_wait_before_their_number_does(monkeypatch) -> None:
    switch, large = Switch(capacity=2), encode.echo_request(bytes(2 * MEAN_BYTES))
    monkeypatch.setattr(switch.sender._room, "wait", fail_to_wait)
    assert switch.link.send(large, False)
    with pytest.raises(WaitedError):
        switch.link.send(large, False)


def test_a_per_class_connection_is_read_on_while_the_main_connection_has_no_room(monkeypatch) -> None:
    switch = Switch(capacity=2)
    switch.fill()
    monkeypatch.setattr(switch.sender._room, "wait", fail_to_wait)
    switch.link.channel_ready(quiet(3))
    assert [message for message in switch.written() if message[1] == MsgType.FLOW_MOD]


def table_for(udp_dst: int) -> PolicyMapTable:
    return parse_pmt(
        "rules: [{traffic_type: 1, action: 'queue_id:0'},"
        f" {{traffic_type: 2, ip_proto: 17, udp_dst: {udp_dst}, action: 'queue_id:1'}},"
        " {traffic_type: 2, action: 'queue_id:2'}, {traffic_type: 3, action: 'queue_id:3'}]"
    )


def test_rows_of_a_newer_table_are_the_last_though_there_was_no_room_for_those_before(monkeypatch) -> None:
    switch, older, newer = Switch(), table_for(1), table_for(2)
    switch.connect(3)
    newer_tables = iter([newer])
    written: list[bytes] = []

    def meanwhile() -> None:
        """Do what other greenlets do while one waits for room."""
        for table in newer_tables:
            switch.link.set_table(table)
        written.extend(switch.written())

    monkeypatch.setattr(switch.sender._room, "wait", meanwhile)
    switch.fill()
    switch.link.set_table(older)
    meanwhile()
    older_rows, newer_rows = (sorting_rows(each, controller_ids(each, {3})) for each in (older, newer))
    wanted = sorting_messages(newer_rows, older_rows)
    rows = [with_xid(message, 0) for message in written if message[1] == MsgType.FLOW_MOD]
    assert older_rows != newer_rows
    assert rows[-len(wanted) :] == [with_xid(message, 0) for message in wanted]
