"""Traffic control: the plan of each port's tree, and that a real kernel keeps to it."""

from __future__ import annotations

import json
import re
import subprocess
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulation.build import lost_trees, traffic_plan
from emulation.decide.options import EmulationOptions
from emulation.decide.traffic import (
    SEND_BUFFER_BYTES,
    PortShape,
    control_tc_plan,
    emulated_capacity_mbps,
    parse_class_counters,
    port_shapes,
    port_tc_plan,
    queue_limit_pkts,
)
from emulation.decide.wiring import plan_wiring
from emulation.doctor import install_path
from emulation.features import KernelFeatures
from emulation.network import EmulatedNetwork
from mininet_topos import toy
from mininet_topos.errors import BadInputError, MissingRequirementError
from mininet_topos.ports import assign_ports
from mininet_topos.topology import Link
from ryu_apps.plan.addressing import hosts_of
from tests.patience import patient_s, wait_until
from tests.receivers import receivers_of
from tests.undisturbed import first_undisturbed

CAPACITY_MBPS = 10.0
FULL_LINK = (("s1", 2), ("s2", 2))  # of the square, from s1 to s2 and back


def rate_kbit(line: str) -> int:
    found = re.search(r" rate (\d+)kbit", line)
    assert found, line
    return int(found[1])


def features(**lacking: bool) -> KernelFeatures:
    have = {"openvswitch": False, "netem": True, "htb": True, "u32": True, "nft_egress": True, "clsact": True} | lacking
    return KernelFeatures("6.0-test", **have, reasons=tuple((name, "unknown kind") for name in lacking))


@given(st.floats(0.1, 100_000))
def test_guaranteed_rates_add_up_to_the_capacity_and_each_class_may_use_all_of_it(capacity_mbps: float) -> None:
    lines = port_tc_plan(PortShape("x", capacity_mbps, None, 20))
    root, control, data = (line for line in lines if line.startswith("class"))
    total = round(capacity_mbps * 1000)
    assert rate_kbit(root) == max(8, total)
    assert rate_kbit(control) + rate_kbit(data) <= total + 16
    assert all(f" ceil {max(8, total)}kbit" in line for line in (control, data))


def test_control_packets_have_a_class_of_their_own_that_is_served_first() -> None:
    lines = port_tc_plan(PortShape("x", 10.0, None, 20))
    control = next(line for line in lines if "classid 1:10" in line)
    data = next(line for line in lines if "classid 1:20" in line)
    assert " prio 0 " in control
    assert " prio 1 " in data
    assert any("match ip tos 0xc0 0xfc flowid 1:10" in line for line in lines)
    assert any("htb default 20" in line for line in lines)


@given(st.integers(1, 7))
def test_queues_of_one_daemon_fit_its_send_buffer_together(shaped_ports: int) -> None:
    assert queue_limit_pkts(shaped_ports, kernel_datapath=False) * shaped_ports * 2304 < SEND_BUFFER_BYTES


def test_the_kernel_datapath_has_no_send_buffer_to_fill() -> None:
    assert queue_limit_pkts(50, kernel_datapath=True) > queue_limit_pkts(50, kernel_datapath=False)


def test_a_port_without_capacity_and_delay_gets_no_tree() -> None:
    assert port_tc_plan(PortShape("x", None, None, 20)) == []
    assert port_tc_plan(PortShape("x", None, 0.0, 20)) == []


def test_delay_goes_into_the_leaves_with_room_for_what_is_under_way() -> None:
    lines = port_tc_plan(PortShape("x", 120.0, 10.0, 20))
    leaf = next(line for line in lines if "handle 20:" in line)
    assert "netem limit 120 delay 10ms" in leaf  # 120 Mbit/s x 10 ms = 100 packets under way, 20 waiting
    alone = port_tc_plan(PortShape("x", None, 2.5, 20))
    assert len(alone) == 1
    assert "delay 2.5ms" in alone[0]


def test_jitter_of_netem_is_around_the_middle_of_its_range_and_keeps_the_order() -> None:
    (line,) = port_tc_plan(PortShape("s1-eth2", None, 2.0, 20, jitter_ms=1.0))
    assert line.endswith(" delay 2.5ms 0.5ms rate 10gbit")
    shaped = port_tc_plan(PortShape("s1-eth2", 8.0, None, 20, jitter_ms=1.0))
    assert sum("delay 0.5ms 0.5ms rate" in line for line in shaped) == 2


def test_a_rate_below_what_tc_can_say_is_refused() -> None:
    with pytest.raises(BadInputError, match="capacity_scale"):
        port_tc_plan(PortShape("s1-eth2", 0.001, None, 20))


def test_emulated_capacity_is_scaled_and_a_missing_one_is_the_default_or_none() -> None:
    options = EmulationOptions(capacity_scale=0.01, default_capacity_mbps=500)
    assert emulated_capacity_mbps(Link("a", "b", capacity_mbps=1000), options) == pytest.approx(10)
    assert emulated_capacity_mbps(Link("a", "b"), options) == pytest.approx(5)
    assert emulated_capacity_mbps(Link("a", "b"), EmulationOptions()) is None
    assert emulated_capacity_mbps(Link("a", "b", capacity_mbps=1000), EmulationOptions(shape=False)) is None


def test_without_netem_delays_are_left_out_of_every_shape() -> None:
    topology = toy.square()
    name_of = {link: str(link.direction) for link in topology.links}
    shapes = port_shapes(topology, EmulationOptions(), name_of, ["s1"], netem=False, kernel_datapath=False)
    assert [shape.delay_ms for shape in shapes] == [None, None]
    shapes = port_shapes(topology, EmulationOptions(), name_of, ["s1"], netem=True, kernel_datapath=False)
    assert [shape.delay_ms for shape in shapes] == [toy.DELAY_MS] * 2
    never = EmulationOptions(link_delays=False)
    shapes = port_shapes(topology, never, name_of, ["s1"], netem=True, kernel_datapath=False)
    assert [shape.delay_ms for shape in shapes] == [None, None]


@pytest.mark.parametrize(
    ("options", "lacking", "word"),
    [
        (EmulationOptions(), {"htb": False}, "htb"),
        (EmulationOptions(), {"u32": False}, "u32"),
        (EmulationOptions(control_delay_ms=3), {"netem": False}, "control_delay_ms"),
    ],
)
def test_a_kernel_that_lacks_what_is_asked_is_named(
    options: EmulationOptions, lacking: dict[str, bool], word: str
) -> None:
    topology = toy.square()
    ports = assign_ports(topology)
    wiring = plan_wiring(topology, ports, hosts_of(topology), 1600, shared=False)
    with pytest.raises(MissingRequirementError, match=word):
        traffic_plan(topology, ports, wiring, options, features(**lacking), kernel_datapath=False)


def test_control_links_are_left_alone_unless_a_rate_is_asked() -> None:
    assert control_tc_plan("s1-ctl", None, None) == []
    assert any("2000kbit" in line for line in control_tc_plan("s1-ctl", 2.0, None))


def test_class_counters_are_read_from_what_tc_prints() -> None:
    text = """class htb 1:10 parent 1:1 leaf 10: prio 0 rate 1Mbit ceil 20Mbit burst 1600b cburst 1600b
 Sent 20328 bytes 308 pkt (dropped 0, overlimits 0 requeues 0)
 backlog 0b 0p requeues 0
class htb 1:20 parent 1:1 leaf 20: prio 1 rate 19Mbit ceil 20Mbit burst 1596b cburst 1600b
 Sent 1274 bytes 13 pkt (dropped 2, overlimits 0 requeues 0)
"""
    counters = parse_class_counters(text)
    assert (counters["1:10"].sent_bytes, counters["1:10"].sent_pkts, counters["1:10"].dropped_pkts) == (20328, 308, 0)
    assert counters["1:20"].dropped_pkts == 2


class Filled(NamedTuple):
    """What UDP sent into the link between h1 and h2 and got through; how often BFD flapped there, and elsewhere."""

    sent_mbps: float
    received_mbps: float
    flaps: int
    flaps_elsewhere: int

    @property
    def disturbance(self) -> str:
        """What says that the machine was too busy, whatever the link did; empty: nothing."""
        if self.sent_mbps < 2 * CAPACITY_MBPS:
            return f"the sender sent {self.sent_mbps:.1f} Mbit/s only"
        return f"BFD flapped {self.flaps_elsewhere} times on empty links" if self.flaps_elsewhere else ""


def fill_link(net: EmulatedNetwork) -> Filled:
    """Offer a link thrice what it carries."""
    flaps_before = net.flap_counts()
    net.popen("h2", ["iperf3", "--server", "--one-off"], stdout=subprocess.DEVNULL)
    wait_until(lambda: ":5201 " in net.run("h2", ["ss", "-Hltn"]).stdout, "iperf3 listens", 30)
    load = ["iperf3", "--client", "10.0.0.2", "--udp", "--bandwidth", "30M", "--length", "1400", "--time", "3"]
    report = json.loads(net.run("h1", [*load, "--json"]).stdout)["end"]["sum"]
    sent_mbps = report["bits_per_second"] / 1e6
    flaps = {key: count - flaps_before[key] for key, count in net.flap_counts().items()}
    here = sum(flaps[key] for key in FULL_LINK)
    return Filled(sent_mbps, sent_mbps * (1 - report["lost_percent"] / 100), here, sum(flaps.values()) - here)


@pytest.mark.emulation
def test_a_full_link_carries_its_capacity_and_does_not_starve_bfd() -> None:
    options = EmulationOptions(bfd_interval_ms=50, default_capacity_mbps=CAPACITY_MBPS, capacity_scale=0.1)
    with EmulatedNetwork(toy.square(), options) as net:
        net.wait_bfd_up(patient_s(30))
        install_path(net, ["s1", "s2"])
        wait_until(lambda: net.ping("h1", "h2") == 3, "packets pass")
        found = first_undisturbed(lambda: fill_link(net), lambda found: found.disturbance)
        # 100 Mbit/s x 0.1; UDP payload is 1400 of 1442 bytes on the wire.
        assert found.received_mbps == pytest.approx(CAPACITY_MBPS * 1400 / 1442, rel=0.1), found
        assert found.flaps == 0, found
        counters = parse_class_counters(net.class_counters("s1", 2))
        assert counters["1:20"].dropped_pkts > 0
        assert counters["1:10"].sent_pkts > 0
        assert counters["1:10"].dropped_pkts == 0


@pytest.mark.emulation
def test_open_vswitch_leaves_our_trees_alone_even_when_it_is_restarted() -> None:
    with EmulatedNetwork(toy.pair(), EmulationOptions(bfd_interval_ms=100)) as net:
        net.wait_bfd_up(patient_s(30))
        net.kill("ovs-vswitchd", "s1")
        net.wait_bfd_up(patient_s(30))
        assert lost_trees(net.traffic, net.pids) == []
        net.run("s1", ["tc", "qdisc", "del", "dev", "s1-eth2", "root"])
        assert lost_trees(net.traffic, net.pids) == ["s1-eth2"]


@pytest.mark.emulation
def test_one_processor_receives_what_a_queue_sends_so_that_a_link_keeps_its_order() -> None:
    with EmulatedNetwork(toy.pair(), EmulationOptions(bfd_interval_ms=100)) as net:
        for switch in ("s1", "s2"):
            found = receivers_of(net.shell_pid(switch), [f"{switch}-eth1", f"{switch}-eth2"])
            assert found[f"{switch}-eth1"] == []  # the host has no queue
            assert len(found[f"{switch}-eth2"]) == 1, switch
