"""A rogue switch: its connections, opened again whenever the controller closes them (what it does: `behaviours`)."""

from __future__ import annotations

import json
import select
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from functools import partial

import numpy as np

from experiments.loadgen.connection import GOOD, Connection, Manner, Target, connect
from experiments.loadgen.decide.load import FRAME_BYTES, LOW
from experiments.loadgen.decide.packets import FIRST_PROBE, HOST_PORTS, frame, packet_in
from experiments.loadgen.decide.switch import hear
from experiments.loadgen.generator import FIRST_DPID
from mininet_topos.endpoints import host_and_port

UNKNOWN_DPID = 0xBAD
CONNECT_S = 1.0
TAKEN = "taken"  # what its process prints before a datapath id that it has got
AGAIN_S, PAUSE_S = 0.1, 0.2
_QUEUE_PKTS = 50


@dataclass(frozen=True)
class RogueSwitch:
    """Which switch misbehaves.

    Attributes
    ----------
    dpid, ports
        Of the switch.
    claimed
        Datapath ids of other switches.
    source
        Address that it connects from; empty: the kernel's choice.
    rate_pps
        Messages or connections a second that its behaviour sends or opens; None: what is usual for the behaviour.
    """

    dpid: int = UNKNOWN_DPID
    ports: tuple[int, ...] = HOST_PORTS
    claimed: tuple[int, ...] = (FIRST_DPID,)
    source: str = ""
    rate_pps: float | None = None

    def to_text(self) -> str:
        """For a command line.

        Examples
        --------
        >>> RogueSwitch.from_text(RogueSwitch(7, (1, 2, 3)).to_text()).ports
        (1, 2, 3)
        """
        return json.dumps(asdict(self))

    @classmethod
    def from_text(cls, text: str) -> RogueSwitch:
        """From what `to_text` gives."""
        value = json.loads(text)
        return cls(**{**value, "ports": tuple(value["ports"]), "claimed": tuple(value["claimed"])})

    def targets(self, places: Sequence[str]) -> tuple[Target, ...]:
        """Where it connects, from HOST:PORT each."""
        pairs = [host_and_port(place, "a controller's address") for place in places]
        return tuple(Target(host, port, source=self.source) for host, port in pairs)


class Rogue:
    """A switch of `targets`, connected anew whenever the controller closes its connection."""

    def __init__(self, targets: Sequence[Target], seed: int, switch: RogueSwitch) -> None:
        self.targets, self.switch = targets, switch
        self.rng, self.answers_rng = np.random.default_rng(seed), np.random.default_rng((seed, 1))
        self.connections: list[Connection] = []

    def open(self, dpid: int | None = None, manner: Manner = GOOD) -> list[Connection]:
        """Connect as a switch; none when the controller refuses."""
        found = []
        own = self.switch.dpid if dpid is None else dpid
        if manner.hear is hear:
            manner = replace(manner, hear=partial(hear, ports=self.switch.ports))
        with suppress(OSError):
            for target in self.targets:
                link = connect(target, CONNECT_S)
                found.append(Connection(link, own, _nothing, _nothing, _QUEUE_PKTS, manner=manner))
        return found

    def remaining(self, manner: Manner = GOOD) -> list[Connection]:
        """Its connections, set up; new ones when the first is gone."""
        if not self.connections or self.connections[0].gone:
            self.close()
            self.connections = self.open(manner=manner)
            turn(self.connections, AGAIN_S)
            if not self.connections:
                time.sleep(PAUSE_S)
        return self.connections

    def close(self) -> None:
        """Close its connections."""
        for each in self.connections:
            each.close()
        self.connections = []

    def send(self, number: int) -> bool:
        """Offer one low packet-in on the connection that its class would take; whether there was room."""
        message = packet_in(FIRST_PROBE, frame(number, LOW, FRAME_BYTES), False)
        return bool(self.connections) and self.connections[-1].offer(message, number, 0.0)

    def rate_pps(self, usual: float) -> float:
        """Messages or connections a second."""
        return self.switch.rate_pps or usual


def turn(connections: Sequence[Connection], seconds: float) -> None:
    """Answer the controller for a while, or until it has closed all connections."""
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


def _nothing(_serial: int, _now_s: float) -> None:
    """Nobody keeps the books of a rogue switch."""
