"""Real in-band control: channels over the links, classes before data, a failed link passed by, a daemon that ends."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from statistics import median

import pytest

from emulation.decide.options import EmulationOptions
from emulation.decide.traffic import parse_class_counters
from emulation.failure_injection import FailureInjection
from emulation.network import EmulatedNetwork
from emulation.runfile import STATE_VARIABLE
from machine.places import CommandError
from mininet_topos.catalogue import load_topology
from ryu_apps.plan.ids import split_cookie
from ryu_apps.pmt.parse import parse_pmt
from tests import schemes
from tests.control.running import MANAGER
from tests.patience import wait_until
from tests.undisturbed import undisturbed_run

pytestmark = pytest.mark.emulation
ROOT = Path(__file__).resolve().parents[2]
PMT = ROOT / "examples" / "pmt" / "in_band.yaml"
TABLE = parse_pmt(PMT.read_text(encoding="utf-8"), "in_band")
SETTINGS = {"ARMOR_TOPOLOGY": "ring:4", "ARMOR_STATS_INTERVAL_S": "0", "ARMOR_DISCOVERY_INTERVAL_S": "0"}
CAPACITY_MBPS = 5.0
CONNECTS = 15
# Time (ms) of TCP handshakes with the controller, one line each; apart, so that a flood that stalls affects few.
CONNECT = """
import socket, sys, time
for _ in range(int(sys.argv[1])):
    began = time.monotonic()
    socket.create_connection(("10.255.255.254", 6653), timeout=60).close()
    print((time.monotonic() - began) * 1e3, flush=True)
    time.sleep(0.1)
"""
# Four times what the links carry, marked as the first class of control, until it is ended; what a busy machine kept it
# from sending follows.
FLOOD = """
import socket, sys, time
out = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
out.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, 0xE0)
began, sent = time.monotonic(), 0
while True:
    due = int((time.monotonic() - began) * 2000)
    for _ in range(min(due - sent, 100)):
        out.sendto(bytes(1200), (sys.argv[1], 5001))
    sent = due
    time.sleep(0.005)
"""


def network(apps: tuple[str, ...], **options: object) -> EmulatedNetwork:
    paths = [str(ROOT / "ryu_apps" / f"{app}.py") for app in apps]
    return EmulatedNetwork(
        load_topology("ring:4"),
        EmulationOptions(bfd_interval_ms=100, in_band_at="s1", default_capacity_mbps=CAPACITY_MBPS, **options),  # type: ignore[arg-type]
        controller_command=(*MANAGER, *paths),
        environment={**SETTINGS, "ARMOR_PSO_PMT": str(PMT)},
    )


@pytest.fixture(scope="module")
def classes() -> Iterator[EmulatedNetwork]:
    """Four switches in a ring, whose control has classes."""
    with network(("pso", "shortest"), pmt=TABLE) as net:
        net.wait_bfd_up(60)
        net.wait_connected(60)
        wait_until(lambda: all(has_routes(net, node) for node in net.sites), "flow-mods arrive at all switches", 60)
        yield net


def has_routes(net: EmulatedNetwork, node: str) -> bool:
    cookies = [
        line.split("cookie=")[1].split(",")[0] for line in net.dump_flows(node).splitlines() if "cookie=" in line
    ]
    return any(split_cookie(int(cookie, 16)).scheme == schemes.SHORTEST for cookie in cookies)


def handshakes_ms(net: EmulatedNetwork, node: str, count: int = CONNECTS) -> list[float]:
    """Times of TCP handshakes of a switch with the controller."""
    said = net.run(node, ["python3", "-c", CONNECT, str(count)], timeout_s=120)
    assert said.returncode == 0, said.stderr
    return [float(line) for line in said.stdout.split()]


def handshake_under_flood_ms(net: EmulatedNetwork) -> float:
    """Median handshake of s3 while its host fills the links that the handshakes cross, too."""
    flood = net.popen("h3", ["python3", "-c", FLOOD, "10.0.0.1"], stderr=subprocess.DEVNULL)
    try:
        before = dropped_pkts(net, "s3")
        wait_until(lambda: dropped_pkts(net, "s3") > before, "the flood fills its link", 30)
        return median(handshakes_ms(net, "s3"))
    finally:
        flood.kill()
        flood.wait()


def towards_controller(net: EmulatedNetwork, node: str) -> int:
    """Port that leads to the lower neighbour."""
    return min(port for name, port in net.ports.direction_at if name == node)


def dropped_pkts(net: EmulatedNetwork, node: str) -> int:
    """Packets that the queues towards the controller have dropped."""
    counters = parse_class_counters(net.class_counters(node, towards_controller(net, node)))
    return sum(each.dropped_pkts for each in counters.values())


@pytest.mark.alone
def test_all_switches_connect_over_the_links_and_the_queues_of_links_are_strict(classes: EmulatedNetwork) -> None:
    assert classes.queue_verdict is not None
    assert classes.faults == ()
    assert classes.ping("h1", "h3") == 3
    assert set(classes.wiring.controller_interface_of) == {"s1"}


def test_the_controller_reaches_the_database_of_every_switch_over_the_links(classes: EmulatedNetwork) -> None:
    for site in classes.sites.values():
        words = ["ovsdb-client", "--timeout=20", "list-dbs", f"tcp:{site.control_ip}:6641"]
        assert "Open_vSwitch" in classes.run("controller", words, timeout_s=40).stdout


def test_a_capture_on_a_shared_link_shows_marked_control_packets(classes: EmulatedNetwork) -> None:
    interface = classes.interface("s2", towards_controller(classes, "s2"))
    marked = "tcp dst port 6653 and host 10.255.0.2 and (ip[1] & 0xfc) == 0xe0"  # CS7, of the main connection
    words = ["tcpdump", "-n", "-c", "1", "-i", interface, marked]
    capture = classes.popen("s2", words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert capture.stderr is not None
    assert "listening" in capture.stderr.readline() + capture.stderr.readline()
    handshakes_ms(classes, "s2", 3)
    out, _ = capture.communicate(timeout=30)
    assert "10.255.0.2." in out
    assert "10.255.255.254.6653" in out


@pytest.mark.alone
def test_control_with_classes_survives_a_flood_of_data_and_control_without_suffers(classes: EmulatedNetwork) -> None:
    with_classes = handshake_under_flood_ms(classes)
    assert all(classes.live_ports("s3").values())
    with network(("shortest",)) as plain:
        plain.wait_bfd_up(60)
        plain.wait_connected(60)
        quiet = median(handshakes_ms(plain, "s3"))
        suffering = handshake_under_flood_ms(plain)
    assert suffering > 3 * with_classes, (quiet, with_classes, suffering)
    assert suffering > 3 * quiet, (quiet, with_classes, suffering)


def test_control_goes_around_a_failed_link(classes: EmulatedNetwork) -> None:
    link = classes.topology.parse_link("s1-s2")
    with FailureInjection(classes) as injection:
        injection.silent(link)
        port = towards_controller(classes, "s2")
        wait_until(lambda: not classes.live_ports("s2")[port], "BFD finds the failed link", 30)
        wait_until(lambda: not min(classes.live_ports("s1").values()), "at both ends", 30)
        assert len(handshakes_ms(classes, "s2", 3)) == 3
        injection.restore(link)
    classes.wait_bfd_up(60)


def test_a_switch_whose_daemon_ends_gets_its_way_again_and_connects(classes: EmulatedNetwork) -> None:
    classes.kill("ovs-vswitchd", "s2")
    wait_until(lambda: has_rows(classes, "s2"), "the path is installed again", 60)
    classes.wait_connected(60)
    wait_until(lambda: has_routes(classes, "s2"), "and the plan arrives", 60)
    classes.wait_bfd_up(60)
    assert not [problem for problem in classes.warnings if "s2" in problem]


def test_a_run_in_band_holds_its_claims_though_the_failed_link_carries_control(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    state = tempfile.TemporaryDirectory(prefix="armor-")  # sockets need short paths
    monkeypatch.setenv(STATE_VARIABLE, state.name)
    scenario = tmp_path / "scenario.yaml"
    scenario.write_text(
        f"topology: ring:4\nscheme: sdfast\ncontrol: in_band\npmt: {PMT}\ncapacity_mbps: {CAPACITY_MBPS}\n"
        "bfd_interval_ms: 100\nwait_to_restore_s: 1\nsettle_s: 1\nduration_s: 6\n"
        "traffic: [{from: h1, to: h3, interval_ms: 10}]\nfailures: [{link: [s1, s2], at_s: 0.5, repair_at_s: 2}]\n",
        encoding="utf-8",
    )
    code, (result,) = undisturbed_run(scenario, tmp_path / "out", capsys)
    assert code == 0, result
    assert all(claim["held"] for claim in result["claims"])
    assert result["failures"][0]["lost"] > 0
    state.cleanup()


def has_rows(net: EmulatedNetwork, node: str) -> bool:
    try:
        return "priority=61000" in net.dump_flows(node)
    except CommandError:  # the daemon is on its way up
        return False
