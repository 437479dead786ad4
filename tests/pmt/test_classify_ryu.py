"""The classifier against Ryu: its parser reads the same, and messages that it builds are classified."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ryu_apps.openflow.wire import MalformedMessageError
from ryu_apps.pmt.classify import Classifier
from ryu_apps.pmt.message import read_subject
from ryu_apps.pmt.rules import TrafficType
from tests.examples import examples
from tests.pmt.messages import FRAMES, valid_messages
from tests.pmt.test_rules import example

pytestmark = pytest.mark.ryu


def ryu_messages() -> dict[str, bytes]:
    """Messages that Ryu builds, by name: of every type that a controller sends."""
    from tests.pmt.ryu_oracle import ryu_datapath

    dp = ryu_datapath()
    p, o = dp.ofproto_parser, dp.ofproto
    fields = p.OFPMatch(eth_type=0x0800, ip_proto=17, udp_dst=20000, ipv4_src=("10.0.0.0", "255.0.0.0"))
    made = {
        "hello": p.OFPHello(dp),
        "echo": p.OFPEchoRequest(dp, b"x"),
        "echo_reply": p.OFPEchoReply(dp, b"x"),
        "error": p.OFPErrorMsg(dp, 1, 1, b"12345678"),
        "experimenter": p.OFPExperimenter(dp, 0x2320, 20, bytes(8)),
        "features": p.OFPFeaturesRequest(dp),
        "get_config": p.OFPGetConfigRequest(dp),
        "set_config": p.OFPSetConfig(dp, 0, 128),
        "packet_out": p.OFPPacketOut(dp, o.OFP_NO_BUFFER, 1, [p.OFPActionOutput(2)], FRAMES[0]),
        "flow_mod": p.OFPFlowMod(dp, match=fields, instructions=[p.OFPInstructionGotoTable(1)]),
        "flow_mod_ipv6": p.OFPFlowMod(dp, match=p.OFPMatch(eth_type=0x86DD, ipv6_dst="2001:db8::1", ip_proto=17)),
        "flow_delete": p.OFPFlowMod(dp, command=o.OFPFC_DELETE, out_port=o.OFPP_ANY, out_group=o.OFPG_ANY),
        "group_mod": p.OFPGroupMod(dp, o.OFPGC_ADD, o.OFPGT_ALL, 1, [p.OFPBucket(actions=[p.OFPActionOutput(1)])]),
        "port_mod": p.OFPPortMod(dp, 1, "00:00:00:00:00:01", 0, 0, 0),
        "table_mod": p.OFPTableMod(dp, 0, 0),
        "flow_stats": p.OFPFlowStatsRequest(dp),
        "barrier": p.OFPBarrierRequest(dp),
        "queues": p.OFPQueueGetConfigRequest(dp, o.OFPP_ANY),
        "role": p.OFPRoleRequest(dp, o.OFPCR_ROLE_MASTER, 0),
        "get_async": p.OFPGetAsyncRequest(dp),
        "set_async": p.OFPSetAsync(dp, [7, 7], [7, 7], [7, 7]),
        "meter_mod": p.OFPMeterMod(dp, o.OFPMC_ADD, o.OFPMF_KBPS, 1, [p.OFPMeterBandDrop(100, 10)]),
        "bundle": p.ONFBundleCtrlMsg(dp, 1, o.ONF_BCT_OPEN_REQUEST, 0, []),
    }
    for each in made.values():
        each.xid = 1
        each.serialize()
    return {name: bytes(each.buf) for name, each in made.items()}


@pytest.fixture(scope="module")
def built() -> dict[str, bytes]:
    return ryu_messages()


@pytest.mark.parametrize("given_bytes", valid_messages(), ids=lambda given_bytes: f"type{given_bytes[1]}")
def test_ryu_and_the_classifier_read_the_same_match_and_packet(given_bytes):
    from tests.pmt.ryu_oracle import ryu_view

    view, subject = ryu_view(given_bytes), read_subject(given_bytes)
    assert subject.msg_type == view.msg_type
    assert subject.pinned == view.pinned
    assert {name: subject.packet.get(name) for name in view.packet} == view.packet


def test_flow_mods_of_ryu_pin_what_ryu_said(built):
    subject = read_subject(built["flow_mod"])
    assert subject.pinned == {
        "eth_type": (0x0800, 0xFFFF),
        "ip_proto": (17, 0xFF),
        "udp_dst": (20000, 0xFFFF),
        "ipv4_src": (0x0A000000, 0xFF000000),
    }
    assert read_subject(built["flow_mod_ipv6"]).pinned["ipv6_dst"] == (0x20010DB8 << 96 | 1, (1 << 128) - 1)


def test_messages_of_ryu_are_classed_by_the_papers_example(built):
    classifier = Classifier(example("out_of_band.yaml"))
    classes = {name: classifier.classify(each).class_id for name, each in built.items()}
    assert {name for name, number in classes.items() if number == 2} == {"packet_out", "flow_mod"}
    commands = {"flow_mod_ipv6", "flow_delete", "group_mod", "port_mod", "table_mod", "meter_mod", "bundle"}
    assert {name for name, number in classes.items() if number == 3} == commands
    assert {name for name, number in classes.items() if number == 4} == {
        *("flow_stats", "barrier", "queues", "role", "get_async", "set_async")
    }


@given(st.data())
@examples(300)
def test_damaged_messages_of_ryu_are_read_or_refused(built, data):
    damaged = bytearray(built[data.draw(st.sampled_from(sorted(built)))])
    for _ in range(data.draw(st.integers(0, 4))):
        damaged[data.draw(st.integers(2, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    cut = bytes(damaged[: data.draw(st.integers(8, len(damaged)))])
    framed = cut[:2] + len(cut).to_bytes(2, "big") + cut[4:]
    try:
        subject = read_subject(framed)
    except MalformedMessageError:
        return
    assert subject.traffic_type in TrafficType
