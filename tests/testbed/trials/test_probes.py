"""Instruments of sessions: pings that keep their pace, captures in slices, fingerprints of switches, datagrams."""

from __future__ import annotations

import socket
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.analysis.datagrams import datagrams, goodput_mbps
from experiments.analysis.frames import FILE_HEADER_BYTES, UDP, Frame, parse_pcap
from experiments.analysis.packet_counts import Clock
from experiments.analysis.timeline import Window
from experiments.scenario.traffic.ping import PACED_PING, Ping
from experiments.testbed.instruments.capture import Captures, Tap
from experiments.testbed.instruments.dump import fingerprint
from experiments.testbed.instruments.paced_ping import Requests, answered_sequence, checksum, echo_request
from mininet_topos.catalogue import load_topology
from ryu_apps.plan.options import PlanOptions
from ryu_apps.plan.row_text import flow_text, group_text
from ryu_apps.schemes import plan_network
from tests.dummy_ovs import DummyOvs

PLAN = plan_network("sdfast", load_topology("figure2"), PlanOptions())[2]
A, B, PORT = 0x0A000001, 0x0A000002, 5201


@given(st.integers(0, 0xFFFF), st.integers(0, 1 << 20), st.binary(max_size=64))
def test_an_echo_request_sums_to_zero_and_its_answer_is_recognised(ident: int, sequence: int, payload: bytes) -> None:
    request = echo_request(ident, sequence, payload)
    assert checksum(request) == 0
    assert struct.unpack_from(">BBHHH", request)[:2] == (8, 0)
    assert struct.unpack_from(">HH", request, 4) == (ident, sequence & 0xFFFF)
    header = struct.pack(">BBHHHBBHII", 0x45, 0, 20 + len(request), 0, 0, 64, socket.IPPROTO_ICMP, 0, B, A)
    answer = header + b"\0" + request[1:]
    assert answered_sequence(answer, ident) == sequence & 0xFFFF
    assert answered_sequence(answer, ident ^ 1) is None
    assert answered_sequence(header + request, ident) is None


@given(st.sets(st.integers(0, 299)), st.integers(0, 3))
def test_unanswered_requests_are_known_by_the_time_they_were_sent(answered: set[int], copies: int) -> None:
    requests = Requests()
    for number in range(300):
        requests.note_sent(number / 8, late_s=number / 1000)
    for number in answered:
        for _ in range(1 + copies):
            requests.note_answer(number)
    requests.note_answer(None)
    requests.note_answer(300)
    assert (requests.sent, requests.answered) == (300, len(answered))
    assert Ping.own_counts(str(requests)) == (300, len(answered))
    assert Ping.latest_ms(str(requests)) == 299
    assert Ping.unanswered(str(requests)) == tuple((n, n / 8) for n in range(300) if n not in answered)


@pytest.mark.emulation
@pytest.mark.parametrize(("interval_s", "count"), [("0.005", "40"), ("0", "3000")])
def test_pings_are_all_sent_and_answers_read_however_quick_or_late_they_are(interval_s: str, count: str) -> None:
    argv = [sys.executable, "-I", "-S", str(PACED_PING), "127.0.0.1", interval_s, count, "1", "56"]
    before_s = time.monotonic()
    output = subprocess.run(argv, capture_output=True, text=True, check=True).stdout
    started, counts, unanswered = output.splitlines()
    assert before_s < float(started) < time.monotonic()
    assert counts.startswith(f"{count} packets transmitted, {count} received, at most ")
    assert unanswered == "[]"


def pcap(records: list[bytes]) -> bytes:
    """A capture with one record for each frame."""
    header = struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 128, 1)
    return header + b"".join(struct.pack("<IIII", 1, n, len(r), len(r)) + r for n, r in enumerate(records))


@given(st.integers(0, 8), st.integers(0, 8))
def test_slices_hold_what_came_after_the_marks_and_nothing_else(before: int, after: int) -> None:
    ipv4 = struct.pack(">BBHHHBBHII", 0x45, 0, 28, 0, 0, 64, socket.IPPROTO_ICMP, 0, A, B) + bytes(8)
    frames = [bytes(12) + b"\x08\x00" + ipv4] * (before + after)
    with tempfile.TemporaryDirectory() as name:
        folder, tap = Path(name), Tap("h1", "h1-eth0")
        captures = Captures(None, [tap], folder)
        (folder / f"{tap.file_name}.log").touch()
        captures.files[tap].write_bytes(pcap(frames[:before]))
        marks = captures.marks()
        captures.files[tap].write_bytes(pcap(frames))
        copied = captures.slices(marks, folder / "slice")[tap].read_bytes()
        assert copied[:FILE_HEADER_BYTES] == pcap([])
        assert [frame.t_ns % 1_000_000_000 for frame in parse_pcap(copied)] == list(range(before, before + after))


@pytest.fixture
def switch() -> Iterator[DummyOvs]:
    with DummyOvs() as ovs:
        ovs.add_bridge("s2", 2, (1, 2, 3, 4))
        yield ovs


@pytest.mark.ovs
def test_a_fingerprint_changes_with_the_rows_and_with_nothing_else(switch: DummyOvs) -> None:
    def install() -> None:
        for command, rows in (("add-groups", map(group_text, PLAN.groups)), ("add-flows", map(flow_text, PLAN.flows))):
            words = ("ovs-ofctl", "-OOpenFlow13", command, switch.management("s2"), "-")
            switch.run(*words, text="".join(f"{row}\n" for row in rows))

    install()
    path = Path(switch.management("s2").removeprefix("unix:"))
    first = fingerprint(path)
    assert len(first) == len(PLAN.flows) + len(PLAN.groups)
    assert fingerprint(path) == first
    switch.ofctl("del-flows", "s2", "table=1")
    gone = fingerprint(path)
    assert gone < first
    switch.ofctl("del-groups", "s2")
    install()
    assert fingerprint(path) == first
    switch.ofctl("mod-flows", "s2", "table=1,actions=drop")
    assert len(fingerprint(path) - first) == sum(row.table_id == 1 for row in PLAN.flows)


def frame(t_s: float, number: int, size: int = 100, port: int = PORT) -> Frame:
    udp = struct.pack(">HHHH", 40000, port, size + 8, 0) + struct.pack(">III", 1, 2, number)
    return Frame(int(t_s * 1e9), None, A, B, UDP, udp)


@given(st.dictionaries(st.integers(1, 1000), st.booleans(), max_size=40))
def test_every_datagram_is_sent_once_and_arrives_if_it_was_seen_there(arrives: dict[int, bool]) -> None:
    left = [frame(10 + number / 1000, number) for number in arrives]
    came = [frame(10.5 + number / 1000, number) for number, there in arrives.items() if there]
    found = datagrams([*left, frame(11, 5000, port=PORT + 1)], [*came, *came], A, B, PORT, clock=Clock(0))
    assert [each.number for each in found] == sorted(arrives)
    assert {each.number for each in found if each.arrived_s is not None} == {n for n, there in arrives.items() if there}
    assert goodput_mbps(found, Window(10.0, 12.0)) == pytest.approx(8 * 100 * len(came) / 2e6)
