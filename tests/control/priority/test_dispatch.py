"""The laws of fifos: whatever the interleaving of fifos, the switch ends as if all had come on one connection."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ryu_apps.control.priority.decide import dispatch
from ryu_apps.control.priority.decide.dispatch import Dispatcher, Placement
from ryu_apps.control.priority.decide.footprint import CARRIED, EVERYTHING, footprint
from ryu_apps.openflow import encode
from ryu_apps.openflow.wire import HEADER_BYTES, MsgType
from tests.control.priority.modelled_switch import (
    ADD,
    ALL_TABLES,
    DELETE,
    DELETE_STRICT,
    FLOW_STATS,
    LOW_PORT,
    MODIFY_STRICT,
    ModelledSwitch,
    flow_mod,
    group_mod,
    in_order,
    messages,
    numbered,
)
from tests.pmt.messages import bare, valid_messages

MAIN, HIGH, LOW, THIRD = URGENCY = range(4)
STATS = bare(18, FLOW_STATS)


def fifo_of(message: bytes) -> int:
    """Fifo of the class of a message, in a table in which all leave the main connection that may."""
    if message[1] == MsgType.FLOW_MOD and message[51] == 12 and message[59] == LOW_PORT:
        return LOW
    if message[1] == MsgType.MULTIPART_REQUEST:
        return THIRD
    return HIGH if message[1] in CARRIED else MAIN


def deliver(sequence: list[bytes], choose: Callable[[list[int]], int]) -> list[bytes]:
    """Messages in an order in which they may reach the switch."""
    dispatcher, fifos, arrived = Dispatcher(), {}, []

    def drain() -> None:
        while fifos:
            fifo = choose(sorted(fifos))
            arrived.append(fifos[fifo].popleft())
            if not fifos[fifo]:
                del fifos[fifo]

    for message in sequence:
        if message[1] == MsgType.BARRIER_REQUEST:
            dispatcher.barrier()
            drain()
            arrived.append(message)
            continue
        placement = dispatcher.place(message, fifo_of(message))
        if placement.needs_barrier:
            drain()
        fifos.setdefault(placement.fifo, deque()).append(message)
    drain()
    return arrived


def same_end(ours: ModelledSwitch, theirs: ModelledSwitch) -> bool:
    return (ours.flows, ours.groups, ours.errors) == (theirs.flows, theirs.groups, theirs.errors)


@given(sequence=st.lists(messages(), max_size=25).map(numbered), data=st.data())
def test_any_interleaving_of_fifos_gives_the_state_and_the_errors_of_one_connection(sequence, data) -> None:
    arrived = deliver(sequence, lambda fifos: data.draw(st.sampled_from(fifos)))
    assert sorted(arrived) == sorted(sequence)
    assert same_end(in_order(arrived), in_order(sequence))
    at = {message: position for position, message in enumerate(arrived)}
    for position, message in enumerate(sequence):
        before, after = sequence[:position], sequence[position + 1 :]
        if message[1] == MsgType.BARRIER_REQUEST:
            assert all(at[each] < at[message] for each in before)
            assert all(at[each] > at[message] for each in after)
        if message == STATS[:4] + message[4:8] + STATS[8:]:
            assert all(at[each] < at[message] for each in before if each[1] == MsgType.FLOW_MOD)
        if footprint(message) == EVERYTHING:
            assert all(at[each] < at[message] for each in before if each[1] in (MsgType.FLOW_MOD, MsgType.GROUP_MOD))
            assert all(at[each] > at[message] for each in after if each[1] in (MsgType.FLOW_MOD, MsgType.GROUP_MOD))


@pytest.mark.parametrize(
    ("before", "message", "placement"),
    [
        ((), flow_mod(ADD, 1), Placement(HIGH)),
        ((flow_mod(ADD, 1),), flow_mod(ADD, LOW_PORT), Placement(LOW)),
        ((flow_mod(ADD, LOW_PORT),), flow_mod(DELETE_STRICT, LOW_PORT), Placement(LOW)),
        ((flow_mod(ADD, LOW_PORT),), flow_mod(DELETE, 0), Placement(LOW)),
        ((flow_mod(ADD, LOW_PORT),), flow_mod(DELETE, 0, table=1), Placement(HIGH)),
        ((flow_mod(ADD, LOW_PORT, table=1),), flow_mod(DELETE, 0, table=ALL_TABLES), Placement(LOW)),
        ((flow_mod(ADD, LOW_PORT), flow_mod(ADD, 1)), flow_mod(DELETE, 0), Placement(HIGH, needs_barrier=True)),
        ((group_mod(0, 1),), flow_mod(ADD, LOW_PORT, group=1), Placement(HIGH)),
        ((group_mod(0, 1),), flow_mod(ADD, LOW_PORT), Placement(LOW)),
        ((flow_mod(ADD, LOW_PORT),), STATS, Placement(LOW)),
        ((STATS,), flow_mod(ADD, LOW_PORT), Placement(LOW)),
        ((flow_mod(ADD, 1),), encode.port_stats_request(), Placement(THIRD)),
        ((flow_mod(ADD, 1),), encode.echo_request(), Placement(MAIN)),
        ((flow_mod(ADD, 1),), encode.set_config(128), Placement(MAIN, needs_barrier=True)),
        ((encode.set_config(128),), flow_mod(ADD, 1), Placement(HIGH, needs_barrier=True)),
        ((flow_mod(MODIFY_STRICT, LOW_PORT),), group_mod(2, 1), Placement(LOW)),
    ],
)
def test_a_message_follows_what_it_depends_on_or_waits_for_it(before, message, placement) -> None:
    dispatcher = Dispatcher()
    for each in before:
        dispatcher.place(each, fifo_of(each))
    assert dispatcher.place(message, fifo_of(message)) == placement


@given(sequence=st.lists(messages(), max_size=25).map(numbered), data=st.data())
def test_one_connection_that_serves_fifos_strictly_keeps_dependences_without_a_barrier(sequence, data) -> None:
    dispatcher, fifos, arrived = Dispatcher(), {}, []

    def serve(most: int) -> None:
        for _ in range(most):
            waiting = [fifo for fifo in URGENCY if fifos.get(fifo)]
            if waiting:
                arrived.append(fifos[waiting[0]].popleft())

    for message in sequence:
        if message[1] == MsgType.BARRIER_REQUEST:
            dispatcher.barrier()
            serve(len(sequence))
            arrived.append(message)
            continue
        placement = Placement(fifo_of(message))
        if any(fifos.values()):
            placement = dispatcher.place(message, fifo_of(message), URGENCY)
        else:
            dispatcher.place_first(message, placement.fifo)
        assert not placement.needs_barrier
        fifos.setdefault(placement.fifo, deque()).append(message)
        serve(data.draw(st.integers(0, 2)))
    serve(len(sequence))
    assert sorted(arrived) == sorted(sequence)
    assert same_end(in_order(arrived), in_order(sequence))


def test_a_barrier_forgets_what_came_before() -> None:
    dispatcher = Dispatcher()
    dispatcher.place(flow_mod(ADD, LOW_PORT), LOW)
    assert dispatcher.place(flow_mod(DELETE, 0), HIGH) == Placement(LOW)
    dispatcher.barrier()
    assert dispatcher.place(flow_mod(DELETE, 0), HIGH) == Placement(HIGH)


def test_an_app_without_barriers_gets_one_before_too_much_is_remembered(monkeypatch) -> None:
    monkeypatch.setattr(dispatch, "MOST_OUTSTANDING", 3)
    dispatcher = Dispatcher()
    placements = [dispatcher.place(flow_mod(ADD, port), HIGH) for port in range(1, 6)]
    assert [each.needs_barrier for each in placements] == [False, False, False, True, False]


@given(body=st.binary(max_size=80), kind=st.integers(0, 29))
def test_any_bytes_have_a_footprint(body: bytes, kind: int) -> None:
    footprint(bare(kind, body))


@pytest.mark.parametrize("message", valid_messages(), ids=lambda message: f"{message[1]}-{len(message)}")
def test_a_truncated_command_touches_the_whole_switch(message: bytes) -> None:
    if message[1] == MsgType.FLOW_MOD:
        assert footprint(message) != EVERYTHING
        assert footprint(message[: HEADER_BYTES + 8]) == EVERYTHING
    elif message[1] not in CARRIED:
        assert footprint(message).reads == ()
