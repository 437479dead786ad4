"""The shell around reactive paths, with connections that a test plays."""

from __future__ import annotations

import time
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest

from ryu_apps.control.decide.peers import Peer
from ryu_apps.openflow.messages import DumpPart, PacketIn, PortDesc, Received
from ryu_apps.openflow.wire import MsgType, Multipart
from ryu_apps.plan.addressing import host_ipv4
from tests.pmt.frames import Ip, ethernet, ipv4

if TYPE_CHECKING:
    from ryu_apps.control.reactive import ReactiveApp

pytestmark = pytest.mark.ryu
PACKET = ethernet(0x0800, ipv4(Ip(source=host_ipv4(1), destination=host_ipv4(2), ports=(1, 2))))


class Connection:
    """A switch's connection; once it is ending, it takes nothing."""

    def __init__(self, dpid: int, address: str = "10.0.0.1") -> None:
        self.id, self.xid, self.peer = dpid, 0, Peer(address)
        self.address = (address, 1)
        self.is_ending = False
        self.kinds: list[int] = []

    def send(self, messages: bytes) -> bool:
        if not self.is_ending:
            self.kinds.append(messages[1])
        return not self.is_ending

    def close_refused(self) -> None:
        self.is_ending = True


@pytest.fixture
def app(monkeypatch) -> ReactiveApp:
    from ryu import cfg

    from ryu_apps.control.reactive import ReactiveApp

    cfg.CONF(args=[], default_config_files=[])
    monkeypatch.setenv("ARMOR_TOPOLOGY", "grid:1x2")
    monkeypatch.setenv("ARMOR_REACTIVE_CONFIRM", "on")
    return ReactiveApp()


def connected(app: ReactiveApp, dpid: int, address: str = "10.0.0.1") -> Connection:
    connection = Connection(dpid, address)
    app.switch_state_changed(SimpleNamespace(datapath=connection, state="main"))
    connection.kinds.clear()
    return connection


def ask(app: ReactiveApp, first: Connection) -> None:
    packet = PacketIn(0, 0, 0, 1, (), PACKET)
    app.message_received(SimpleNamespace(datapath=first, received=Received(MsgType.PACKET_IN, 1, packet)))


def test_a_flow_waits_until_the_later_switch_has_confirmed(app) -> None:
    first, later = connected(app, 1), connected(app, 2)
    ask(app, first)
    assert (first.kinds, later.kinds) == ([], [MsgType.FLOW_MOD, MsgType.BARRIER_REQUEST])
    app.message_received(SimpleNamespace(datapath=later, received=Received(MsgType.BARRIER_REPLY, later.xid, None)))
    assert first.kinds == [MsgType.FLOW_MOD, MsgType.PACKET_OUT]


def test_a_flow_does_not_wait_for_a_switch_that_takes_nothing_any_more(app) -> None:
    first, later = connected(app, 1), connected(app, 2)
    later.is_ending = True
    ask(app, first)
    assert first.kinds == [MsgType.FLOW_MOD, MsgType.PACKET_OUT]


def test_a_switch_that_comes_back_before_its_old_connection_is_gone_owes_no_answer(app) -> None:
    first, _later = connected(app, 1), connected(app, 2)
    ask(app, first)
    assert first.kinds == []
    connected(app, 2)
    assert first.kinds == [MsgType.FLOW_MOD, MsgType.PACKET_OUT]


def test_another_end_that_claims_a_connected_switch_is_refused_and_not_heard(app) -> None:
    first, later = connected(app, 1), connected(app, 2)
    rogue = connected(app, 1, "10.0.0.9")
    assert app.faults.count == 1
    ask(app, rogue)
    assert (first.kinds, later.kinds, rogue.kinds) == ([], [], [])
    ask(app, first)
    assert (first.kinds, later.kinds) == ([], [MsgType.FLOW_MOD, MsgType.BARRIER_REQUEST])


def test_a_switch_with_too_many_packet_ins_is_left_waiting_and_another_is_not(app, monkeypatch) -> None:
    now_s = time.monotonic() + 1
    monkeypatch.setattr(time, "monotonic", lambda: now_s)
    first, second = connected(app, 1), connected(app, 2)
    for _ in range(1100):
        ask(app, first)
    assert app.faults.count == 100
    assert "more than 500 packet-ins a second" in app.faults.recent[0].text
    app.message_received(SimpleNamespace(datapath=second, received=Received(MsgType.BARRIER_REPLY, second.xid, None)))
    assert first.kinds.count(MsgType.PACKET_OUT) == 16  # of a flow that waits no more are kept
    first.kinds.clear()
    ask(app, second)
    ask(app, first)
    assert second.kinds[-1] == MsgType.PACKET_OUT
    assert first.kinds == []
    now_s += 0.01
    ask(app, first)
    assert first.kinds == [MsgType.PACKET_OUT]


def test_packet_ins_of_a_switch_that_the_topology_lacks_are_left_out(app) -> None:
    unknown = connected(app, 99)
    ask(app, unknown)
    assert (unknown.kinds, app.faults.count) == ([], 0)


def described(app: ReactiveApp, connection: Connection, kind: Multipart, *numbers: int, more: bool = False) -> set[int]:
    """Say that a switch has these ports; those that the app knows of afterwards."""
    entries = tuple(PortDesc(number, 0, f"s1-eth{number}", 0, 4) for number in numbers)
    part = DumpPart(kind, entries, more)
    app.message_received(SimpleNamespace(datapath=connection, received=Received(MsgType.MULTIPART_REPLY, 1, part)))
    return set(app._live.ports.get("s1", ()))


def test_ports_are_those_of_a_whole_description_and_of_no_other_reply(app) -> None:
    switch = connected(app, 1)
    assert described(app, switch, Multipart.PORT_DESC, 1, more=True) == set()
    assert described(app, switch, Multipart.PORT_DESC, 2) == {1, 2}
    assert described(app, switch, Multipart.FLOW) == {1, 2}
    assert described(app, switch, Multipart.PORT_DESC, 1) == {1}
