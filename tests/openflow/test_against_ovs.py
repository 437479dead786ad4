"""Rows on a real Open vSwitch in dummy mode: what is installed is what is read back."""

from __future__ import annotations

from dataclasses import replace

import pytest

from mininet_topos.catalogue import load_topology
from ryu_apps.control.decide.reconcile import SwitchState, reconcile
from ryu_apps.openflow import decode, encode
from ryu_apps.openflow.wire import BundleControl, MsgType, header
from ryu_apps.plan.fields import openflow_match
from ryu_apps.plan.ids import OFPP_IN_PORT, Kind, Status, cookie
from ryu_apps.plan.interpret import Packet, SwitchModel, interpret_switch
from ryu_apps.plan.kuijia.options import TunnelOptions
from ryu_apps.plan.kuijia.sources import equal_commodities
from ryu_apps.plan.notification import taught_by
from ryu_apps.plan.options import PlanOptions
from ryu_apps.plan.recovery_rows import tag_tci
from ryu_apps.plan.rows import (
    Bucket,
    Controller,
    FlowRow,
    Group,
    GroupRow,
    Learn,
    LearnLoad,
    LearnMatch,
    Load,
    Move,
    Multipath,
    Output,
    PopMpls,
    PopVlan,
    PushMpls,
    PushVlan,
    Recirculate,
    Resubmit,
    SetField,
    SetQueue,
    match,
)
from ryu_apps.schemes import plan_network, plan_tunnels
from tests import schemes
from tests.dummy_ovs import DummyOvs
from tests.openflow.decode_sent import decode_bundle_reply
from tests.openflow.openflow_client import OpenFlowClient
from tests.patience import wait_until

pytestmark = pytest.mark.ovs

IPV4 = 0x0800


@pytest.fixture
def ovs():
    with DummyOvs() as running:
        running.add_bridge("br0", 7, range(1, 9))
        yield running


@pytest.fixture
def client(ovs):
    with OpenFlowClient(ovs.management("br0")) as connected:
        yield connected


def of_type(client, msg_type):
    """What came besides replies."""
    return [one for one in client.others if header(one).msg_type == msg_type]


EVERY_ACTION = (
    FlowRow(0, 1, (), cookie=1),
    FlowRow(0, 2, match(in_port=3, eth_dst=0x020000000001), (Output(4), Output(OFPP_IN_PORT)), goto_table=1),
    FlowRow(0, 3, match(vlan_vid=(0x1000, 0x1000)), (PopVlan(), Output(1)), send_flow_removed=True),
    FlowRow(0, 4, match(vlan_vid=0, eth_type=IPV4, ipv4_dst=(0x0A000000, 0xFFFF0000)), (PushVlan(),), (Output(2),)),
    FlowRow(0, 5, match(vlan_vid=0x1007, vlan_pcp=2, eth_type=IPV4), (Load("vlan_tci", 13, 3, 2), Group(1)), cookie=2),
    FlowRow(0, 6, match(eth_type=IPV4, ip_proto=17, udp_dst=5001, ip_dscp=46), (SetQueue(7), Output(2))),
    FlowRow(
        0, 7, match(eth_type=IPV4, ip_proto=6, tcp_src=(80, 0xFFF0)), (Resubmit(2), Recirculate(7), Controller(42))
    ),
    FlowRow(0, 8, match(eth_type=0x0806, arp_tpa=5, arp_op=1), (Controller(0),)),
    FlowRow(
        1, 1, match(reg2=5, reg0=(8, 0x38)), (Load("in_port", 0, 16, 0), Load("reg1", 0, 32, 9)), hard_timeout_s=50
    ),
    FlowRow(1, 2, match(eth_type=0x8847, mpls_label=77, mpls_tc=1, mpls_bos=1), (PopMpls(IPV4), Output(3))),
    FlowRow(1, 3, match(eth_type=IPV4), (PushMpls(), SetField("mpls_label", 77), SetField("mpls_tc", 0), Output(2))),
    FlowRow(1, 4, match(eth_type=IPV4, ipv4_src=9), (SetField("eth_dst", 0x02AABBCCDDEE), Output(1))),
    FlowRow(1, 5, match(eth_type=IPV4, ipv4_src=8), (Move("in_port", 0, "reg1", 0, 16), Output(1))),
    FlowRow(2, 6, match(eth_type=IPV4), (Multipath("symmetric_l3l4+udp", 7, "modulo_n", 1024, "reg0"),)),
    FlowRow(
        2,
        7,
        match(eth_type=IPV4, vlan_vid=0x1003),
        (
            Learn(
                3,
                30000,
                cookie(schemes.SDFAST, Kind.LEARNED, 3, 10),
                (
                    LearnMatch("eth_type", 0, 16, IPV4),
                    LearnMatch("vlan_tci", 12, 1, 0),
                    LearnMatch("ipv4_dst", 0, 32, 10),
                ),
                (LearnLoad("vlan_tci", 0, 16, 0x3003),),
                0,
                60,
            ),
            Group(2),
        ),
    ),
)
EVERY_GROUP = (
    GroupRow(0xFFFF, "all", (Bucket(()),)),
    GroupRow(1, "ff", (Bucket((Output(2),), watch_port=2), Bucket((Resubmit(2),), watch_group=0xFFFF))),
    GroupRow(2, "select", (Bucket((Output(2),), weight=3), Bucket((Output(3),), weight=1))),
    GroupRow(3, "indirect", (Bucket((Load("reg2", 0, 32, 3), Output(2))),)),
)


def test_every_action_and_field_reads_back_as_it_was_installed(client):
    client.send(b"".join(encode.group_add(row) for row in EVERY_GROUP))
    client.send(b"".join(encode.flow_add(row) for row in EVERY_ACTION))
    assert [str(error) for error in client.barrier()] == []
    assert {stat.row for stat in client.flows()} == set(EVERY_ACTION)
    assert {stat.row for stat in client.groups()} == set(EVERY_GROUP)


@pytest.mark.parametrize(
    ("scheme", "options"),
    [
        ("sdfast", PlanOptions()),
        ("sdfast", PlanOptions(mode="agent")),
        ("sdfast", PlanOptions(planner="pair")),
        ("sdfast", PlanOptions(notification="flood")),
        ("ffg", PlanOptions()),
        ("shortest", PlanOptions()),
    ],
    ids=lambda value: value if isinstance(value, str) else f"{value.mode}-{value.planner}-{value.notification}",
)
def test_a_whole_plan_reads_back_as_it_was_planned(client, scheme, options):
    plans = plan_network(scheme, load_topology("gscale"), options)
    plan = max(plans.values(), key=lambda plan: len(plan.flows))
    client.send(b"".join(encode.group_add(row) for row in plan.groups))
    client.send(encode.bundle(1, [encode.flow_add(row) for row in plan.flows], xid=5000))
    assert [str(error) for error in client.barrier()] == []
    assert {stat.row for stat in client.flows()} == set(plan.flows)
    assert {stat.row for stat in client.groups()} == set(plan.groups)


def test_what_a_notification_has_taught_is_read_back_and_kept_as_recovery_rows(ovs, client):
    plan = plan_network("sdfast", load_topology("figure2"), PlanOptions(notification="flood"))[2]
    client.send(b"".join(encode.group_add(row) for row in plan.groups))
    client.send(encode.bundle(1, [encode.flow_add(row) for row in plan.flows], xid=5000))
    assert [str(error) for error in client.barrier()] == []
    tag_id = max(taught_by(plan), key=lambda tag_id: len(taught_by(plan)[tag_id]))
    tci = tag_tci(tag_id, Status.NOTIFICATION)
    frame = bytes(12) + b"\x81\x00" + tci.to_bytes(2, "big") + b"\x08\x00" + bytes(46)
    expected = interpret_switch(SwitchModel(plan), Packet(vlan_tci=tci), 2, frozenset(range(1, 9))).learned
    ovs.receive("br0-p2", frame)
    wait_until(lambda: len(client.flows()) == len(plan.flows) + len(expected), "the notification to teach")
    held = tuple(client.flows())
    learned = {stat.row for stat in held} - set(plan.flows)
    assert {(row.key, row.cookie, row.apply_actions) for row in learned} == {
        (replace(row, match=openflow_match(row.match)).key, row.cookie, row.apply_actions) for row in expected
    }
    assert () in {row.apply_actions for row in learned}
    groups = tuple(client.groups())
    found = reconcile(SwitchState(held, groups), plan)
    assert found.is_clean
    assert set(found.recovery) == learned


@pytest.mark.parametrize("options", [TunnelOptions("eight"), TunnelOptions(split="select")], ids=("ranges", "select"))
def test_a_plan_of_tunnels_reads_back_as_it_was_planned(client, options):
    topology = load_topology("gscale")
    failures = [frozenset(topology.link_ids[4:5])]
    scheme = "kuijia" if options.split == "ranges" else "rescaling"
    plans = plan_tunnels(scheme, topology, equal_commodities(topology), options, failures)
    plan = max(plans.values(), key=lambda plan: len(plan.flows))
    client.send(b"".join(encode.group_add(row) for row in plan.groups))
    client.send(encode.bundle(1, [encode.flow_add(row) for row in plan.flows], xid=5000))
    assert [str(error) for error in client.barrier()] == []
    assert {stat.row for stat in client.flows()} == set(plan.flows)
    assert {stat.row for stat in client.groups()} == set(plan.groups)


def test_the_text_dump_of_the_switch_has_one_line_a_row(ovs, client):
    client.send(encode.flow_add(EVERY_ACTION[6]))
    assert client.barrier() == []
    (line,) = (line for line in ovs.ofctl("dump-flows", "br0").splitlines() if "priority" in line)
    for word in ("priority=7", "tcp", "tp_src=0x50/0xfff0", "resubmit(,2)", "controller(id=42)"):
        assert word in line


def test_a_modified_flow_keeps_its_cookie_and_a_strict_delete_needs_it(client):
    row = FlowRow(0, 5, match(in_port=2), (Output(3),), cookie=11)
    changed = FlowRow(0, 5, match(in_port=2), (Output(4),), cookie=11)
    client.send(encode.flow_add(row) + encode.flow_modify(changed))
    assert client.barrier() == []
    assert [stat.row for stat in client.flows()] == [changed]
    client.send(encode.flow_delete(FlowRow(0, 5, match(in_port=2), cookie=12)))
    assert client.barrier() == []
    assert [stat.row for stat in client.flows()] == [changed]
    client.send(encode.flow_delete(changed))
    assert client.barrier() == []
    assert client.flows() == []


def test_flows_are_deleted_and_listed_by_cookie_bits(client):
    rows = [
        FlowRow(0, number, match(in_port=2), (Output(3),), cookie=cookie(scheme, kind, number, 9))
        for number, (scheme, kind) in enumerate(
            [(schemes.SDFAST, Kind.LEARNED), (schemes.SDFAST, Kind.PLANNED), (schemes.FFG, Kind.LEARNED)], start=1
        )
    ]
    client.send(b"".join(map(encode.flow_add, rows)))
    assert client.barrier() == []
    learned = cookie(schemes.SDFAST, Kind.LEARNED)
    mask = 0xFFFF << 48
    assert [stat.row for stat in client.flows(cookie=learned, cookie_mask=mask)] == rows[:1]
    client.send(encode.flows_delete_by_cookie(learned, mask))
    assert client.barrier() == []
    assert {stat.row for stat in client.flows()} == set(rows[1:])


def test_a_refused_row_is_an_error_that_names_its_message(client):
    client.send(encode.flow_add(FlowRow(0, 5, match(ipv4_dst=5), (Output(3),)), xid=4242))
    (error,) = client.barrier()
    assert (error.xid, error.type) == (4242, 4)  # OFPET_BAD_MATCH
    assert "xid 4242" in str(error)


def test_a_bundle_with_a_refused_row_installs_nothing(client):
    good, bad = FlowRow(0, 5, match(in_port=2), (Output(3),)), FlowRow(0, 6, match(in_port=2), (Group(999),))
    client.send(encode.bundle(3, [encode.flow_add(good), encode.flow_add(bad)], xid=9))
    errors = client.barrier()
    assert errors
    assert {error.xid for error in errors} == {9}
    assert client.flows() == []


def test_a_bundle_is_answered_when_opened_and_when_committed(client):
    client.send(encode.bundle(3, [encode.flow_add(EVERY_ACTION[0])], xid=9))
    assert client.barrier() == []
    assert [decode_bundle_reply(one) for one in of_type(client, MsgType.EXPERIMENTER)] == [
        BundleControl.OPEN_REPLY,
        BundleControl.COMMIT_REPLY,
    ]


def test_a_failed_port_is_reported_and_counted_ports_are_described(ovs, client):
    assert client.features().dpid == 7
    described = {port.port_no: port for port in client.ports()}
    assert set(range(1, 9)) <= set(described)
    assert (described[2].name, described[2].live, described[2].link_down) == ("br0-p2", True, False)
    assert set(range(1, 9)) <= {stat.port_no for stat in client.port_stats()}
    client.send(encode.set_config(0xFFFF))
    assert client.barrier() == []
    ovs.set_port("br0-p2", up=False)
    wait_until(
        lambda: (
            client.barrier() == []
            and any(
                (status.port.port_no, status.port.live) == (2, False)
                for status in map(
                    decode.decode_port_status,
                    [one for one in client.others if header(one).msg_type == MsgType.PORT_STATUS],
                )
            )
        ),
        "the port status of the failed port",
    )


def test_a_punted_packet_arrives_whole_and_can_be_sent_on(ovs, client):
    client.send(encode.set_config(0xFFFF) + encode.set_controller_id(42))
    client.send(encode.flow_add(FlowRow(0, 5, match(in_port=2), (Controller(42),), cookie=77)))
    assert client.barrier() == []
    frame = bytes.fromhex("ffffffffffff020000000002 88b5") + bytes(range(200))
    ovs.receive("br0-p2", frame)
    punted = wait_until(
        lambda: client.barrier() == [] and of_type(client, MsgType.PACKET_IN),
        "the punted packet",
    )
    packet = decode.decode_packet_in(punted[0])
    assert (packet.in_port, packet.cookie, packet.data) == (2, 77, frame)
    before = {stat.port_no: stat.tx_bytes for stat in client.port_stats()}
    client.send(encode.packet_out(packet.data, (Output(3),)))
    assert client.barrier() == []
    after = {stat.port_no: stat.tx_bytes for stat in client.port_stats()}
    assert {port_no: after[port_no] - before[port_no] for port_no in after if after[port_no] != before[port_no]} == {
        3: len(frame)
    }


def test_a_removed_flow_is_reported_with_its_cookie_and_match(client):
    client.send(encode.set_config(0xFFFF))
    row = FlowRow(0, 5, match(in_port=2), (Output(3),), cookie=78, send_flow_removed=True)
    client.send(encode.flow_add(row) + encode.flow_delete(row))
    assert client.barrier() == []
    (message,) = wait_until(lambda: client.barrier() == [] and of_type(client, MsgType.FLOW_REMOVED), "its report")
    removed = decode.decode_flow_removed(message)
    assert (removed.cookie, removed.match, removed.priority, removed.reason) == (78, row.match, 5, 2)


def test_a_foreign_flow_is_named_and_the_rest_of_the_dump_is_read(ovs, client):
    ovs.ofctl("add-flow", "br0", "priority=3,icmp6,icmpv6_type=135 actions=NORMAL")
    client.send(encode.flow_add(EVERY_ACTION[1]))
    assert client.barrier() == []
    stats = client.flows()
    assert [stat.row for stat in stats if stat.row is not None] == [EVERY_ACTION[1]]
    (foreign,) = (stat for stat in stats if stat.row is None)
    assert foreign.reason
    client.send(encode.flow_delete_raw(foreign.table_id, foreign.priority, foreign.cookie, foreign.match_bytes))
    assert client.barrier() == []
    assert [stat.row for stat in client.flows()] == [EVERY_ACTION[1]]
