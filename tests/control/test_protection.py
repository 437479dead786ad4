"""What the controller tells the nodes of 1+1 protection: connections, and numbers after a restart."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dataplane.model.node_lines import NodeState, Receiving, Sending, read_state
from dataplane.model.sequence import is_new
from mininet_topos import toy
from ryu_apps.control.decide.protection import (
    IN_FLIGHT,
    address_of,
    are_served,
    protection_to_json,
    request_for,
)
from ryu_apps.plan.protection import ProtectedFlow, protection_of

SQUARE = toy.square()
BOTH = protection_of(SQUARE, [ProtectedFlow("s1", "s3"), ProtectedFlow("s3", "s1")])
S1, S3 = (address_of(SQUARE, node) for node in ("s1", "s3"))
ROWS = ((1, S1, S3, 1), (3, S3, S1, 1))


def running(epoch: str = "a", last: int = 1000) -> dict[str, NodeState]:
    return {
        "s1": NodeState(epoch, True, ROWS, {(1, S3): Sending(last, 1000)}, {3: Receiving(7, 7, 7)}),
        "s3": NodeState(epoch, True, ROWS, {(3, S1): Sending(8)}, {1: Receiving(last)}),
    }


def test_a_node_that_has_what_it_needs_is_sent_nothing() -> None:
    for node in ("s1", "s3"):
        assert request_for(node, BOTH.connections, running(), SQUARE) is None


def test_two_new_nodes_begin_with_fresh_numbers() -> None:
    states = {node: NodeState("a", False) for node in ("s1", "s3")}
    assert request_for("s1", BOTH.connections, states, SQUARE) == {
        "connections": [list(row) for row in ROWS],
        "sending": [],
        "receiving": [],
    }


@given(st.integers(0, 2**32 - 1))
def test_a_restarted_sending_end_goes_on_ahead_of_all_that_may_be_under_way(last: int) -> None:
    states = running(last=last) | {"s1": NodeState("b", False)}
    request = request_for("s1", BOTH.connections, states, SQUARE)
    ((number, egress, sent),) = request["sending"]
    assert (number, egress) == (1, S3)
    following = (sent + 1) % 2**32
    assert is_new(following, last)
    assert is_new(following, (last + IN_FLIGHT) % 2**32)
    assert request["receiving"] == [[3, 8]]


@given(st.integers(0, 2**32 - 1))
def test_a_restarted_receiving_end_accepts_the_next_packet_and_none_from_before(last: int) -> None:
    states = running(last=last) | {"s3": NodeState("b", False)}
    request = request_for("s3", BOTH.connections, states, SQUARE)
    ((number, received),) = request["receiving"]
    assert number == 1
    assert is_new((last + 1) % 2**32, received)
    assert not is_new(last, received)


def test_a_node_is_notified_of_connections_that_came_and_went_without_new_numbers() -> None:
    request = request_for("s1", (), running(), SQUARE)
    assert request == {"connections": []}
    more = protection_of(SQUARE, [ProtectedFlow("s1", "s3"), ProtectedFlow("s3", "s1"), ProtectedFlow("s1", "s2")])
    sent = request_for("s1", more.connections, running(), SQUARE)
    assert [1, S1, address_of(SQUARE, "s2"), 2] in sent["connections"]
    assert "sending" not in sent


def test_answers_are_read_by_name_and_counters_stand_beside_their_connection() -> None:
    answer = {
        "epoch": "a",
        "configured": True,
        "connections": [list(row) for row in ROWS],
        "sending": [{"number": 1, "egress": S3, "last": 1000, "sent": 1000}],
        "receiving": [
            {"number": 3, "ingress": S3, "last": 7, "accepted": 7, "duplicate": 7, "out_of_window": 0},
        ],
    }
    assert read_state(answer) == running()["s1"]
    sent = protection_to_json(BOTH, SQUARE, {"s1": read_state(answer), "s3": None})
    first, second = sent["connections"]
    assert (first["from"], first["sent"], first["accepted"]) == ("s1", 1000, None)
    assert (second["from"], second["sent"], second["accepted"], second["duplicate"]) == ("s3", None, 7, 7)
    assert [flow["text"] for flow in sent["flows"]] == ["s1 to s3", "s3 to s1"]
    assert sent["nodes"] == {"s1": True, "s3": False}
    assert replace(running()["s1"], epoch="b") != running()["s1"]


@pytest.mark.parametrize("node", ["s1", "s3"])
def test_a_connection_is_served_once_both_of_its_ends_have_it(node: str) -> None:
    assert are_served(BOTH.connections, running(), SQUARE)
    assert are_served((), {}, SQUARE)
    for state in (NodeState("a", True, ROWS[:1]), NodeState("a", False, ROWS)):
        assert not are_served(BOTH.connections, {**running(), node: state}, SQUARE)
    assert not are_served(
        BOTH.connections, {other: state for other, state in running().items() if other != node}, SQUARE
    )
