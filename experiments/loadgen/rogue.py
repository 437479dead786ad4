"""A rogue switch: its connections, opened again whenever the controller closes them (what it does: `behaviours`)."""

from __future__ import annotations

import json
import select
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from functools import partial

import numpy as np

from experiments.loadgen.connection import GOOD, Connection, Manner, Target, connect, connection_of
from experiments.loadgen.decide.load import FRAME_BYTES, LOW
from experiments.loadgen.decide.packets import FIRST_PROBE, HOST_PORTS, frame, packet_in
from experiments.loadgen.decide.switch import hear
from experiments.loadgen.generator import FIRST_DPID
from ryu_apps.pmt.rules import UNMATCHED_CLASS

UNKNOWN_DPID = 0xBAD
CONNECT_S = 1.0
# What its process prints before a datapath id that it has got, and before how much it has sent so far.
TAKEN, SENT = "taken", "sent"
AGAIN_S, PAUSE_S = 0.1, 0.2
_SAID_AGAIN = 1.01  # a count is said when it has grown so much: the lines of an hour do not fill a pipe
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
    controller_id
        That its flow entries name for the packet-ins of its behaviour (`packets.controller_id_of`).
    processor
        Number of the only processor that its process uses; None: any.
    """

    dpid: int = UNKNOWN_DPID
    ports: tuple[int, ...] = HOST_PORTS
    claimed: tuple[int, ...] = (FIRST_DPID,)
    source: str = ""
    rate_pps: float | None = None
    controller_id: int = UNMATCHED_CLASS
    processor: int | None = None

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

    def targets(self, texts: Sequence[str]) -> tuple[Target, ...]:
        """Where it connects, from what `Target.to_text` gives each."""
        return tuple(replace(Target.from_text(text), source=self.source) for text in texts)


class Rogue:
    """A switch of `targets`, connected anew whenever the controller closes its connection.

    Parameters
    ----------
    say
        Gets the number of messages or connections of its behaviour so far, when it is a hundredth more than before.
    """

    def __init__(
        self, targets: Sequence[Target], seed: int, switch: RogueSwitch, say: Callable[[int], None] = lambda _: None
    ) -> None:
        self.targets, self.switch, self._say = targets, switch, say
        self.rng, self.answers_rng = np.random.default_rng(seed), np.random.default_rng((seed, 1))
        self.connections: list[Connection] = []
        self._n_sent = self._n_said = 0

    def count(self) -> None:
        """Count a message or connection of its behaviour."""
        self._n_sent += 1
        if self._n_sent >= _SAID_AGAIN * self._n_said:
            self._n_said = self._n_sent
            self._say(self._n_sent)

    def open(
        self, dpid: int | None = None, manner: Manner = GOOD, targets: Sequence[Target] | None = None
    ) -> list[Connection]:
        """Connect as a switch, to all targets unless some are given; none when the controller refuses."""
        found = []
        own = self.switch.dpid if dpid is None else dpid
        if manner.hear is hear:
            manner = replace(manner, hear=partial(hear, ports=self.switch.ports))
        with suppress(OSError):
            for target in self.targets if targets is None else targets:
                link = connect(target, CONNECT_S)
                found.append(Connection(link, own, self._sent, _nothing, _QUEUE_PKTS, manner=manner))
        return found

    def remaining(self, manner: Manner = GOOD) -> list[Connection]:
        """Its connections, set up; new ones when one is gone."""
        if not self.connections or any(each.gone for each in self.connections):
            self.close()
            self.connections = self.open(manner=manner)
            turn(self.connections, AGAIN_S)
            if not self.connections:
                time.sleep(PAUSE_S)
        return self.connections

    def renewed(self, manner: Manner = GOOD) -> list[Connection]:
        """Its connections, with new ones for those alone that are gone; the first has given its features.

        A controller that closes a connection for each message may ask for more, but is not waited for.
        """
        if not self.connections:
            return self.remaining(manner)
        is_new = self.connections[0].gone is not None
        for place, each in enumerate(self.connections):
            if each.gone is not None:
                each.close()
                made = self.open(manner=manner, targets=self.targets[place : place + 1])
                self.connections[place] = made[0] if made else each
        first = self.connections[0]
        if is_new:
            turn(self.connections, AGAIN_S, lambda: first.has_handshake or first.gone is not None)
        return self.connections

    def close(self) -> None:
        """Close its connections."""
        for each in self.connections:
            each.close()
        self.connections = []

    def send(self, number: int) -> bool:
        """Offer one low packet-in on the connection that its class would take; whether there was room."""
        message = packet_in(FIRST_PROBE, frame(number, LOW, FRAME_BYTES), False)
        if not self.connections:
            return False
        return connection_of(self.connections, self.switch.controller_id).offer(message, number, 0.0)

    def rate_pps(self, usual: float) -> float:
        """Messages or connections a second."""
        return self.switch.rate_pps or usual

    def _sent(self, _serial: int, _now_s: float) -> None:
        self.count()


def turn(connections: Sequence[Connection], seconds: float, is_enough: Callable[[], bool] = lambda: False) -> None:
    """Answer the controller for a while, until it has closed all connections, or until it is enough."""
    end_s = time.monotonic() + seconds
    while (left_s := end_s - time.monotonic()) > 0 and not is_enough():
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
