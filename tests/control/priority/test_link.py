"""A switch under PSO: what the service itself says on its main connection, and keeps from the apps."""

from __future__ import annotations

import socket
from types import SimpleNamespace
from typing import Any

import pytest

from ryu_apps.openflow import encode
from ryu_apps.openflow.wire import MsgType, split_messages
from ryu_apps.pmt.rules import UNMATCHED_CLASS
from tests.control.priority.test_channels import OUT_OF_BAND

pytestmark = pytest.mark.ryu


class Switch:
    """A link with what it says and what it gives to the apps, without sockets."""

    def __init__(self) -> None:
        from ryu_apps.control.priority.decide.channels import class_order
        from ryu_apps.control.priority.decide.counters import Counters
        from ryu_apps.control.priority.decide.policies import Strict
        from ryu_apps.control.priority.link import Link
        from ryu_apps.control.priority.sender import Sender

        classes = class_order(OUT_OF_BAND)
        self.sender = Sender(classes, Strict(), 100, Counters(), set())
        self.delivered: list[bytes] = []
        datapath: Any = SimpleNamespace(id=1, ofproto=SimpleNamespace(OFP_VERSION=4))
        receiver: Any = SimpleNamespace(take=lambda _datapath, message, _class_id: self.delivered.append(message))
        self.link = Link(datapath, OUT_OF_BAND, self.sender, receiver, lambda _kind: None)

    def connect(self, class_id: int) -> None:
        """Let a class have its own connection, and what that makes the service say be said."""
        nothing = dict.fromkeys(("mark", "wake", "fence", "control"), lambda *_messages: None)
        quiet = SimpleNamespace(class_id=class_id, **nothing)
        self.link.channel_ready(quiet)  # type: ignore[arg-type]
        self.said()

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
