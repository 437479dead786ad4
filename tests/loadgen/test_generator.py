"""Emulated switches against a controller of a few lines: counts, classes, queues, and what a broken controller does."""

from __future__ import annotations

import socket

import pytest

from experiments.loadgen import generator
from experiments.loadgen.connection import Connection, Target
from experiments.loadgen.decide.load import HIGH, LOW, Load
from experiments.loadgen.decide.packets import frame, packet_in
from experiments.loadgen.generator import LoadError, SwitchRegistry, run_load
from ryu_apps.pmt.frame import frame_fields
from ryu_apps.pmt.parse import parse_pmt
from tests.loadgen.fake_controller import FakeController
from tests.patience import patient_s

SHORT = Load(switches=3, rate_pps=300, seconds=0.5, high_share=0.3, warm_up_s=0.1)
PROBES = SHORT.switches * 2
PATIENCE_S = patient_s(60)  # where every answer comes, a load ends with the last one
TABLE = """
rules:
  - {traffic_type: 1, action: queue_id:0}
  - {traffic_type: 2, ip_proto: 17, udp_dst: 20000, action: queue_id:1}
  - {traffic_type: 2, action: queue_id:2}
"""


def test_a_controller_that_answers_all_loses_nothing() -> None:
    with FakeController() as fake:
        result = run_load(SHORT, SwitchRegistry((Target("127.0.0.1", fake.ports[0]),), patience_s=PATIENCE_S))
    for each in result.classes.values():
        assert each.offered == each.answered > 0
        assert each.delays.p50_ms is not None
    assert sum(each.offered for each in result.classes.values()) < len(fake.packet_ins(None))
    assert result.to_json()["repeated_answers"] == 0


def test_answers_that_never_come_are_lost_and_the_counts_add_up() -> None:
    with FakeController(answers=lambda number: number <= 3 * PROBES or number % 2 == 0) as fake:
        result = run_load(SHORT, SwitchRegistry((Target("127.0.0.1", fake.ports[0]),), patience_s=3.0))
    lost = sum(each.lost for each in result.classes.values())
    assert 0 < lost < sum(each.offered for each in result.classes.values())
    for each in result.classes.values():
        assert each.offered == each.answered + each.unanswered + each.refused + each.waiting


def test_each_class_takes_the_connection_that_the_controller_named_for_it() -> None:
    table = parse_pmt(TABLE)
    with FakeController(ids=(None, 2, 3)) as fake:
        targets = tuple(
            Target("127.0.0.1", port, dscp, is_class=number > 0)
            for number, (port, dscp) in enumerate(zip(fake.ports, (56, 48, 40), strict=True))
        )
        result = run_load(SHORT, SwitchRegistry(targets, table, patience_s=PATIENCE_S))
        assert {frame_fields(packet)["udp_dst"] for packet in fake.packet_ins(3)} == {LOW.udp_dst}
        high = [frame_fields(packet)["udp_dst"] for packet in fake.packet_ins(2)]
    assert set(high) == {HIGH.udp_dst}
    assert len(high) >= result.classes[HIGH.name].offered > 0


def test_a_controller_that_says_nothing_is_reported_in_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(generator, "READY_S", 0.5)
    with FakeController(answers=lambda _: False) as fake, pytest.raises(LoadError, match="answered 0 of 6"):
        run_load(SHORT, SwitchRegistry((Target("127.0.0.1", fake.ports[0]),)))
    with FakeController() as fake:
        registry = SwitchRegistry((Target("127.0.0.1", fake.ports[0], is_class=True),))
        with pytest.raises(LoadError, match="3 connections are not set up"):
            run_load(SHORT, registry)


def test_nobody_there_is_a_sentence_with_the_address() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    with pytest.raises(LoadError, match=f"no controller at 127.0.0.1:{port}"):
        run_load(SHORT, SwitchRegistry((Target("127.0.0.1", port),)))


def test_switches_that_stall_get_their_answers_late_and_not_lost() -> None:
    load = Load(switches=1, rate_pps=100, seconds=1.0, warm_up_s=0.0)
    with FakeController() as fake:
        registry = SwitchRegistry((Target("127.0.0.1", fake.ports[0]),), patience_s=PATIENCE_S, stall_s=(0.2, 0.8))
        result = run_load(load, registry)
    assert sum(each.lost for each in result.classes.values()) == 0
    assert max(each.delays.max_ms for each in result.classes.values()) > 300


def make_pair(queue_pkts: int) -> tuple[Connection, socket.socket, list[int]]:
    near, far = socket.socketpair()
    sent: list[int] = []
    made = Connection(near, 1, lambda serial, _now: sent.append(serial), lambda _serial, _now: None, queue_pkts)
    return made, far, sent


def test_a_full_queue_refuses_and_takes_again_when_there_is_room() -> None:
    made, far, sent = make_pair(queue_pkts=5)
    message = packet_in(0, frame(0, HIGH, 1514), False)
    offered = 0
    while made.offer(message, offered, 0.0):
        offered += 1
        assert offered < 100_000
    assert len(sent) == offered - 5  # five wait, whatever the kernel took
    assert not made.offer(message, offered, 0.0)
    far.setblocking(False)
    while made.wants_to_write:
        far.recv(1 << 20)
        made.flush(1.0)
    assert len(sent) == offered
    assert made.offer(message, offered, 2.0)
    made.close()
    far.close()


def test_a_connection_that_ends_says_why_and_refuses() -> None:
    made, far, _ = make_pair(queue_pkts=5)
    far.recv(100)
    far.close()
    made.read(0.0)
    assert made.gone == "the controller closed it"
    assert not made.offer(b"x", 1, 0.0)
    made.close()
