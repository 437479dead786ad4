"""Reactive paths on real switches (Open vSwitch in dummy mode): one packet-in a flow, or one a switch."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from mininet_topos.catalogue import load_topology
from mininet_topos.ports import HOST_PORT
from ryu_apps.plan.addressing import host_ipv4, host_mac
from tests.control.priority.running import RunningRyu, until
from tests.control.running import DummyNetwork
from tests.dummy_ovs import DummyOvs, pcap_frames
from tests.pmt.frames import Ip, ethernet, ipv4

pytestmark = [pytest.mark.ovs, pytest.mark.ryu]

LINE, N_SWITCHES = "grid:1x4", 4
APP = "ryu_apps/reactive.py"


@pytest.fixture
def network():
    with DummyOvs() as ovs:
        yield DummyNetwork(ovs, load_topology(LINE))


@contextmanager
def connected(network: DummyNetwork, folder, **settings: str) -> Iterator[RunningRyu]:
    with RunningRyu(folder, APP, ARMOR_TOPOLOGY=LINE, **settings) as ryu:
        network.connect(f"tcp:127.0.0.1:{ryu.openflow_port}")
        nodes = network.topology.node_names
        until(lambda: all("CONTROLLER" in network.ovs.ofctl("dump-flows", node) for node in nodes), "table-misses")
        yield ryu


def packet(src: int, dst: int, number: int) -> bytes:
    ip = Ip(source=host_ipv4(src), destination=host_ipv4(dst), ports=(number, 20000))
    eth_dst, eth_src = (int(host_mac(host).replace(":", ""), 16) for host in (dst, src))
    return ethernet(0x0800, ipv4(ip), eth_dst=eth_dst, eth_src=eth_src)


def packet_ins(network: DummyNetwork) -> list[int]:
    """Packets that each switch has sent to the controller: those that met its table-miss entry."""
    found = []
    for node in network.topology.node_names:
        (line,) = (each for each in network.ovs.ofctl("dump-flows", node).splitlines() if "CONTROLLER" in each)
        found.append(int(line.partition("n_packets=")[2].partition(",")[0]))
    return found


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"ARMOR_REACTIVE_CONFIRM": "on"}, [3, 0, 0, 0]),
        ({"ARMOR_REACTIVE_PATH": "hop"}, [3, 3, 3, 3]),
    ],
)
def test_a_flow_asks_once_when_later_switches_are_reported_and_else_once_a_switch(
    network, tmp_path, settings, expected
) -> None:
    with connected(network, tmp_path, **settings):
        sent = network.ovs.record("s4-p1")
        for number in (1, 2, 3):
            network.ovs.receive("s1-p1", packet(1, N_SWITCHES, number))
            until(lambda number=number: len(pcap_frames(sent)) == number, "the first packet of the flow arrives")
            network.ovs.revalidate()
        assert pcap_frames(sent) == [packet(1, N_SWITCHES, number) for number in (1, 2, 3)]
        until(lambda: sum(packet_ins(network)) >= sum(expected), "switches have counted")
        assert packet_ins(network) == expected
        network.ovs.receive("s1-p1", packet(1, N_SWITCHES, 1))
        until(lambda: len(pcap_frames(sent)) == 4, "its second packet goes by the rules")
        assert packet_ins(network) == expected


def test_hosts_of_any_address_find_each_other_and_a_failed_link_takes_its_rules_along(network, tmp_path) -> None:
    with connected(network, tmp_path) as ryu:
        arrived = network.ovs.record(f"s2-p{HOST_PORT}")
        asked = bytes.fromhex("0001080006040001") + (7).to_bytes(6, "big") + host_ipv4(1).to_bytes(4, "big")
        ask = ethernet(0x0806, asked + bytes(6) + host_ipv4(2).to_bytes(4, "big"), eth_dst=(1 << 48) - 1, eth_src=7)
        network.ovs.receive("s1-p1", ask)
        until(lambda: any(frame[12:14] == b"\x08\x06" for frame in pcap_frames(arrived)), "host 2 is asked")
        network.ovs.receive("s1-p1", packet(1, 2, 5))
        until(lambda: packet(1, 2, 5) in pcap_frames(arrived), "a packet arrives")
        network.set_link("s1-s2", up=False)
        until(lambda: "tp_src=5" not in network.ovs.ofctl("dump-flows", "s1"), "rules over a failed link go")
        network.set_link("s1-s2", up=True)

        def arrives() -> bool:
            network.ovs.receive("s1-p1", packet(1, 2, 6))
            return packet(1, 2, 6) in pcap_frames(arrived)

        until(arrives, "a packet arrives again")
        assert "Traceback" not in ryu.log


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"ARMOR_TOPOLOGY": ""}, "no topology given"),
        ({"ARMOR_TOPOLOGY": LINE, "ARMOR_REACTIVE_PATH": "half"}, "setting path = 'half' is not known; use whole, hop"),
    ],
)
def test_the_app_refuses_to_start_with_settings_that_it_cannot_use(tmp_path, settings, words) -> None:
    with pytest.raises(AssertionError, match=words):
        RunningRyu(tmp_path, APP, **settings).__enter__()
