"""The Ryu apps against Open vSwitch in dummy mode: plans, stale rows, failures, returns, restarts."""

from __future__ import annotations

import signal

import pytest

from mininet_topos.catalogue import load_topology
from ryu_apps.plan.addressing import hosts_of
from ryu_apps.plan.ids import Kind, split_cookie
from ryu_apps.plan.rows import Learn
from tests.control.running import DummyNetwork, RunningApp, ipv4_frame
from tests.dummy_ovs import DummyOvs
from tests.patience import wait_until

pytestmark = [pytest.mark.ovs, pytest.mark.ryu]

FIGURE2 = load_topology("figure2")
HOSTS = hosts_of(FIGURE2)


@pytest.fixture
def network():
    with DummyOvs() as ovs:
        yield DummyNetwork(ovs, FIGURE2)


@pytest.fixture(scope="module")
def returning(tmp_path_factory):
    """SD-FAST and its network; tests leave the app running, every link up, and every switch with its plan alone."""
    with DummyOvs() as ovs, RunningApp("sdfast", "figure2", tmp_path_factory.mktemp("returning")) as app:
        network = DummyNetwork(ovs, FIGURE2)
        network.connect(app.target)
        app.wait_ready()
        yield network, app


def send(network, src, dst):
    """Let the host of one switch send a packet to that of another."""
    target = HOSTS[dst]
    mac = int(target.mac.replace(":", ""), 16)
    network.ovs.receive(f"{src}-p1", ipv4_frame(HOSTS[src].ipv4, target.ipv4, mac))


def delivers(network, src, dst):
    """Whether a packet sent now arrives."""
    before = network.delivered(dst)
    send(network, src, dst)
    return wait_until(lambda: network.delivered(dst) == before + 1, f"a packet from {src} arrives at {dst}")


def learned(network):
    """Learned rows by switch."""
    rows = {node: network.held(node)[0] for node in FIGURE2.node_names}
    return {node: {row for row in held if split_cookie(row.cookie).kind == Kind.LEARNED} for node, held in rows.items()}


# An app is loaded by its file, or by the name of its module.
@pytest.mark.parametrize(
    ("app_name", "mode"),
    [("sdfast", "learned"), ("sdfast", "agent"), ("ffg", "learned"), ("ryu_apps.shortest", "learned")],
)
def test_every_switch_gets_exactly_its_plan(network, tmp_path, app_name, mode):
    with RunningApp(app_name, "figure2", tmp_path, mode=mode) as app:
        network.connect(app.target)
        state = app.wait_ready()
        assert network.differing(app) == []
        scheme = app_name.removeprefix("ryu_apps.")
        assert (state["errors"], state["scheme"], state["switches_installed"]) == (0, scheme, 8)
        installed = app.events("plan_installed")
        assert {event["node"] for event in installed} == set(FIGURE2.node_names)
        assert all(event["rows"] == event["added"] == len(app.wanted(event["dpid"])[0]) for event in installed)
        metrics = app.text("/metrics")
        assert "armor_connected_switches 8.0" in metrics
        assert f'armor_plan_rows_added_total{{node="s1"}} {len(app.wanted(1)[0])}.0' in metrics
        assert delivers(network, "s1", "s5")


def test_rows_of_another_scheme_go_and_foreign_rows_stay(network, tmp_path):
    (tmp_path / "first").mkdir()
    with RunningApp("ffg", "figure2", tmp_path / "first") as app:
        network.connect(app.target)
        app.wait_ready()
    network.ovs.ofctl("add-flow", "s2", "table=9,priority=7,tcp,tp_dst=80 actions=NORMAL")
    network.ovs.ofctl("add-group", "s2", "group_id=4711,type=select,bucket=output:2,bucket=output:3")
    with RunningApp("sdfast", "figure2", tmp_path) as app:
        network.connect(app.target)
        state = app.wait_ready()
        flows, groups = network.held("s2")
        wanted_flows, wanted_groups = app.wanted(2)
        assert {row.cookie for row in flows - wanted_flows} == {0}
        assert {row.group_id for row in groups - wanted_groups} == {4711}
        assert wanted_flows <= flows
        assert wanted_groups <= groups
        assert state["switches"]["s2"]["foreign"] == ["flow of table 9, priority 7, cookie 0x0", "group 4711"]
        others = [node for node in network.differing(app) if node != "s2"]
        assert others == []
        assert next(one for one in app.events("plan_installed") if one["node"] == "s2")["deleted"] > 0


def test_a_failure_is_met_without_the_controller_and_the_network_returns_when_the_link_is_back(returning):
    network, app = returning
    returns = len(app.events("return_done"))
    network.set_link("s4-s5", up=False)
    wait_until(lambda: app.get("/armor/state")["failed_links"] == ["s4-s5"], "the failure is known")
    assert all(delivers(network, "s1", "s5") for _ in range(3))
    assert any(learned(network).values())
    network.set_link("s4-s5", up=True)
    assert app.wait_event("return_done", returns + 1)["links"] == ["s4-s5"]
    assert not any(learned(network).values())
    assert network.differing(app) == []
    assert any(isinstance(action, Learn) for row in network.held("s3")[0] for action in row.apply_actions)
    assert delivers(network, "s1", "s5")
    assert not any(learned(network).values())
    assert app.get("/armor/state")["errors"] == 0


def test_a_killed_controller_leaves_the_rows_and_a_new_one_touches_only_what_is_wrong(returning):
    network, app = returning
    app.kill()
    installed, begun, returns = (len(app.events(name)) for name in ("plan_installed", "return_begin", "return_done"))
    network.set_link("s4-s5", up=False)
    network.ovs.revalidate()  # else a cached flow may still lead over the port, which carries frames while it is down
    assert all(delivers(network, "s1", "s5") for _ in range(3))
    kept = learned(network)
    assert any(kept.values())
    app.start()
    app.wait_ready()
    assert learned(network) == kept
    second = app.events("plan_installed")[installed:]
    assert len(second) == 8
    assert all(one["added"] == one["modified"] == one["deleted"] == 0 for one in second)
    assert len(app.events("return_begin")) == begun
    assert delivers(network, "s1", "s5")
    network.set_link("s4-s5", up=True)
    app.wait_event("return_done", returns + 1)
    assert not any(learned(network).values())
    assert network.differing(app) == []


def test_a_link_repaired_while_the_controller_was_away_is_returned_to(returning):
    network, app = returning
    app.kill()
    returns = len(app.events("return_done"))
    network.set_link("s4-s5", up=False)
    network.ovs.revalidate()  # else a cached flow may still lead over the port, which carries frames while it is down
    assert all(delivers(network, "s1", "s5") for _ in range(3))
    network.set_link("s4-s5", up=True)
    assert any(learned(network).values())
    app.start()
    app.wait_ready()
    assert app.wait_event("return_done", returns + 1)["links"] == ["s4-s5"]
    # On a busy machine switches that learned from notifications alone follow a moment later.
    wait_until(lambda: network.differing(app) == [], "every switch holds its plan")


def test_a_restarted_switch_is_filled_again(network, tmp_path):
    with RunningApp("sdfast", "figure2", tmp_path) as app:
        network.connect(app.target)
        app.wait_ready()
        network.ovs.kill_vswitchd()
        wait_until(lambda: app.get("/armor/state")["switches_installed"] == 0, "the switches are gone")
        network.ovs.start_vswitchd()
        app.wait_ready()
        assert network.differing(app) == []
        assert len(app.events("reconnect")) >= 8


def test_a_switch_that_falls_silent_is_given_up_and_taken_back_when_it_speaks_again(network, tmp_path):
    path = tmp_path / "ryu.conf"
    path.write_text("[DEFAULT]\necho_request_interval = 0.2\nsocket_timeout = 0.5\n", encoding="utf-8")
    with RunningApp("sdfast", "figure2", tmp_path, ("--config-file", str(path))) as app:
        network.connect(app.target)
        app.wait_ready()
        network.ovs.signal_vswitchd(signal.SIGSTOP)
        wait_until(lambda: app.get("/armor/state")["switches_installed"] == 0, "the switches are given up")
        network.ovs.signal_vswitchd(signal.SIGCONT)
        app.wait_ready()
        assert network.differing(app) == []
        assert app.events("return_begin") == []


def test_counters_and_rates_are_offered(returning):
    network, app = returning
    for _ in range(3):
        assert delivers(network, "s8", "s2")  # no other test sends from there

    def flow():
        flows = app.get("/armor/statistics/flows")["flows"]
        towards = [one for one in flows if (one["node"], one["destination"]) == ("s8", HOSTS["s2"].address)]
        return towards and towards[0]["n_packets"] == 3 and towards[0]["rate_mbps"] is not None

    wait_until(flow, "the flow counter of s8 towards h2 says 3 packets")
    ports = app.get("/armor/statistics/ports")["ports"]
    assert {(one["node"], one["port_no"]) for one in ports} >= {(node, 1) for node in FIGURE2.node_names}
    assert all(one["rx_bytes"] >= 0 for one in ports)
