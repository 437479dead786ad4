"""Each rogue switch does what its kind says, as a controller sees it that keeps every byte."""

from __future__ import annotations

import socket
from collections.abc import Callable

import pytest

from experiments.loadgen import behaviours
from experiments.loadgen.behaviours import BEHAVIOUR_OF, sends
from experiments.loadgen.connection import Connection, Manner, Target
from experiments.loadgen.decide.misbehave import KINDS
from experiments.loadgen.decide.switch import Part
from experiments.loadgen.misbehave import RogueEndedError, misbehaving
from experiments.loadgen.rogue import Rogue, RogueSwitch, turn
from ryu_apps.openflow.encode import hello
from ryu_apps.openflow.lengths import check_received
from ryu_apps.openflow.wire import VERSION, MalformedMessageError, MsgType, split_messages
from tests.loadgen.fake_controller import FakeController
from tests.loadgen.recording_server import RecordingServer
from tests.patience import patient_s, wait_until

ROGUE = RogueSwitch(dpid=4, ports=(1, 2, 3), claimed=(1, 2, 3), source="127.0.0.2")
Seen = Callable[[RecordingServer], object]


def messages(server: RecordingServer) -> list[bytes]:
    """Whole messages up to the first of an impossible length of each connection."""
    found = []
    for each in list(server.received):
        rest = bytes(each)
        while len(rest) >= 8 and 8 <= int.from_bytes(rest[2:4], "big") <= len(rest):
            length = int.from_bytes(rest[2:4], "big")
            found.append(rest[:length])
            rest = rest[length:]
    return found


def count(server: RecordingServer, kind: MsgType) -> int:
    return sum(each[1] == kind for each in messages(server))


def refusals(server: RecordingServer) -> list[str]:
    """Why messages are refused; empty for one that is not."""
    return [refusal(each) for each in messages(server)]


def refusal(message: bytes) -> str:
    try:
        check_received(message, VERSION)
    except MalformedMessageError as refused:
        return str(refused)
    return ""


def refused_for(words: str) -> Seen:
    return lambda server: sum(words in each for each in refusals(server)) > 5


def dpids(server: RecordingServer) -> set[int]:
    return {int.from_bytes(each[8:16], "big") for each in messages(server) if each[1] == MsgType.FEATURES_REPLY}


def long_ones(server: RecordingServer) -> bool:
    return any(len(each) > 65_000 for each in messages(server))


def port_descriptions(server: RecordingServer) -> bool:
    parts = [each for each in messages(server) if each[1] == MsgType.MULTIPART_REPLY]
    return count(server, MsgType.PORT_STATUS) > 5 and any(each[8:10] == bytes((0, Part.PORT_DESC)) for each in parts)


def halves(server: RecordingServer) -> bool:
    """Connections that only say hello, and others whose last message has not ended."""
    rests = [split_messages(bytes(each))[1] for each in list(server.received)]
    return server.closed > 0 and sum(bool(rest) for rest in rests) > 5


def thirds(server: RecordingServer) -> bool:
    """A third of the connections says nothing, and a third are switches."""
    silent = sum(not each for each in list(server.received))
    return len(server.received) >= 100 and silent > 30 and {4 + 2, 4 + 98} <= dpids(server)


SEEN: dict[str, Seen] = {
    "flood": lambda server: count(server, MsgType.PACKET_IN) > 500,
    "malformed": lambda server: sum(map(bool, refusals(server))) > 5,
    "endless": refused_for("of length 0"),
    "connections": thirds,
    "stall": lambda server: count(server, MsgType.PACKET_IN) > 50,
    "zero-length": refused_for("of length 0"),
    "truncated": refused_for("bytes"),
    "oversized": long_ones,
    "wrong-version": refused_for("of version"),
    "half-open": halves,
    "slow-reader": lambda server: count(server, MsgType.ECHO_REQUEST) > 50,
    "port-lies": port_descriptions,
    "description-lies": lambda server: count(server, MsgType.FEATURES_REPLY) > 5 and 4 in dpids(server),
    "claims-id": lambda server: dpids(server) == {1, 2, 3},
}


def test_every_kind_has_a_behaviour_and_is_seen_here() -> None:
    assert tuple(SEEN) == KINDS == tuple(BEHAVIOUR_OF)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_a_rogue_switch_does_what_its_kind_says_from_its_own_address(kind: str) -> None:
    with RecordingServer() as server, misbehaving(None, (Target("127.0.0.1", server.port),), kind, 1, ROGUE):
        wait_until(lambda: SEEN[kind](server), f"{kind} at the controller")
    assert set(server.sources) == {"127.0.0.2"}
    if kind not in ("wrong-version", "half-open"):
        said = next(bytes(each) for each in server.received if each or kind != "connections")
        assert said.startswith(hello())


@pytest.mark.slow
def test_a_rogue_switch_keeps_its_rate() -> None:
    slow = RogueSwitch(4, (1, 2), (1,), "127.0.0.2", rate_pps=1.0)
    with RecordingServer() as server, misbehaving(None, (Target("127.0.0.1", server.port),), "flood", 1, slow):
        wait_until(lambda: count(server, MsgType.PACKET_IN) >= 3, "packet-ins")
        assert count(server, MsgType.PACKET_IN) < 50  # without a limit, hundreds come at once


@pytest.mark.slow
def test_packet_ins_of_a_rogue_switch_take_the_connection_of_their_class() -> None:
    low = RogueSwitch(4, rate_pps=100.0, controller_id=3)
    with FakeController(ids=(None, 0, 2, 3, 4), answers=lambda _: False) as fake:
        targets = tuple(Target("127.0.0.1", port, is_class=number > 0) for number, port in enumerate(fake.ports))
        with misbehaving(None, targets, "flood", 1, low):
            wait_until(lambda: fake.packet_ins(3), "packet-ins on the connection with id 3")
        assert not any(fake.packet_ins(each) for each in (0, 2, 4))


def test_connections_of_a_rogue_switch_have_the_marks_of_their_classes() -> None:
    with FakeController(ids=(None, 2, 3)) as fake:
        marked = zip(fake.ports, (56, 48, 40), strict=True)
        rogue = Rogue(ROGUE.targets([Target("127.0.0.1", port, dscp).to_text() for port, dscp in marked]), 1, ROGUE)
        rogue.connections = rogue.open()
        marks = [each.link.getsockopt(socket.IPPROTO_IP, socket.IP_TOS) >> 2 for each in rogue.connections]
        sources = {each.link.getsockname()[0] for each in rogue.connections}
        rogue.close()
    assert (marks, sources) == ([56, 48, 40], {ROGUE.source})


def test_a_switch_whose_connection_ends_opens_that_one_again_and_waits_for_the_features_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with RecordingServer() as server:
        target = Target("127.0.0.1", server.port)
        rogue = Rogue((target, target), 1, ROGUE)
        before = list(rogue.renewed())
        wait_until(lambda: len(server.received) == 2, "two connections")
        server.hang_up(0)
        turn(before[:1], patient_s(20))
        # A switch that waits for more runs into pytest's limit.
        monkeypatch.setattr("experiments.loadgen.rogue.AGAIN_S", 3600.0)
        first, other = rogue.renewed()
        rogue.close()
    assert first is not before[0]
    assert first.has_handshake
    assert other is before[1]


def test_connecting_is_part_of_the_time_that_a_message_has(monkeypatch: pytest.MonkeyPatch) -> None:
    class Clock:
        now_s = 0.0

        def monotonic(self) -> float:
            return self.now_s

        def sleep(self, seconds: float) -> None:
            self.now_s += seconds

    def connected(_rogue: Rogue, _manner: Manner) -> list[Connection]:
        clock.sleep(0.003)
        return []

    clock, messages = Clock(), iter([b"message"] * 10)
    monkeypatch.setattr(behaviours, "time", clock)
    behave = sends(lambda _rogue: next(messages), 200.0, connected=connected)
    with pytest.raises(StopIteration):
        behave(Rogue((), 1, ROGUE))
    assert clock.now_s == pytest.approx(10 / 200.0)


@pytest.mark.slow
def test_connections_that_the_controller_closes_are_opened_again_and_no_switch_is_there_twice() -> None:
    with RecordingServer() as server, misbehaving(None, (Target("127.0.0.1", server.port),), "connections", 1, ROGUE):
        wait_until(lambda: (len(server.received), len(dpids(server))) == (100, 33), "a hundred connections")
        for place, said in enumerate(list(server.received)):
            if len(said) <= len(hello()):
                server.hang_up(place)
        # Those that are switches stay, so none of the new ones is a switch.
        wait_until(
            lambda: sorted(map(bytes, server.received[100:])) == [b""] * 34 + [hello()] * 33,
            "as many silent ones again",
        )


def test_a_rogue_switch_says_how_much_it_has_sent_to_a_hundredth() -> None:
    said: list[int] = []
    rogue = Rogue((), 1, ROGUE, said.append)
    for n_sent in range(1, 10_001):
        rogue.count()
        assert 0.99 * n_sent <= said[-1] <= n_sent
    assert len(said) < 1000


def test_a_rogue_switch_that_ends_by_itself_is_no_measurement() -> None:
    def beside_nothing() -> None:
        with misbehaving(None, (Target("127.0.0.1", 70_000),), "flood", 1) as process:
            assert process is not None
            wait_until(lambda: process.poll() is not None, "its end")

    with pytest.raises(RogueEndedError, match="of kind 'flood' has ended"):
        beside_nothing()


def test_the_settings_of_a_rogue_switch_keep_their_values() -> None:
    assert RogueSwitch.from_text(ROGUE.to_text()) == ROGUE
