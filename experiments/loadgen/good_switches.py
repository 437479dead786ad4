"""Emulated switches of a topology that do all that a controller asks, and ask it for echo replies at a fixed rate."""

from __future__ import annotations

import select
import struct
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial

from experiments.loadgen.connection import Connection, Manner, Sent, Target, connect
from experiments.loadgen.decide.beside import Switch
from experiments.loadgen.decide.ledger import ClassResult, Ledger
from experiments.loadgen.decide.load import LOW, Load, make_schedule
from experiments.loadgen.decide.switch import Heard, Meaning, hear
from experiments.loadgen.generator import READY_S, LoadError
from experiments.loadgen.pacing import LONGEST_WAIT_S, Clock, keep_schedule
from ryu_apps.openflow.encode import echo_request
from ryu_apps.openflow.wire import ONF_BUNDLE_ADD, ONF_EXPERIMENTER, MsgType

_CALM_S, _AGAIN_S, _CONNECT_S = 1.0, 0.5, 0.1
_MOST_CONNECTIONS = 900  # select() cannot watch descriptors above 1023
_COMMANDS = frozenset((int(MsgType.FLOW_MOD), int(MsgType.GROUP_MOD), int(MsgType.PACKET_OUT)))
_BUNDLED = struct.pack("!II", ONF_EXPERIMENTER, ONF_BUNDLE_ADD)
_NOTHING_TO_SAY = Heard(Meaning.REQUEST)
_READ_BYTES = 8192  # of a connection at a time, so that what is due is sent between
_WINDOW_BITS = 24  # of a transaction id: serial number in a window


@dataclass(frozen=True)
class EchoWindow:
    """Echo requests of a window: what became of them, and how late the generator was."""

    result: ClassResult
    late_ms: float


def hear_commands_quickly(given: bytes, dpid: int, ports: Sequence[int]) -> Heard:
    """As `hear`, but flow-mods, group-mods and bundled messages, which come in thousands, are not looked into.

    Parameters
    ----------
    given
        One whole message.
    dpid, ports
        Of the switch.
    """
    if given[1] in _COMMANDS or (given[1] == MsgType.EXPERIMENTER and given[8:16] == _BUNDLED):
        return _NOTHING_TO_SAY
    return hear(given, dpid, ports)


class _Link:
    """A connection that is opened again some time after the controller has closed it, as a switch does."""

    def __init__(self, target: Target, switch: Switch, on_sent: Sent, on_echo: Sent) -> None:
        self.target, self.switch, self.on_sent = target, switch, on_sent
        self.manner = Manner(partial(hear_commands_quickly, ports=switch.ports), on_echo=on_echo)
        self.connection: Connection | None = None
        self.again_s, self.n_ended = 0.0, 0

    @property
    def live(self) -> Connection | None:
        """The connection; None while there is none."""
        return self.connection if self.connection is not None and self.connection.gone is None else None

    def keep(self, now_s: float) -> None:
        """Open it if it is due."""
        if self.connection is not None and self.connection.gone is not None:
            self.close()
            self.n_ended += 1
            self.again_s = now_s + _AGAIN_S
        if self.connection is None and now_s >= self.again_s:
            self.again_s = now_s + _AGAIN_S
            with suppress(OSError):
                link = connect(self.target, _CONNECT_S)
                self.connection = Connection(link, self.switch.dpid, self.on_sent, _ignore, manner=self.manner)
                self.connection.read_bytes = _READ_BYTES

    def close(self) -> None:
        """Close it."""
        if self.connection is not None:
            self.connection.close()
            self.connection = None


class GoodSwitches:
    """Switches at a controller; entered and left as a context.

    Parameters
    ----------
    switches
        At least one.
    targets
        Connections of each.

    Raises
    ------
    LoadError
        They are more connections than select() can watch.
    """

    def __init__(self, switches: Sequence[Switch], targets: Sequence[Target]) -> None:
        if len(switches) * len(targets) > _MOST_CONNECTIONS:
            raise LoadError(
                f"{len(switches)} switches with {len(targets)} connections each are more than {_MOST_CONNECTIONS} "
                "connections; use a smaller topology"
            )
        self._clock, self._ledger, self._window = Clock(), Ledger(make_schedule(_load(1, 1.0, 1.0, 1))), 0
        self._links = [[_Link(target, each, self._on_sent, self._on_echo) for target in targets] for each in switches]

    def __enter__(self) -> GoodSwitches:
        """Connect all, and wait until the controller knows them and has nothing to ask for a second.

        Raises
        ------
        LoadError
            It does not finish the handshakes within 20 s.
        """
        try:
            self._wait_calm()
        except BaseException:
            self._close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        """Close all connections."""
        self._close()

    def ask(self, rate_pps: float, seconds: float, seed: int, patience_s: float) -> EchoWindow:
        """Send echo requests at a rate, in turn by each switch; answers that come after `patience_s` are lost."""
        load = _load(len(self._links), rate_pps, seconds, seed)
        self._ledger, self._window = Ledger(make_schedule(load)), self._window + 1
        self._restart()
        late_ms = keep_schedule(self._clock, self._ledger, patience_s, self)
        return EchoWindow(self._ledger.results(patience_s)[LOW.name], late_ms)

    @property
    def n_ended(self) -> int:
        """Connections that have ended so far."""
        return sum(link.n_ended for link in self._all())

    def serve(self, seconds: float) -> None:
        """Answer the controller for so long."""
        end_s = self._clock.now() + seconds
        while (left_s := end_s - self._clock.now()) > 0:
            self.turn(min(left_s, LONGEST_WAIT_S))

    # ---- one side of `keep_schedule`

    def offer(self, serial: int, now_s: float) -> bool:
        """Send the echo request of a serial number."""
        links = self._links[int(self._ledger.schedule.switches[serial])]
        connection = links[serial // len(self._links) % len(links)].live
        if connection is None:
            return False
        xid = self._window << _WINDOW_BITS | serial
        return connection.offer(echo_request(xid=xid), xid, now_s)

    def turn(self, wait_s: float) -> None:
        """Wait for the next thing to do, and do it."""
        now_s = self._clock.now()
        for link in self._all():
            link.keep(now_s)
        connections = [each for link in self._all() if (each := link.live) is not None]
        writers = [each for each in connections if each.wants_to_write]
        readable, writable, _ = select.select(connections, writers, (), max(wait_s, 0.0))
        now_s = self._clock.now()
        for each in readable:
            each.read(now_s)
        for each in writable:
            each.flush(now_s)

    def is_idle(self) -> bool:
        """Whether no request waits."""
        return not any(each.wants_to_write for link in self._all() if (each := link.live) is not None)

    # ---- inside

    def _wait_calm(self) -> None:
        """Wait for all handshakes, and then for a second without a message of the controller, or no longer."""
        heard, calm_since_s = -1, 0.0
        while (now_s := self._clock.now()) < READY_S:
            self.turn(LONGEST_WAIT_S)
            is_ready = all(each is not None and each.has_handshake for each in (link.live for link in self._all()))
            count = sum(each.heard.total() for link in self._all() if (each := link.live) is not None)
            if count != heard or not is_ready:
                heard, calm_since_s = count, now_s
            elif now_s - calm_since_s >= _CALM_S:
                return
        missing = sum(not (link.live and link.live.has_handshake) for link in self._all())
        if missing:
            raise LoadError(
                f"after {READY_S:g} s the controller has not finished {missing} of {len(self._all())} handshakes; "
                "does it know the topology?"
            )

    def _restart(self) -> None:
        """The clock begins again at zero with a window, so what is due to be opened is due at once."""
        for link in self._all():
            link.again_s = 0.0

    def _on_sent(self, xid: int, now_s: float) -> None:
        serial = self._serial(xid)
        if serial is not None:
            self._ledger.send(serial, now_s)

    def _on_echo(self, xid: int, now_s: float) -> None:
        serial = self._serial(xid)
        if serial is not None:
            self._ledger.answer(serial, now_s)

    def _serial(self, xid: int) -> int | None:
        """Serial number in this window; None: of another window, or of no request."""
        window, serial = divmod(xid, 1 << _WINDOW_BITS)
        return serial if window == self._window and serial < len(self._ledger.schedule) else None

    def _all(self) -> list[_Link]:
        return [link for links in self._links for link in links]

    def _close(self) -> None:
        for link in self._all():
            link.close()


def _load(n_switches: int, rate_pps: float, seconds: float, seed: int) -> Load:
    """A load of one class with equal gaps, in which switches take turns."""
    return Load(n_switches, rate_pps, seconds, "constant", 0.0, seed)


def _ignore(_serial: int, _now_s: float) -> None:
    """Flow-mods and packet-outs answer nothing here: what counts is the echo reply."""
