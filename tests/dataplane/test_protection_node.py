"""The headers of 1+1 protection byte by byte, and nodes that are one end, the other, both, or neither."""

from __future__ import annotations

import struct
from dataclasses import replace
from ipaddress import IPv4Address, IPv4Network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dataplane.model.flow_match import FlowMatch, PortRange
from dataplane.model.protection_node import Connection, Fate, five_tuple, process, to_node
from dataplane.model.sequence import Egress
from dataplane.model.tunnel_header import OVERHEAD_BYTES, Tunnel, checksum, decapsulate, encapsulate
from mininet_topos.errors import BadInputError
from tests.examples import examples

A, B, C, D = (IPv4Address(f"192.0.2.{k}") for k in (1, 2, 3, 4))
GOLDEN_INNER = "4500001c 00010000 401166ce 0a000001 0a000002 03e807d0 00080000"
GOLDEN_OUTER = "45000038 00004000 40fdb5c5 c0000201 c0000202"
GOLDEN_PROTECTION = "010203 a1b2c3d4 04"


def packet(source="10.0.0.1", destination="10.0.0.2", protocol=17, ports=(1000, 2000), payload=b"data", tos=0):
    """Return an IPv4 packet with ports and a wrong transport checksum, which nobody here looks at."""
    rest = struct.pack("!HH", *ports) + bytes(16 if protocol == 6 else 4) + payload
    ends = IPv4Address(source).packed + IPv4Address(destination).packed
    header = struct.pack("!BBHHHBB", 0x45, tos, 20 + len(rest), 7, 0, 64, protocol)
    return header + struct.pack("!H", checksum(header + b"\0\0" + ends)) + ends + rest


def to(one, number, inner=None):
    return encapsulate(inner or packet(), Tunnel(one.number, number, one.ingress, one.egress))


def with_checksum(data):
    header = data[:10] + b"\0\0" + data[12:20]
    return data[:10] + struct.pack("!H", checksum(header)) + data[12:]


def test_the_headers_have_golden_bytes():
    wrapped = encapsulate(bytes.fromhex(GOLDEN_INNER), Tunnel(0x010203, 0xA1B2C3D4, A, B))
    assert wrapped == bytes.fromhex(GOLDEN_OUTER + GOLDEN_PROTECTION + GOLDEN_INNER)
    assert checksum(wrapped[:20]) == 0


@given(
    st.integers(0, 2**24 - 1),
    st.integers(0, 2**32 - 1),
    st.binary(max_size=1400),
    st.integers(0, 255),
    st.binary(max_size=18),
)
def test_what_is_wrapped_unwraps_to_the_same_packet_without_its_padding(connection, number, payload, tos, padding):
    tunnel, inner = Tunnel(connection, number, A, B), packet(payload=payload, tos=tos)
    wrapped = encapsulate(inner + padding, tunnel)
    assert (len(wrapped), wrapped[1]) == (len(inner) + OVERHEAD_BYTES, tos)
    assert decapsulate(wrapped + padding) == (tunnel, inner)


@given(st.binary(max_size=120))
def test_no_bytes_make_the_parser_fail(data):
    assert decapsulate(data) is None or len(data) >= 48
    assert five_tuple(data) is None or len(data) >= 28


WRAPPED = encapsulate(packet(), Tunnel(7, 1, A, B))


@given(st.integers(0, len(WRAPPED) - 1))
def test_a_packet_cut_short_is_not_ours(length):
    assert decapsulate(WRAPPED[:length]) is None


@pytest.mark.parametrize(
    ("place", "value"),
    [(0, 0x46), (0, 0x55), (6, 0x20), (7, 0x01), (9, 4), (27, 6), (28, 0x65), (28, 0x44), (30, 1)],
    ids=[
        "options",
        "version",
        "more fragments",
        "offset",
        "IP in IP",
        "next",
        "inner version",
        "inner IHL",
        "inner length",
    ],
)
def test_a_packet_that_is_wrong_somewhere_is_not_ours(place, value):
    wrong = bytearray(WRAPPED)
    wrong[place] = value
    assert decapsulate(with_checksum(bytes(wrong))) is None


def test_a_wrong_checksum_or_another_protocol_number_is_not_ours():
    assert decapsulate(WRAPPED[:10] + b"\0\0" + WRAPPED[12:]) is None
    assert decapsulate(WRAPPED, protocol=143) is None
    assert encapsulate(b"\x60" + bytes(60), Tunnel(1, 1, A, B)) is None
    assert encapsulate(packet(payload=bytes(65_535 - 28 - 27)), Tunnel(1, 1, A, B)) is None
    assert encapsulate(packet(payload=bytes(65_535 - 28 - 28)), Tunnel(1, 1, A, B)) is not None


@pytest.mark.parametrize(("connection", "number"), [(1 << 24, 1), (-1, 1), (1, 1 << 32)])
def test_a_number_that_does_not_fit_is_refused(connection, number):
    with pytest.raises(BadInputError, match="does not fit the header"):
        encapsulate(packet(), Tunnel(connection, number, A, B))


AB, AC, BC = Connection(7, A, B), Connection(7, A, C), Connection(8, B, C)
ALL = (AB, AC, BC)
TO_2, TO_3 = (FlowMatch(destination=IPv4Network(f"10.0.0.{k}/32")) for k in (2, 3))


def test_a_protected_packet_comes_out_as_it_was_and_its_second_copy_does_not():
    start, fate, wrapped = process(to_node(A, [(TO_2, AB)], ALL), packet())
    end, first, plain = process(to_node(B, [], ALL), wrapped)
    _, second, nothing = process(end, wrapped)
    assert (fate, first, second) == (Fate.PROTECT, Fate.PLAIN, Fate.DROP)
    assert (plain, nothing) == (packet(), b"")
    assert start.sends[B, 7].last == end.receives[7][1].last == 1


def test_two_receiving_ends_may_use_the_same_number():
    node = to_node(A, [(TO_2, AB), (TO_3, AC)], ALL)
    for name in ("10.0.0.2", "10.0.0.2", "10.0.0.3"):
        node, _, wrapped = process(node, packet(destination=name))
    assert (node.sends[B, 7].last, node.sends[C, 7].last) == (2, 1)
    assert decapsulate(wrapped)[0] == Tunnel(7, 1, A, C)


def test_a_node_that_receives_a_connection_and_begins_the_next_wraps_the_packet_again():
    node, fate, wrapped = process(to_node(B, [(TO_2, BC)], ALL), to(AB, 5))
    assert (fate, decapsulate(wrapped)) == (Fate.PROTECT, (Tunnel(8, 1, B, C), packet()))
    assert (node.receives[7][1].last, node.sends[C, 8].last) == (5, 1)
    _, again, _ = process(node, to(AB, 5))
    assert again is Fate.DROP


def test_a_packet_for_another_end_passes_as_it_is():
    assert process(to_node(B, [(FlowMatch(), BC)], ALL), to(AC, 5))[1:] == (Fate.PLAIN, to(AC, 5))


def test_ip_in_ip_without_our_header_and_packets_without_ports_are_plain():
    node = to_node(A, [(FlowMatch(), AB)], ALL)
    ip_in_ip = packet(protocol=4, payload=packet(), destination=str(A))
    later_fragment = with_checksum(packet()[:6] + b"\x00\x10" + packet()[8:])
    half_a_header = with_checksum(packet()[:2] + b"\x00\x18" + packet()[4:24])
    for data in (ip_in_ip, packet(protocol=1), later_fragment, half_a_header, b"", b"\x60" + bytes(50)):
        assert process(node, data) == (node, Fate.PLAIN, data)


@pytest.mark.parametrize(
    "unexpected",
    [to(Connection(8, A, B), 9), to(Connection(7, D, B), 9)],
    ids=["unknown number", "another sending end"],
)
def test_a_packet_that_no_connection_explains_is_dropped_and_moves_no_counter(unexpected):
    node = to_node(B, [], ALL)
    assert process(node, unexpected) == (node, Fate.DROP, b"")


@examples(200)
@given(st.data())
def test_nothing_in_a_packet_but_a_whole_right_one_moves_a_counter(data):
    node, good = to_node(B, [], ALL), to(AB, 3)
    place = data.draw(st.integers(0, len(good) - 1))
    value = data.draw(st.integers(0, 255))
    changed = good[:place] + bytes([value]) + good[place + 1 :]
    after, fate, _ = process(node, changed)
    opened = decapsulate(changed)
    whole = opened is not None and (opened[0].connection, opened[0].ingress, opened[0].egress) == (7, A, B)
    assert (after == node) is not whole
    assert not whole or after.receives[7][1].last in (0, opened[0].number)
    assert (fate is Fate.PLAIN) or whole or opened is not None


def test_a_flow_that_is_no_longer_protected_is_plain_again():
    node, _, _ = process(to_node(A, [(TO_2, AB)], ALL), packet())
    assert process(replace(node, flows=()), packet())[1:] == (Fate.PLAIN, packet())


@pytest.mark.parametrize(
    ("match", "hit"),
    [
        (FlowMatch(), True),
        (
            FlowMatch(
                IPv4Network("10.0.0.0/24"), IPv4Network("10.0.0.2/32"), 17, PortRange(1000, 1000), PortRange(1, 2000)
            ),
            True,
        ),
        (FlowMatch(source=IPv4Network("10.0.1.0/24")), False),
        (FlowMatch(destination=IPv4Network("10.0.0.1/32")), False),
        (FlowMatch(protocol=6), False),
        (FlowMatch(source_ports=PortRange(1001, 2000)), False),
        (FlowMatch(destination_ports=PortRange(0, 1999)), False),
    ],
)
def test_a_flow_is_matched_by_its_five_tuple_each_field_or_any(match, hit):
    assert (process(to_node(A, [(match, AB)], ALL), packet())[1] is Fate.PROTECT) is hit


def test_the_first_match_counts_and_tcp_has_ports_too():
    node = to_node(A, [(FlowMatch(protocol=6), AC), (FlowMatch(), AB)], ALL)
    assert decapsulate(process(node, packet(protocol=6))[2])[0].egress == C
    assert decapsulate(process(node, packet())[2])[0].egress == B


def test_options_of_the_receiving_end_are_kept():
    node = to_node(B, [], ALL, Egress(history=4))
    for number in (1, 3, 2):
        node, fate, _ = process(node, to(AB, number))
    assert (fate, node.receives[7][1].late) == (Fate.PLAIN, 1)


@pytest.mark.parametrize(
    ("flows", "connections", "words"),
    [
        ([], [AB, Connection(7, D, B)], "connection 7 ends twice at 192.0.2.2"),
        ([], [Connection(1 << 24, A, B)], "does not fit 24 bits"),
        ([(TO_2, BC)], ALL, "does not begin there"),
    ],
)
def test_connections_that_cannot_work_are_refused(flows, connections, words):
    with pytest.raises(BadInputError, match=words):
        to_node(A, flows, connections)
