"""Emulated switches under a load: opens their connections, sends what is due, and keeps the ledger.

One thread and select(), whose timeouts are exact to microseconds (those of epoll are whole milliseconds).
"""

from __future__ import annotations

import math
import select
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

from experiments.loadgen.connection import GOOD, QUEUE_PKTS, Connection, Manner, Target, connect, connection_of
from experiments.loadgen.decide.ledger import ClassResult, Ledger
from experiments.loadgen.decide.load import CLASSES, Load, make_schedule
from experiments.loadgen.decide.packets import FIRST_PROBE, controller_id_of, frame, packet_in
from experiments.loadgen.decide.retransmission import Retransmission
from experiments.loadgen.pacing import LONGEST_WAIT_S, Clock, Say, keep_schedule
from mininet_topos.errors import ArmorError
from ryu_apps.pmt.rules import PolicyMapTable

Json = dict[str, Any]

FIRST_DPID = 1
READY_S, _PROBE_EVERY_S = 20.0, 0.2
_MAX_DESCRIPTOR = 1000  # select() cannot watch higher ones
# Sending later than this at the 99th percentile means that the generator, not the controller, was measured.
MOST_LATENESS_MS = 5.0


class LoadError(ArmorError):
    """A controller cannot be reached, or does not answer."""


@dataclass(frozen=True, slots=True)
class SwitchRegistry:
    """How emulated switches connect.

    Attributes
    ----------
    targets
        Connections of each switch; the first is that for everything which no other is named for.
    table
        Decides which connection a packet-in takes; None: the first takes all.
    queue_pkts
        Packet-ins that may wait on each connection.
    patience_s
        How long an answer may take.
    stall_s : tuple of float or None
        From when until when switches read nothing, seconds after the start of the load.
    retransmit_after_s
        When a switch sends a packet-in again that it had to drop, for as long as the patience of its packet; None: it
        does not, as Open vSwitch.
    manner
        How switches talk.
    """

    targets: tuple[Target, ...]
    table: PolicyMapTable | None = None
    queue_pkts: int = QUEUE_PKTS
    patience_s: float = 2.0
    stall_s: tuple[float, float] | None = None
    retransmit_after_s: float | None = None
    manner: Manner = GOOD


@dataclass(frozen=True)
class LoadResult:
    """What a load came to: per class, and what a reader must know to believe it."""

    load: Load
    classes: dict[str, ClassResult]
    ledger: Ledger
    ended: tuple[str, ...]
    errors: dict[str, int]
    generator_late_ms: float
    channels: int
    ran_s: float

    @property
    def warnings(self) -> tuple[str, ...]:
        """Why the numbers may say something about the generator or a broken connection instead."""
        found = [f"connection ended: {why}" for why in self.ended]
        found += [f"the controller sent {count} x {name}" for name, count in self.errors.items()]
        if self.generator_late_ms > MOST_LATENESS_MS:
            found.append(f"the generator was {self.generator_late_ms:.1f} ms late (99th percentile); lower the rate")
        if self.ledger.unexpected_answers:
            found.append(f"{self.ledger.unexpected_answers} answers were about packets that were never sent")
        return tuple(found)

    def to_json(self) -> Json:
        """JSON value."""
        load = self.load
        return {
            "switches": load.switches,
            "channels_per_switch": self.channels,
            "rate_pps": load.rate_pps,
            "seconds": load.seconds,
            "arrivals": load.arrivals,
            "high_share": load.high_share,
            "seed": load.seed,
            "buffered": load.buffered,
            "frame_bytes": load.frame_bytes,
            "classes": {name: result.to_json() for name, result in self.classes.items()},
            "answers_pps": round(sum(result.answers_pps for result in self.classes.values()), 2),
            "repeated_answers": self.ledger.repeated_answers,
            "generator_late_ms": round(self.generator_late_ms, 3),
            "warnings": list(self.warnings),
        }


class Generator:
    """Switches connected to a controller; entered and left as a context.

    Parameters
    ----------
    open_link
        Target -> connected socket (in another network namespace, when the caller wants it there).
    """

    def __init__(self, load: Load, registry: SwitchRegistry, open_link: Callable[[Target], Any] = connect) -> None:
        self._load, self._registry, self._open_link = load, registry, open_link
        self._schedule = make_schedule(load)
        self._ledger = Ledger(self._schedule)
        self._switches: list[list[Connection]] = []
        self._clock = Clock()
        self._channel_of = [controller_id_of(registry.table, kind, load.frame_bytes) for kind in CLASSES]
        self._answered_probes: set[int] = set()
        self._is_loaded = False
        again_s = registry.retransmit_after_s
        self._again = Retransmission(math.inf if again_s is None else again_s, registry.patience_s)
        self._stack = ExitStack()

    def __enter__(self) -> Generator:
        """Connect all switches and wait until the controller answers on each.

        Raises
        ------
        LoadError
            It does not within 20 s.
        """
        try:
            self._connect_all()
            self._wait_answering()
        except BaseException:
            self._stack.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        """Close all connections."""
        self._stack.close()

    def run(self, progress: Say = lambda _: None) -> LoadResult:
        """Send everything that is due, wait for the last answers, and sum up."""
        self._is_loaded = True
        late_ms = keep_schedule(self._clock, self._ledger, self._registry.patience_s, self, progress)
        errors: Counter[str] = Counter()
        for each in self._all():
            errors.update(each.errors)
        return LoadResult(
            self._load,
            self._ledger.results(self._registry.patience_s),
            self._ledger,
            tuple(each.gone for each in self._all() if each.gone),
            dict(errors),
            late_ms,
            len(self._registry.targets),
            self._clock.now(),
        )

    # ---- setting up

    def _connect_all(self) -> None:
        for number in range(self._load.switches):
            connections = []
            for target in self._registry.targets:
                try:
                    link = self._open_link(target)
                except OSError as error:
                    raise LoadError(
                        f"no controller at {target.host}:{target.port} ({error.strerror or error}); start it first"
                    ) from error
                if link.fileno() > _MAX_DESCRIPTOR:
                    link.close()
                    raise LoadError(f"{self._load.switches} switches need more connections than 1,000; use fewer")
                dpid = FIRST_DPID + number
                asked = self._registry
                made = Connection(link, dpid, self._on_sent, self._on_answer, asked.queue_pkts, manner=asked.manner)
                self._stack.callback(made.close)
                connections.append(made)
            self._switches.append(connections)

    def _wait_answering(self) -> None:
        """Ask every switch's controller with packets of every class until one of each was answered."""
        wanted = {
            FIRST_PROBE + number * len(CLASSES) + place
            for number in range(self._load.switches)
            for place in range(len(CLASSES))
        }
        deadline, next_s = self._clock.now() + READY_S, 0.0
        while (missing := wanted - self._answered_probes) or self._lacking():
            now = self._clock.now()
            if now > deadline:
                raise LoadError(self._unanswered(len(missing)))
            if now >= next_s:
                next_s = now + _PROBE_EVERY_S
                for serial in missing:
                    number, place = divmod(serial - FIRST_PROBE, len(CLASSES))
                    self._offer(number, place, serial, now)
            self.turn(min(next_s - now, LONGEST_WAIT_S))

    def _lacking(self) -> int:
        """Connections that have no handshake yet, or not the controller id that their class needs."""
        return sum(
            not each.has_handshake or (target.is_class and each.controller_id is None)
            for connections in self._switches
            for each, target in zip(connections, self._registry.targets, strict=True)
        )

    def _unanswered(self, missing: int) -> str:
        gone = next((each.gone for each in self._all() if each.gone), None)
        return (
            f"after {READY_S:g} s the controller has answered {self._load.switches * len(CLASSES) - missing} of "
            f"{self._load.switches * len(CLASSES)} first packet-ins, and {self._lacking()} connections are not set up"
            + (f" (one connection: {gone})" if gone else "")
            + "; does an app answer packet-ins?"
        )

    # ---- the load

    def _all(self) -> list[Connection]:
        return [each for connections in self._switches for each in connections]

    def offer(self, serial: int, now_s: float) -> bool:
        """Raise the packet-in of a packet of the schedule; False: it is dropped, and not retransmitted."""
        plan = self._schedule
        if self._offer(int(plan.switches[serial]), int(plan.class_ids[serial]), serial, now_s):
            return True
        if not self._again.add(serial, float(plan.due_s[serial]), now_s):
            return False
        self._ledger.drop(serial)
        return True

    def _retransmit(self, now_s: float) -> None:
        for serial in self._again.take(now_s):
            if not self.offer(serial, now_s):
                self._ledger.refuse(serial)

    def _offer(self, switch: int, class_id: int, serial: int, now_s: float) -> bool:
        load = self._load
        message = packet_in(serial, frame(serial, CLASSES[class_id], load.frame_bytes), load.buffered)
        return connection_of(self._switches[switch], self._channel_of[class_id]).offer(message, serial, now_s)

    def turn(self, wait_s: float) -> None:
        """Wait for the next thing to do, and do it."""
        self._stall()
        now = self._clock.now()
        self._retransmit(now)
        wait_s = min(wait_s, self._again.next_s - now)
        remaining = [each for each in self._all() if each.gone is None]
        readers = [each for each in remaining if each.reads]
        writers = [each for each in remaining if each.wants_to_write]
        readable, writable, _ = select.select(readers, writers, (), max(wait_s, 0.0))
        now = self._clock.now()
        for each in readable:
            each.read(now)
        for each in writable:
            each.flush(now)

    def is_idle(self) -> bool:
        """Whether no packet-in waits."""
        return self._again.next_s == math.inf and not any(each.wants_to_write for each in self._all())

    def _stall(self) -> None:
        if self._registry.stall_s is not None and self._is_loaded:
            start_s, end_s = self._registry.stall_s
            for each in self._all():
                each.reads = not start_s <= self._clock.now() < end_s

    def _on_sent(self, serial: int, now_s: float) -> None:
        if serial < FIRST_PROBE:
            self._ledger.send(serial, now_s)

    def _on_answer(self, serial: int, now_s: float) -> None:
        if serial >= FIRST_PROBE:
            self._answered_probes.add(serial)
        else:
            self._ledger.answer(serial, now_s)


def run_load(
    load: Load,
    registry: SwitchRegistry,
    open_link: Callable[[Target], Any] = connect,
    progress: Say = lambda _: None,
) -> LoadResult:
    """Connect, run the load, close.

    Raises
    ------
    LoadError
        The controller cannot be reached, or does not answer.
    """
    with Generator(load, registry, open_link) as generator:
        return generator.run(progress)
