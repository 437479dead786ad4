"""Notifications on real switches: everybody knows and it can be read, nothing floods for ever, nothing stays behind."""

from __future__ import annotations

import threading
import time

import pytest

from mininet_topos.catalogue import load_topology
from ovsdb_backup.decide.packet import notification_frame
from ryu_apps.plan.addressing import hosts_of
from ryu_apps.plan.choices import MODES
from ryu_apps.plan.ids import Kind, Table, split_cookie
from tests.control.running import DummyNetwork, RunningApp, ipv4_frame
from tests.dummy_ovs import DummyOvs, pcap_frames
from tests.openflow.openflow_client import OpenFlowClient
from tests.patience import wait_until

pytestmark = [pytest.mark.ovs, pytest.mark.ryu]

FIGURE2 = load_topology("figure2")
HOSTS = hosts_of(FIGURE2)
LINK = "s4-s5"
BOUND = 2 * len(FIGURE2.link_ids)  # frames for each failed set
LATE_S = 0.3
REVALIDATED_S = 1.5  # cached flows are looked at again every 0.5 s


@pytest.fixture
def network():
    with DummyOvs() as ovs:
        yield DummyNetwork(ovs, FIGURE2)


def flooding(tmp_path, **settings):
    return RunningApp("sdfast", "figure2", tmp_path, **{"notification": "flood", **settings})


def fail_link(network, app):
    """Fail a link, and return when controller and switches know and no cached flow leads over it."""
    network.set_link(LINK, up=False)
    wait_until(lambda: app.get("/armor/state")["failed_links"] == [LINK], "the failure is known")
    network.ovs.revalidate()


def settle(network):
    """Give frames time to arrive, and return when switches have counted what their cached flows carried."""
    time.sleep(REVALIDATED_S)
    network.ovs.revalidate()


def send(network, src, dst):
    target = HOSTS[dst]
    mac = int(target.mac.replace(":", ""), 16)
    network.ovs.receive(f"{src}-p1", ipv4_frame(HOSTS[src].ipv4, target.ipv4, mac))


def packets_in(recorded):
    """IPv4 packets to the host of s5 among the frames of a port, which also sends LLDP."""
    return sum(frame[30:34] == HOSTS["s5"].ipv4.to_bytes(4, "big") for frame in pcap_frames(recorded))


def notified(network):
    """Packets that planned rows of NOTIFY have sent on, by (switch, failed set)."""
    counts = {}
    for node in FIGURE2.node_names:
        with OpenFlowClient(network.ovs.management(node)) as client:
            for stat in client.flows():
                parts = split_cookie(stat.cookie)
                if (stat.table_id, parts.kind) == (Table.NOTIFY, Kind.PLANNED) and stat.n_packets:
                    counts[node, parts.tag_id] = stat.n_packets
    return counts


def learned(network):
    rows = (row for node in FIGURE2.node_names for row in network.held(node)[0])
    return [row for row in rows if split_cookie(row.cookie).kind == Kind.LEARNED]


def test_one_packet_makes_every_switch_know_and_the_return_makes_all_forget(network, tmp_path):
    with flooding(tmp_path) as app:
        network.connect(app.target)
        app.wait_ready()
        assert app.get("/armor/knowledge") == {"knowledge": []}
        fail_link(network, app)
        send(network, "s1", "s5")

        def everybody():
            found = app.get("/armor/knowledge")["knowledge"]
            return len(found) == len(FIGURE2.node_names) and found

        known = wait_until(everybody, "every switch knows")
        assert {one["link"] for one in known} == {LINK}
        assert {one["node"]: one["source"] for one in known} == {
            node: "port" if node in ("s4", "s5") else "notification" for node in FIGURE2.node_names
        }
        assert all(one["since_s"] is not None for one in known)
        heard = {event["node"] for event in app.events("notification")}
        assert heard >= set(FIGURE2.node_names) - {"s4", "s5"}
        assert all(event["link"] == LINK for event in app.events("notification"))
        network.set_link(LINK, up=True)
        app.wait_event("return_done")
        assert learned(network) == []
        assert network.differing(app) == []
        assert app.get("/armor/knowledge") == {"knowledge": []}


def test_packets_from_before_the_failure_teach_nothing_and_the_next_packet_notifies_everybody(network, tmp_path):
    """Open vSwitch runs `learn` also when it translates a cached flow anew, for packets that it counted before."""
    with flooding(tmp_path) as app:
        network.connect(app.target)
        app.wait_ready()
        sent_to_host = network.ovs.record("s5-p1")
        for times in range(3):
            for _ in range(5):
                send(network, "s1", "s5")
            # A packet that is still on its way when the link fails would meet the failure.
            wait_until(lambda times=times: packets_in(sent_to_host) == 6 * times + 5, "all packets have arrived")
            fail_link(network, app)
            settle(network)
            assert learned(network) == []
            send(network, "s1", "s5")
            wait_until(
                lambda: len(app.get("/armor/knowledge")["knowledge"]) == len(FIGURE2.node_names), "every switch knows"
            )
            network.set_link(LINK, up=True)
            wait_until(lambda: not app.get("/armor/state")["failed_links"] and not learned(network), "all forget")


def test_a_notification_of_a_failure_that_nobody_has_is_forgotten(network, tmp_path):
    """As of a switch that stood still and sends it when the link is back, or that numbers failed sets otherwise."""
    with flooding(tmp_path) as app:
        network.connect(app.target)
        app.wait_ready()
        network.ovs.receive("s2-p2", notification_frame(FIGURE2.link_ids.index(FIGURE2.parse_link(LINK)) + 1))
        wait_until(lambda: notified(network), "switches tell each other")
        wait_until(lambda: app.events("return_done"), "the network returns to the link")
        assert learned(network) == []
        wait_until(lambda: network.differing(app) == [], "nothing stays behind")


def test_notifications_off_leave_knowledge_to_packets(network, tmp_path):
    with flooding(tmp_path, notification="off") as app:
        network.connect(app.target)
        app.wait_ready()
        fail_link(network, app)
        send(network, "s1", "s5")
        sources = wait_until(
            lambda: (found := {one["source"] for one in app.get("/armor/knowledge")["knowledge"]}) - {"port"} and found,
            "a switch has learned from its packets",
        )
        assert sources == {"port", "packets"}
        assert app.events("notification") == []


@pytest.mark.parametrize("mode", MODES)
def test_a_notification_from_a_host_is_dropped_at_its_switch(network, tmp_path, mode):
    with flooding(tmp_path, mode=mode) as app:
        network.connect(app.target)
        app.wait_ready()
        for node in FIGURE2.node_names:
            for tag_id in (1, 2):
                network.ovs.receive(f"{node}-p1", notification_frame(tag_id))
        send(network, "s1", "s5")  # behind the forged frames, on the same switch
        wait_until(lambda: network.delivered("s5"), "an honest packet arrives")
        assert notified(network) == {}
        assert learned(network) == []


@pytest.mark.parametrize("cut", [("s4-s5",), ("s3-s4", "s6-s7"), ("s1-s2", "s4-s5"), ("s2-s3", "s4-s5", "s7-s8")])
def test_no_flood_lasts_also_in_a_network_in_parts(network, tmp_path, cut):
    with flooding(tmp_path) as app:
        network.connect(app.target)
        app.wait_ready()
        for link in cut:
            network.set_link(link, up=False)
        wait_until(lambda: len(app.get("/armor/state")["failed_links"]) == len(cut), "the failures are known")
        for src in ("s1", "s2", "s3", "s8"):
            for dst in ("s5", "s1"):
                if src != dst:
                    send(network, src, dst)
        settle(network)
        before = notified(network)
        settle(network)
        assert notified(network) == before
        sets = {tag_id for _node, tag_id in before}
        assert sum(before.values()) <= len(sets) * BOUND


def test_a_link_that_fails_again_soon_is_notified_once_by_each_switch_each_time(network, tmp_path):
    """Open vSwitch keeps the cached flows of the first notification for 10 s; they must not carry the next ones."""
    with flooding(tmp_path) as app:
        network.connect(app.target)
        app.wait_ready()
        for times in range(1, 5):
            fail_link(network, app)
            send(network, "s1", "s5")
            wait_until(
                lambda: len(app.get("/armor/knowledge")["knowledge"]) == len(FIGURE2.node_names), "every switch knows"
            )
            settle(network)
            assert list(notified(network).values()) == [times] * len(FIGURE2.node_names)
            network.set_link(LINK, up=True)
            wait_until(lambda times=times: len(app.events("return_done")) == times, "all forget")
            wait_until(lambda: network.differing(app) == [], "all would notify again")


def test_switches_with_rows_of_an_older_plan_are_brought_over_without_loss_or_flood(network, tmp_path):
    """Packets run all the time while a link is down and another controller, which notifies, takes over.

    A switch that still has the older plan may deliver a notification (tests/plan/test_notification.py). Here s5 is the
    last, so that it mostly does, and gets one over each of its two links: dummy ports that are down carry frames.
    """
    with flooding(tmp_path, notification="off") as old:
        network.connect(old.target)
        old.wait_ready()
        fail_link(network, old)
        send(network, "s1", "s5")
        wait_until(lambda: network.delivered("s5"), "it is led around the failure")
        assert learned(network) != []
    done, sent = threading.Event(), []

    def keep_sending():
        while not done.is_set():
            send(network, "s1", "s5")
            sent.append(1)
            time.sleep(0.005)

    before = network.delivered("s5")
    sender = threading.Thread(target=keep_sending)
    sender.start()
    try:
        (tmp_path / "new").mkdir()
        with flooding(tmp_path / "new") as app:
            network.ovs.set_controller(app.target, *(node for node in FIGURE2.node_names if node != "s5"))
            time.sleep(LATE_S)
            network.ovs.set_controller(app.target, "s5")
            app.wait_ready()
            assert network_holds(network, app)
            done.set()
            sender.join()
            wait_until(lambda: network.delivered("s5") >= before + len(sent), "every packet has arrived")
            settle(network)
            counts = notified(network)
            arrived = network.delivered("s5")
            by_s4 = sum(count for (node, _failed_set), count in counts.items() if node == "s4")
            assert 0 <= arrived - before - len(sent) <= 2 * by_s4
            for _ in range(3):
                send(network, "s1", "s5")
            settle(network)
            assert (notified(network), network.delivered("s5")) == (counts, arrived + 3)
            network.set_link(LINK, up=True)
            app.wait_event("return_done")
            assert learned(network) == []
            assert network.differing(app) == []
    finally:
        done.set()
        sender.join()


def network_holds(network, app):
    """Whether every switch holds the planned rows of the app, beside what it has learned."""
    return all(app.wanted(dpid)[0] <= network.held(node)[0] for dpid, node in enumerate(FIGURE2.node_names, start=1))
