"""The service with real switches (Open vSwitch in dummy mode) and apps that know nothing of it."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from experiments.loadgen.ports import free_port
from mininet_topos.catalogue import load_topology
from ryu_apps.control.priority.decide.channels import connections
from ryu_apps.control.priority.decide.divert import MISS_TABLE, NAMED_TABLE
from ryu_apps.plan.ids import PSO_TABLES
from ryu_apps.plan.rows import Controller, Resubmit
from tests.control.priority.running import EVERY_MESSAGE, PMT, RECORDER, RunningRyu, until
from tests.control.priority.test_channels import OUT_OF_BAND
from tests.control.running import DummyNetwork, RunningApp
from tests.dummy_ovs import DummyOvs, pcap_frames
from tests.pmt.frames import Ip, ethernet, ipv4

pytestmark = [pytest.mark.ovs, pytest.mark.ryu]

PSO = "ryu_apps/pso.py"
FIGURE2 = load_topology("figure2")


def add_class_connections(ovs: DummyOvs, bridge: str, openflow_port: int, method: str = "tcp") -> None:
    """Give a bridge a controller connection for every class."""
    words, names = [], []
    for row in connections(OUT_OF_BAND, openflow_port):
        names.append(f"@c{row.class_id}")
        words += ["--", f"--id={names[-1]}", "create", "controller", f'target="{method}:127.0.0.1:{row.port}"']
        words += ["max_backoff=1000", "connection_mode=out-of-band", f"other_config:dscp={row.dscp}"]
    ovs.vsctl(*words[1:], "--", "set", "bridge", bridge, f"controller=[{','.join(names)}]")


def packet(src: int, dst: int, udp_dst: int) -> bytes:
    return ethernet(0x0800, ipv4(Ip(source=src, destination=dst, ports=(1, udp_dst))), eth_dst=dst, eth_src=src)


@pytest.fixture
def ovs():
    with DummyOvs() as running:
        yield running


@pytest.fixture
def learning(tmp_path, ovs):
    """Ryu's own learning switch, under PSO, with one switch of three ports."""
    with RunningRyu(tmp_path, PSO, "ryu.app.simple_switch_13", pmt=PMT) as ryu:
        ovs.add_bridge("s1", 1, (1, 2, 3))
        add_class_connections(ovs, "s1", ryu.openflow_port)
        until(lambda: sorted(ryu.connections(1)) == [0, 1, 2, 3, 4], "all per-class connections")
        until(lambda: "resubmit(,253)" in ovs.ofctl("dump-flows", "s1", "table=0"), "the app's table-miss entry")
        yield ryu


def received(ryu: RunningRyu, class_id: int) -> int:
    return next(one["receive"]["received"] for one in ryu.state()["classes"] if one["class_id"] == class_id)


def test_ryus_learning_switch_learns_under_pso_and_each_packet_in_is_of_its_class(learning, ovs) -> None:
    sent = ovs.record("s1-p2")
    ovs.receive("s1-p1", packet(1, 2, 20000))
    until(lambda: pcap_frames(sent) == [packet(1, 2, 20000)], "the first packet is flooded")
    ovs.receive("s1-p2", packet(2, 1, 999))
    until(lambda: "dl_dst=00:00:00:00:00:01" in ovs.ofctl("dump-flows", "s1", "table=0"), "a learned entry")
    ovs.receive("s1-p1", packet(1, 2, 20000))
    until(lambda: len(pcap_frames(sent)) == 2, "the third packet goes straight")
    assert received(learning, 2) == 2
    assert received(learning, 3) == 1
    assert learning.state()["errors"] == {}


def test_an_app_of_openflow_1_0_works_as_without_pso(tmp_path, ovs) -> None:
    with RunningRyu(tmp_path, PSO, "ryu.app.simple_switch", pmt=PMT) as ryu:
        ovs.add_bridge("s1", 1, (1, 2), f"tcp:127.0.0.1:{ryu.openflow_port}")
        sent = ovs.record("s1-p2")
        until(lambda: "true" in ovs.vsctl("get", "controller", "s1", "is_connected"), "the switch is connected")

        def learns() -> bool:
            ovs.receive("s1-p1", packet(1, 2, 20000))
            ovs.receive("s1-p2", packet(2, 1, 999))
            return "dl_dst=00:00:00:00:00:01" in ovs.ofctl("dump-flows", "s1")

        until(learns, "a learned entry")
        assert pcap_frames(sent)[0] == packet(1, 2, 20000)
        assert ryu.state()["errors"] == {}


def test_a_switch_that_is_started_again_is_sorted_again(learning, ovs) -> None:
    ovs.kill_vswitchd()
    until(lambda: not learning.connections(1), "the switch is gone")
    ovs.start_vswitchd()
    until(lambda: sorted(learning.connections(1)) == [0, 1, 2, 3, 4], "all per-class connections are back")
    before = received(learning, 2)
    until(lambda: "resubmit(,253)" in ovs.ofctl("dump-flows", "s1", "table=0"), "the app's table-miss entry")
    ovs.receive("s1-p1", packet(1, 2, 20000))
    until(lambda: received(learning, 2) == before + 1, "its packet-in")


def test_a_class_connection_that_goes_away_takes_no_packet_ins_along(learning, ovs) -> None:
    rows = json.loads(ovs.vsctl("--format=json", "--columns=_uuid,target", "list", "controller"))["data"]
    target = f"tcp:127.0.0.1:{learning.openflow_port + 1 + 2}"
    uuid = next(row[0][1] for row in rows if row[1] == target)
    ovs.vsctl("remove", "bridge", "s1", "controller", uuid)
    until(lambda: sorted(learning.connections(1)) == [0, 1, 3, 4], "the service misses it")
    until(lambda: "controller(id=2)" not in _rows(ovs) and "controller(reason=no_match,id=1)" in _rows(ovs), "routed")
    ovs.receive("s1-p1", packet(1, 2, 20000))
    until(lambda: received(learning, 2) == 1, "a packet-in on the main connection")


@pytest.fixture
def every_message(tmp_path, ovs):
    """An app that answers packet-ins with a flow-mod, a barrier and a packet-out, and a switch that logs messages."""
    environment = {"RECORDER_BARRIERS": "1", "RECORDER_STATS": "1"}
    with RunningRyu(tmp_path, PSO, RECORDER, pmt=EVERY_MESSAGE, **environment) as ryu:
        ovs.appctl("vlog/set", "vconn:console:dbg")
        ovs.add_bridge("s1", 1, (1, 2, 3))
        add_class_connections(ovs, "s1", ryu.openflow_port)
        until(lambda: sorted(ryu.connections(1)) == [0, 1, 2, 3, 4], "all per-class connections")
        ovs.ofctl("add-flow", "s1", "priority=0,actions=controller(id=3)")
        yield ryu


def classes_of(ovs: DummyOvs, ryu: RunningRyu, words: str) -> set[int]:
    """Classes on whose connections the switch has logged a message; that of the main connection is 1."""
    found = set()
    for line in (ovs.folder / "ovs-vswitchd.log").read_text(encoding="utf-8").splitlines():
        if words in line and "tcp:127.0.0.1:" in line:
            port = int(line.partition("tcp:127.0.0.1:")[2].partition(":")[0])
            found.add(port - ryu.openflow_port - 1 if port > ryu.openflow_port else 1)
    return found


def test_commands_requests_and_notifications_use_the_connection_of_their_class(every_message, ovs) -> None:
    ovs.receive("s1-p1", packet(1, 2, 20000))
    until(lambda: "OFPBarrierReply" in str(every_message.events()), "the barrier's reply")
    assert "in_port" in ovs.ofctl("dump-flows", "s1", "table=0"), "what came before the barrier is carried out"
    ovs.set_port("s1-p2", up=False)
    until(lambda: "OFPPortStatus" in str(every_message.events()), "port status")
    until(lambda: "OFPFlowStatsReply" in str(every_message.events()), "a reply")
    assert classes_of(ovs, every_message, "received: OFPT_FLOW_MOD (OF1.3)") >= {3}
    assert classes_of(ovs, every_message, "sent (Success): OFPT_PORT_STATUS") == {4}
    assert classes_of(ovs, every_message, "sent (Success): OFPST_FLOW reply") == {4}
    assert every_message.state()["errors"] == {}


def test_an_urgent_flow_entry_and_the_group_that_it_uses_sent_at_once_are_both_installed(tmp_path, ovs) -> None:
    with RunningRyu(tmp_path, PSO, RECORDER, pmt=PMT, RECORDER_GROUPS="1") as ryu:
        ovs.add_bridge("s1", 1, (1, 2, 3))
        add_class_connections(ovs, "s1", ryu.openflow_port)
        until(lambda: sorted(ryu.connections(1)) == [0, 1, 2, 3, 4], "all per-class connections")
        ovs.ofctl("add-flow", "s1", "priority=0,actions=controller(id=3)")
        ovs.receive("s1-p1", packet(1, 2, 999))
        until(lambda: "in_port" in ovs.ofctl("dump-flows", "s1", "table=0"), "the entry that the app sends last")
        assert "group:" in ovs.ofctl("dump-flows", "s1", "table=0")
        assert "OFPErrorMsg" not in str(ryu.events())


def _rows(ovs: DummyOvs) -> str:
    return ovs.ofctl("dump-flows", "s1", f"table={MISS_TABLE}")


@pytest.mark.parametrize("scheme", ["sdfast", "kuijia"])
def test_armors_apps_install_exactly_their_plans_under_pso(tmp_path, ovs, scheme) -> None:
    network = DummyNetwork(ovs, FIGURE2)
    settings = {"pso_pmt": str(PMT), "pso_metrics_port": str(free_port()), "default_capacity_mbps": "10"}
    with RunningApp(scheme, "figure2", tmp_path, arguments=(PSO,), **settings) as app:
        for node in FIGURE2.node_names:
            add_class_connections(ovs, node, app.openflow_port)
        app.wait_ready()
        until(lambda: all(_held(network, node) == app.wanted(dpid) for dpid, node in _nodes()), "plans are installed")
        assert app.get("/armor/state")["errors"] == 0


def _nodes():
    return list(enumerate(FIGURE2.node_names, start=1))


def _held(network: DummyNetwork, node: str):
    """What a switch holds, with the app's own punts in place of the way through PSO's tables."""
    flows, groups = network.held(node)
    back = {Resubmit(NAMED_TABLE): Controller(0)}
    own = (flow for flow in flows if flow.table_id not in PSO_TABLES)
    return {
        replace(flow, apply_actions=tuple(back.get(each, each) for each in flow.apply_actions)) for flow in own
    }, groups
