"""SQR between real namespaces: failures of all sorts, negative controls that must lose, and what is left afterwards."""

from __future__ import annotations

import os
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace

import pytest

from dataplane.cost_trial import sqr_nodes
from dataplane.decide.sqr import FIELDS, SqrAgentError, SqrCounters, SqrEvent, SqrPort
from dataplane.devices import add_virtual_port
from dataplane.model.marking import Marking
from dataplane.model.switch import Backstop
from dataplane.sqr import SqrSwitch
from dataplane.two_paths import StreamCount, TwoPaths, count_stream, numbers_in, two_paths
from machine.places import call_inside, inside, private_namespace, run_program
from mininet_topos.errors import BadInputError
from tests.dataplane.streams import Progress, disturbed
from tests.dataplane.test_protect_live import PACKET_IGNORE_OUTGOING, PIECES, SOL_PACKET, filters, tcp_transfer
from tests.patience import wait_until

pytestmark = pytest.mark.emulation
RATE_PPS = 2000
BEFORE = 800  # packets of a stream before anything happens
MARGIN = 64
PORT = SqrPort("h", "p1", "p2", slots=8192, delta_ms=300, margin=MARGIN)


@pytest.fixture
def testbed() -> Iterator[TwoPaths]:
    with two_paths() as made:
        yield made


def said(event: str) -> Callable[[Sequence[SqrEvent]], bool]:
    return lambda events: any(each.event == event for each in events)


def find(events: Sequence[SqrEvent], name: str) -> SqrEvent:
    return next(event for event in events if event.event == name)


@dataclass(frozen=True)
class Outcome:
    count: StreamCount
    counters: SqrCounters
    events: list[SqrEvent]


def stream(testbed: TwoPaths, port: SqrPort, disturb: Callable[[SqrSwitch], None]) -> Outcome:
    """A numbered stream through a port that is disturbed on the way."""

    def after_a_while(progress: Progress) -> None:
        progress.wait(BEFORE)
        disturb(switch)

    with sqr_nodes(testbed, port) as (switch, _), testbed.listen() as receiver:
        sent = disturbed(lambda enough: testbed.send(RATE_PPS, 0, enough=enough), after_a_while)
        events = switch.wait_for(said("restored" if port.backup == port.primary else "replayed"), 20)
        return Outcome(count_stream(sent, numbers_in(receiver)), switch.counters("h"), events)


@pytest.mark.parametrize("own_end", [False, True], ids=["far-end", "own-end"])
def test_a_failure_that_the_send_sees_loses_nothing_and_doubles_the_margin(testbed: TwoPaths, own_end: bool) -> None:
    done = stream(testbed, PORT, lambda _: testbed.fail("p1", own_end=own_end) and None)
    assert (done.count.lost, done.count.reordered) == (0, 0)
    # The margin before the packet that failed; netlink may be first, then it is what was sent within delta.
    detected = find(done.events, "detected")
    assert detected.facts["source"] in ("send", "carrier")
    if detected.facts["source"] == "send":
        assert done.count.duplicated <= MARGIN
    assert done.counters.replayed == find(done.events, "replayed").facts["packets"] > 0
    assert (done.counters.young, done.counters.pending, done.counters.replay_failed) == (0, 0, 0)


def silence_until(testbed: TwoPaths, packets: int) -> Callable[[SqrSwitch], None]:
    """Fail p1 so that nobody sees it, and tell when so many packets more were sent into it."""

    def disturb(switch: SqrSwitch) -> None:
        testbed.silence("p1")
        enough = switch.counters("h").cached + packets
        wait_until(lambda: switch.counters("h").cached >= enough, "enough are sent into it", 60)
        switch.fail("h")

    return disturb


def test_a_silent_failure_that_is_heard_of_within_delta_loses_nothing(testbed: TwoPaths) -> None:
    # The ring holds the whole stream: a slow machine may take long from the failure to the word of it.
    port = replace(PORT, in_send=False, slots=32768, delta_ms=60_000, replay_pps=10_000)
    done = stream(testbed, port, silence_until(testbed, 50))
    assert done.counters.cached < port.slots
    assert (done.count.lost, done.count.reordered, done.counters.young, done.counters.pending) == (0, 0, 0, 0)
    assert done.count.duplicated > 0
    assert find(done.events, "detected").facts["source"] == "notified"


def test_a_delta_shorter_than_the_detection_loses(testbed: TwoPaths) -> None:
    done = stream(testbed, replace(PORT, in_send=False, delta_ms=1), silence_until(testbed, 300))
    assert done.count.lost > 200
    assert done.count.reordered == 0


def test_a_ring_that_is_too_small_loses_and_says_so(testbed: TwoPaths) -> None:
    port = replace(PORT, in_send=False, slots=16, margin=0, delta_ms=60_000)
    done = stream(testbed, port, silence_until(testbed, 300))
    assert done.count.lost > 200
    assert done.counters.young > 200


def test_a_full_queue_is_no_failed_port_and_an_interface_that_goes_down_still_is(testbed: TwoPaths) -> None:
    words = "tc qdisc add dev p1 root tbf rate 100kbit burst 2kb limit 4kb".split()
    run_program(inside(testbed.s1, words))
    with sqr_nodes(testbed, PORT) as (switch, _):
        testbed.send(RATE_PPS, 0.2)
        assert switch.state("h") == "up"
        assert switch.counters("h").queue_full > 0
        testbed.fail("p1", own_end=True)
        testbed.send(RATE_PPS, 0.02)
        switch.wait_for(said("replayed"), 20)


def test_the_same_port_is_waited_for_and_protected_again(testbed: TwoPaths) -> None:
    def flap(switch: SqrSwitch) -> None:
        testbed.fail("p1")
        wait_until(lambda: switch.counters("h").held >= 100, "enough wait for the port", 60)
        testbed.repair("p1")

    done = stream(testbed, replace(PORT, backup="p1", slots=32768), flap)
    assert (done.count.lost, done.count.reordered) == (0, 0)
    assert find(done.events, "replayed").facts["packets"] > 100
    assert find(done.events, "restored").t_ns > find(done.events, "replayed").t_ns
    assert done.counters.pending == 0


def test_packets_wait_behind_the_replay_while_the_backup_is_made_ready(testbed: TwoPaths) -> None:
    done = stream(testbed, replace(PORT, reconfiguration_ms=100), lambda _: testbed.fail("p1") and None)
    assert (done.count.lost, done.count.reordered) == (0, 0)
    assert find(done.events, "replayed").facts["since_detection_ns"] >= 100e6
    assert done.counters.held > 0


def fail_once(testbed: TwoPaths) -> Callable[[Progress], None]:
    def disturb(progress: Progress) -> None:
        progress.wait(PIECES)
        testbed.fail("p1")

    return disturb


def test_tcp_retransmits_no_segment_through_a_failure(testbed: TwoPaths) -> None:
    with sqr_nodes(testbed, PORT) as (switch, _):
        assert disturbed(lambda enough: tcp_transfer(testbed, enough), fail_once(testbed)) == 0
        wait_until(lambda: switch.state("h") == "backup", "the backup carries everything")


def test_a_checksum_that_the_host_left_to_its_card_is_filled_in_by_the_replay(testbed: TwoPaths) -> None:
    run_program(inside(testbed.h1, ["ethtool", "-K", "h0", "tx", "on"]))
    run_program(inside(testbed.h1, ["ethtool", "-K", "h0", "tso", "off", "gso", "off"]))
    with sqr_nodes(testbed, replace(PORT, reconfiguration_ms=20)) as (switch, _):
        disturbed(lambda enough: tcp_transfer(testbed, enough), fail_once(testbed))
        switch.wait_for(said("replayed"), 20)
        assert switch.counters("h").replayed > 0
    errors = run_program(inside(testbed.h2, ["nstat", "-asz", "TcpInCsumErrors"])).split()
    assert errors[errors.index("TcpInCsumErrors") + 1] == "0"


@dataclass
class Ports:
    """Interfaces of one namespace: what is sent into `a` leaves by `x` or `y`, `b` by `y`; z is a backup."""

    pid: int

    def socket(self, name: str) -> socket.socket:
        def make() -> socket.socket:
            made = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x0003))
            made.bind((name, 0x0003))
            made.setsockopt(SOL_PACKET, PACKET_IGNORE_OUTGOING, 1)
            made.settimeout(20)
            return made

        return call_inside(self.pid, make)


@pytest.fixture
def ports() -> Iterator[Ports]:
    with private_namespace() as pid:
        for name in ("a", "b", "x", "y", "z"):
            add_virtual_port(pid, f"far-{name}", f"near-{name}")
        yield Ports(pid)


def frame(number: int, tag: int | None = None) -> bytes:
    tagged = b"" if tag is None else b"\x81\0" + tag.to_bytes(2, "big")
    return b"\2" * 6 + b"\4" * 6 + tagged + b"\x88\xb5" + number.to_bytes(4, "big") + bytes(50)


def port(inside_end: str, primary: str, backup: str = "near-z", **settings: object) -> SqrPort:
    base = SqrPort(f"near-{inside_end}", f"near-{primary}", backup, slots=256, delta_ms=60_000, margin=5)
    return replace(base, **settings)  # type: ignore[arg-type]


@contextmanager
def sockets(ports: Ports, *names: str) -> Iterator[list[socket.socket]]:
    with ExitStack() as stack:
        yield [stack.enter_context(ports.socket(f"far-{name}")) for name in names]


def test_two_ports_that_fail_at_once_are_replayed_each_in_its_order(ports: Ports) -> None:
    with SqrSwitch(ports.pid, [port("a", "x"), port("b", "y")]) as switch, sockets(ports, "a", "b", "z") as (a, b, z):
        for number in range(20):
            a.send(frame(number))
            b.send(frame(1000 + number))
        for device in ("near-a", "near-b"):
            switch.fail(device)
        switch.wait_for(lambda events: sum(event.event == "replayed" for event in events) == 2, 20)
        a.send(frame(20))
        b.send(frame(1020))
        got = [int.from_bytes(z.recv(2000)[14:18], "big") for _ in range(42)]
        assert [number for number in got if number < 1000] == list(range(21))
        assert [number for number in got if number >= 1000] == list(range(1000, 1021))
        assert [switch.state(device) for device in ("near-a", "near-b")] == ["backup", "backup"]


def test_a_tag_that_the_kernel_keeps_beside_the_packet_is_in_the_copy(ports: Ports) -> None:
    marking = Marking(vlans=(7,))
    with (
        SqrSwitch(ports.pid, [port("a", "x", marking=marking)]) as switch,
        sockets(ports, "a", "x") as (a, x),
    ):
        # What arrives is untagged by the kernel, so the copy is looked at in the slot.
        a.send(frame(1, tag=7))
        a.send(frame(2, tag=8))
        a.send(frame(3))
        for _ in range(3):
            x.recv(2000)
        counters = switch.counters("near-a")
        assert (counters.cached, counters.other, counters.cached_bytes) == (1, 2, len(frame(1, tag=7)))
        slots = switch.map("near-a", "ring").get((0).to_bytes(4, "little")) or b""
        assert slots[24 : 24 + len(frame(1, tag=7))] == frame(1, tag=7)


def test_a_window_can_go_back_to_the_bridge_by_the_virtual_port(ports: Ports) -> None:
    with SqrSwitch(ports.pid, [port("a", "x", backup="near-a")]) as switch, sockets(ports, "a") as (a,):
        for number in range(5):
            a.send(frame(number))
        switch.fail("near-a")
        switch.wait_for(said("replayed"), 20)
        a.send(frame(5))
        assert [int.from_bytes(a.recv(2000)[14:18], "big") for _ in range(6)] == list(range(6))


def test_a_delta_longer_than_the_machine_has_run_takes_all_that_the_ring_holds(ports: Ports) -> None:
    pattern, offset = FIELDS["delta_ns"]
    with SqrSwitch(ports.pid, [port("a", "x")]) as switch, sockets(ports, "a", "x", "z") as (a, x, z):
        with switch.map("near-a", "controls").memory() as control:
            struct.pack_into(pattern, control, offset, 1 << 62)
        for number in range(20):
            a.send(frame(number))
            x.recv(2000)
        switch.fail("near-a")
        switch.wait_for(said("replayed"), 20)
        assert [int.from_bytes(z.recv(2000)[14:18], "big") for _ in range(20)] == list(range(20))


def test_a_replay_keeps_its_pace_after_a_batch(ports: Ports) -> None:
    paced = port("a", "x", backup="near-z", replay_pps=2000)
    with SqrSwitch(ports.pid, [paced]) as switch, sockets(ports, "a", "z") as (a, z):
        for number in range(100):
            a.send(frame(number))
            time.sleep(0.004)
        switch.fail("near-a")
        replayed = find(switch.wait_for(said("replayed"), 20), "replayed").facts
        assert [int.from_bytes(z.recv(2000)[14:18], "big") for _ in range(100)] == list(range(100))
    assert (replayed["packets"], replayed["replay_ns"] >= (100 - 64 - 1) * 500_000) == (100, True)


def test_a_pace_slower_than_packets_came_does_not_keep_a_replay_from_its_end(ports: Ports) -> None:
    paced = port("a", "x", backup="near-z", replay_pps=1)
    with SqrSwitch(ports.pid, [paced]) as switch, sockets(ports, "a") as (a,):
        for number in range(128):
            a.send(frame(number))
        switch.fail("near-a")
        assert find(switch.wait_for(said("replayed"), 20), "replayed").facts["packets"] == 128


def test_a_port_returns_to_its_primary_when_asked_and_replays_nothing_old(ports: Ports) -> None:
    with SqrSwitch(ports.pid, [port("a", "x")]) as switch, sockets(ports, "a", "x", "z") as (a, x, z):
        with pytest.raises(BadInputError, match="near-a is up, not on its backup"):
            switch.restore("near-a")
        a.send(frame(1))
        switch.fail("near-a")
        switch.wait_for(said("replayed"), 20)
        switch.restore("near-a")
        switch.wait_for(said("restored"), 20)
        a.send(frame(2))
        assert [x.recv(2000)[17], x.recv(2000)[17], z.recv(2000)[17]] == [1, 2, 1]
        switch.fail("near-a")
        switch.wait_for(lambda events: sum(event.event == "replayed" for event in events) == 2, 20)
        assert z.recv(2000)[17] == 2


def test_the_backstop_pauses_caching_on_all_ports_and_lets_it_go_on(ports: Ports) -> None:
    marks = Backstop(pause_above_bytes=2000, resume_below_bytes=1000)
    busy, idle = port("a", "x", delta_ms=300), port("b", "y")
    with (
        SqrSwitch(ports.pid, [busy, idle], backstop=marks) as switch,
        sockets(ports, "a", "b") as (a, b),
    ):
        for number in range(100):
            a.send(frame(number))
        switch.wait_for(said("paused"), 20)
        b.send(frame(1))
        counters = switch.counters("near-b")
        assert (counters.unprotected, counters.cached) == (1, 0)
        switch.wait_for(said("resumed"), 20)
        b.send(frame(2))
        assert switch.counters("near-b").cached == 1


def test_a_replay_agent_that_cannot_start_says_why(ports: Ports) -> None:
    switch = SqrSwitch(ports.pid, [port("a", "x")], start=False)
    try:
        command = inside(ports.pid, [*switch.command, "999999999,1"])
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=20)
        assert (done.returncode, done.stdout) == (1, "")
        assert "no maps of these ids: 999999999,1" in done.stderr
        with pytest.raises(SqrAgentError, match="said nothing within"):
            switch.wait_for(said("ready"), 0.01)
    finally:
        switch.close()
    with pytest.raises(BadInputError, match="no interface near-q"):
        SqrSwitch(ports.pid, [port("a", "q")])
    assert filters(ports.pid, "near-a") == ""


def test_the_agent_ends_with_the_program_that_started_it(ports: Ports) -> None:
    code = (
        "import sys\nfrom dataplane.sqr import SqrSwitch\nfrom dataplane.decide.sqr import SqrPort\n"
        f"switch = SqrSwitch({ports.pid}, [SqrPort('near-a', 'near-x', 'near-z', slots=256)])\n"
        "print(switch._agent.pid, flush=True)\nsys.stdin.read()"
    )
    command = [sys.executable, "-c", code]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as program:
        assert program.stdout is not None
        agent = int(program.stdout.readline())
        os.kill(program.pid, signal.SIGKILL)
    deadline = time.monotonic() + 20
    while os.path.exists(f"/proc/{agent}/exe"):
        assert time.monotonic() < deadline, "the agent outlives its program"
        time.sleep(0.01)


def test_nothing_stays_attached_and_the_agent_is_gone(ports: Ports) -> None:
    threads = threading.active_count()
    with SqrSwitch(ports.pid, [port("a", "x")], poll_us=200, realtime=True) as switch:
        assert "sqr" in filters(ports.pid, "near-a")
        log = switch.log
    assert filters(ports.pid, "near-a") == ""
    assert not log.exists()
    assert threading.active_count() == threads


def test_a_killed_agent_is_an_error_at_the_end(ports: Ports) -> None:
    def use() -> None:
        with SqrSwitch(ports.pid, [port("a", "x")]) as switch:
            assert switch._agent is not None
            switch._agent.kill()
            switch._agent.wait()

    with pytest.raises(SqrAgentError, match=r"ended before its time \(status -9\)"):
        use()
