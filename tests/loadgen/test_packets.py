"""Packets, packet-ins and answers, held to our own decoder and classifier."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.loadgen.decide.load import CLASSES, HIGH, LOW
from experiments.loadgen.decide.packets import (
    answered_serial,
    controller_id_of,
    frame,
    in_port_of,
    packet_in,
    packet_in_bytes,
)
from machine.environment import REPOSITORY
from ryu_apps.openflow import decode, encode
from ryu_apps.openflow.wire import MsgType, message
from ryu_apps.plan.rows import FlowRow, Output
from ryu_apps.pmt.frame import frame_fields
from ryu_apps.pmt.message import read_subject
from ryu_apps.pmt.parse import load_pmt
from ryu_apps.pmt.rules import UNMATCHED_CLASS, PolicyMapTable

SERIALS = st.integers(0, (1 << 31) - 1)


@given(SERIALS, st.sampled_from(CLASSES), st.integers(60, 1514), st.booleans())
def test_a_packet_in_says_what_it_is_about(serial, kind, frame_bytes, buffered):
    given_packet = frame(serial, kind, frame_bytes)
    made = packet_in(serial, given_packet, buffered)
    found = decode.decode_packet_in(made)
    assert (found.data, found.in_port) == (given_packet, in_port_of(serial))
    assert len(given_packet) == frame_bytes
    assert len(made) == packet_in_bytes(frame_bytes)
    fields = read_subject(made).packet
    assert (fields["ip_proto"], fields["udp_dst"]) == (17, kind.udp_dst)
    assert frame_fields(given_packet)["ipv4_src"] != frame_fields(given_packet)["ipv4_dst"]


@pytest.mark.parametrize("name", ["every_message", "in_band_service", "min_rate", "out_of_band", "weighted"])
def test_where_a_table_has_four_classes_low_packets_are_of_the_third(name):
    table = load_pmt(REPOSITORY / "examples" / "pmt" / f"{name}.yaml", "a table")
    assert len(table.classes) == 4
    assert [controller_id_of(table, kind) for kind in (HIGH, LOW)] == [2, 3]


@pytest.mark.parametrize("table", [None, PolicyMapTable()])
def test_without_rules_all_packets_are_of_one_class(table):
    assert {controller_id_of(table, kind) for kind in CLASSES} == {UNMATCHED_CLASS}


@given(SERIALS, st.integers(60, 1514))
def test_a_packet_out_with_the_packet_names_it(serial, frame_bytes):
    answer = encode.packet_out(frame(serial, HIGH, frame_bytes), (Output(1), Output(2)))
    assert answered_serial(answer) == serial


@given(SERIALS)
def test_a_buffer_id_names_its_packet(serial):
    out = encode.packet_out(b"", (Output(1),))
    assert answered_serial(out[:8] + serial.to_bytes(4, "big") + out[12:]) == serial
    flow = encode.flow_add(FlowRow(0, 1, (), (Output(1),)))
    assert answered_serial(flow) is None
    # struct ofp_flow_mod: cookie, mask, table, command, two timeouts and the priority stand before the buffer id.
    at = 8 + struct.calcsize("!QQBBHHH")
    assert answered_serial(flow[:at] + serial.to_bytes(4, "big") + flow[at + 4 :]) == serial


@given(st.binary(max_size=200), st.sampled_from((MsgType.PACKET_OUT, MsgType.FLOW_MOD, MsgType.ECHO_REPLY)))
def test_answers_of_any_bytes_are_read_without_an_exception(body, kind):
    found = answered_serial(message(kind, body))
    assert found is None or 0 <= found < 1 << 64


@pytest.mark.parametrize("frame_bytes", [60, 126, 1514])
def test_the_ip_checksum_is_right(frame_bytes):
    words = frame(77, HIGH, frame_bytes)[14:34]
    total = sum(int.from_bytes(words[at : at + 2], "big") for at in range(0, 20, 2))
    assert (total & 0xFFFF) + (total >> 16) == 0xFFFF
