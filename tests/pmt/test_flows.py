"""Flow entries of a PMT: sound, and in agreement with the classifier in the interpreter and on Open vSwitch."""

from __future__ import annotations

import random
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ryu_apps.openflow import encode
from ryu_apps.plan.check import violations
from ryu_apps.plan.fields import FIELDS
from ryu_apps.plan.interpret import Packet, SwitchModel, interpret_switch
from ryu_apps.plan.row_text import flow_text
from ryu_apps.plan.rows import Controller, RulePlan, match
from ryu_apps.pmt.classify import Classifier
from ryu_apps.pmt.fields import PMT_FIELDS
from ryu_apps.pmt.flows import limits, punt_rows
from ryu_apps.pmt.parse import parse_pmt
from ryu_apps.pmt.rules import PmtError, PolicyMapTable, Rule, ToQueue, TrafficType
from tests.dummy_ovs import DummyOvs
from tests.examples import examples
from tests.openflow.decode_sent import decode_flow_mod
from tests.pmt.frames import Ip, arp, ethernet, frame_of, ipv4, ipv6, mpls, packet_in, packets
from tests.pmt.strategies import tables
from tests.pmt.test_rules import example

HELD = tuple(name for name in PMT_FIELDS if name in FIELDS)
# What the interpreter's packets have.
INTERPRETED = tuple(
    """in_port eth_dst eth_type vlan_vid vlan_pcp ip_dscp ip_proto ipv4_src ipv4_dst tcp_src tcp_dst udp_src udp_dst
    mpls_label mpls_tc""".split()
)


def compiled(table: PolicyMapTable) -> RulePlan:
    return RulePlan(1, "s1", flows=punt_rows(table))


def test_example_1_becomes_one_flow_for_each_ip_version_and_two_general_ones():
    shown = [
        (row.priority, row.match, row.apply_actions[0].controller_id) for row in punt_rows(example("out_of_band.yaml"))
    ]
    assert shown == [
        (2, match(eth_type=0x0800, ip_proto=17, udp_dst=20000), 2),
        (2, match(eth_type=0x86DD, ip_proto=17, udp_dst=20000), 2),
        (1, (), 3),
        (0, (), 0),
    ]


def test_no_table_sends_everything_to_the_default_connection():
    assert [(row.match, row.apply_actions) for row in punt_rows(PolicyMapTable())] == [((), (Controller(0),))]


@given(tables(HELD))
@examples(60)
def test_compiled_rows_are_sound_and_survive_the_wire(table):
    plan = compiled(table)
    assert violations(plan) == ()
    assert all(decode_flow_mod(encode.flow_add(row)).row == row for row in plan.flows)


@given(tables(INTERPRETED), st.lists(st.tuples(packets(), st.integers(1, 3)), min_size=8, max_size=8))
@examples(150)
def test_flows_and_classifier_agree_on_random_packets(table, cases):
    model, classifier = SwitchModel(compiled(table)), Classifier(table)
    for packet, in_port in cases:
        result = interpret_switch(model, packet, in_port, frozenset())
        classified = classifier.classify(packet_in(frame_of(packet), in_port))
        assert [controller_id for controller_id, _ in result.punts] == [classified.class_id]


def test_the_agreement_would_see_a_wrong_row():
    table = example("out_of_band.yaml")
    wrong = tuple(row for row in punt_rows(table) if row.priority != 2)
    result = interpret_switch(SwitchModel(RulePlan(1, "s1", flows=wrong)), Packet(l4_dst=20000), 1, frozenset())
    class_id = Classifier(table).classify(packet_in(frame_of(Packet(l4_dst=20000)))).class_id
    assert [number for number, _ in result.punts] != [class_id]


def test_a_field_that_rows_cannot_hold_is_named():
    table = parse_pmt("rules:\n  - {traffic_type: 2, sctp_dst: 5, action: queue_id:1}\n")
    with pytest.raises(PmtError, match=r"queue_id:1 \(line 2\) matches sctp_dst"):
        punt_rows(table)


def test_too_many_rules_do_not_reach_other_bands():
    rules = tuple(Rule(TrafficType.COMMAND, match(in_port=n), ToQueue(1)) for n in range(1000))
    assert len(punt_rows(PolicyMapTable(rules[:999]))) == 1000
    with pytest.raises(PmtError, match="1000 rules"):
        punt_rows(PolicyMapTable(rules))


def test_what_flows_cannot_do_is_said_for_each_type_in_the_table():
    assert [text[:14] for text in limits(example("in_band.yaml"))] == [f"traffic type {n}" for n in (1, 3, 4)]
    assert limits(PolicyMapTable()) == ()


OVS_RULES = """
rules:
  - {traffic_type: 2, udp_dst: 20000, action: queue_id:1}
  - {traffic_type: 2, vlan_vid: 5, action: queue_id:2}
  - {traffic_type: 2, vlan_pcp: 3, action: queue_id:3}
  - {traffic_type: 2, tcp_dst: 0, action: queue_id:4}
  - {traffic_type: 2, in_port: 2, ip_proto: 6, action: queue_id:11}
  - {traffic_type: 2, udp_dst: 0, action: queue_id:5}
  - {traffic_type: 2, ipv4_dst: 10.1.0.0/16, action: queue_id:6}
  - {traffic_type: 2, arp_op: 2, action: queue_id:7}
  - {traffic_type: 2, mpls_label: 77, action: queue_id:8}
  - {traffic_type: 2, ip_dscp: 46, action: queue_id:9}
  - {traffic_type: 2, eth_dst: "00:00:00:00:00:09", action: queue_id:10}
  - {traffic_type: 2, ip_proto: 44, action: queue_id:12}
  - {traffic_type: 2, eth_type: 0x05ff, action: queue_id:13}
  - {traffic_type: 2, ip_proto: 58, action: queue_id:14}
"""


def any_ip(draw: random.Random) -> Ip:
    destination = draw.choice([0x0A000001, 0x0A010001, 0x0A01FFFF, 0x0A020001])
    ports = draw.choice([0, 53, 20000]), draw.choice([0, 53, 20000])
    fragment = draw.choice([0, 0, 0x2000, 0x0008, 0x2010, 0x0001, 0x4000])
    options = draw.choice([0, 0, 2])
    protocol = draw.choice([1, 6, 17, 17, 58, 132])
    return Ip(protocol, 0x0A000009, destination, ports, draw.choice([0, 46]), fragment, options)


def any_frame(draw: random.Random) -> bytes:
    ip = any_ip(draw)
    extensions = draw.choice([(), (), (0,), (60, 43), (44,), (0, 44), (44, 60)])
    kinds = [
        *[(0x0800, ipv4(ip))] * 3,
        *[(0x86DD, ipv6(ip, extensions))] * 3,
        (0x0806, arp(draw.choice([1, 2]))),
        (0x8847, mpls(draw.choice([77, 78])) + ipv4(ip)),
        (0x0040, bytes.fromhex("aaaa030000000800") + ipv4(ip)),
        (0x0026, bytes.fromhex("424203") + bytes(35)),
        (0x8100, b"\0\7\x08\0" + ipv4(ip)),
    ]
    tag = draw.choice([None, None, 5, 0x6005, 0x6007, 0])
    return ethernet(*draw.choice(kinds), tag, eth_dst=draw.choice([1, 9]))


@pytest.mark.ovs
def test_open_vswitch_sends_packets_where_the_classifier_says():
    table, draw = parse_pmt(OVS_RULES), random.Random(5)
    classifier, seen, differences = Classifier(table), set(), []
    with DummyOvs() as ovs:
        ovs.add_bridge("br0", 1, (1, 2))
        (ovs.folder / "flows.txt").write_text("".join(f"{flow_text(row)}\n" for row in punt_rows(table)))
        ovs.ofctl("add-flows", "br0", "flows.txt")
        for _ in range(250):
            frame, in_port = any_frame(draw), draw.choice([1, 2])
            trace = ovs.appctl("ofproto/trace", "br0", f"in_port={in_port}", frame.hex())
            theirs = int(re.findall(r"controller_id=(\d+)", trace)[0])
            ours = classifier.classify(packet_in(frame, in_port)).class_id
            seen.add(ours)
            if theirs != ours:
                differences.append(f"{theirs} not {ours}: {frame.hex()} {trace}")
    assert not differences, f"{len(differences)}: {differences[0]}"
    assert seen == set(range(15))
