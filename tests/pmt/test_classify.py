"""The classifier: each message type, packets of packet-ins and packet-outs, flow-mods by their match, any bytes."""

from __future__ import annotations

import struct

import pytest
from hypothesis import example as case
from hypothesis import given
from hypothesis import strategies as st

from ryu_apps.openflow import encode
from ryu_apps.openflow.wire import NO_BUFFER, MalformedMessageError, MsgType, WireError, message
from ryu_apps.plan.rows import FlowRow, Output, match
from ryu_apps.pmt.classify import Classification, Classifier, flow_meets
from ryu_apps.pmt.fields import PMT_FIELDS
from ryu_apps.pmt.frame import frame_fields
from ryu_apps.pmt.lookup import RuleLookup
from ryu_apps.pmt.message import read_subject
from ryu_apps.pmt.parse import parse_pmt
from ryu_apps.pmt.rules import UNMATCHED_CLASS, PolicyMapTable, TrafficType
from tests.examples import examples
from tests.openflow.strategies import flow_rows
from tests.pmt.frames import Ip, ethernet, frame_of, ipv4, ipv6, packet_in, packets
from tests.pmt.messages import valid_messages
from tests.pmt.strategies import matches, tables
from tests.pmt.test_rules import example

PSO = Classifier(example("out_of_band.yaml"))
CONFIGURATION, HIGH, COMMAND, OTHER = 1, 2, 3, 4
VOICE = ethernet(0x0800, ipv4(Ip()))
BULK = ethernet(0x0800, ipv4(Ip(ports=(1000, 80))))


def class_of(given_bytes: bytes, classifier: Classifier = PSO) -> int:
    return classifier.classify(given_bytes).class_id


@pytest.mark.parametrize(
    ("types", "traffic_type"),
    [
        (range(10), TrafficType.CONFIGURATION),
        ((10, 13, 14, 15, 16, 17, 29), TrafficType.COMMAND),
        ((11, 12, *range(18, 29)), TrafficType.OTHER),
    ],
)
def test_message_types_are_the_papers_table_1(types, traffic_type):
    for msg_type in types:
        body = encode.flow_add(FlowRow(0, 1, ()))[8:] if msg_type == 14 else bytes(16)
        if msg_type == 10:
            body = packet_in(b"")[8:]
        subject = read_subject(struct.pack("!BBHI", 4, msg_type, 8 + len(body), 1) + body)
        assert (subject.msg_type, subject.traffic_type) == (msg_type, traffic_type)


def test_packet_ins_and_packet_outs_go_by_the_packet_inside():
    for build in (packet_in, lambda frame: encode.packet_out(frame, (Output(2),))):
        assert class_of(build(VOICE)) == HIGH
        assert class_of(build(BULK)) == COMMAND
        assert class_of(build(ethernet(0x86DD, ipv6(Ip())))) == HIGH
        assert class_of(build(ethernet(0x0800, ipv4(Ip()), tag=5))) == HIGH
        assert class_of(build(ethernet(0x0800, ipv4(Ip(protocol=6))))) == COMMAND


def test_the_decision_names_its_rule():
    assert PSO.classify(packet_in(VOICE)) == Classification(MsgType.PACKET_IN, TrafficType.COMMAND, HIGH, 2)
    assert PSO.classify(encode.hello()) == Classification(MsgType.HELLO, TrafficType.CONFIGURATION, CONFIGURATION, 1)
    assert PSO.classify(encode.barrier_request()).class_id == OTHER


def test_a_packet_in_cut_before_the_ports_is_an_ordinary_command():
    assert class_of(packet_in(VOICE[:38])) == HIGH
    assert class_of(packet_in(VOICE[:37])) == COMMAND
    assert all(class_of(packet_in(VOICE[:size])) == COMMAND for size in range(38))


def test_fragments_have_no_ports():
    assert class_of(packet_in(ethernet(0x0800, ipv4(Ip(fragment=0x2000))))) == COMMAND
    assert class_of(packet_in(ethernet(0x0800, ipv4(Ip(fragment=0x0001))))) == COMMAND
    assert class_of(packet_in(ethernet(0x0800, ipv4(Ip(fragment=0x4000))))) == HIGH


def test_a_packet_out_of_a_buffer_has_no_packet():
    given_bytes = encode.packet_out(VOICE, ())
    buffered = given_bytes[:8] + struct.pack("!I", 7) + given_bytes[12:]
    assert class_of(given_bytes) == HIGH
    assert class_of(buffered) == COMMAND


def test_flow_mods_go_by_what_their_match_pins():
    voice = match(eth_type=0x0800, ip_proto=17, udp_dst=20000)
    assert class_of(encode.flow_add(FlowRow(0, 1, voice))) == HIGH
    assert class_of(encode.flow_add(FlowRow(0, 1, match(eth_type=0x0800, ip_proto=17)))) == COMMAND
    assert class_of(encode.flow_add(FlowRow(0, 1, match(eth_type=0x0800, ip_proto=17, udp_dst=2)))) == COMMAND
    assert class_of(encode.flow_add(FlowRow(0, 1, ()))) == COMMAND
    assert (
        class_of(encode.flow_add(FlowRow(0, 1, match(eth_type=0x0800, ip_proto=17, udp_dst=(20000, 0x4E20)))))
        == COMMAND
    )


def test_all_messages_of_a_bundle_share_a_class_so_that_none_can_overtake():
    voice = encode.flow_add(FlowRow(0, 1, match(eth_type=0x0800, ip_proto=17, udp_dst=20000)))
    inner = (voice, encode.flow_add(FlowRow(0, 1, ())))
    parts = (encode.bundle_open(1), *(encode.bundle_add(1, each) for each in inner), encode.bundle_commit(1))
    assert {class_of(part) for part in parts} == {COMMAND}


def test_without_a_table_all_messages_are_one_class():
    plain = Classifier(PolicyMapTable())
    assert {class_of(each, plain) for each in valid_messages()} == {UNMATCHED_CLASS}


@given(tables(), st.sampled_from(valid_messages()))
@examples(100)
def test_the_class_is_that_of_the_rule_and_the_rule_is_of_the_messages_type(table, given_bytes):
    found = Classifier(table).classify(given_bytes)
    if found.rule_number is None:
        assert found.class_id == UNMATCHED_CLASS
    else:
        rule = table.rules[found.rule_number - 1]
        assert rule.traffic_type is found.traffic_type
        assert table.classes[found.class_id - 1].action == rule.action


@pytest.mark.parametrize(
    ("given_bytes", "words"),
    [
        (b"", "0 bytes"),
        (bytes(7), "7 bytes"),
        (struct.pack("!BBHI", 1, 2, 8, 0), "version 0x01"),
        (struct.pack("!BBHI", 4, 30, 8, 0), "type 30"),
        (struct.pack("!BBHI", 4, 2, 9, 0), "says 9 bytes"),
        (encode.hello() + b"x", "says"),
        (message(MsgType.PACKET_IN), "truncated before its match"),
        (message(MsgType.PACKET_IN, packet_in(VOICE)[8:32]), "whole OXM match"),
        (message(MsgType.PACKET_OUT, bytes(10)), "truncated before its actions"),
        (message(MsgType.PACKET_OUT, struct.pack("!IIH6x", NO_BUFFER, 1, 8)), "run over its end"),
        (message(MsgType.FLOW_MOD, bytes(40) + struct.pack("!HHI", 0, 8, 0)), "type 0"),
        (message(MsgType.FLOW_MOD, bytes(40) + struct.pack("!HHHBB", 1, 8, 0x8000, 10 << 1, 1)), "runs over the end"),
        (
            message(MsgType.FLOW_MOD, bytes(40) + struct.pack("!HHHBBHxx", 1, 10, 0x8000, 20, 2, 17)),
            "ip_proto has 2 bytes",
        ),
        (message(MsgType.FLOW_MOD, bytes(40) + struct.pack("!HHHxx", 1, 6, 0x8000)), "before its header ends"),
    ],
)
def test_malformed_messages_are_refused_by_name(given_bytes, words):
    with pytest.raises(MalformedMessageError, match=words):
        PSO.classify(given_bytes)


def test_a_hello_may_have_any_version():
    assert class_of(struct.pack("!BBHI", 6, 0, 8, 0)) == CONFIGURATION


def classified_or_refused(given_bytes: bytes, classifier: Classifier = PSO) -> bool:
    """Whether the bytes were classified; anything but the typed error comes through."""
    try:
        found = classifier.classify(given_bytes)
    except MalformedMessageError:
        return False
    return 0 <= found.class_id <= len(classifier.table.classes)


EVERY_FIELD = Classifier(
    parse_pmt(
        "rules:\n  - {traffic_type: 2, udp_dst: 20000, action: queue_id:1}\n"
        "  - {traffic_type: 2, arp_op: 1, action: queue_id:2}\n"
        "  - {traffic_type: 2, mpls_label: 1, action: queue_id:3}\n"
        "  - {traffic_type: 2, icmpv6_type: 135, action: queue_id:4}\n"
    )
)


@given(st.binary(max_size=300))
@examples(300)
def test_any_bytes_are_classified_or_refused(given_bytes):
    assert classified_or_refused(given_bytes) in (True, False)


@given(st.integers(0, 255), st.binary(max_size=200))
@examples(400)
def test_any_body_under_a_good_header_is_classified_or_refused(msg_type, body):
    framed = struct.pack("!BBHI", 4, msg_type, 8 + len(body), 1) + body
    assert classified_or_refused(framed, EVERY_FIELD) in (True, False)
    assert msg_type in (10, 13, 14) or classified_or_refused(framed) == (msg_type <= 29)


@given(st.sampled_from(valid_messages()), st.data())
@examples(600)
def test_damaged_messages_of_every_type_are_classified_or_refused(given_bytes, data):
    damaged = bytearray(given_bytes)
    for _ in range(data.draw(st.integers(1, 4))):
        damaged[data.draw(st.integers(0, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    cut = bytes(damaged[: data.draw(st.integers(0, len(damaged)))])
    framed = cut[:2] + len(cut).to_bytes(2, "big") + cut[4:] if len(cut) >= 8 else cut
    for each in (bytes(damaged), cut, framed):
        assert classified_or_refused(each, EVERY_FIELD) in (True, False)


@given(st.binary(max_size=120), st.sampled_from([0x0800, 0x86DD, 0x0806, 0x8847, 0x8100, 0x88A8]))
@examples(300)
@case(b"", 0x0800)
@case(b"\x60" + bytes(5) + b"\x00" + bytes(33) + b"\x00\xff", 0x86DD)
def test_any_packet_in_a_good_packet_in_is_classified(payload, eth_type):
    assert classified_or_refused(packet_in(ethernet(eth_type, payload)), EVERY_FIELD)
    assert classified_or_refused(packet_in(bytes(12) + eth_type.to_bytes(2, "big") + payload), EVERY_FIELD)


def packet_meets(packet, wanted):
    """The definition: a packet has every field of a match, with its value."""
    return all(
        name in packet and packet[name] & (PMT_FIELDS[name].full_mask if mask is None else mask) == value
        for name, value, mask in wanted
    )


NEAR = (
    "in_port",
    "eth_dst",
    "eth_type",
    "vlan_vid",
    "ip_proto",
    "ipv4_src",
    "ipv4_dst",
    "udp_dst",
    "tcp_dst",
    "arp_op",
)


@given(st.lists(matches(NEAR), max_size=12), packets(), st.integers(0, 3))
@examples(300)
def test_the_first_rule_found_is_the_first_that_the_packet_meets(wanted, packet, in_port):
    fields = frame_fields(frame_of(packet)) | {"in_port": in_port}
    expected = next((number for number, each in enumerate(wanted, 1) if packet_meets(fields, each)), None)
    assert RuleLookup(list(enumerate(wanted, 1))).first(fields) == expected


def test_a_rule_found_late_comes_first_when_its_number_is_smaller():
    rules = [match(in_port=1), match(ip_proto=17), match(in_port=2)]
    assert RuleLookup(list(enumerate(rules, 1))).first({"in_port": 2, "ip_proto": 17}) == 2


@given(packets(), matches(NEAR))
@examples(150)
def test_a_flow_entry_that_pins_all_of_a_packet_meets_what_the_packet_meets(packet, wanted):
    fields = frame_fields(frame_of(packet))
    pinned = {name: (value, PMT_FIELDS[name].full_mask) for name, value in fields.items()}
    assert flow_meets(pinned, wanted) == packet_meets(fields, wanted)


@given(flow_rows)
@examples(100)
def test_every_flow_mod_that_armor_sends_is_classified(row):
    try:
        built = encode.flow_add(row)
    except WireError:
        built = encode.flow_add(FlowRow(0, 1, row.match))
    pinned = {name: (value, mask) for name, value, mask in row.match}
    read = read_subject(built).pinned
    for name, (value, mask) in read.items():
        assert pinned[name][0] == value
        assert pinned[name][1] in (None, mask)


REFUSING = (
    "data_dscp: refuse\nrules:\n  - {traffic_type: 2, action: dscp:CS5}\n  - {traffic_type: 4, action: dscp:copy}\n"
)


@pytest.mark.parametrize("dscp", range(0, 64, 3))
def test_data_never_outranks_control(dscp):
    frame = ethernet(0x0800, ipv4(Ip(dscp=dscp)))
    refusing = Classifier(parse_pmt(REFUSING)).treat_data(frame, 1)
    marking = Classifier(parse_pmt(REFUSING.replace("refuse", "re-mark"))).treat_data(frame, 1)
    assert refusing.is_refused == (dscp >= 40)
    assert not marking.is_refused
    assert marking.dscp == (dscp if dscp < 40 else 32)


def test_data_rules_mark_and_queue_ip_packets_and_leave_others_alone():
    marked = parse_pmt("rules:\n  - {traffic_type: 4, udp_dst: 20000, action: dscp:CS3}\n")
    queued = parse_pmt("rules:\n  - {traffic_type: 4, in_port: 3, action: queue_id:2}\n")
    assert Classifier(marked).treat_data(VOICE, 1).dscp == 24
    assert Classifier(marked).treat_data(BULK, 1).dscp == 0
    assert Classifier(marked).treat_data(b"", 1).dscp is None
    assert Classifier(queued).treat_data(VOICE, 3).queue_id == 2
    assert Classifier(queued).treat_data(VOICE, 2).rule_number is None


@given(st.binary(max_size=100))
@examples(100)
def test_any_frame_is_treated(frame):
    assert Classifier(example("in_band.yaml")).treat_data(frame, 1).is_refused is False
