"""A short measurement on a private switch: what it says must add up, and nothing of it may stay."""

from __future__ import annotations

import os
import signal
import socket
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from emulation.runfile import STATE_VARIABLE
from experiments.campaign.kinds.cost import CostParameters
from experiments.testbed.packet_cost import LOOKUPS, PATHS, measure, session
from experiments.testbed.packet_cost.wire import FRAME_BYTES, frame_of
from mininet_topos.errors import ArmorError
from ryu_apps.plan.interpret import Packet
from tests.patience import wait_until


def test_frames_are_udp_in_ipv4_with_a_right_checksum() -> None:
    frame = frame_of(Packet(0x0A000001, 0x0A000205))
    assert len(frame) == FRAME_BYTES
    assert frame[12:14] == b"\x08\x00"
    header = frame[14:34]
    assert sum(word for (word,) in struct.iter_unpack("!H", header)) % 0xFFFF == 0
    assert (socket.inet_ntoa(header[12:16]), socket.inet_ntoa(header[16:20])) == ("10.0.0.1", "10.0.2.5")
    assert header[9] == socket.IPPROTO_UDP
    assert struct.unpack("!H", header[2:4])[0] == FRAME_BYTES - 14


def test_a_tag_makes_a_frame_four_bytes_longer_and_changes_nothing_else() -> None:
    plain, tagged = frame_of(Packet(1, 2)), frame_of(Packet(1, 2, vlan_tci=0x3006))
    assert tagged[12:16] == b"\x81\x00\x20\x06"  # CFI is how Open vSwitch says "there is a tag"; the wire has 0
    assert tagged[:12] + tagged[16:] == plain


@pytest.fixture(autouse=True)
def state(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Run files and folders of the test itself, away from other runs of this machine; short, for names of sockets."""
    folder = tmp_path_factory.mktemp("st")
    monkeypatch.setenv(STATE_VARIABLE, str(folder))
    return folder


def leftovers(state: Path) -> tuple[set[str], set[str], set[str]]:
    """Network devices here, our files and folders, and the daemons that work in one of them."""
    devices = {name for _, name in socket.if_nameindex()}
    files = {path.name for kind in ("runs", "tmp") for path in state.glob(f"{kind}/*")}
    commands = set()
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = entry.read_bytes().decode(errors="replace").replace("\0", " ")
        except OSError:
            continue  # it has just ended
        if str(state) in words and Path(words.split(" ")[0]).name in ("ovsdb-server", "ovs-vswitchd"):
            commands.add(f"{entry.parent.name} {words}")
    return devices, files, commands


def children(parent: int) -> set[int]:
    """Processes whose parent is this one."""
    found = set()
    for entry in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = entry.read_text(errors="replace").rpartition(")")[2].split()
        except OSError:
            continue  # it has just ended
        if int(fields[1]) == parent:
            found.add(int(entry.parent.name))
    return found


@pytest.mark.emulation
def test_a_short_measurement_adds_up_and_leaves_nothing(state: Path) -> None:
    before = leftovers(state)
    reported: list[str] = []
    (row,) = measure(1, reported.append, own=CostParameters(bursts=3))
    results = {(each.path, each.lookup): each for each in row.results}
    assert set(results) == {(path, lookup) for path in PATHS for lookup in LOOKUPS}
    assert len(reported) == len(row.results) == len(results)
    for (_, lookup), each in results.items():
        assert each.packets == 3 * CostParameters().burst_pkts
        hits = each.hits
        assert hits == {"exact": 0, "megaflow": 0, "upcall": 0} | {{"none": "upcall"}.get(lookup, lookup): each.packets}
        assert each.cached is (lookup != "none")
        assert 0 < each.ns_per_packet <= each.median_ns_per_packet
        assert each.delay_us > 0
    assert leftovers(state) == before


@pytest.mark.emulation
def test_an_interrupted_measurement_leaves_nothing(state: Path) -> None:
    before = leftovers(state)

    def interrupt(what: str) -> None:
        if what.startswith("cb_turned"):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        list(measure(1, interrupt, own=CostParameters(bursts=1)))
    assert leftovers(state) == before


@pytest.mark.emulation
def test_a_switch_that_fails_in_the_middle_is_an_error_and_leaves_nothing(state: Path) -> None:
    before = leftovers(state)

    def kill_the_switch(what: str) -> None:
        if what.startswith("two_tables,"):
            (line,) = {each for each in leftovers(state)[2] - before[2] if "ovs-vswitchd unix:" in each}
            os.kill(int(line.split()[0]), signal.SIGKILL)

    with session(CostParameters(bursts=1), kill_the_switch) as testbed, pytest.raises(ArmorError):
        testbed.run(1)
    assert leftovers(state) == before


@pytest.mark.emulation
def test_a_killed_measurement_leaves_nothing(state: Path) -> None:
    before = leftovers(state)
    script = """
from experiments.campaign.kinds.cost import CostParameters
from experiments.testbed.packet_cost import measure
list(measure(9, lambda what: print(what, flush=True), own=CostParameters(bursts=1)))
"""
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline().startswith("plain")
        assert len(leftovers(state)[2] - before[2]) == 2
        started = children(process.pid)
        assert len(started) >= 3  # the two daemons, and what holds the namespace
        process.kill()
    wait_until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in started), "its processes have ended", 60)
    wait_until(lambda: leftovers(state) == before, "the guard has removed the rest", 60)
