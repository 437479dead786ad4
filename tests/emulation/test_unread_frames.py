"""Frames that a stopped switch does not read: its own packet socket counts them, and those of others do not matter."""

from __future__ import annotations

import os
import signal
import socket
from functools import partial

import pytest

from emulation.decide.options import EmulationOptions
from emulation.decide.switch import VSWITCHD
from emulation.network import EmulatedNetwork
from emulation.runfile import STATE_VARIABLE
from emulation.unread_frames import UnreadFrames
from machine.places import call_inside
from mininet_topos import toy
from tests.patience import wait_until

pytestmark = pytest.mark.emulation

FRAMES = 2000
FRAME = bytes(6 * [255]) + bytes(54)


def open_packet_socket(interface: str) -> socket.socket:
    found = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
    found.bind((interface, 0))
    return found


def received(reader: socket.socket) -> bytes:
    """The next frame; empty when there is none."""
    try:
        return reader.recv(2048)
    except BlockingIOError:
        return b""


def test_frames_that_a_switch_does_not_read_in_time_are_counted(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(STATE_VARIABLE, str(tmp_path_factory.mktemp("st")))
    with EmulatedNetwork(toy.pair(), EmulationOptions(bfd_interval_ms=100), command="test") as network:
        host, pid = network.hosts["s1"].name, network.pid_of(VSWITCHD, "s1")
        reader = call_inside(network.shell_pid("s1"), partial(open_packet_socket, "s1-eth1"))
        sender = call_inside(network.shell_pid(host), partial(open_packet_socket, f"{host}-eth0"))
        with reader, sender:
            unread = UnreadFrames(network)
            assert unread.so_far() == {}
            os.kill(pid, signal.SIGSTOP)
            try:
                for _ in range(FRAMES):
                    sender.send(FRAME)
                wait_until(lambda: "s1-eth1" in unread.so_far(), "frames are lost")
                lost = unread.so_far()["s1-eth1"]
            finally:
                os.kill(pid, signal.SIGCONT)
            reader.setblocking(False)
            read = sum(1 for _ in iter(partial(received, reader), b""))
    # The socket of the test has an equally large buffer, so it keeps as many of the same frames. It loses as many, too,
    # which would double the count if the sockets of all processes counted.
    assert read > 0
    assert lost + read == pytest.approx(FRAMES, abs=FRAMES / 10)


def test_a_daemon_that_was_restarted_counts_from_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    counts = iter([{"s1-eth1": 9, "s1-eth2": 5}, {"s1-eth1": 2, "s1-eth2": 5, "s1-eth3": 1}])
    monkeypatch.setattr("emulation.unread_frames._counted", lambda _network: next(counts))
    unread = UnreadFrames(None)  # type: ignore[arg-type]
    assert unread.so_far() == {"s1-eth1": 2, "s1-eth3": 1}
