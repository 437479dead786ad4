"""Rows to bytes and back: our codec against itself, against Ryu's parser, and on broken bytes."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ryu_apps.openflow import decode, encode
from ryu_apps.openflow.actions import decode_actions, encode_action
from ryu_apps.openflow.fields import WIRE_FIELDS, decode_match, encode_match
from ryu_apps.openflow.wire import (
    FlowCommand,
    GroupCommand,
    MsgType,
    WireError,
    header,
    message,
    split_messages,
    with_xid,
)
from ryu_apps.plan.fields import FIELDS
from ryu_apps.plan.rows import (
    Controller,
    FlowRow,
    Learn,
    LearnLoad,
    LearnMatch,
    Load,
    Multipath,
    Output,
    Resubmit,
    SetField,
    match,
)
from tests.openflow.decode_sent import GroupMod, decode_flow_mod, decode_group_mod
from tests.openflow.strategies import U32, flow_rows, group_rows


@given(flow_rows)
def test_a_flow_row_survives_the_wire(row):
    made = decode_flow_mod(encode.flow_add(row))
    assert made.row == row
    assert made.command is FlowCommand.ADD


@given(group_rows)
def test_a_group_row_survives_the_wire(row):
    made = decode_group_mod(encode.group_modify(row))
    assert made == GroupMod(GroupCommand.MODIFY, row)


@given(flow_rows, U32)
def test_a_flow_in_a_dump_is_the_flow_that_was_added(row, seconds):
    """A flow statistics entry is assembled here by hand, from OpenFlow 1.3.5 section 7.3.5.2."""
    tail = encode_match(row.match) + encode.encode_instructions(row)
    flags = int(row.send_flow_removed)
    numbers = [(row.table_id, 1), (0, 1), (seconds, 4), (500_000_000, 4), (row.priority, 2), (9, 2)]
    numbers += [(row.hard_timeout_s, 2), (flags, 2), (0, 4), (row.cookie, 8), (7, 8), (700, 8)]
    entry = b"".join(value.to_bytes(size, "big") for value, size in numbers) + tail
    entry = (len(entry) + 2).to_bytes(2, "big") + entry
    reply = message(MsgType.MULTIPART_REPLY, b"\0\1\0\1\0\0\0\0" + entry + entry)
    stats, more = decode.decode_flow_stats(reply)
    assert more
    assert [stat.row for stat in stats] == [row, row]
    assert (stats[0].n_packets, stats[0].n_bytes, stats[0].idle_timeout_s) == (7, 700, 9)
    assert stats[0].duration_s == pytest.approx(seconds + 0.5)
    assert decode_match(stats[0].match_bytes)[0] == row.match


@pytest.mark.ryu
@given(flow_rows)
def test_ryu_reads_our_flow_and_writes_the_same_bytes(row):
    ours = encode.flow_add(row, xid=77)
    theirs = ryu_message(ours)
    assert (theirs.table_id, theirs.priority, theirs.cookie) == (row.table_id, row.priority, row.cookie)
    theirs.serialize()
    assert bytes(theirs.buf) == ours


@pytest.mark.ryu
@given(group_rows)
def test_ryu_writes_the_same_bytes_for_a_group(row):
    """Ryu has no reader for group-mods: it reads our buckets and writes the message around them."""
    ours = encode.group_add(row, xid=78)
    datapath = stub_datapath()
    parser = datapath.ofproto_parser
    their_buckets, at = [], 16
    while at < len(ours):
        their_buckets.append(parser.OFPBucket.parser(ours, at))
        at += their_buckets[-1].len
    types = {"all": 0, "select": 1, "indirect": 2, "ff": 3}
    theirs = parser.OFPGroupMod(datapath, 0, types[row.group_type], row.group_id, their_buckets)
    assert [(one.weight, one.watch_port) for one in their_buckets] == [
        (one.weight, 0xFFFFFFFF if one.watch_port is None else one.watch_port) for one in row.buckets
    ]
    assert ryu_bytes(theirs, 78) == ours


def stub_datapath():
    """What Ryu's messages want of a datapath: a version."""
    from ryu.ofproto import ofproto_protocol

    return ofproto_protocol.ProtocolDesc(version=4)


def ryu_bytes(theirs, xid):
    theirs.xid = xid
    theirs.serialize()
    return bytes(theirs.buf)


def ryu_message(given_bytes):
    """What Ryu's parser makes of the bytes, behind a stub datapath."""
    from ryu.ofproto import ofproto_parser

    head = header(given_bytes)
    made = ofproto_parser.msg(stub_datapath(), head.version, head.msg_type, head.length, head.xid, given_bytes)
    assert made is not None, "Ryu cannot parse this"
    return made


def requests_of_both():
    """(our bytes, Ryu's message) of everything that is asked or sent, apart from rows."""
    dp = stub_datapath()
    p, o = dp.ofproto_parser, dp.ofproto
    row = FlowRow(0, 5, match(eth_type=0x800, ipv4_dst=10), (Output(2),), cookie=9)
    their_match = p.OFPMatch(eth_type=0x800, ipv4_dst="0.0.0.10")
    their_actions = [p.OFPInstructionActions(o.OFPIT_APPLY_ACTIONS, [p.OFPActionOutput(2, 0xFFFF)])]
    their_flow = {"cookie": 9, "priority": 5, "match": their_match, "out_port": o.OFPP_ANY, "out_group": o.OFPG_ANY}
    by_cookie = {"cookie": 2 << 56, "cookie_mask": 0xFF << 56, "table_id": 3, "command": o.OFPFC_DELETE, "priority": 0}
    flags = o.ONF_BF_ATOMIC | o.ONF_BF_ORDERED
    their_add = p.OFPFlowMod(dp, instructions=their_actions, **their_flow)
    their_add.xid = 1
    return [
        (encode.echo_request(b"abc", 1), p.OFPEchoRequest(dp, b"abc")),
        (encode.features_request(1), p.OFPFeaturesRequest(dp)),
        (encode.barrier_request(1), p.OFPBarrierRequest(dp)),
        (encode.set_config(128, 0, 1), p.OFPSetConfig(dp, 0, 128)),
        (encode.set_controller_id(7, 1), p.OFPExperimenter(dp, 0x2320, 20, bytes(6) + b"\0\7")),
        (encode.flow_add(row, 1), p.OFPFlowMod(dp, instructions=their_actions, **their_flow)),
        (
            encode.flow_modify(row, 1),
            p.OFPFlowMod(dp, instructions=their_actions, command=o.OFPFC_MODIFY_STRICT, **their_flow),
        ),
        (
            encode.flow_delete(row, 1),
            p.OFPFlowMod(dp, command=o.OFPFC_DELETE_STRICT, cookie_mask=2**64 - 1, **their_flow),
        ),
        (
            encode.flows_delete_by_cookie(2 << 56, 0xFF << 56, 3, 7, match(in_port=1), xid=1),
            p.OFPFlowMod(dp, out_port=7, out_group=o.OFPG_ANY, match=p.OFPMatch(in_port=1), **by_cookie),
        ),
        (encode.group_delete(5, 1), p.OFPGroupMod(dp, o.OFPGC_DELETE, 0, 5)),
        (
            encode.packet_out(b"\1" * 60, (Output(3),), xid=1),
            p.OFPPacketOut(dp, o.OFP_NO_BUFFER, o.OFPP_CONTROLLER, [p.OFPActionOutput(3, 0xFFFF)], b"\1" * 60),
        ),
        (
            encode.flow_stats_request(1, 2, 3, 1),
            p.OFPFlowStatsRequest(dp, 0, 3, o.OFPP_ANY, o.OFPG_ANY, 1, 2, p.OFPMatch()),
        ),
        (encode.group_desc_request(1), p.OFPGroupDescStatsRequest(dp, 0)),
        (encode.port_desc_request(1), p.OFPPortDescStatsRequest(dp, 0)),
        (encode.port_stats_request(xid=1), p.OFPPortStatsRequest(dp, 0, o.OFPP_ANY)),
        (encode.bundle_open(3, xid=1), p.ONFBundleCtrlMsg(dp, 3, o.ONF_BCT_OPEN_REQUEST, flags, [])),
        (encode.bundle_add(3, encode.flow_add(row), xid=1), p.ONFBundleAddMsg(dp, 3, flags, their_add, [])),
        (encode.bundle_commit(3, xid=1), p.ONFBundleCtrlMsg(dp, 3, o.ONF_BCT_COMMIT_REQUEST, flags, [])),
    ]


@pytest.mark.ryu
def test_ryu_writes_the_same_bytes_for_every_request():
    for ours, theirs in requests_of_both():
        assert ryu_bytes(theirs, 1) == ours, type(theirs)


@pytest.mark.ryu
def test_fields_have_the_numbers_that_ryu_gives_them():
    from ryu.ofproto import ofproto_v1_3

    theirs = {each.name: divmod(each.oxm_type, 1 << 7) for each in ofproto_v1_3.oxm_types}
    ours = {name: field.match_id for name, field in WIRE_FIELDS.items() if field.match_id and name in theirs}
    assert len(ours) > 15
    assert ours == {name: theirs[name] for name in ours}


@pytest.mark.ryu
def test_ryu_names_the_nicira_actions_as_we_do():
    learn = Learn(3, 30000, 5, (LearnMatch("vlan_tci", 12, 1, 0),), (LearnLoad("vlan_tci", 0, 16, 0x3007),), 0, 60)
    row = FlowRow(1, 1, (), (Load("in_port", 0, 16, 0), Resubmit(2), Controller(42), learn))
    load, resubmit, controller, learned = ryu_message(encode.flow_add(row)).instructions[0].actions
    assert (load.dst, load.ofs_nbits, load.value) == ("in_port_nxm", 15, 0)
    assert resubmit.table_id == 2
    assert (controller.controller_id, controller.max_len) == (42, 0xFFFF)
    assert (learned.table_id, learned.priority, learned.hard_timeout) == (3, 30000, 60)
    assert [(spec.src, spec.dst, spec.n_bits) for spec in learned.specs] == [
        (0, ("vlan_tci", 12), 1),
        (0x3007, ("vlan_tci", 0), 16),
    ]


@given(st.lists(flow_rows, max_size=5), st.integers(0, 40))
def test_a_byte_stream_is_cut_into_its_messages_wherever_it_is_read(rows, cut):
    stream = b"".join(encode.flow_add(row) for row in rows)
    first, rest = split_messages(stream[:cut])
    second, rest = split_messages(rest + stream[cut:])
    assert rest == b""
    assert [decode_flow_mod(one).row for one in first + second] == rows


def test_a_stream_that_cannot_be_followed_is_an_error():
    with pytest.raises(WireError, match="less than the header"):
        split_messages(b"\4\0\0\7\0\0\0\0")


@given(st.lists(flow_rows, max_size=4), st.integers(0, 2**32 - 1))
def test_a_bundle_holds_its_messages_in_order(rows, xid):
    messages, rest = split_messages(encode.bundle(9, [encode.flow_add(row) for row in rows], xid=xid))
    assert rest == b""
    assert len(messages) == len(rows) + 2
    assert {header(one).xid for one in messages} == {xid}
    inner = [one[24:] for one in messages[1:-1]]
    assert [decode_flow_mod(one).row for one in inner] == rows
    assert {header(one).xid for one in inner} <= {xid}


DECODERS = {
    MsgType.FEATURES_REPLY: decode.decode_features,
    MsgType.PORT_STATUS: decode.decode_port_status,
    MsgType.PACKET_IN: decode.decode_packet_in,
    MsgType.FLOW_REMOVED: decode.decode_flow_removed,
    MsgType.ERROR: decode.decode_error,
}
MULTIPARTS = [decode.decode_flow_stats, decode.decode_group_desc, decode.decode_port_desc, decode.decode_port_stats]


@given(st.sampled_from(sorted(DECODERS)), st.binary(max_size=200))
def test_any_bytes_are_a_value_or_a_wire_error(kind, body):
    with suppress(WireError):
        DECODERS[kind](message(kind, body))


@given(st.sampled_from(MULTIPARTS), st.sampled_from([1, 4, 7, 13]), st.binary(max_size=300))
def test_any_multipart_bytes_are_a_value_or_a_wire_error(decoder, kind, body):
    with suppress(WireError):
        decoder(message(MsgType.MULTIPART_REPLY, kind.to_bytes(2, "big") + bytes(6) + body))


@given(st.binary(max_size=100))
def test_any_buckets_of_a_listed_group_are_a_group_or_the_reason_why_not(buckets):
    group = (8 + len(buckets)).to_bytes(2, "big") + bytes([1]) + bytes(5) + buckets
    ((stat,), _more) = decode.decode_group_desc(message(MsgType.MULTIPART_REPLY, b"\0\7" + bytes(6) + group))
    assert (stat.row is None) == bool(stat.reason)


@given(flow_rows, st.data())
def test_a_damaged_flow_is_a_value_or_a_wire_error(row, data):
    good = encode.flow_add(row)
    at = data.draw(st.integers(48, len(good) - 1))  # in its match and instructions
    bad = good[:at] + data.draw(st.binary(min_size=1, max_size=1)) + good[at + 1 :]
    with suppress(WireError):
        decode_flow_mod(bad)


@pytest.mark.parametrize(
    ("action", "words"),
    [
        (Load("in_port", 8, 16, 1), "outside in_port"),
        (Load("reg1", 0, 4, 16), "does not fit 4 bits"),
        (SetField("vlan_tci", 1), "cannot match"),
        (SetField("vlan_vid", 0x2000), "wider than its 13 bits"),
        (SetField("no_such", 1), "unknown field 'no_such'"),
        (Output(1 << 32), "does not fit"),
        (Multipath("md5", 0, "modulo_n", 4, "reg0"), "multipath"),
        (Learn(300, 1, 1, (), ()), "does not fit"),
    ],
)
def test_an_action_that_the_wire_cannot_carry_is_refused(action, words):
    with pytest.raises(WireError, match=words):
        encode_action(action)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ((("vlan_tci", 0, None),), "cannot match 'vlan_tci'"),
        ((("ipv4_dst", 0x0A000001, 0xFFFFFF00),), "outside its mask"),
        ((("eth_type", 0x10000, None),), "wider"),
        ((("reg1", -1, None),), "wider"),
    ],
)
def test_a_match_that_the_wire_cannot_carry_is_refused(fields, words):
    with pytest.raises(WireError, match=words):
        encode_match(fields)


def test_an_action_outside_our_words_is_refused_and_named():
    with pytest.raises(WireError, match="action type 11"):
        decode_actions(b"\0\x0b\0\x08\0\0\0\0")


def test_a_foreign_flow_in_a_dump_keeps_its_key_and_says_why():
    row = FlowRow(0, 7, match(in_port=3), (Output(1),), cookie=4)
    normal = encode.encode_instructions(row).replace(b"\0\0\0\x10\0\0\0\x01", b"\0\x0b\0\x10\0\0\0\x01")
    entry = bytes([0, 0]) + bytes(8) + (7).to_bytes(2, "big") + bytes(10) + (4).to_bytes(8, "big") + bytes(16)
    entry += encode_match(row.match) + normal
    entry = (len(entry) + 2).to_bytes(2, "big") + entry
    (stat,), more = decode.decode_flow_stats(message(MsgType.MULTIPART_REPLY, b"\0\1" + bytes(6) + entry))
    assert not more
    assert stat.row is None
    assert "action type 11" in stat.reason
    assert (stat.priority, stat.cookie, stat.match_bytes) == (7, 4, encode_match(row.match))


def test_every_field_of_the_plan_vocabulary_is_on_the_wire():
    assert set(WIRE_FIELDS) == set(FIELDS)


def test_deleting_by_cookie_names_the_cookie_bits_alone():
    made = decode_flow_mod(encode.flows_delete_by_cookie(0x0201_0003_0A00_0001, 0xFF << 56))
    assert (made.command, made.row.cookie, made.cookie_mask) == (FlowCommand.DELETE, 0x02 << 56, 0xFF << 56)
    assert made.row.match == ()


def test_a_strict_delete_names_the_exact_cookie():
    row = FlowRow(2, 9, match(reg2=5), cookie=77)
    made = decode_flow_mod(encode.flow_delete(row))
    assert (made.command, made.cookie_mask) == (FlowCommand.DELETE_STRICT, 2**64 - 1)
    assert made.row == row


def test_a_transaction_id_can_be_exchanged():
    assert header(with_xid(encode.hello(1), 99)).xid == 99
    assert with_xid(encode.hello(1), 99)[8:] == encode.hello(1)[8:]


def test_hello_offers_openflow_1_3_alone():
    """OpenFlow 1.3.5 section 7.5.1: element type 1, length 8, bit 4 for wire version 0x04."""
    assert encode.hello(5) == bytes.fromhex("04000010 00000005 0001 0008 00000010")


def test_a_message_longer_than_the_length_field_is_refused():
    with pytest.raises(WireError, match="65535"):
        encode.echo_request(bytes(65536))
