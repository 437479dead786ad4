"""The service under a Ryu app, with switches that the test plays: order, drops, barriers, connections, hostility."""

from __future__ import annotations

import struct
from concurrent.futures import ThreadPoolExecutor

import pytest

from ryu_apps.openflow.wire import MsgType, header
from tests.control.priority.recorder import SLOW_BYTES
from tests.control.priority.running import (
    ADDRESSES,
    PMT,
    RECORDER,
    PlayedSwitch,
    RunningRyu,
    features_reply,
    punt,
    until,
    with_xid,
    xids,
)
from tests.pmt.messages import bare

pytestmark = [pytest.mark.ryu, pytest.mark.slow]

PSO = "ryu_apps/pso.py"
LOW, HIGH, REAL_TIME = 9, 20000, 2  # two UDP ports, and the class of the second
ANSWERS = (MsgType.FLOW_MOD, MsgType.PACKET_OUT)
PORT_STATUS = bare(12, struct.pack("!B7x", 2) + struct.pack("!I4x6s2x16s8I", 2, b"\2" * 6, b"s1-eth2", *[0] * 8))


def mixed_messages() -> list[bytes]:
    """All that a switch may send, in no order of urgency."""
    kinds = [
        lambda xid: punt(xid, LOW),
        lambda xid: with_xid(PORT_STATUS, xid),
        lambda xid: punt(xid, HIGH),
        lambda xid: with_xid(bare(1, struct.pack("!HH", 1, 1) + bytes(8)), xid),
        lambda xid: with_xid(bare(MsgType.BARRIER_REPLY), xid),
    ]
    return [kinds[xid % 7 % len(kinds)](xid) for xid in range(1, 60)] + [with_xid(bare(MsgType.BARRIER_REPLY), 60)]


def conversation(folder, *apps: str) -> tuple[list[str], list[tuple[int, int]]]:
    """Events that the recorder handled, and messages that the switch got after its handshake."""
    folder.mkdir()
    messages = mixed_messages()
    with RunningRyu(folder, *apps, RECORDER) as ryu, PlayedSwitch(ryu.openflow_port) as switch:
        switch.hello()
        until(lambda: "state main 0" in ryu.events(), "the app knows the switch")
        before = len(switch.received)
        switch.send(*messages)
        n_answers = 2 * sum(message[1] == MsgType.PACKET_IN for message in messages)
        switch.read_until(lambda got: len(xids(got, *ANSWERS)) >= n_answers, "all answers")
        until(lambda: "OFPBarrierReply 60" in ryu.events(), "all events")
        heads = [header(message) for message in switch.received[before:]]
        events = [line for line in ryu.events() if not line.startswith("OFPSwitchFeatures")]  # its xid is random
        return events, [(head.msg_type, head.xid) for head in heads if head.msg_type in ANSWERS]


def test_without_a_table_every_message_comes_and_goes_as_under_plain_ryu(tmp_path) -> None:
    plain = conversation(tmp_path / "plain")
    with_service = conversation(tmp_path / "service", PSO)
    assert with_service == plain


@pytest.fixture
def ryu(tmp_path):
    with RunningRyu(tmp_path, PSO, RECORDER, pmt=PMT) as running:
        yield running


@pytest.fixture
def switch(ryu):
    with PlayedSwitch(ryu.openflow_port) as played:
        played.hello()
        until(lambda: ryu.connections(1), "the service knows the switch")
        yield played


def handled(ryu: RunningRyu, what: str = "OFPPacketIn") -> list[int]:
    """Transaction ids of the events of one kind, in the order in which the app handled them."""
    return [int(line.split()[1]) for line in ryu.events() if line.startswith(what)]


def test_urgent_packet_ins_are_handled_first_and_each_class_in_order(ryu, switch) -> None:
    switch.send(*(punt(xid, LOW) for xid in range(1, 41)), *(punt(xid, HIGH) for xid in range(101, 106)))
    until(lambda: len(handled(ryu)) == 45, "all packet-ins")
    order = handled(ryu)
    assert [xid for xid in order if xid < 100] == list(range(1, 41))
    assert [xid for xid in order if xid > 100] == list(range(101, 106))
    assert order.index(105) < order.index(40)
    assert order[:5] == list(range(101, 106))


def test_replies_keep_their_order_around_a_barrier_reply(ryu, switch) -> None:
    errors = [with_xid(bare(1, struct.pack("!HH", 1, 1) + bytes(8)), xid) for xid in (1, 2, 4, 5)]
    barrier = with_xid(bare(MsgType.BARRIER_REPLY), 3)
    switch.send(with_xid(PORT_STATUS, 9), *errors[:2], barrier, *errors[2:])
    until(lambda: len(handled(ryu, "OFPError")) == 4, "all errors")
    order = [line for line in ryu.events() if line.split()[0] in ("OFPErrorMsg", "OFPBarrierReply", "OFPPortStatus")]
    at = order.index("OFPBarrierReply 3")
    assert set(order[:at]) == {"OFPErrorMsg 1", "OFPErrorMsg 2", "OFPPortStatus 9"}
    assert order[at + 1 :] == ["OFPErrorMsg 4", "OFPErrorMsg 5"]


def test_too_many_packet_ins_are_dropped_from_the_lowest_class_and_counted(tmp_path) -> None:
    small = {"ARMOR_PSO_RECEIVE_QUEUE": "10"}
    with RunningRyu(tmp_path, PSO, RECORDER, pmt=PMT, **small) as ryu, PlayedSwitch(ryu.openflow_port) as switch:
        switch.hello()
        until(lambda: ryu.connections(1), "the service knows the switch")
        switch.send(*(punt(xid, LOW) for xid in range(1, 101)), *(punt(xid, HIGH) for xid in range(201, 206)))
        until(lambda: set(range(201, 206)) <= set(handled(ryu)), "all of the urgent class")
        until(lambda: _counted(ryu, 3) == 100, "the others are handled or dropped")
        counters = {one["class_id"]: one["receive"] for one in ryu.state()["classes"]}
        counts = {"received": 5, "served": 5, "dropped": 0, "removed": 0}
        assert counters[REAL_TIME] == {**counts, "delay_ms": counters[REAL_TIME]["delay_ms"]}
        assert counters[3]["received"] == 100
        assert counters[3]["dropped"] > 0
        assert (
            f'armor_pso_dropped_total{{class_id="3",direction="receive"}} {counters[3]["dropped"]}.0' in ryu.metrics()
        )


def _counted(ryu: RunningRyu, class_id: int) -> int:
    receive = next(one["receive"] for one in ryu.state()["classes"] if one["class_id"] == class_id)
    return receive["served"] + receive["dropped"]


def test_packet_outs_leave_on_their_classs_connection_and_come_back_home_when_it_fails(ryu, switch) -> None:
    port = ryu.openflow_port + 1 + REAL_TIME
    for attempt in (1, 2):
        with PlayedSwitch(port) as of_class:
            of_class.hello_of_class()
            until(lambda: REAL_TIME in ryu.connections(1), "the per-class connection is used")
            of_class.send(punt(10 * attempt, HIGH), punt(10 * attempt + 1, LOW))
            main = {10 * attempt, 10 * attempt + 1}
            switch.read_until(lambda got, main=main: main <= set(xids(got, MsgType.FLOW_MOD)), "flow-mods")
            of_class.read_until(lambda got, xid=10 * attempt: xid in xids(got, MsgType.PACKET_OUT), "a packet-out")
            assert xids(of_class.received, *ANSWERS) == [10 * attempt]
            assert 10 * attempt not in xids(switch.received, MsgType.PACKET_OUT)
        until(lambda: REAL_TIME not in ryu.connections(1), "the per-class connection is missed")
        switch.send(punt(10 * attempt + 5, HIGH))
        switch.read_until(lambda got, xid=10 * attempt + 5: xid in xids(got, MsgType.PACKET_OUT), "a packet-out")
    assert ryu.state()["errors"] == {}


def test_a_barrier_covers_packet_outs_of_other_connections(tmp_path) -> None:
    with RunningRyu(tmp_path, PSO, RECORDER, pmt=PMT, RECORDER_BARRIERS="1") as ryu:
        main, of_class = PlayedSwitch(ryu.openflow_port), PlayedSwitch(ryu.openflow_port + 1 + REAL_TIME)
        with main, of_class:
            main.hello()
            of_class.hello_of_class()
            until(lambda: REAL_TIME in ryu.connections(1), "the per-class connection is used")
            main.send(punt(7, HIGH))
            main.read_until(lambda got: 7 in xids(got, MsgType.BARRIER_REQUEST), "the app's first barrier")
            of_class.read_until(lambda got: 7 in xids(got, MsgType.PACKET_OUT), "its packet-out")
            n_fences = len(xids(of_class.received, MsgType.BARRIER_REQUEST))
            main.send(punt(8, HIGH))
            while len(xids(of_class.received, MsgType.BARRIER_REQUEST)) == n_fences:
                of_class.read(answers=False)
            # The fence is not answered, so the barrier that it is for has not left: a message behind it would show.
            assert 8 not in xids(of_class.received, MsgType.PACKET_OUT)
            main.send(with_xid(bare(MsgType.ECHO_REQUEST), 99))
            main.read_until(lambda got: 99 in xids(got, MsgType.ECHO_REPLY), "an echo, which passes barriers")
            assert 8 not in xids(main.received, MsgType.BARRIER_REQUEST)
            of_class.send(with_xid(bare(MsgType.BARRIER_REPLY), xids(of_class.received, MsgType.BARRIER_REQUEST)[-1]))
            main.read_until(lambda got: 8 in xids(got, MsgType.BARRIER_REQUEST), "the app's second barrier")
            of_class.read_until(lambda got: 8 in xids(got, MsgType.PACKET_OUT), "the packet-out behind it")


@pytest.mark.parametrize(("capacity", "barriers"), [("200", ""), ("4096", "1")])
def test_a_class_connection_is_read_no_faster_than_its_messages_are_handled(tmp_path, capacity, barriers) -> None:
    """What is too much stays with the switch, so that nothing is dropped here; a barrier is read all the same."""
    settings = {"ARMOR_PSO_RECEIVE_QUEUE": capacity, "ARMOR_PSO_SEND_QUEUE": "4096", "RECORDER_BARRIERS": barriers}
    wanted = set(range(1, 801))
    with RunningRyu(tmp_path, PSO, RECORDER, pmt=PMT, **settings) as ryu:
        main, of_class = PlayedSwitch(ryu.openflow_port), PlayedSwitch(ryu.openflow_port + 1 + REAL_TIME)
        with main, of_class, ThreadPoolExecutor(2) as sides:
            main.hello()
            of_class.hello_of_class()
            until(lambda: REAL_TIME in ryu.connections(1), "the per-class connection is used")
            kinds = (
                (main, MsgType.BARRIER_REQUEST if barriers else MsgType.FLOW_MOD),
                (of_class, MsgType.PACKET_OUT),
            )
            ends = [
                sides.submit(side.read_until, lambda got, kind=kind: wanted <= set(xids(got, kind)), "all answers")
                for side, kind in kinds
            ]
            of_class.send(*(punt(xid, HIGH, bytes(500)) for xid in sorted(wanted)))
            for end in ends:
                end.result(60)
        counters = next(one["receive"] for one in ryu.state()["classes"] if one["class_id"] == REAL_TIME)
        assert (counters["received"], counters["dropped"]) == (len(wanted), 0)


def test_a_role_and_fragments_are_reported_to_class_connections_too(ryu, switch) -> None:
    with PlayedSwitch(ryu.openflow_port + 1 + REAL_TIME) as of_class:
        of_class.hello_of_class()
        kinds = [message[1] for message in of_class.received]
        # hello, features request, NXT_SET_CONTROLLER_ID, OFPT_SET_ASYNC, barrier
        assert kinds == [0, 5, MsgType.EXPERIMENTER, 28, MsgType.BARRIER_REQUEST]
        assert of_class.received[2][-2:] == bytes([0, REAL_TIME])
        assert struct.unpack("!6I", of_class.received[3][8:]) == (3, 3, 0, 0, 0, 0)


@pytest.mark.parametrize(
    "poison",
    [
        struct.pack("!BBHI", 4, 10, 4, 0),  # shorter than its own header
        struct.pack("!BBHI", 4, 77, 8, 0),  # no such type
        bare(10, bytes(16) + struct.pack("!HH", 1, 60000)),  # a match that runs over the end
        bare(MsgType.MULTIPART_REPLY, struct.pack("!HH4x", 1, 0) + b"\xff" * 60),  # unreadable statistics
    ],
)
def test_a_switch_that_sends_nonsense_loses_its_connection_and_no_other_does(ryu, switch, poison) -> None:
    with PlayedSwitch(ryu.openflow_port, 2, next(ADDRESSES)) as hostile:
        xid = hostile.asked_for_ports()
        until(lambda: ryu.connections(2), "the service knows the switch")
        hostile.send(with_xid(poison, xid))
        assert hostile.is_closed_by_controller()
    until(lambda: not ryu.connections(2), "it is gone")
    assert sum(ryu.state()["errors"].values()) == 1
    switch.send(punt(5, HIGH))
    switch.read_until(lambda got: 5 in xids(got, MsgType.PACKET_OUT), "an answer")


@pytest.mark.parametrize(
    "poison",
    [
        bare(MsgType.HELLO, struct.pack("!HH", 77, 0)),  # an element without length
        bare(23, struct.pack("!I4xIIH6x", 1, 1, 1, 0)),  # a queue without length
        bare(MsgType.MULTIPART_REPLY, struct.pack("!HH4xH2xI", 10, 0, 8, 1) + struct.pack("!HHI", 1, 0, 0)),
    ],
)
def test_a_message_that_ryu_would_parse_for_ever_costs_its_switch_the_connection(ryu, switch, poison) -> None:
    with PlayedSwitch(ryu.openflow_port, 2, next(ADDRESSES)) as hostile:
        hostile.send(with_xid(poison, hostile.asked_for_ports()))
        assert hostile.is_closed_by_controller()
    switch.send(punt(5, HIGH))
    switch.read_until(lambda got: 5 in xids(got, MsgType.PACKET_OUT), "an answer")
    assert list(ryu.state()["errors"]) == ["malformed"]


def test_lists_that_nobody_asked_for_are_left_out_and_counted_and_their_switch_goes_on(ryu, switch) -> None:
    endless = bare(MsgType.MULTIPART_REPLY, struct.pack("!HH4x", 1, 1) + bytes(56))
    switch.send(*[endless] * 100, punt(5, HIGH))
    switch.read_until(lambda got: 5 in xids(got, MsgType.PACKET_OUT), "an answer")
    assert ryu.state()["errors"] == {"unasked": 100}


def test_a_connection_that_claims_several_switches_is_closed_and_keeps_none_from_its_own_end(ryu) -> None:
    with PlayedSwitch(ryu.openflow_port, dpid=1, address="127.0.0.2") as hostile:
        hostile.hello_and_features()
        hostile.send(features_reply(2))
        assert hostile.is_closed_by_controller()
    until(lambda: ryu.state()["switches"] == [], "nothing of it is left")
    assert "it claims datapath id 0x2, and has claimed 0x1 before" in ryu.log
    for dpid in (1, 2):
        with PlayedSwitch(ryu.openflow_port, dpid) as own:
            own.hello()
            own.send(punt(5, HIGH))
            own.read_until(lambda got: 5 in xids(got, MsgType.PACKET_OUT), "an answer")


def test_a_connection_that_may_not_speak_for_a_switch_is_closed_before_its_handshake_ends(tmp_path) -> None:
    file = tmp_path / "switches.yaml"
    file.write_text("- {address: 127.0.0.1, dpids: [1]}\n", encoding="utf-8")
    with RunningRyu(tmp_path, PSO, RECORDER, pmt=PMT, ARMOR_ALLOWED_SWITCHES=str(file)) as ryu:
        with PlayedSwitch(ryu.openflow_port, address="127.0.0.2") as hostile:
            hostile.hello_and_features()
            assert hostile.is_closed_by_controller()
        assert ryu.state()["errors"] == {"refused connection": 1}
        assert "127.0.0.2 claims datapath id 0x1, and may not" in ryu.log
        with PlayedSwitch(ryu.openflow_port) as own:
            own.hello()
            until(lambda: ryu.connections(1), "the service knows the switch")


def test_a_switch_that_floods_and_reads_nothing_harms_no_other(ryu, switch) -> None:
    with PlayedSwitch(ryu.openflow_port, dpid=2) as stalled:
        stalled.hello()
        until(lambda: ryu.connections(2), "the service knows the switch")
        for first in range(0, 6000, 100):
            stalled.send(*(punt(first + each, HIGH, bytes(1200)) for each in range(100)))
            if not first % 1000:
                switch.send(punt(10_000 + first, HIGH))
        wanted = set(range(10_000, 16_000, 1000))
        switch.read_until(lambda got: wanted <= set(xids(got, MsgType.PACKET_OUT)), "answers to the other switch")


def test_a_switch_that_connects_again_takes_the_place_of_its_old_connection(ryu, switch) -> None:
    with PlayedSwitch(ryu.openflow_port) as again:
        again.hello()
        assert switch.is_closed_by_controller()
        again.send(punt(5, HIGH))
        again.read_until(lambda got: 5 in xids(got, MsgType.PACKET_OUT), "an answer")
        assert ryu.state()["errors"] == {"replaced connection": 1}


def test_a_slow_handler_is_no_reason_to_lose_urgent_packet_ins(ryu, switch) -> None:
    switch.send(punt(1, LOW, SLOW_BYTES))
    switch.send(*(punt(xid, LOW) for xid in range(2, 20)), punt(100, HIGH))
    until(lambda: len(handled(ryu)) == 20, "all packet-ins")
    assert handled(ryu).index(100) <= 1


@pytest.mark.parametrize(
    ("setting", "value", "words"),
    [
        ("ARMOR_PSO_PMT", "no/such/file.yaml", "the PMT no/such/file.yaml cannot be read"),
        ("ARMOR_PSO_SCHEDULER", "weighted", "ARMOR_PSO_SCHEDULER is no setting of pso"),
    ],
)
def test_the_service_refuses_to_start_with_settings_that_it_cannot_use(tmp_path, setting, value, words) -> None:
    running = RunningRyu(tmp_path, PSO, RECORDER, pmt=PMT, **{setting: value})
    with pytest.raises(AssertionError, match=words):
        running.__enter__()
