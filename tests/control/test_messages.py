"""Messages of played switches under every app: each is decoded once, and a malformed one harms its sender alone."""

from __future__ import annotations

import json
import struct
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from ryu_apps.openflow import encode
from ryu_apps.openflow.wire import MsgType
from tests.control.priority.running import (
    ADDRESSES,
    PMT,
    RECORDER,
    PlayedSwitch,
    RunningRyu,
    punt,
    until,
    with_xid,
    xids,
)
from tests.openflow.test_lengths import FLOW, LISTED, part
from tests.patience import whole_lines
from tests.pmt.messages import bare

pytestmark = pytest.mark.ryu

COUNTING = "tests/control/counting.py"
PORT = struct.pack("!I4x6s2x16s8I", 2, b"\2" * 6, b"s1-eth2", *[0] * 8)
PORT_STATUS = bare(MsgType.PORT_STATUS, struct.pack("!B7x", 2) + PORT)
ERROR = bare(MsgType.ERROR, struct.pack("!HH", 1, 1) + encode.flows_delete_by_cookie(0, 0))
PSO = "ryu_apps/pso.py"
APPS = {
    "sdfast": ("ryu_apps/sdfast.py",),
    "kuijia": ("ryu_apps/kuijia.py",),
    "protect": ("ryu_apps/protect.py",),
    "reactive": ("ryu_apps/reactive.py",),
    "sdfast under pso": (PSO, "ryu_apps/sdfast.py"),
    "an app of Ryu under pso": (PSO, RECORDER),
}
POISONS = {
    "shorter than its header": struct.pack("!BBHI", 4, MsgType.PACKET_IN, 4, 0),
    "a type that OpenFlow has not": struct.pack("!BBHI", 4, 77, 8, 0),
    "a type that only controllers send": encode.barrier_request(7),
    "another version": struct.pack("!BBHI", 1, MsgType.BARRIER_REPLY, 8, 0),
    **{f"an entry of length 0 in multipart reply {kind}": part(kind, bytes(64)) for kind in LISTED},
    "a queue of length 0": bare(23, struct.pack("!I4xIIH6x", 1, 1, 1, 0)),
    "an instruction of length 0": part(1, FLOW[:-24] + bytes(24)),
    "a packet-in truncated before its match": bare(MsgType.PACKET_IN, bytes(10)),
    "a packet-in truncated before its packet": bare(MsgType.PACKET_IN, bytes(16) + struct.pack("!HH4x", 1, 4)),
    "a match longer than its message": bare(MsgType.PACKET_IN, bytes(16) + struct.pack("!HH12x", 1, 60000)),
    "a flow longer than its message": part(1, struct.pack("!H", 60000) + FLOW[2:]),
    "a port status truncated": bare(MsgType.PORT_STATUS, bytes(40)),
    "a port status too long": bare(MsgType.PORT_STATUS, bytes(80)),
    "half a port": part(13, PORT[:32]),
    "a barrier reply too long": bare(MsgType.BARRIER_REPLY, bytes(8)),
    "an error truncated": bare(MsgType.ERROR, bytes(2)),
}
HELLO_WITHOUT_END = bare(MsgType.HELLO, struct.pack("!HH", 77, 0))


class Running(RunningRyu):
    """An app on a network of switches s1 to s4, its event log and the counted parsings."""

    def __init__(self, folder: Path, *apps: str) -> None:
        self.apps = apps
        self.counted, self.event_log = folder / "counted", folder / "events.jsonl"
        self.counted.touch()
        settings = {"ARMOR_TOPOLOGY": "square", "ARMOR_REST_PORT": "0", "ARMOR_EVENTS": str(self.event_log)}
        counting = (COUNTING, *apps)
        super().__init__(folder, *counting, pmt=PMT, COUNTING_FILE=str(self.counted), **settings)

    def parsings(self) -> dict[str, list[bytes]]:
        """Messages by what happened to them: they came, or a parser took them."""
        found: dict[str, list[bytes]] = {}
        for line in whole_lines(self.counted):
            what, _, message = line.partition(" ")
            found.setdefault(what, []).append(bytes.fromhex(message))
        return found

    def parsed(self) -> Counter[bytes]:
        """How often parsers took each message."""
        return Counter(message for what, messages in self.parsings().items() if what != "came" for message in messages)

    def errors(self, kind: str, name: str) -> int:
        """Errors that the app of Armor has counted by name, or PSO by kind where there is none."""
        if RECORDER in self.apps:
            return self.state()["errors"].get(kind, 0)
        events = map(json.loads, whole_lines(self.event_log)) if self.event_log.exists() else ()
        return sum(1 for event in events if event["event"] == "error" and event["what"] == name)

    def refusals(self) -> int:
        """Messages that were counted as malformed."""
        return self.errors("malformed", "malformed message")


@pytest.fixture(scope="module", params=list(APPS))
def app(request, tmp_path_factory) -> Iterator[Running]:
    with Running(tmp_path_factory.mktemp("app"), *APPS[request.param]) as running:
        yield running


@pytest.fixture(scope="module")
def switch(app) -> Iterator[PlayedSwitch]:
    with PlayedSwitch(app.openflow_port) as played:
        played.hello()
        assert_served(played, 1)
        yield played


def assert_served(switch: PlayedSwitch, xid: int) -> None:
    """The controller answers a switch."""
    switch.send(with_xid(encode.echo_request(), xid))
    switch.read_until(lambda got: xid in xids(got, MsgType.ECHO_REPLY), "an echo reply")


def refused(app: Running, message: bytes, before_handshake: bool = False) -> str:
    """Let a switch of its own send a message in answer to a request; what the controller did wrong, if anything."""
    counted = app.refusals()
    with PlayedSwitch(app.openflow_port, 2, next(ADDRESSES)) as hostile:
        hostile.send(message if before_handshake else with_xid(message, hostile.asked_for_ports()))
        if not hostile.is_closed_by_controller():
            return "its connection is still open"
    until(lambda: app.refusals() > counted, "the message is counted")
    return ""


def test_malformed_messages_are_counted_and_cost_their_sender_its_connection_and_nobody_else(app, switch) -> None:
    wrong = {name: refused(app, message) for name, message in POISONS.items()}
    wrong["a hello element of length 0"] = refused(app, HELLO_WITHOUT_END, before_handshake=True)
    assert {name: why for name, why in wrong.items() if why} == {}
    assert_served(switch, 99)


def test_connections_without_a_handshake_are_closed_and_named(app, switch) -> None:
    counted = app.errors("no handshake", "no handshake")
    port, address = app.openflow_port, next(ADDRESSES)
    with PlayedSwitch(port, 2, address) as mute, PlayedSwitch(port, 3, address) as half_open:
        half_open.send(encode.hello())
        assert mute.is_closed_by_controller()
        assert half_open.is_closed_by_controller()
    until(lambda: app.errors("no handshake", "no handshake") == counted + 2, "both are counted")
    assert_served(switch, 98)


def test_each_message_is_decoded_once_and_a_list_that_nobody_asked_for_never(app, switch) -> None:
    came = [PORT_STATUS, punt(11), with_xid(ERROR, 12), with_xid(bare(MsgType.BARRIER_REPLY), 13)]
    unasked = with_xid(part(13, PORT), 15)
    switch.send(*came, unasked)
    # Under PSO an echo is answered while messages of less urgent classes may still wait to be decoded.
    until(lambda: set(came) <= set(app.parsed()), "all are decoded")
    assert_served(switch, 14)
    parsed, all_came = app.parsed(), Counter(app.parsings()["came"])
    assert {message.hex(): parsed[message] for message in came} == {message.hex(): 1 for message in came}
    assert (all_came[unasked], parsed[unasked]) == (1, 0)
    assert {message.hex(): n for message, n in (parsed - all_came).items()} == {}


@pytest.mark.parametrize("name", ["sdfast", "reactive"])
def test_a_message_that_a_switch_refuses_is_an_error_of_the_controller(tmp_path, name) -> None:
    with Running(tmp_path, *APPS[name]) as app, PlayedSwitch(app.openflow_port) as switch:
        switch.hello()
        assert_served(switch, 1)
        switch.send(with_xid(ERROR, 5))
        assert_served(switch, 2)
        until(lambda: "the switch refused message type 14 (xid 5)" in app.event_log.read_text(), "the refusal is named")


def test_an_app_of_ryu_beside_one_of_armor_gets_ryus_events(tmp_path) -> None:
    with Running(tmp_path, RECORDER, "ryu_apps/sdfast.py") as app, PlayedSwitch(app.openflow_port) as switch:
        switch.hello()
        until(lambda: "state main 0" in app.events(), "the app of Ryu knows the switch")
        switch.send(with_xid(PORT_STATUS, 21), punt(22), with_xid(ERROR, 23), with_xid(bare(MsgType.BARRIER_REPLY), 24))
        wanted = {"OFPPortStatus 21", "OFPPacketIn 22", "OFPErrorMsg 23", "OFPBarrierReply 24"}
        until(lambda: wanted <= set(app.events()), "the app of Ryu has handled all")
        switch.read_until(lambda got: 22 in xids(got, MsgType.PACKET_OUT), "its answer")
