"""Commands on per-class connections: the switch, its errors and barriers are as on one connection."""

from __future__ import annotations

from collections import deque
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ryu_apps.openflow import encode
from ryu_apps.openflow.wire import MsgType, header, split_messages
from ryu_apps.pmt.parse import parse_pmt
from ryu_apps.pmt.rules import PolicyMapTable
from tests.control.priority.made_up import made_up_link
from tests.control.priority.modelled_switch import (
    ADD,
    DELETE,
    FLOW_STATS,
    ModelledSwitch,
    flow_mod,
    group_mod,
    in_order,
    messages,
    numbered,
)
from tests.control.priority.running import with_xid
from tests.pmt.frames import Ip, ethernet, ipv4
from tests.pmt.messages import bare

pytestmark = pytest.mark.ryu

TABLE = parse_pmt(
    """
by_class: [commands, requests, notifications]
rules:
  - {traffic_type: 1, action: queue_id:0}
  - {traffic_type: 2, in_port: 2, action: queue_id:1}
  - {traffic_type: 2, action: queue_id:2}
  - {traffic_type: 3, action: queue_id:3}
"""
)
ON_MAIN = replace(TABLE, by_class=frozenset())
MAIN, LOW, HIGH, OTHER = 1, 2, 3, 4
FENCE = b""
OWN_XIDS = range(0xF5000000, 0xF6000000)
REPLY = bare(MsgType.BARRIER_REPLY)


class Connections:
    """A link, and what is under way on each of its connections."""

    def __init__(self, table: PolicyMapTable = TABLE, policy: Any = None) -> None:
        from ryu_apps.control.priority.decide.channels import class_order
        from ryu_apps.control.priority.decide.counters import Counters
        from ryu_apps.control.priority.decide.policies import Strict
        from ryu_apps.control.priority.sender import Sender

        self.sender = Sender(class_order(table), policy or Strict(), 1000, Counters(), set())
        self.delivered: list[bytes] = []
        self.errors: list[str] = []
        self.is_closed = False
        self.link = made_up_link(table, self.sender, self.delivered, self.errors, self._close)
        self.under_way: dict[int, deque[bytes]] = {MAIN: deque()}
        self.arrived: list[bytes] = []
        self.arrived_on: list[int] = []
        self.controls: dict[int, list[bytes]] = {}
        self.channels: dict[int, Any] = {}
        self.closed_channels: list[int] = []

    def _close(self) -> None:
        self.is_closed = True

    def connect(self, class_id: int) -> None:
        """A class gets its own connection, and the switch hears of it."""
        under_way = self.under_way[class_id] = deque()
        self.controls[class_id] = []
        self.channels[class_id] = SimpleNamespace(
            class_id=class_id,
            mark=lambda _dscp: None,
            wake=lambda: None,
            say_something=lambda: None,
            fence=lambda: under_way.append(FENCE),
            control=lambda *said: self.controls[class_id].extend(said),
            close=lambda: self.closed_channels.append(class_id),
        )
        self.link.channel_ready(self.channels[class_id])
        self.settle()

    def write(self, class_id: int) -> bool:
        """Let a connection take what is for it; whether that was something."""
        chunk = self.sender._gather_main()[0] if class_id == MAIN else self.sender.next_apart(class_id)
        self.under_way[class_id].extend(split_messages(chunk)[0])
        return bool(chunk)

    def arrive(self, class_id: int) -> bool:
        """Let the next message of a connection reach the switch; whether there was one."""
        if not self.under_way[class_id]:
            return False
        message = self.under_way[class_id].popleft()
        if message == FENCE:
            self.sender.fence_passed(class_id)
            return True
        self.arrived.append(message)
        self.arrived_on.append(class_id)
        if message[1] == MsgType.BARRIER_REQUEST:
            self.link.received(with_xid(REPLY, header(message).xid))
        return True

    def settle(self) -> None:
        """Until nothing moves any more."""
        while any(step(each) for each in self.under_way for step in (self.write, self.arrive)):
            continue

    def of_the_app(self) -> list[bytes]:
        """Messages of the app, as they have reached the switch."""
        return [message for message in self.arrived if header(message).xid not in OWN_XIDS]

    def connection_of(self, message: bytes) -> int:
        """Connection on which a message came."""
        return self.arrived_on[self.arrived.index(message)]


def connected(table: PolicyMapTable = TABLE, policy: Any = None) -> Connections:
    made = Connections(table, policy)
    for class_id in (0, LOW, HIGH, OTHER):
        made.connect(class_id)
    made.arrived.clear()
    made.arrived_on.clear()
    return made


class Whichever:
    """A policy of which nothing is known."""

    def __init__(self, data: st.DataObject) -> None:
        self.choose = lambda waiting, _head_bytes: data.draw(st.sampled_from(waiting))


@pytest.mark.parametrize("is_strict", [True, False])
@pytest.mark.parametrize("table", [TABLE, ON_MAIN], ids=["by class", "main connection"])
@given(sequence=st.lists(messages(), max_size=20).map(numbered), data=st.data())
def test_whatever_is_written_and_arrives_when_the_switch_is_as_with_one_connection(
    table, is_strict, sequence, data
) -> None:
    switch, waiting = connected(table, None if is_strict else Whichever(data)), deque(sequence)
    steps = ["send", *((act, each) for each in switch.under_way for act in ("write", "arrive"))]
    for step in data.draw(st.lists(st.sampled_from(steps), max_size=60)):
        if step == "send":
            if waiting:
                switch.link.send(waiting.popleft(), closes=False)
        else:
            getattr(switch, step[0])(step[1])
    for message in waiting:
        switch.link.send(message, closes=False)
    switch.settle()
    arrived = switch.of_the_app()
    by_xid = sorted(arrived, key=lambda message: header(message).xid)
    assert [header(each).xid for each in by_xid] == [header(each).xid for each in sequence], "each arrives once"
    end, wanted = in_order(arrived), in_order(by_xid)
    assert isinstance(end, ModelledSwitch)
    assert (end.flows, end.groups, end.errors) == (wanted.flows, wanted.groups, wanted.errors)
    order = [header(message).xid for message in arrived if message[1] not in (MsgType.ECHO_REQUEST, MsgType.ECHO_REPLY)]
    for message in (each for each in arrived if each[1] == MsgType.BARRIER_REQUEST):
        xid = header(message).xid
        assert all(each < xid for each in order[: order.index(xid)])
        assert all(each > xid for each in order[order.index(xid) :][1:])
    answered = [header(each).xid for each in switch.delivered]
    assert answered == [header(each).xid for each in sequence if each[1] == MsgType.BARRIER_REQUEST]


def test_each_kind_of_message_uses_the_connection_of_its_class() -> None:
    switch = connected()
    request = bare(MsgType.MULTIPART_REQUEST, FLOW_STATS)
    sent = numbered([request, flow_mod(ADD, 2), flow_mod(ADD, 1), encode.echo_request()])
    for message in sent:
        switch.link.send(message, closes=False)
    switch.settle()
    assert [switch.connection_of(message) for message in sent] == [OTHER, LOW, HIGH, MAIN]


def test_without_by_class_commands_keep_to_the_main_connection() -> None:
    switch = connected(ON_MAIN)
    sent = numbered([bare(MsgType.MULTIPART_REQUEST, FLOW_STATS), flow_mod(ADD, 2), flow_mod(ADD, 1)])
    for message in sent:
        switch.link.send(message, closes=False)
    switch.settle()
    assert {switch.connection_of(message) for message in sent} == {MAIN}


@pytest.mark.parametrize("table", [TABLE, ON_MAIN], ids=["by class", "main connection"])
@pytest.mark.parametrize(
    "before",
    [(group_mod(0, 1), flow_mod(ADD, 2, group=1)), (flow_mod(ADD, 1), flow_mod(DELETE, 0), flow_mod(ADD, 2))],
    ids=["a flow and its group", "an entry and a deletion by match"],
)
def test_a_more_urgent_message_does_not_pass_what_it_depends_on(table, before) -> None:
    switch, sent = connected(table), numbered(list(before))
    for message in sent:
        switch.link.send(message, closes=False)
    switch.settle()
    assert switch.of_the_app() == sent


def test_what_depends_on_nothing_that_waits_leaves_by_its_class() -> None:
    switch = connected(ON_MAIN)
    group, user, other, urgent = numbered(
        [group_mod(0, 1), flow_mod(ADD, 2, group=1), flow_mod(ADD, 1), flow_mod(ADD, 2, table=1)]
    )
    for message in (group, user, other, urgent):
        switch.link.send(message, closes=False)
    switch.settle()
    assert switch.of_the_app() == [urgent, group, user, other]
    switch.link.send(with_xid(flow_mod(ADD, 2), 5), closes=False)
    switch.settle()
    assert switch.sender.is_settled
    assert not [each for each in switch.arrived if header(each).xid in OWN_XIDS]


@pytest.mark.parametrize("is_confirmed", [True, False])
def test_a_connection_that_fails_with_commands_of_which_nobody_knows_ends_the_datapath(is_confirmed: bool) -> None:
    switch = connected()
    switch.link.send(with_xid(flow_mod(ADD, 2), 1), closes=False)
    if is_confirmed:
        switch.link.send(encode.barrier_request(2), closes=False)
    switch.settle()
    switch.link.channel_gone(switch.channels[LOW])
    assert switch.is_closed is not is_confirmed
    assert switch.errors == ([] if is_confirmed else ["failed with unconfirmed messages"])


def test_a_connection_that_does_not_answer_a_barrier_is_closed_and_the_main_connection_goes_on(monkeypatch) -> None:
    from ryu_apps.control.priority.sender import FENCE_S

    now_s = 100.0
    monkeypatch.setattr("ryu_apps.control.priority.sender.time", SimpleNamespace(monotonic=lambda: now_s))
    switch, frame = connected(ON_MAIN), ethernet(0x0800, ipv4(Ip(ports=(1, 9))))
    switch.link.send(encode.packet_out(frame, (), in_port=2, xid=1), closes=False)
    switch.link.send(encode.barrier_request(2), closes=False)
    while any(switch.write(each) for each in switch.under_way):
        continue
    assert FENCE in switch.under_way.pop(LOW)
    switch.link.converse()
    assert switch.closed_channels == []
    now_s += FENCE_S
    switch.link.converse()
    assert (switch.closed_channels, switch.errors) == ([LOW], ["not answered"])
    switch.settle()
    assert switch.of_the_app() == []
    switch.link.channel_gone(switch.channels[LOW])
    switch.settle()
    assert switch.of_the_app() == [encode.barrier_request(2)]
    assert not switch.is_closed


def test_notifications_use_the_connection_of_type_3_and_its_end_is_the_datapaths_end() -> None:
    made = Connections()
    made.connect(LOW)
    assert not [message for message in made.arrived if message[1] == 28], "the main connection keeps its masks"
    made.connect(OTHER)
    (masks,) = [message for message in made.arrived if message[1] == 28]
    assert masks[8:] == bytes.fromhex("00000003" + "00000000" * 5)
    made.link.channel_gone(made.channels[LOW])
    assert not made.is_closed
    made.link.channel_gone(made.channels[OTHER])
    assert made.is_closed


def test_masks_of_an_app_are_parted_between_the_connections() -> None:
    switch = connected()
    asked = with_xid(bare(28, bytes.fromhex("00000001000000000000000700000007" + "0000000100000000")), 5)
    switch.link.send(asked, closes=False)
    switch.settle()
    packet_ins = asked[:16] + bytes(16)
    assert switch.of_the_app() == [packet_ins]
    assert {each: said[-1] for each, said in switch.controls.items()} == {
        0: packet_ins,
        LOW: packet_ins,
        HIGH: packet_ins,
        OTHER: asked,
    }
    assert switch.link.repeated_for(OTHER) == [asked]
    assert switch.link.repeated_for(LOW) == [packet_ins]
