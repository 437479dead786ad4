"""Frames that the kernel could not keep for a tap are counted where the tap could not follow, and only there."""

from __future__ import annotations

import os
import signal
import socket
from pathlib import Path

import pytest

from emulation.decide.options import EmulationOptions
from emulation.network import EmulatedNetwork
from emulation.runfile import STATE_VARIABLE
from experiments.testbed.instruments.capture import Captures, Tap
from machine.places import call_inside
from mininet_topos import toy
from tests.patience import wait_until

FRAMES = 60_000  # several times what a tap's buffer can hold
ICMP = bytes(12) + bytes.fromhex("0800 4500 0030 0000 0000 40 01 0000") + bytes(36)


@pytest.mark.emulation
def test_a_tap_that_was_stopped_says_what_it_missed(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(STATE_VARIABLE, str(tmp_path_factory.mktemp("st")))
    with EmulatedNetwork(toy.pair(), EmulationOptions(bfd_interval_ms=100), command="test") as network:
        host = network.hosts["s1"].name
        tap = Tap(host, f"{host}-eth0")

        def bound() -> socket.socket:
            made = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
            made.bind((tap.device, 0))
            return made

        with (
            Captures(network, [tap], tmp_path, drains=False) as captures,
            call_inside(network.shell_pid(host), bound) as sender,
        ):
            ((_, process),) = captures._running
            before = captures.marks()
            os.kill(process.pid, signal.SIGSTOP)
            try:
                for _ in range(FRAMES):
                    sender.send(ICMP)
            finally:
                os.kill(process.pid, signal.SIGCONT)
            missed = captures.missed_since(before)
            assert 0 < missed[tap] < FRAMES

            def has_caught_up() -> bool:
                behind = captures.marks()
                sender.send(ICMP)
                return captures.missed_since(behind) == {}

            wait_until(has_caught_up, "the tap misses nothing any more")
    assert captures.missed()[tap] >= missed[tap]
