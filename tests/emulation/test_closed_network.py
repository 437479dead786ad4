"""An emulated network with TLS, agents and PSO: what it listens on, and what goes over its control links."""

from __future__ import annotations

import struct
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from emulation.decide.options import EmulationOptions
from emulation.decide.switch import CONTROLLER_APP
from emulation.network import EmulatedNetwork
from experiments.testbed.runs.controller_environment import TLS_SWITCH_DATABASE
from experiments.testbed.runs.parts import controller_command
from machine.places import inside, run_program
from mininet_topos.catalogue import load_topology
from ryu_apps.backup_database.schema import DATABASE, SCHEMA_PATH
from ryu_apps.pmt.parse import parse_pmt
from tests.documented_sockets import documented_ports
from tests.emulation.test_ryu_app_return import agent, state
from tests.patience import patient_s, wait_until

pytest.importorskip("ovs")
pytestmark = [pytest.mark.emulation, pytest.mark.ryu]
ROOT = Path(__file__).resolve().parents[2]
PMT = ROOT / "examples" / "pmt" / "out_of_band.yaml"
SQUARE = load_topology("square")
DATABASE_PORT = 6641
SCAN = Path(__file__).resolve().parents[1] / "scan.py"
TLS_RECORDS = frozenset(range(0x14, 0x18))  # RFC 8446 section 5.1


@pytest.fixture(scope="module")
def network():
    """The network, once every switch holds its plan and every database is filled."""
    settings = {"TOPOLOGY": "square", "MODE": "agent", "BACKUP_DB": TLS_SWITCH_DATABASE, "PSO_PMT": str(PMT)}
    table = parse_pmt(PMT.read_text(encoding="utf-8"), "out_of_band")
    with (
        tempfile.TemporaryDirectory(prefix="armor-", dir="/tmp") as folder,
        EmulatedNetwork(
            SQUARE,
            EmulationOptions(bfd_interval_ms=100, tls=True, pmt=table),
            run_dir=Path(folder) / "run",
            environment={f"ARMOR_{name}": value for name, value in settings.items()},
            databases={DATABASE: SCHEMA_PATH},
            agent_command=agent,
            controller_command=controller_command("sdfast", with_pso=True),
        ) as running,
    ):
        wait_until(lambda: state(running).get("ready"), "every switch is ready", 90)
        yield running
    assert not (Path(folder) / "run" / "tls").exists()


def listening(network, place):
    """TCP ports that somebody listens on in a place, with whether other machines reach them."""
    lines = run_program(inside(network.pids[place], ["ss", "-Htln"])).splitlines()
    hosts_and_ports = [line.split()[3].rpartition(":") for line in lines]
    return {int(port): not host.startswith("127.") for host, _colon, port in hosts_and_ports}


def test_nothing_listens_that_the_documentation_does_not_name(network):
    openflow, rest = documented_ports("controller app")
    classes = documented_ports("pso")
    found = listening(network, "controller")
    assert set(found) == {openflow, rest, *classes}
    assert not found[rest]
    assert not found[classes[-1]]
    for node in SQUARE.node_names:
        assert listening(network, network.wiring.place_of[node]) == {DATABASE_PORT: True}
    for host in network.hosts.values():
        assert listening(network, host.name) == {}


def scanned(network, place, address):
    """TCP ports of an address that answer to a place, each of the 65,535 asked."""
    command = inside(network.pids[place], [sys.executable, "-I", "-S", str(SCAN), address])
    return {int(port) for port in run_program(command, timeout_s=patient_s(180)).split()}


def test_a_scan_from_a_neighbouring_namespace_finds_the_documented_ports_alone(network):
    openflow, _rest = documented_ports("controller app")
    *classes, _metrics = documented_ports("pso")
    neighbour, other = (network.sites[node] for node in SQUARE.node_names[:2])
    place = network.wiring.place_of[neighbour.name]
    assert scanned(network, place, neighbour.controller_ip) == {openflow, *classes}
    assert scanned(network, "controller", other.control_ip) == {DATABASE_PORT}
    assert scanned(network, place, other.control_ip) == set()  # the controller forwards nothing between switches
    first, second, *_others = network.hosts.values()
    assert scanned(network, first.name, second.address) == set()
    for address in (neighbour.controller_ip, neighbour.control_ip):
        assert scanned(network, first.name, address) == set()


def test_control_links_carry_nothing_in_clear(network, tmp_path):
    file = tmp_path / "control.pcap"
    command = ["tcpdump", "-i", "any", "--immediate-mode", "-U", "-s", "256", "-B", "8192", "-w", str(file), "tcp"]
    capture = subprocess.Popen(inside(network.pids["controller"], command), stderr=subprocess.DEVNULL)
    try:
        wait_until(file.exists, "the capture runs")
        network.kill(CONTROLLER_APP)
        wait_until(lambda: state(network).get("ready"), "every switch is ready again", 90)
        wait_until(lambda: len(_streams(file, 6653)) >= 2 * len(SQUARE.node_names), "all switches have connected", 90)
        wait_until(lambda: _streams(file, DATABASE_PORT), "a database has been filled", 90)
    finally:
        capture.terminate()
        capture.wait()
    assert all(first in TLS_RECORDS for first in begun(file).values())


def _streams(file, port):
    """Directions of connections of a port that have begun."""
    return {stream for stream in begun(file) if port in stream[1::2]}


def begun(file):
    """First payload byte of each direction of each TCP connection that begins in a capture, off loopback."""
    first, opened = {}, set()
    for packet in packets(file.read_bytes()):
        ip = packet[20:]  # LINUX_SLL2
        if len(ip) < 40 or ip[0] >> 4 != 4 or ip[9] != 6 or ip[12] == 127:
            continue
        tcp = ip[(ip[0] & 15) * 4 : struct.unpack_from("!H", ip, 2)[0]]
        ports = struct.unpack_from("!HH", tcp)
        stream = (ip[12:16], ports[0], ip[16:20], ports[1])
        if tcp[13] & 0x02:
            opened.add(stream)
            first.pop(stream, None)
        payload = tcp[(tcp[12] >> 4) * 4 :]
        if payload and stream in opened:
            first.setdefault(stream, payload[0])
    return first


def packets(data):
    """Packets of a capture file, as far as it has been written."""
    assert not data or struct.unpack_from("<I", data, 20)[0] == 276, "tcpdump writes no LINUX_SLL2"
    at = 24
    while at + 16 <= len(data):
        length = struct.unpack_from("<I", data, at + 8)[0]
        if at + 16 + length > len(data):
            return
        yield data[at + 16 : at + 16 + length]
        at += 16 + length
