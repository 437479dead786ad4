"""Programs of a measurement that end before they should are named, with how they ended."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

import pytest

from experiments.analysis.counted import TcpCount
from experiments.analysis.packet_counts import Clock
from experiments.scenario.flow_values import Flow, FlowTiming, Placed
from experiments.scenario.traffic.iperf3_tcp import Iperf3Tcp
from experiments.scenario.traffic.probe import Probe
from experiments.scenario.values import Scenario, Variation
from experiments.testbed.instruments.capture import Captures, Tap
from experiments.testbed.instruments.downloads import Downloads
from experiments.testbed.instruments.processes import ProgramEndedError, require_running, require_unkilled
from experiments.testbed.instruments.streams import StreamError, Streams
from experiments.testbed.runs.loads import tcp_counts
from experiments.testbed.runs.measure import Measured
from experiments.testbed.runs.record import make_record
from experiments.testbed.traffic import measure
from experiments.testbed.traffic.tcp import TcpFlows
from experiments.testbed.traffic.udp import UdpFlows
from mininet_topos import toy
from ryu_apps.plan.addressing import hosts_of
from tests.patience import wait_until

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
STUCK = """
import time
print('{"intervals": [{"sum": {"end": 9.0, "retransmits": 0}}]}', flush=True)
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


def test_a_load_that_does_not_end_is_ended_and_named_and_what_it_resent_is_not_known(
    network, tmp_path, monkeypatch
) -> None:
    monkeypatch.setattr("experiments.testbed.instruments.streams._END_S", 0.0)
    load = Iperf3Tcp("s1", "s2")
    scenario = Scenario("pair", toy.pair(), (Variation("sdfast", "learned"),), (load,), (), 8.0)
    with Streams(network, scenario.traffic, tmp_path) as streams:
        network.text = STUCK
        streams.start(0, 1.0)
        wait_until(lambda: streams.output_of(0).stat().st_size, "the load says what it has counted so far")
        streams.finish()
        assert network.programs[1].poll() is not None
    assert tcp_counts(scenario, streams) == (TcpCount(load, None),)
    measured = Measured(0.0, 8.0, (), Clock(0, 0), {}, {}, (None,), {}, (), 0.0, remarks=streams.remarks)
    record = make_record(scenario, scenario.variations[0], measured, "", (), notes=["no netem"])
    remark = "iperf3-tcp from s1 to s2 gave no report: it still waited for its server and was ended"
    assert (record.warnings, record.trustworthy) == (("no netem", remark), True)


def test_a_probe_that_does_not_end_is_an_error(network, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("experiments.testbed.instruments.streams._END_S", 0.0)
    with Streams(network, (Probe("s1", "s2", interval_ms=10.0),), tmp_path) as streams:
        streams.start(0, 1.0)
        with pytest.raises(StreamError, match="probe from s1 to s2 does not end"):
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


def test_a_client_of_a_tcp_flow_that_ends_by_itself_too_early_is_named(network) -> None:
    line = "[  5]   0.00-0.10   sec  12.5 KBytes  1000 Kbits/sec"
    network.text = f"print('Server listening', flush=True); print({line!r}, flush=True); import time; time.sleep(600)"
    with TcpFlows(network, [Placed(Flow("f", "s1", "s2", "tcp"), 40000)]) as flows:
        network.text = "print('iperf Done.')"
        flows.start(1.0, "f")
        network.programs[1].wait()
        wait_until(lambda: list(flows._reader.lines("client f")), "its words have come")
        with pytest.raises(StreamError, match=r"'f' ended before its time; it says: iperf Done\."):
            flows.seen(0.0, 1.0)


def test_a_failure_that_comes_too_late_for_the_flows_is_no_measurement(network, monkeypatch) -> None:
    monkeypatch.setattr(measure, "MOST_LATE_S", {"udp": 5.0, "tcp": 0.0})
    monkeypatch.setattr(measure, "_read", lambda _network, _at_s: (0.0, {}))
    network.text = "print('Server listening', flush=True); import time; time.sleep(600)"
    timing = FlowTiming(settle_s=0.1, before_s=0.1, after_s=0.1, final_s=0.1)
    failed: list[bool] = []
    with pytest.raises(StreamError, match="late, so flows would end too early"):
        measure.measure_flows(
            network, [Placed(Flow("f", "s1", "s2", "tcp"), 40000)], lambda: failed.append(True), timing, {"f": "other"}
        )
    assert failed == []


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
