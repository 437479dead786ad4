"""A replay agent goes on where the one before it was killed."""

from __future__ import annotations

import struct
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from dataplane.decide.sqr import FIELDS, STATES, read_field
from dataplane.sqr import SqrSwitch
from machine.places import inside
from tests.dataplane.test_sqr_live import Ports, find, frame, port, ports, said, sockets

__all__ = ["ports"]
pytestmark = pytest.mark.emulation


@contextmanager
def agent_of(ports: Ports, switch: SqrSwitch) -> Iterator[None]:
    """A replay agent that is killed at the end."""
    with (
        switch.log.open("ab") as log,
        subprocess.Popen(inside(ports.pid, switch.command), stdin=subprocess.DEVNULL, stdout=log) as agent,
    ):
        try:
            yield
        finally:
            agent.kill()


def set_field(switch: SqrSwitch, name: str, value: int) -> None:
    pattern, offset = FIELDS[name]
    with switch.map("near-a", "controls").memory() as control:
        struct.pack_into(pattern, control, offset, value)


@pytest.mark.parametrize("killed_in", ["hold", "turning"])
def test_an_agent_goes_on_where_the_one_before_it_was_killed(ports: Ports, killed_in: str) -> None:
    waiting = port("a", "x", reconfiguration_ms=100_000)
    with SqrSwitch(ports.pid, [waiting], start=False) as switch, sockets(ports, "a", "z") as (a, z):
        for number in range(5):
            a.send(frame(number))
        if killed_in == "hold":
            with agent_of(ports, switch):
                switch.fail("near-a")
                switch.wait_for(said("detected"), 20)
            set_field(switch, "ready", 1)  # as if the replay had begun
        else:
            set_field(switch, "state", STATES.index("turning"))
        set_field(switch, "reconfiguration_ns", 0)
        a.send(frame(5))
        with agent_of(ports, switch):
            replayed = find(switch.wait_for(said("replayed"), 20), "replayed").facts
        assert replayed["packets"] == switch.counters("near-a").replayed == 6
        assert replayed["replay_ns"] < 60 * 10**9  # since this agent began, not since the machine started
        assert [int.from_bytes(z.recv(2000)[14:18], "big") for _ in range(6)] == list(range(6))
        assert switch.state("near-a") == "backup"


def test_an_agent_lets_a_port_buffer_again_that_the_one_before_it_had_paused(ports: Ports) -> None:
    with SqrSwitch(ports.pid, [port("a", "x")], start=False) as switch:
        set_field(switch, "paused", 1)
        with agent_of(ports, switch):
            switch.wait_for(said("ready"), 20)
        with switch.map("near-a", "controls").memory() as control:
            assert read_field(control, "paused") == 0


def test_an_agent_that_is_ended_in_the_middle_of_a_replay_sends_what_waits(ports: Ports) -> None:
    slow = port("a", "x", replay_pps=2.0)
    with sockets(ports, "a", "z") as (a, z):
        with SqrSwitch(ports.pid, [slow]) as switch:
            for number in range(20):
                a.send(frame(number))
                time.sleep(0.05)  # the replay takes a quarter of the time in which packets came
            switch.fail("near-a")
            switch.wait_for(said("detected"), 20)
        assert [int.from_bytes(z.recv(2000)[14:18], "big") for _ in range(20)] == list(range(20))


def test_an_agent_that_is_ended_before_it_sees_a_failure_sends_what_waits(ports: Ports) -> None:
    with sockets(ports, "a", "z") as (a, z):
        with SqrSwitch(ports.pid, [port("a", "x")], poll_us=100_000_000) as switch:
            for number in range(20):
                a.send(frame(number))
            set_field(switch, "state", STATES.index("hold"))  # as the packet program does when a send fails
        assert [int.from_bytes(z.recv(2000)[14:18], "big") for _ in range(20)] == list(range(20))
