"""Ends, slots, settings and events as values: what is written is what is read, and nonsense is refused by name."""

from __future__ import annotations

from ipaddress import IPv4Address
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dataplane.decide.protect import (
    LARGEST_SLOT,
    MAX_HISTORY,
    ReceivingEnd,
    SendingEnd,
    assign_slots,
    empty_sending,
    pack_flows,
    pack_node,
    pack_receiving,
    pack_sending,
    unpack_receiving,
    unpack_sending,
)
from dataplane.decide.sqr import (
    CONTROL_BYTES,
    SqrAgentError,
    SqrCounters,
    SqrPort,
    agent_command,
    chosen_keys,
    first_control,
    parse_event,
    read_counters,
    read_field,
    whole_events,
)
from dataplane.model.flow_match import FlowMatch
from dataplane.model.marking import Marking
from dataplane.model.protection_node import Connection
from dataplane.model.sequence import Egress, Ingress, receive
from dataplane.model.switch import Backstop
from dataplane.two_paths import StreamCount, count_stream
from mininet_topos.errors import BadInputError

HERE, THERE = IPv4Address("192.0.2.1"), IPv4Address("192.0.2.2")
numbers = st.integers(0, (1 << 32) - 1)
connections = st.builds(Connection, st.integers(0, 99), st.just(HERE), st.sampled_from([THERE, HERE + 7]))


@given(last=numbers, history=st.integers(0, MAX_HISTORY), seed=st.randoms())
def test_a_receiving_end_is_read_as_it_was_written(last: int, history: int, seed: object) -> None:
    seen = seed.getrandbits(history) if history else 0  # type: ignore[attr-defined]
    end = ReceivingEnd(HERE, Egress(last, history=history, seen=seen, accepted=5, late=2, dropped=7), 3, 4)
    assert unpack_receiving(pack_receiving(end)) == end


@given(last=numbers, steps=st.lists(st.integers(-5, 5), max_size=40), history=st.integers(0, 100))
def test_a_receiving_end_lives_on_in_bytes_as_in_the_model(last: int, steps: list[int], history: int) -> None:
    model = there = Egress(last, history=history)
    for step in steps:
        number = (model.last + step) % (1 << 32)
        model, accepted = receive(model, number)
        there = unpack_receiving(pack_receiving(ReceivingEnd(HERE, there, there.dropped))).egress
        there, same = receive(there, number)
        assert (there, same) == (model, accepted)


@given(last=numbers, sent=st.integers(0, (1 << 64) - 1), connection=st.integers(0, (1 << 24) - 1))
def test_a_sending_end_is_read_as_it_was_written(last: int, sent: int, connection: int) -> None:
    end = SendingEnd(THERE, connection, Ingress(last), sent)
    assert unpack_sending(pack_sending(end)) == end
    assert unpack_sending(empty_sending()) is None


@given(st.lists(connections), st.lists(connections), st.dictionaries(connections, st.integers(1, LARGEST_SLOT)))
def test_slots_are_distinct_and_kept_and_a_plan_s_come_first(
    before: list[Connection], after: list[Connection], chosen: dict[Connection, int]
) -> None:
    chosen = {one: slot for one, slot in chosen.items() if list(chosen.values()).count(slot) == 1}
    first = assign_slots({}, before)
    second = assign_slots(first, after, chosen)
    assert set(second) == set(after)
    assert len(set(second.values())) == len(second)
    assert all(1 <= slot <= LARGEST_SLOT for slot in second.values())
    for one, slot in second.items():
        if one in chosen:
            assert slot == chosen[one]
        elif one in first and first[one] not in chosen.values():
            assert slot == first[one]


def test_what_the_maps_cannot_hold_is_refused_by_name() -> None:
    many = [Connection(number, HERE, THERE) for number in range(LARGEST_SLOT + 1)]
    with pytest.raises(BadInputError, match="4095 connections begin at one node"):
        assign_slots({}, many)
    with pytest.raises(BadInputError, match="does not fit 24 bits"):
        assign_slots({}, [Connection(1 << 24, HERE, THERE)])
    with pytest.raises(BadInputError, match="65 protected flows"):
        pack_flows([(FlowMatch(), many[0])] * 65, {many[0]: 1})
    with pytest.raises(BadInputError, match=r"connection 0 to 192\.0\.2\.2, which does not begin at this node"):
        pack_flows([(FlowMatch(), many[0])], {})
    with pytest.raises(BadInputError, match="a history of 961 numbers"):
        pack_receiving(ReceivingEnd(HERE, Egress(history=961)))
    with pytest.raises(BadInputError, match="numbers of 8 bits"):
        pack_receiving(ReceivingEnd(HERE, Egress(bits=8, window=128)))
    for protocol, name in ((17, "UDP"), (6, "TCP"), (255, "255"), (0, "0")):
        with pytest.raises(BadInputError, match=name):
            pack_node(HERE, protocol, 0)


def test_a_fresh_control_block_says_what_the_port_says() -> None:
    port = SqrPort(
        "in",
        "out",
        "other",
        slots=256,
        delta_ms=2.5,
        reconfiguration_ms=1,
        margin=9,
        marking=Marking(dscp=(1,)),
        replay_pps=4e4,
    )
    block = first_control(port, 11, 12)
    assert len(block) == CONTROL_BYTES
    names = "state primary backup mask margin choose in_send delta_ns reconfiguration_ns head tail".split()
    assert [read_field(block, name) for name in names] == [0, 11, 12, 255, 9, 2, 2, 2_500_000, 1_000_000, 0, 0]
    assert read_field(block, "pace_ns") == 25_000
    assert read_field(first_control(SqrPort("in", "out", "other"), 11, 12, queued=True), "pace_ns") == 0
    assert read_field(first_control(port, 11, 12, queued=True), "in_send") == 1
    assert read_counters(block) == SqrCounters()


@pytest.mark.parametrize("rate_pps", [0, 0.5, -1, 2e9, float("nan")])
def test_a_replay_has_a_rate_of_at_least_one_packet_a_second(rate_pps: float) -> None:
    with pytest.raises(BadInputError, match="packets a second: give 1 to 1e"):
        SqrPort("in", "out", "other", replay_pps=rate_pps)


def test_chosen_values_are_keys_of_their_kind() -> None:
    marking = Marking(tcp_ports=(80, 443), dscp=(46,), vlans=(7,))
    assert chosen_keys(marking) == (7, [1 << 16 | 80, 1 << 16 | 443, 2 << 16 | 46, 4 << 16 | 7])
    assert chosen_keys(Marking()) == (0, [])


def test_the_agent_s_command_and_what_it_says() -> None:
    command = agent_command(Path("agent"), [(1, 2), (3, 4)], Backstop(9, 8), 500, realtime=True)
    assert " ".join(command) == "agent --poll-us 500 --realtime --pause-above 9 --resume-below 8 1,2 3,4"
    with pytest.raises(BadInputError, match="every 0 us"):
        agent_command(Path("agent"), [(1, 2)], None, 0, realtime=False)
    text = (
        '{"event": "ready", "t_ns": 5, "port": "p1", "backup": "p2"}\n{"event": "paused", "t_ns": 6, "bytes": 7}\n{"ev'
    )
    events = whole_events(text)
    assert [(one.event, one.t_ns, one.port, one.facts) for one in events] == [
        ("ready", 5, "p1", {"backup": "p2"}),
        ("paused", 6, "", {"bytes": 7}),
    ]


@pytest.mark.parametrize("line", ["", "no", "[]", "{}", '{"event": "x"}', '{"event": "x", "t_ns": "soon"}', "5"])
def test_a_line_that_is_no_event_is_refused(line: str) -> None:
    with pytest.raises(SqrAgentError, match="which is not an event"):
        parse_event(line)


@pytest.mark.parametrize(
    ("sent", "arrived", "wanted"),
    [
        (3, [0, 1, 2], (0, 0, 0)),
        (3, [0, 2], (1, 0, 0)),
        (3, [0, 1, 1, 2, 0], (0, 2, 0)),
        (4, [0, 3, 1, 2], (0, 0, 2)),
        (2, [], (2, 0, 0)),
    ],
)
def test_a_stream_is_counted_by_first_copies(sent: int, arrived: list[int], wanted: tuple[int, int, int]) -> None:
    assert count_stream(sent, arrived) == StreamCount(sent, len(arrived), *wanted)
