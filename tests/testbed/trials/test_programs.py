"""Programs of a measurement that end before they should are named, with how they ended."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

import pytest

from experiments.scenario.flow_values import Flow, Placed
from experiments.scenario.traffic.probe import Probe
from experiments.testbed.instruments.capture import Captures, Tap
from experiments.testbed.instruments.downloads import Downloads
from experiments.testbed.instruments.processes import ProgramEndedError, require_running, require_unkilled
from experiments.testbed.instruments.streams import StreamError, Streams
from experiments.testbed.traffic.tcp import TcpFlows
from experiments.testbed.traffic.udp import UdpFlows
from mininet_topos import toy
from ryu_apps.plan.addressing import hosts_of

HOSTS = hosts_of(toy.pair())
STUB = """
import signal, sys, time
missed = 0
def say(*_signal):
    global missed
    print(f"stub: 9 packets captured, {missed} packets dropped by kernel", file=sys.stderr)
    missed += 7
signal.signal(signal.SIGUSR1, say)
print("listening on", file=sys.stderr, flush=True)
while True:
    time.sleep(600)
"""


@pytest.fixture
def network() -> Iterator[StubNetwork]:
    stub = StubNetwork()
    yield stub
    for program in stub.programs:
        end(program)


class StubNetwork:
    """Runs a program of ours in place of each that is asked for; servers are always bound."""

    hosts = HOSTS

    def __init__(self) -> None:
        self.programs: list[subprocess.Popen[bytes]] = []
        self.text = STUB

    def popen(self, _where, _argv, **parameters):
        self.programs.append(subprocess.Popen([sys.executable, "-I", "-S", "-c", self.text], **parameters))
        return self.programs[-1]

    def run(self, _where, argv):
        return subprocess.CompletedProcess(argv, 0, "bound", "")


def ended(code: str) -> subprocess.Popen[bytes]:
    process = subprocess.Popen([sys.executable, "-I", "-S", "-c", code])
    process.wait()
    return process


def test_a_program_that_has_ended_is_named_with_how() -> None:
    killed = ended("import os; os.kill(os.getpid(), 9)")
    failed = ended("import sys; sys.exit(3)")
    with pytest.raises(ProgramEndedError, match=r"the tap ended before its time \(SIGKILL\)"):
        require_running([("the tap", killed)])
    with pytest.raises(ProgramEndedError, match=r"the server ended before its time \(exit code 3\)"):
        require_running([("the server", failed)])
    with pytest.raises(ProgramEndedError, match="SIGKILL"):
        require_unkilled([("the download", failed), ("the other", killed)])
    require_unkilled([("the download", failed)])


def test_a_killed_tap_invalidates_its_slices_and_its_end(network, tmp_path) -> None:
    captures = Captures(network, [Tap("h1", "h1-eth0"), Tap("h2", "h2-eth0")], tmp_path, drains=False)

    def measure() -> None:
        with captures:
            marks = captures.marks()
            captures.slices(marks, tmp_path / "before")
            end(network.programs[1])
            with pytest.raises(ProgramEndedError, match="h2-eth0"):
                captures.slices(marks, tmp_path / "after")

    with pytest.raises(ProgramEndedError, match="h2-eth0"):
        measure()
    assert network.programs[0].poll() is not None


def test_frames_that_a_tap_missed_belong_to_the_time_in_which_it_missed_them(network, tmp_path) -> None:
    tap = Tap("h1", "h1-eth0")
    with Captures(network, [tap], tmp_path, drains=False) as captures:
        first = captures.marks()
        assert first[tap].missed == 0
        assert captures.missed_since(first) == {tap: 7}
        second = captures.marks()
        assert second[tap].missed == 14
        assert captures.missed_since(second) == {tap: 7}
        assert captures.missed_since(first) == {tap: 28}


def test_an_error_of_the_measurement_is_not_hidden_by_a_killed_tap(network, tmp_path) -> None:
    def measure() -> None:
        with Captures(network, [Tap("h1", "h1-eth0")], tmp_path):
            end(network.programs[0])
            raise StreamError("first")

    with pytest.raises(StreamError, match="first"):
        measure()


@pytest.mark.parametrize(("victim", "name"), [(0, "irtt server at s2"), (1, "probe from s1 to s2")])
def test_a_killed_client_or_server_of_a_stream_is_named(network, tmp_path, victim: int, name: str) -> None:
    with Streams(network, (Probe("s1", "s2", interval_ms=10.0),), tmp_path) as streams:
        streams.start(0, 1.0)
        end(network.programs[victim])
        with pytest.raises(ProgramEndedError, match=name):
            streams.finish()


def test_a_killed_receiver_of_datagrams_is_named(network) -> None:
    network.text = "print('ready', flush=True); import time; time.sleep(600)"
    flow = Flow("f", "s1", "s2", "udp", offered_mbps=1.0)
    with UdpFlows(network, [Placed(flow, 40000)]) as flows:
        end(network.programs[0])
        flows.start(0.0, 0.1)
        end(network.programs[1])
        with pytest.raises(StreamError, match="the UDP program at s1 failed"):
            flows.seen()


@pytest.mark.parametrize(("victim", "name"), [(0, "the iperf3 server of flow 'f'"), (1, "iperf3 of flow 'f'")])
def test_a_killed_client_or_server_of_a_tcp_flow_is_named(network, victim: int, name: str) -> None:
    network.text = "print('Server listening', flush=True); import time; time.sleep(600)"
    with TcpFlows(network, [Placed(Flow("f", "s1", "s2", "tcp"), 40000)]) as flows:
        flows.start(1.0, "f")
        end(network.programs[victim])
        with pytest.raises(ProgramEndedError, match=name):
            flows.seen(0.0, 1.0)


@pytest.mark.parametrize(("victim", "name"), [(0, "the web server at s2"), (1, "download 0")])
def test_a_killed_download_is_named_and_counts_for_no_failure_of_the_network(
    network, tmp_path, monkeypatch, victim: int, name: str
) -> None:
    monkeypatch.setattr("experiments.testbed.instruments.downloads.missing_programs", lambda _programs: ())
    with Downloads(network, [("s1", "s2")], 10, tmp_path, seed=1) as downloads:
        downloads.start()
        end(network.programs[victim])
        with pytest.raises(ProgramEndedError, match=name):
            downloads.wait(0.0)


def end(program: subprocess.Popen[bytes]) -> None:
    program.kill()
    program.wait()
