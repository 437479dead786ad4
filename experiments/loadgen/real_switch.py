"""The same load on a real Open vSwitch: packets go in by one port, and must come out by the other.

The switch raises the packet-ins itself, over as many controller connections as there are targets. A packet is answered
when it comes out of the switch, so its delay is that of the packet, end to end.
"""

from __future__ import annotations

import errno
import select
import socket
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from emulation.queue_trial import open_receiver, open_sender
from experiments.loadgen.connection import Target
from experiments.loadgen.decide.ledger import Ledger
from experiments.loadgen.decide.load import CLASSES, Load, make_schedule
from experiments.loadgen.decide.packets import FIRST_PROBE, HOST_PORTS, frame, in_port_of, serial_of
from experiments.loadgen.generator import READY_S, LoadError, LoadResult
from experiments.loadgen.pacing import LONGEST_WAIT_S, Clock, Say, keep_schedule
from experiments.loadgen.switch_line import SwitchLine
from experiments.testbed.packet_cost.switch import CostSwitch, far_end
from machine.places import call_inside

_FRAME_MOST_BYTES = 2048
_PROBE_EVERY_S = 0.2


class RealLoad:
    """Hosts at a real switch; entered and left as a context.

    Parameters
    ----------
    switch
        With hosts at ports 1 and 2.
    load
        One switch.
    targets
        Its controllers; `send_buffer_bytes` holds for all of them.
    """

    def __init__(
        self, switch: CostSwitch | SwitchLine, load: Load, targets: Sequence[Target], patience_s: float
    ) -> None:
        self._switch, self._load, self._targets, self._patience_s = switch, load, targets, patience_s
        self._clock, self._ledger = Clock(), Ledger(make_schedule(load))
        self._seen: set[int] = set()
        self._stack = ExitStack()

    def __enter__(self) -> RealLoad:
        """Connect the switch to its controllers, and wait until packets of every class come through both ways.

        Raises
        ------
        LoadError
            They do not within 20 s.
        """
        try:
            holder = self._switch.holder
            most_bytes = max(target.send_buffer_bytes for target in self._targets)
            if most_bytes:
                call_inside(holder, lambda: _limit_send_buffers(most_bytes))
            self._senders = {port: self._open(open_sender(holder, far_end(port))) for port in HOST_PORTS}
            self._receivers = [self._open(open_receiver(holder, far_end(port))) for port in HOST_PORTS]
            self._switch.set_controllers([(f"tcp:{each.host}:{each.port}", each.dscp) for each in self._targets])
            self._wait_through()
        except BaseException:
            self._stack.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        """Close the sockets."""
        self._stack.close()

    def run(self, progress: Say = lambda _: None) -> LoadResult:
        """Send everything that is due, wait for the last packets, and sum up."""
        late_ms = keep_schedule(self._clock, self._ledger, self._patience_s, self, progress)
        classes = self._ledger.results(self._patience_s)
        ran_s = self._clock.now()
        return LoadResult(self._load, classes, self._ledger, (), {}, late_ms, len(self._targets), ran_s)

    def offer(self, serial: int, now_s: float) -> bool:
        """Send a packet into the switch."""
        try:
            self._send(serial, int(self._ledger.schedule.class_ids[serial]))
        except OSError as error:
            if error.errno != errno.ENOBUFS:  # the switch's port takes no more
                raise
            return False
        self._ledger.send(serial, now_s)
        return True

    def turn(self, wait_s: float) -> None:
        """Take packets that have come out."""
        readable, _, _ = select.select(self._receivers, (), (), max(wait_s, 0.0))
        now_s = self._clock.now()
        for receiver in readable:
            self._take(receiver, now_s)

    def is_idle(self) -> bool:
        """The hosts keep nothing back."""
        return True

    def _open(self, made: socket.socket) -> socket.socket:
        return self._stack.enter_context(made)

    def _send(self, serial: int, class_id: int) -> None:
        self._senders[in_port_of(serial)].send(frame(serial, CLASSES[class_id], self._load.frame_bytes))

    def _take(self, receiver: socket.socket, now_s: float) -> None:
        while True:
            try:
                data = receiver.recv(_FRAME_MOST_BYTES)
            except BlockingIOError:
                return
            serial = serial_of(data)
            if serial is None:
                continue
            if serial >= FIRST_PROBE:
                self._seen.add(serial)
            else:
                self._ledger.answer(serial, now_s)

    def _wait_through(self) -> None:
        """Probes of both classes from both ports."""
        wanted = {FIRST_PROBE + number for number in range(len(CLASSES) * len(HOST_PORTS))}
        next_s = 0.0
        while missing := wanted - self._seen:
            now = self._clock.now()
            if now > READY_S:
                raise LoadError(
                    f"after {READY_S:g} s {len(missing)} of {len(wanted)} first packets have not come through"
                )
            if now >= next_s:
                next_s = now + _PROBE_EVERY_S
                for serial in missing:
                    self._send(serial, (serial - FIRST_PROBE) // len(HOST_PORTS))
            self.turn(min(next_s - now, LONGEST_WAIT_S))


def _limit_send_buffers(most_bytes: int) -> None:
    """Open vSwitch leaves the size to the kernel, so the namespace's bounds are lowered; a buffer counts twice."""
    bounds = Path("/proc/sys/net/ipv4/tcp_wmem")
    bounds.write_text(f"4096 {2 * most_bytes} {2 * most_bytes}", encoding="ascii")
