"""What differs from the topology is named; ARP is answered; foreign MAC addresses are delivered to."""

from __future__ import annotations

import pytest

from mininet_topos.catalogue import load_topology
from ryu_apps.control.decide.frames import Arp, LldpProbe, arp_frame, lldp_probe_frame, read_arp
from ryu_apps.plan.addressing import hosts_of
from ryu_apps.plan.fields import ARP_REPLY, ARP_REQUEST
from tests.control.running import DummyNetwork, RunningApp, ipv4_frame
from tests.dummy_ovs import DummyOvs, pcap_frames
from tests.patience import wait_until

pytestmark = [pytest.mark.ovs, pytest.mark.ryu]

SQUARE = load_topology("square")
HOSTS = hosts_of(SQUARE)
H1, H2 = HOSTS["s1"], HOSTS["s2"]
MAC_1, MAC_2 = 0x0A0000000011, 0x0A0000000022


@pytest.fixture
def network():
    with DummyOvs() as ovs:
        yield DummyNetwork(ovs, SQUARE)


@pytest.fixture
def app(request, network, tmp_path):
    mode = getattr(request, "param", "learned")
    with RunningApp("sdfast", "square", tmp_path, mode=mode) as running:
        yield running


def kinds(app):
    return {(one["kind"], one["node"]) for one in app.get("/armor/mismatches")["mismatches"]}


@pytest.mark.parametrize("app", ["learned", "agent"], indirect=True)
def test_arp_is_answered_and_a_foreign_mac_is_written_before_delivery(network, app):
    to_h1, to_h2 = (network.ovs.record(f"{node}-p1") for node in ("s1", "s2"))
    network.connect(app.target)
    app.wait_ready()
    network.ovs.receive("s1-p1", arp_frame(Arp(ARP_REQUEST, MAC_1, H1.ipv4, 0, H2.ipv4)))
    wait_until(
        lambda: any((arp := read_arp(one)) and arp.target_ipv4 == H2.ipv4 for one in pcap_frames(to_h2)),
        "h2 is asked for its address",
    )
    network.ovs.receive("s2-p1", arp_frame(Arp(ARP_REPLY, MAC_2, H2.ipv4, 0, 0)))
    expected = Arp(ARP_REPLY, MAC_2, H2.ipv4, MAC_1, H1.ipv4)
    wait_until(lambda: expected in map(read_arp, pcap_frames(to_h1)), "h1 is answered with the MAC address of h2")
    wait_until(lambda: len(app.events("foreign_mac")) == 2, "both foreign addresses are written into rows")
    assert network.differing(app) == []
    derived = int(H2.mac.replace(":", ""), 16)
    network.ovs.receive("s1-p1", ipv4_frame(H1.ipv4, H2.ipv4, derived))

    def arrived():
        frames = [frame for frame in pcap_frames(to_h2) if frame[12:14] == b"\x08\x00"]
        return frames and int.from_bytes(frames[-1][:6], "big") == MAC_2

    wait_until(arrived, "the packet arrives with the MAC address of h2")


def test_foreign_macs_survive_the_controller(network, app):
    network.connect(app.target)
    app.wait_ready()
    network.ovs.receive("s2-p1", arp_frame(Arp(ARP_REPLY, MAC_2, H2.ipv4, 0, 0)))
    app.wait_event("foreign_mac")
    held = wait_until(lambda: network.differing(app) == [] and network.held("s2"), "the rows are there")
    app.kill()
    app.start()
    app.wait_ready()
    assert network.held("s2") == held
    assert network.differing(app) == []


def test_malformed_and_unexpected_frames_disturb_nobody(network, app):
    network.connect(app.target)
    app.wait_ready()
    good = arp_frame(Arp(ARP_REQUEST, MAC_1, H1.ipv4, 0, H2.ipv4))
    frames = [good[:length] for length in range(14, 42)] + [good[:14] + bytes([byte]) * 46 for byte in (0, 1, 0xFF)]
    frames += [lldp_probe_frame(LldpProbe(1, 1))[:length] + bytes(20) for length in range(14, 60)]
    frames.append(arp_frame(Arp(ARP_REQUEST, MAC_1, H1.ipv4 + 99, 0, H2.ipv4)))
    for frame in frames:
        network.ovs.receive("s1-p1", frame)
    wait_until(lambda: ("unexpected host", "s1") in kinds(app), "the host with a unexpected address is named")
    state = app.get("/armor/state")
    assert state["errors"] == 0, state["recent_errors"]
    assert state["ready"]
    assert {switch["posts_dropped"] for switch in state["switches"].values()} == {0}


def test_a_host_that_asks_without_end_costs_its_own_switch_alone(network, app):
    network.connect(app.target)
    app.wait_ready()
    asked = arp_frame(Arp(ARP_REQUEST, MAC_1, H1.ipv4, 0, H2.ipv4))

    def flooded():
        network.ovs.receive("s1-p1", *[asked] * 200)
        return [error for error in app.get("/armor/state")["recent_errors"] if error["what"] == "ARP flood"]

    named = wait_until(flooded, "the flood is named")
    assert {error["node"] for error in named} == {"s1"}
    to_h2 = network.ovs.record("s2-p1")
    network.ovs.receive("s2-p1", arp_frame(Arp(ARP_REPLY, MAC_2, H2.ipv4, 0, 0)))
    app.wait_event("foreign_mac", 2)
    network.ovs.receive("s2-p1", arp_frame(Arp(ARP_REQUEST, MAC_2, H2.ipv4, 0, H1.ipv4)))
    expected = Arp(ARP_REPLY, MAC_1, H1.ipv4, MAC_2, H2.ipv4)
    wait_until(lambda: expected in map(read_arp, pcap_frames(to_h2)), "a host of another switch is answered")


def test_a_network_wired_like_its_topology_has_no_mismatch_and_a_wrong_wire_is_named(network, app):
    network.connect(app.target)
    app.wait_ready()
    wait_until(lambda: len(app.get("/armor/topology")["links"]) == 4 and kinds(app) == set(), "all is as drawn")
    one, other = network.ports_of("s1-s2"), network.ports_of("s3-s4")
    network.ovs.wire((one[0], other[0]), (one[1], other[1]))
    wait_until(lambda: ("wrong peer", "s1") in kinds(app), "the wrong wire is named")
    texts = [one["text"] for one in app.get("/armor/mismatches")["mismatches"]]
    assert any("not to s2 port" in text for text in texts)
    assert app.events("mismatch")


def test_unknown_switches_and_missing_ports_are_named_and_left_alone(network, app):
    network.ovs.add_bridge("unexpected", 99, [1, 2], app.target)
    network.ovs.vsctl("del-port", "s1", network.ports_of("s1-s2")[0])
    network.connect(app.target)
    app.wait_ready()
    wait_until(lambda: ("missing port", "s1") in kinds(app), "the missing port is named")
    wait_until(lambda: ("unknown switch", "") in kinds(app), "the unknown switch is named")
    assert "cookie" not in network.ovs.ofctl("dump-flows", "unexpected")
    down = next(one for one in app.get("/armor/topology")["links"] if one["link"] == "s1-s2")
    assert [end["live"] for end in down["ends"]] == [None, True]


def test_the_rest_interface_refuses_what_it_does_not_know(network, app):
    assert app.request_status("/armor/nothing") == 404
    assert app.request_status("/armor/plan/99") == 404
    assert app.request_status("/armor/plan/four") == 400
    assert app.request_status("/armor/state", "POST") == 405
    assert app.request_status("/armor/plan/0x1") == 200
    assert "four" in app.get("/armor/plan/four")["error"]
