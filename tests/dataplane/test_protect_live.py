"""1+1 protection between real namespaces: paths fail in turn, TCP, hostile frames, the hairpin, and what is left."""

from __future__ import annotations

import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from dataplane.cost_trial import BACK, FROM_H1, PATHS, S1_ADDRESS, S2_ADDRESS, THERE, protected_nodes
from dataplane.devices import add_virtual_port
from dataplane.loader import PacketProgramError
from dataplane.model.flow_match import FlowMatch
from dataplane.model.protection_node import Connection
from dataplane.model.tunnel_header import decapsulate
from dataplane.protect import ProtectNode
from dataplane.two_paths import H1_ADDRESS, TwoPaths, count_stream, frame_head, numbered_frames, numbers_in, two_paths
from machine.places import call_inside, inside, private_namespace, run_program
from mininet_topos.errors import BadInputError
from tests.dataplane.hostile import ETHERNET, HOSTS, udp
from tests.dataplane.streams import Progress, disturbed

SOL_PACKET, PACKET_IGNORE_OUTGOING = 263, 23  # Linux, where the socket module lacks them
pytestmark = pytest.mark.emulation
ALL = [(FROM_H1, THERE)]
RATE_PPS = 2000
BETWEEN = 300  # packets between two things that are done to a path
PIECES, PIECE_BYTES = 50, 20_000  # and pieces of a TCP stream


@pytest.fixture
def testbed() -> Iterator[TwoPaths]:
    with two_paths() as made:
        yield made


def fail_each_path(testbed: TwoPaths, own_end: bool, between: int = BETWEEN) -> Callable[[Progress], None]:
    def disturb(progress: Progress) -> None:
        for path in PATHS:
            progress.wait(between)
            testbed.fail(path, own_end=own_end)
            progress.wait(between)
            testbed.repair(path, own_end=own_end)

    return disturb


@pytest.mark.parametrize("own_end", [False, True], ids=["far-end", "own-end"])
def test_each_path_fails_in_turn_and_no_packet_is_lost_or_doubled(testbed: TwoPaths, own_end: bool) -> None:
    with protected_nodes(testbed, ALL) as (first, second), testbed.listen() as receiver:
        sent = disturbed(lambda enough: testbed.send(RATE_PPS, 0, enough=enough), fail_each_path(testbed, own_end))
        count = count_stream(sent, numbers_in(receiver))
        assert (count.lost, count.duplicated, count.reordered) == (0, 0, 0)
        assert first.counters().sent == second.counters().accepted == sent
        # Both paths were really used, and really failed.
        assert 0 < second.counters().duplicate < sent


def test_without_protection_the_failure_of_its_path_loses_packets(testbed: TwoPaths) -> None:
    with protected_nodes(testbed, ALL, program="forward"), testbed.listen() as receiver:
        sent = disturbed(
            lambda enough: testbed.send(RATE_PPS, 0, enough=enough), fail_each_path(testbed, own_end=False)
        )
        assert count_stream(sent, numbers_in(receiver)).lost > BETWEEN / 2


def test_a_flow_that_is_not_protected_is_plain_at_both_nodes(testbed: TwoPaths) -> None:
    flows = [(FlowMatch(protocol=6), THERE)]
    with protected_nodes(testbed, flows) as (first, second), testbed.listen() as receiver:
        sent = testbed.send(RATE_PPS, 0.1)
        assert count_stream(sent, numbers_in(receiver)).lost == 0
        assert (first.counters().sent, second.counters().accepted) == (0, 0)
        assert first.counters().plain >= sent


def tcp_transfer(testbed: TwoPaths, enough: Callable[[int], bool], pause_s: float = 0.003) -> int:
    """Send even pieces from h1 to h2 by TCP until they are enough, and return how many segments were retransmitted.

    Only what is missing counts: an acknowledgement that a busy machine delays is waited for (no tail loss probes, and
    at least five seconds).
    """
    patient = "sysctl -qw net.ipv4.tcp_early_retrans=0 && ip route change 10.0.0.0/24 dev h0 rto_min 5s"
    run_program(inside(testbed.h1, ["sh", "-c", patient]))
    server = call_inside(testbed.h2, lambda: socket.create_server(("10.0.0.2", 7000)))
    received: list[int] = []

    def serve() -> None:
        with server, server.accept()[0] as taken:
            taken.settimeout(60)
            received.append(sum(len(part) for part in iter(lambda: taken.recv(1 << 16), b"")))

    thread = threading.Thread(target=serve)
    thread.start()
    with call_inside(testbed.h1, lambda: socket.create_connection(("10.0.0.2", 7000), timeout=30)) as client:
        pieces = 0
        while not enough(pieces):
            client.sendall(bytes(PIECE_BYTES))
            pieces += 1
            time.sleep(pause_s)
        client.shutdown(socket.SHUT_WR)
        thread.join()
        # struct tcp_info of <linux/tcp.h>: tcpi_total_retrans.
        (again,) = struct.unpack_from("=I", client.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 104), 100)
    assert received == [pieces * PIECE_BYTES]
    return int(again)


def test_tcp_retransmits_no_segment_while_each_path_fails_in_turn(testbed: TwoPaths) -> None:
    with protected_nodes(testbed, ALL) as (first, second):
        fail = fail_each_path(testbed, own_end=False, between=PIECES)
        assert disturbed(lambda enough: tcp_transfer(testbed, enough), fail) == 0
        for node in (first, second):
            assert node.counters().gso == 0
        assert first.counters().sent == second.counters().accepted > 4 * PIECES * PIECE_BYTES // 1448


def test_merged_segments_of_a_host_with_offloads_are_counted_and_dropped(testbed: TwoPaths) -> None:
    run_program(inside(testbed.h1, ["ethtool", "-K", "h0", "tx", "on", "tso", "on", "gso", "on"]))
    with protected_nodes(testbed, ALL) as (first, _), ExitStack() as stack:
        server = stack.enter_context(call_inside(testbed.h2, lambda: socket.create_server(("10.0.0.2", 7000))))
        client = stack.enter_context(
            call_inside(testbed.h1, lambda: socket.create_connection(("10.0.0.2", 7000), timeout=30))
        )
        stack.enter_context(server.accept()[0])
        client.settimeout(0.2)
        deadline = time.monotonic() + 20
        while first.counters().gso == 0:
            assert time.monotonic() < deadline, "no merged segment came"
            try:
                client.send(bytes(200_000))
            except TimeoutError:
                continue


def test_a_node_that_ends_one_connection_and_begins_another_does_both_with_one_packet(testbed: TwoPaths) -> None:
    onward = Connection(9, S2_ADDRESS, H1_ADDRESS)
    with ExitStack() as stack:
        first = stack.enter_context(ProtectNode(testbed.s1, S1_ADDRESS, [THERE], ALL))
        second = stack.enter_context(ProtectNode(testbed.s2, S2_ADDRESS, [THERE, onward], [(FlowMatch(), onward)]))
        first.between("h", plain="p1", paths=PATHS)
        for path in PATHS:
            second.between(path, plain="h", paths=("h", "h"))
        receiver, sender = stack.enter_context(testbed.listen()), stack.enter_context(testbed.sender())
        receiver.setblocking(True)
        receiver.settimeout(20)
        frames = list(numbered_frames(100, range(20)))
        for frame in frames:
            sender.send(frame)
        got = [receiver.recv(2000) for _ in range(40)]
    for number, frame in enumerate(frames):
        opened = [decapsulate(copy[14:]) for copy in got[2 * number : 2 * number + 2]]
        assert [one and (one[0].connection, one[0].number, one[1]) for one in opened] == [
            (9, number + 1, frame[14:])
        ] * 2


def test_frames_too_short_for_their_headers_pass_as_they_are_and_stop_nothing(testbed: TwoPaths) -> None:
    frames = [frame_head(60)[:length] for length in range(14, 42)]
    with protected_nodes(testbed, ALL) as (first, _), testbed.sender() as sender, testbed.listen() as receiver:
        for frame in frames:
            sender.send(frame)
        good = next(numbered_frames(100, [5]))
        sender.send(good)
        assert numbers_in(receiver) == [5]
        assert first.counters().plain >= len(frames)
        assert (first.counters().sent, first.counters().failed) == (1, 0)


@pytest.fixture
def hairpin() -> Iterator[tuple[int, socket.socket]]:
    """A namespace with a virtual port, and a socket where the bridge would be."""
    with private_namespace() as pid:
        add_virtual_port(pid, "pp", "ppx")

        def make() -> socket.socket:
            made = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x0003))
            made.bind(("pp", 0x0003))
            made.setsockopt(SOL_PACKET, PACKET_IGNORE_OUTGOING, 1)
            made.settimeout(20)
            return made

        with call_inside(pid, make) as bridge:
            yield pid, bridge


def test_the_hairpin_returns_what_a_bridge_sends_it_numbered_checked_or_plain(
    hairpin: tuple[int, socket.socket],
) -> None:
    pid, bridge = hairpin
    packet = udp(HOSTS[0], HOSTS[1], (1, 2))
    with (
        ProtectNode(pid, S1_ADDRESS, [THERE, BACK], slots={THERE: 77}) as node,
        ProtectNode(pid, S2_ADDRESS, [THERE, BACK]) as far,
    ):
        node.hairpin("ppx")
        bridge.send(ETHERNET[:12] + b"\x81\0\0\x4d" + ETHERNET[12:] + packet)
        protected = bridge.recv(2000)
        opened = decapsulate(protected[14:])
        assert opened is not None
        assert (protected[:14], opened[0].number, opened[1]) == (ETHERNET, 1, packet)
        bridge.send(ETHERNET + packet)
        assert bridge.recv(2000) == ETHERNET + packet
        bridge.send(protected)  # to another node: none of this one's business
        assert bridge.recv(2000) == protected
        far.hairpin("ppx")  # now the other end stands there
        bridge.send(protected)
        bridge.send(protected)
        bridge.send(ETHERNET + packet + b"end")
        assert [bridge.recv(2000), bridge.recv(2000)] == [ETHERNET + packet, ETHERNET + packet + b"end"]
        assert (far.counters().accepted, far.counters().duplicate) == (1, 1)


def filters(pid: int, device: str) -> str:
    return run_program(inside(pid, ["tc", "filter", "show", "dev", device, "ingress"]))


def test_nothing_stays_attached_and_a_port_that_is_gone_is_no_error(hairpin: tuple[int, socket.socket]) -> None:
    pid, _ = hairpin
    with ProtectNode(pid, S1_ADDRESS, [THERE]) as node:
        node.hairpin("ppx")
        assert "protect" in filters(pid, "ppx")
    assert filters(pid, "ppx") == ""
    with ProtectNode(pid, S1_ADDRESS, [THERE]) as node:
        node.hairpin("ppx")
        run_program(inside(pid, ["ip", "link", "delete", "dev", "pp"]))
    with ProtectNode(pid, S1_ADDRESS) as node, pytest.raises(BadInputError, match="no interface ppx"):
        node.hairpin("ppx")


def test_a_namespace_that_is_gone_is_no_error_at_the_close() -> None:
    with private_namespace() as pid:
        add_virtual_port(pid, "pp", "ppx")
        node = ProtectNode(pid, S1_ADDRESS, [THERE])
        node.hairpin("ppx")
    node.close()


def test_a_program_that_is_killed_leaves_maps_and_programs_to_its_interface_alone(
    hairpin: tuple[int, socket.socket],
) -> None:
    pid, _ = hairpin
    code = (
        "import ipaddress, os, signal\nfrom dataplane.protect import ProtectNode\n"
        f"ProtectNode({pid}, ipaddress.IPv4Address('192.0.2.1')).hairpin('ppx')\nos.kill(os.getpid(), signal.SIGKILL)"
    )
    done = subprocess.run([sys.executable, "-c", code], check=False, timeout=60)
    assert done.returncode == -9
    with ProtectNode(pid, S1_ADDRESS) as node:  # the next start takes the place of what is still there
        node.hairpin("ppx")
    assert filters(pid, "ppx") == ""
    with pytest.raises(PacketProgramError, match="no program nothing"):
        ProtectNode(pid, S1_ADDRESS).run_time("nothing")
