"""One switch that misbehaves, in a process of its own, so that it cannot disturb the generator of the others.

`python -m experiments.loadgen.misbehave BEHAVIOUR SEED HOST:PORT ...` goes on until it is ended; the first address is
that of the connection for everything, the others are those of classes.
"""

from __future__ import annotations

import select
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import TYPE_CHECKING

import numpy as np

from experiments.loadgen.connection import Connection, Target, connect
from experiments.loadgen.decide.load import FRAME_BYTES, LOW
from experiments.loadgen.decide.misbehave import BEHAVIOURS, endless, malformed
from experiments.loadgen.decide.packets import FIRST_PROBE, frame, packet_in
from machine.places import child, inside
from mininet_topos.endpoints import host_and_port
from mininet_topos.errors import BadInputError

if TYPE_CHECKING:
    from experiments.loadgen.controllers import Controller, Watched
    from experiments.loadgen.link import ControlLink

DPID = 0xBAD
N_CONNECTIONS = 100
MALFORMED_PPS, STALLED_PPS = 200.0, 500.0
_SETTLE_S, _AGAIN_S, _PAUSE_S = 1.0, 0.1, 0.2
_FLOOD_QUEUE_PKTS = 50


class Rogue:
    """A switch of `targets`, connected anew whenever the controller throws it out."""

    def __init__(self, targets: Sequence[Target], seed: int) -> None:
        self.targets, self.rng = targets, np.random.default_rng(seed)
        self.connections: list[Connection] = []

    def open(self, dpid: int = DPID) -> list[Connection]:
        """Connect as a switch; none when the controller refuses."""
        found = []
        with suppress(OSError):
            for target in self.targets:
                link = connect(target)
                found.append(Connection(link, dpid, _nothing, _nothing, _FLOOD_QUEUE_PKTS))
        return found

    def remaining(self) -> list[Connection]:
        """Its connections, set up; a new one when the first is gone."""
        if not self.connections or self.connections[0].gone:
            for each in self.connections:
                each.close()
            self.connections = self.open()
            turn(self.connections, _AGAIN_S)
            if not self.connections:
                time.sleep(_PAUSE_S)
        return self.connections

    def send(self, number: int) -> bool:
        """Offer one low packet-in on the connection that its class would take; whether there was room."""
        message = packet_in(FIRST_PROBE, frame(number, LOW, FRAME_BYTES), False)
        return bool(self.connections) and self.connections[-1].offer(message, number, 0.0)


def turn(connections: Sequence[Connection], seconds: float) -> None:
    """Answer the controller for a while."""
    end_s = time.monotonic() + seconds
    while (left_s := end_s - time.monotonic()) > 0:
        remaining = [each for each in connections if each.gone is None]
        if not remaining:
            return
        writers = [each for each in remaining if each.wants_to_write]
        readable, writable, _ = select.select([each for each in remaining if each.reads], writers, (), left_s)
        for each in readable:
            each.read(0.0)
        for each in writable:
            each.flush(0.0)


def flood(rogue: Rogue) -> None:
    """Packet-ins as fast as the controller takes them."""
    number = 0
    while True:
        connections = rogue.remaining()
        while rogue.send(number):
            number += 1
        turn(connections, 0.001)


def send_malformed(rogue: Rogue) -> None:
    """Malformed messages, one after the other."""
    while True:
        connections = rogue.remaining()
        if connections:
            _, message = malformed(rogue.rng)
            connections[0].offer(message, 0, 0.0)
        turn(connections, 1 / MALFORMED_PPS)


def send_endless(rogue: Rogue) -> None:
    """Lists that never end, one after the other."""
    while True:
        connections = rogue.remaining()
        if connections:
            connections[0].offer(endless(rogue.rng), 0, 0.0)
        turn(connections, 1 / MALFORMED_PPS)


def many_connections(rogue: Rogue) -> None:
    """A hundred connections: a third says nothing, a third only hello, a third is a switch of its own."""
    held: list[Connection] = []
    while True:
        held = [each for each in held if each.gone is None]
        while len(held) < N_CONNECTIONS:
            made = rogue.open(DPID + len(held))
            if not made:
                break
            for each in made[1:]:
                each.close()
            made[0].reads = len(held) % 3 == 2
            held.append(made[0])
        turn([each for each in held if each.reads], _PAUSE_S)
        time.sleep(0 if any(each.reads for each in held) else _PAUSE_S)


def stall(rogue: Rogue) -> None:
    """Asks and asks, and reads no answer."""
    number = 0
    while True:
        connections = rogue.remaining()
        for each in connections:
            each.reads = False
        rogue.send(number)
        number += 1
        turn(connections, 0.0)
        for each in connections:
            each.flush(0.0)
        time.sleep(1 / STALLED_PPS)


_BEHAVIOURS: dict[str, Callable[[Rogue], None]] = dict(
    zip(BEHAVIOURS[1:], (flood, send_malformed, send_endless, many_connections, stall), strict=True)
)


@contextmanager
def misbehaving(pid: int | None, targets: Sequence[Target], behaviour: str, seed: int) -> Iterator[None]:
    """A misbehaving switch while the block runs; none with "none".

    Parameters
    ----------
    pid
        A process in whose network namespace it lives; None: here.
    behaviour
        One of `BEHAVIOURS`.

    Raises
    ------
    BadInputError
        No such behaviour.
    """
    if behaviour not in BEHAVIOURS:
        raise BadInputError(f"behaviour {behaviour!r} is not known; use one of {', '.join(BEHAVIOURS)}")
    if behaviour == "none":
        yield
        return
    places = [f"{target.host}:{target.port}" for target in targets]
    command = [sys.executable, "-m", "experiments.loadgen.misbehave", behaviour, str(seed), *places]
    with child(command if pid is None else inside(pid, command)):
        time.sleep(_SETTLE_S)
        yield


def rogue_beside(
    controller: Controller, behaviour: str, seed: int
) -> Callable[[ControlLink | None, Watched], AbstractContextManager[None]]:
    """What `LoadContext.beside` takes: a misbehaving switch of a controller, at the switches' end of its link."""

    def beside(link: ControlLink | None, watched: Watched) -> AbstractContextManager[None]:
        targets = controller.targets(watched.host, watched.port)
        return misbehaving(None if link is None else link.switch_pid, targets, behaviour, seed)

    return beside


def main(arguments: Sequence[str]) -> None:
    """Run as a process."""
    behaviour, seed, *places = arguments
    targets = [Target(*host_and_port(place, "a controller's address")) for place in places]
    _BEHAVIOURS[behaviour](Rogue(targets, int(seed)))


def _nothing(_serial: int, _now_s: float) -> None:
    """Nobody keeps the books of a misbehaving switch."""


if __name__ == "__main__":
    main(sys.argv[1:])
