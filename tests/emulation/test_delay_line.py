"""The delay line itself between two bare namespaces, and in the control links of an emulated network."""

from __future__ import annotations

import os
import re
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import pytest

from emulation.decide.delay_line import parse_report
from emulation.decide.options import EmulationOptions
from emulation.delay_line import find_delay_line
from emulation.failure_injection import FailureInjection
from emulation.features import kernel_features
from emulation.network import EmulatedNetwork
from emulation.runfile import STATE_VARIABLE, ProcessId, is_alive, list_runs, start_ticks
from machine.places import call_inside, inside
from mininet_topos import toy
from tests.patience import wait_until

pytestmark = pytest.mark.emulation
ETH_P_ALL = 0x0003
SO_RCVBUFFORCE = 33  # Python does not name it; 300 frames fill the usual buffer while a busy machine lets nobody read
A_MAC, B_MAC = bytes.fromhex("020000000001"), bytes.fromhex("020000000002")


@dataclass
class Testbed:
    """a0 -- r0 [delay line] r1 -- b0: a0 in one namespace, the line in another, b0 in a third."""

    a: int
    line: int
    b: int

    @contextmanager
    def carrying(self, *arguments: str) -> Iterator[subprocess.Popen[str]]:
        program = find_delay_line()
        assert program is not None, "make setup has not built the delay line"
        words = inside(self.line, [str(program), *arguments])
        with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
            try:
                assert process.stdout is not None
                assert parse_report(process.stdout.readline()).event == "ready"
                yield process
            finally:
                process.terminate()

    def packet_socket(self, pid: int, name: str) -> socket.socket:
        def make() -> socket.socket:
            made = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
            made.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 1 << 22)
            made.bind((name, ETH_P_ALL))
            made.settimeout(20)
            return made

        return call_inside(pid, make)


@pytest.fixture
def testbed() -> Iterator[Testbed]:
    shells = [subprocess.Popen(["unshare", "--net", "sleep", "300"]) for _ in range(3)]
    try:
        pids = [shell.pid for shell in shells]
        own = os.stat("/proc/self/ns/net").st_ino
        while any(os.stat(f"/proc/{pid}/ns/net").st_ino == own for pid in pids):
            time.sleep(0.01)
        a, line, b = pids
        for outer, inner, pid, mac in (("a0", "r0", a, A_MAC), ("b0", "r1", b, B_MAC)):
            add = f"link add {outer} netns {pid} address {mac.hex(':')} type veth peer name {inner} netns {line}"
            subprocess.run(["ip", *add.split()], check=True)
            subprocess.run(inside(pid, ["sysctl", "-qw", "net.ipv6.conf.all.disable_ipv6=1"]), check=True)
            subprocess.run(inside(pid, ["ip", "link", "set", outer, "up"]), check=True)
            subprocess.run(inside(line, ["ip", "link", "set", inner, "up"]), check=True)
            off = [word for name in ("tx", "tso", "gso", "gro") for word in (name, "off")]
            subprocess.run(inside(pid, ["ethtool", "-K", outer, *off]), check=True, stdout=subprocess.DEVNULL)
            subprocess.run(inside(pid, ["ip", "addr", "add", f"10.9.0.{mac[-1]}/24", "dev", outer]), check=True)
        yield Testbed(a, line, b)
    finally:
        for shell in shells:
            shell.kill()
            shell.wait()


def frame(number: int, payload_bytes: int = 60) -> bytes:
    return B_MAC + A_MAC + b"\x88\xb5" + struct.pack("!I", number).ljust(payload_bytes, b"\0")


def numbers(receiver: socket.socket, count: int) -> list[int]:
    """Numbers of the next `count` test frames that arrive."""
    found: list[int] = []
    while len(found) < count:
        data = receiver.recv(4096)
        if data[12:14] == b"\x88\xb5":
            found.append(struct.unpack_from("!I", data, 14)[0])
    return found


def test_every_frame_takes_at_least_the_delay_and_none_is_lost_doubled_or_reordered(testbed: Testbed) -> None:
    with (
        testbed.carrying("r0,r1,20000,5000"),
        testbed.packet_socket(testbed.a, "a0") as sender,
        testbed.packet_socket(testbed.b, "b0") as receiver,
    ):
        began = time.monotonic()
        for number in range(300):
            sender.send(frame(number))
        assert numbers(receiver, 1) == [0]
        assert time.monotonic() - began >= 0.020
        assert numbers(receiver, 299) == list(range(1, 300))
        receiver.settimeout(0.1)
        with pytest.raises(TimeoutError):
            numbers(receiver, 1)


def test_reordering_is_there_when_asked_for_and_the_seed_repeats_it(testbed: Testbed) -> None:
    # These seeds draw times that are 168 ms apart or more: no order depends on when a busy machine sends the frames.
    orders = []
    for seed in ("6", "6", "87"):
        with (
            testbed.carrying("--reorder", "--seed", seed, "r0,r1,10000,1000000"),
            testbed.packet_socket(testbed.a, "a0") as sender,
            testbed.packet_socket(testbed.b, "b0") as receiver,
        ):
            for number in range(4):
                sender.send(frame(number))
            orders.append(numbers(receiver, 4))
    assert [sorted(order) for order in orders] == [list(range(4))] * 3
    assert orders[0] == orders[1] != list(range(4))
    assert orders[2] != orders[0]


def test_a_tag_is_on_the_frame_again_at_the_other_end(testbed: Testbed) -> None:
    with (
        testbed.carrying("r0,r1,1000"),
        testbed.packet_socket(testbed.a, "a0") as sender,
        testbed.packet_socket(testbed.line, "r1") as tap,
    ):
        plain, tag = frame(1), struct.pack("!HH", 0x8100, 5 << 13 | 203)
        sender.send(plain[:12] + tag + plain[12:])
        # A tap sees what is sent as it is; a receiver would have its tag taken out by the kernel again.
        sent = next(data for data in iter(lambda: tap.recv(4096), b"") if data[-60:] == plain[-60:])
        assert sent == plain[:12] + tag + plain[12:]


def test_a_full_line_drops_the_newest_frames_and_counts_them(testbed: Testbed) -> None:
    with (
        testbed.carrying("--frames", "16", "r0,r1,2000000") as line,
        testbed.packet_socket(testbed.a, "a0") as sender,
        testbed.packet_socket(testbed.b, "b0") as receiver,
    ):
        for number in range(40):
            sender.send(frame(number))
        assert numbers(receiver, 16) == list(range(16))
        line.send_signal(signal.SIGUSR1)
        assert line.stdout is not None
        ahead, back = parse_report(line.stdout.readline()).lines
        assert (ahead.source, ahead.destination, ahead.relayed, ahead.ring_full) == ("r0", "r1", 16, 24)
        assert (back.relayed, back.ring_full, back.send_failed, back.truncated) == (0, 0, 0, 0)


def bytes_carried(client_pid: int, server_pid: int, address: str, count: int) -> int:
    """Bytes that arrive when `count` are sent over TCP from one namespace to an address in another."""
    received: list[int] = []

    def drain() -> None:
        connection, _ = listener.accept()
        with connection:
            connection.settimeout(20)
            received.append(sum(len(part) for part in iter(lambda: connection.recv(65536), b"")))

    with call_inside(server_pid, lambda: socket.create_server((address, 7000))) as listener:
        listener.settimeout(20)
        thread = threading.Thread(target=drain)
        thread.start()
        with call_inside(client_pid, lambda: socket.create_connection((address, 7000), timeout=10)) as client:
            client.sendall(bytes(count))
        thread.join()
    return sum(received)


def test_bulk_tcp_passes_whole_and_no_frame_is_above_the_mtu(testbed: Testbed) -> None:
    with testbed.carrying("r0,r1,2000") as line:
        assert bytes_carried(testbed.a, testbed.b, "10.9.0.2", 20_000_000) == 20_000_000
        line.send_signal(signal.SIGUSR1)
        assert line.stdout is not None
        ahead, back = parse_report(line.stdout.readline()).lines
        assert ahead.truncated == back.truncated == 0
        assert ahead.relayed >= 20_000_000 / 1500


def carrier(pid: int, name: str) -> bool:
    said = subprocess.run(inside(pid, ["ip", "-o", "link", "show", name]), capture_output=True, text=True, check=True)
    return "LOWER_UP" in said.stdout


def wait_carriers(testbed: Testbed, a: bool, b: bool) -> None:
    wait_until(lambda: (carrier(testbed.a, "a0"), carrier(testbed.b, "b0")) == (a, b), f"carriers are {a}, {b}", 30)


def test_a_carrier_that_is_lost_at_one_end_is_lost_at_the_other_until_both_ends_are_up(testbed: Testbed) -> None:
    def set_link(pid: int, name: str, state: str) -> None:
        subprocess.run(inside(pid, ["ip", "link", "set", name, state]), check=True)

    with testbed.carrying("r0,r1,1000"):
        wait_carriers(testbed, True, True)
        set_link(testbed.a, "a0", "down")
        wait_carriers(testbed, False, False)
        set_link(testbed.a, "a0", "up")
        wait_carriers(testbed, True, True)
        set_link(testbed.b, "b0", "down")
        wait_carriers(testbed, False, False)
        set_link(testbed.a, "a0", "down")
        set_link(testbed.b, "b0", "up")
        wait_carriers(testbed, False, False)
        set_link(testbed.a, "a0", "up")
        wait_carriers(testbed, True, True)
        with testbed.packet_socket(testbed.a, "a0") as sender, testbed.packet_socket(testbed.b, "b0") as receiver:
            for number in range(20):
                sender.send(frame(number))
            assert numbers(receiver, 20) == list(range(20))


def test_the_way_back_has_times_of_its_own(testbed: Testbed) -> None:
    with (
        testbed.carrying("r0,r1,0,0,200000,0"),
        testbed.packet_socket(testbed.a, "a0") as a,
        testbed.packet_socket(testbed.b, "b0") as b,
    ):
        began = time.monotonic()
        a.send(frame(1))
        assert numbers(b, 1) == [1]
        b.send(frame(2))
        assert numbers(a, 1) == [2]
        assert time.monotonic() - began >= 0.2


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["r0,nosuch,1000"], 1, "nosuch"),
        (["r0,r1"], 2, "r0,r1"),
        (["r0,r1,-5"], 2, "r0,r1,-5"),
        (["r0,r1,nan"], 2, "r0,r1,nan"),
        (["r0,r1,5,0,7"], 2, "r0,r1,5,0,7"),
        (["r0,r1,5,0,7,-1"], 2, "r0,r1,5,0,7,-1"),
        (["r0,r1,5,0,7,1,1"], 2, "r0,r1,5,0,7,1,1"),
        (["r0,r1,5x"], 2, "r0,r1,5x"),
        (["--frames", "0", "r0,r1,5"], 2, "--frames"),
        (["--seed"], 2, "missing"),
        (["--quick"], 2, "--quick"),
        ([], 2, "no pair"),
    ],
)
def test_wrong_arguments_are_one_sentence_that_names_them(
    testbed: Testbed, arguments: list[str], code: int, words: str
) -> None:
    program = str(find_delay_line())
    done = subprocess.run(
        inside(testbed.line, [program, *arguments]), capture_output=True, text=True, check=False, timeout=10
    )
    assert done.returncode == code
    assert len(done.stderr.splitlines()) == 1
    assert words in done.stderr


# ---- in an emulated network

DELAY_MS = 10.0
without_netem = pytest.mark.skipif(
    os.geteuid() != 0 or kernel_features().netem, reason="the kernel's own netem delays control links here"
)


@pytest.fixture(scope="module")
def slow_control(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmulatedNetwork]:
    options = EmulationOptions(bfd_interval_ms=100, control_delay_ms=DELAY_MS)
    with EmulatedNetwork(toy.square(), options, run_dir=tmp_path_factory.mktemp("run"), command="test") as net:
        yield net


def control_round_trips_ms(net: EmulatedNetwork, node: str, count: int = 5) -> list[float]:
    argv = ["ping", "-n", "-c", str(count), "-i", "0.05", "-W", "3", net.sites[node].control_ip]
    said = net.run("controller", argv).stdout
    return [float(value) for value in re.findall(r"time=([\d.]+) ms", said)]


@without_netem
def test_a_round_trip_over_a_control_link_takes_at_least_twice_the_delay(slow_control: EmulatedNetwork) -> None:
    for node in slow_control.topology.node_names:
        times = control_round_trips_ms(slow_control, node)
        assert len(times) == 5
        assert min(times) >= 2 * DELAY_MS
    facts = slow_control.describe()
    assert (facts["control_delay_ms"], facts["control_delay_by"]) == (DELAY_MS, "delay_line")
    assert sum(line.relayed for line in slow_control.delay_report().lines) >= 2 * 5 * 4


@without_netem
def test_a_bulk_transfer_passes_a_control_link_whole(slow_control: EmulatedNetwork) -> None:
    pids = slow_control.shell_pid("controller"), slow_control.shell_pid("s1")
    assert bytes_carried(*pids, slow_control.sites["s1"].control_ip, 3_000_000) == 3_000_000
    assert {line.truncated for line in slow_control.delay_report().lines} == {0}


@without_netem
def test_a_failure_control_link_is_silent_behind_the_line_too(slow_control: EmulatedNetwork) -> None:
    with FailureInjection(slow_control) as injection:
        injection.controller("s2")
        assert control_round_trips_ms(slow_control, "s2", count=2) == []
        assert len(control_round_trips_ms(slow_control, "s3", count=2)) == 2
        injection.restore("s2")
        assert len(control_round_trips_ms(slow_control, "s2", count=2)) == 2


@without_netem
def test_a_killed_line_is_started_again(slow_control: EmulatedNetwork) -> None:
    slow_control.delay_report()
    before = len(slow_control.restarts)
    os.kill(slow_control.pid_of("delay_line", "delay"), signal.SIGKILL)
    wait_until(
        lambda: len(slow_control.restarts) > before and control_round_trips_ms(slow_control, "s1", 1),
        "control links are up again",
        30,
    )
    assert min(control_round_trips_ms(slow_control, "s1")) >= 2 * DELAY_MS


KILLED = """
import time
from mininet_topos import toy
from emulation.decide.options import EmulationOptions
from emulation.network import EmulatedNetwork
with EmulatedNetwork(toy.pair(), EmulationOptions(bfd_interval_ms=100, control_delay_ms=5)) as net:
    print(net.pid_of("delay_line", "delay"), flush=True)
    time.sleep(100)
"""


@without_netem
def test_the_line_of_a_run_that_was_killed_ends(tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("st")  # a short name, for the sockets in it
    environment = {**os.environ, STATE_VARIABLE: str(folder)}
    with subprocess.Popen(
        [sys.executable, "-c", KILLED], env=environment, stdout=subprocess.PIPE, text=True
    ) as program:
        assert program.stdout is not None
        pid = int(program.stdout.readline())
        line = ProcessId(pid, start_ticks(pid) or 0)
        assert is_alive(line)
        program.kill()
    wait_until(lambda: not list_runs(folder), "the guard of the run has removed everything", 60)
    assert not is_alive(line)
