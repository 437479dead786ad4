"""Each rogue switch does what its kind says, as a controller sees it that keeps every byte."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from experiments.loadgen.behaviours import BEHAVIOUR_OF
from experiments.loadgen.connection import Target
from experiments.loadgen.decide.misbehave import KINDS
from experiments.loadgen.decide.switch import Part
from experiments.loadgen.misbehave import RogueEndedError, misbehaving
from experiments.loadgen.rogue import RogueSwitch
from ryu_apps.openflow.encode import hello
from ryu_apps.openflow.lengths import check_received
from ryu_apps.openflow.wire import VERSION, MalformedMessageError, MsgType, split_messages
from tests.loadgen.recording_server import RecordingServer
from tests.patience import wait_until

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


def test_a_rogue_switch_that_ends_by_itself_is_no_measurement() -> None:
    def beside_nothing() -> None:
        with misbehaving(None, (Target("127.0.0.1", 70_000),), "flood", 1) as process:
            assert process is not None
            wait_until(lambda: process.poll() is not None, "its end")

    with pytest.raises(RogueEndedError, match="of kind 'flood' has ended"):
        beside_nothing()


def test_the_settings_of_a_rogue_switch_keep_their_values() -> None:
    assert RogueSwitch.from_text(ROGUE.to_text()) == ROGUE
