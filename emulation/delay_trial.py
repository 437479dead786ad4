"""How exactly this machine's delay line delays: stamped frames through it, in a namespace of their own."""

from __future__ import annotations

import signal
import socket
import struct
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from emulation.decide.delay_line import (
    DelayReport,
    DelayTrial,
    Relay,
    delay_line_command,
    parse_report,
    trial_of,
)
from machine.places import call_inside, child, inside, private_namespace, run_batch
from machine.processor_time import processor_seconds

_ETHERTYPE = 0x88B5  # IEEE 802: for local experiments
_MACS = bytes.fromhex("020000000002020000000001")
_HEADER = _MACS + _ETHERTYPE.to_bytes(2, "big")
_PADDING = bytes(64)
_STAMP = struct.Struct("!Q")
_TIMESPEC = struct.Struct("@qq")
_SO_TIMESTAMPNS, _SO_RCVBUFFORCE = 35, 33  # Linux, where the socket module lacks them
_RECEIVE_BUFFER_BYTES = 256 * 1024 * 1024
_TICK_S = 0.0005  # frames of a tick leave back to back; finer would be the sender's own lateness


@dataclass(frozen=True)
class DelayTestbed:
    """A delay line between interfaces x0, x1, ... (senders) and y0, y1, ... (receivers) of one namespace."""

    shell_pid: int
    line: subprocess.Popen[str]

    def receiver(self, number: int) -> socket.socket:
        """A socket on y`number` that stamps and keeps what arrives."""

        def make() -> socket.socket:
            made = socket.socket(socket.AF_PACKET, socket.SOCK_RAW | socket.SOCK_NONBLOCK, socket.htons(_ETHERTYPE))
            made.bind((f"y{number}", _ETHERTYPE))
            made.setsockopt(socket.SOL_SOCKET, _SO_RCVBUFFORCE, _RECEIVE_BUFFER_BYTES)
            made.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)
            return made

        return call_inside(self.shell_pid, make)

    def report(self) -> DelayReport:
        """The line's own counters."""
        self.line.send_signal(signal.SIGUSR1)
        return _read_report(self.line)

    def cpu_s(self) -> float:
        """Processor time that the line has used so far, in seconds."""
        return processor_seconds(self.line.pid)


@contextmanager
def delay_testbed(program: Path, links: int, delay_ms: float, *, realtime: bool = True) -> Iterator[DelayTestbed]:
    """Build a testbed of `links` links; it is gone afterwards, also after kill -9 of this program.

    Parameters
    ----------
    program
        The delay line.
    delay_ms
        One way.

    Raises
    ------
    DelayLineError
        The line does not start.
    CommandError
        The namespace cannot be built.
    """
    with ExitStack() as stack:
        shell_pid = stack.enter_context(private_namespace())
        run_batch(shell_pid, ["ip", "-batch", "-"], _testbed_lines(links))
        relays = [Relay(f"p{number}", f"q{number}", delay_ms) for number in range(links)]
        command = delay_line_command(program, relays, realtime=realtime)
        line = stack.enter_context(child(inside(shell_pid, command)))
        _read_report(line)
        yield DelayTestbed(shell_pid, line)


def send_stamped(shell_pid: int, links: Sequence[int], rate_pps: int, seconds: float) -> int:
    """Send frames that carry the time of their sending into links of a testbed, at a steady rate.

    Parameters
    ----------
    shell_pid
        Of the testbed.
    links
        Numbers of the links.
    rate_pps
        Frames a second into each.

    Returns
    -------
    Frames sent into each link.
    """
    with ExitStack() as stack:
        sockets = [stack.enter_context(_sender(shell_pid, number)) for number in links]
        count, sent, began_s = round(rate_pps * seconds), 0, time.monotonic()
        while sent < count:
            due = min(count, int((time.monotonic() - began_s) * rate_pps) + 1)
            for _ in range(due - sent):
                for sender in sockets:
                    sender.send(_HEADER + _STAMP.pack(time.time_ns()) + _PADDING)
            sent = due
            time.sleep(_TICK_S)
        return sent


def errors_us(receiver: socket.socket, delay_ms: float) -> list[float]:
    """How much longer than the delay each frame in a receiver's buffer was under way, in microseconds.

    The time includes the sender's and the kernel's own work before the line has the frame (some microseconds).
    """
    found: list[float] = []
    while True:
        try:
            data, ancillary, _, _ = receiver.recvmsg(256, 64)
        except BlockingIOError:
            return found
        seconds, nanoseconds = _TIMESPEC.unpack_from(ancillary[0][2])
        (sent_ns,) = _STAMP.unpack_from(data, len(_HEADER))
        found.append((seconds * 10**9 + nanoseconds - sent_ns) / 1000 - delay_ms * 1000)


def try_delay_line(program: Path, *, delay_ms: float = 5.0, rate_pps: int = 1000, seconds: float = 0.5) -> DelayTrial:
    """Measure the delay line on one link.

    Parameters
    ----------
    delay_ms
        One way.

    Raises
    ------
    DelayLineError
        The line does not start, or nothing arrives.
    CommandError
        The namespace cannot be built.
    """
    with delay_testbed(program, 1, delay_ms) as testbed, testbed.receiver(0) as receiver:
        sent = send_stamped(testbed.shell_pid, [0], rate_pps, seconds)
        time.sleep(delay_ms / 1000 + 0.1)
        return trial_of(delay_ms, sent, errors_us(receiver, delay_ms))


def _sender(shell_pid: int, number: int) -> socket.socket:
    def make() -> socket.socket:
        made = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
        made.bind((f"x{number}", 0))
        return made

    return call_inside(shell_pid, make)


def _testbed_lines(links: int) -> list[str]:
    lines = []
    for number in range(links):
        lines += [
            f"link add x{number} type veth peer name p{number}",
            f"link add y{number} type veth peer name q{number}",
        ]
        lines += [f"link set {end}{number} up" for end in "xpyq"]
    return lines


def _read_report(line: subprocess.Popen[str]) -> DelayReport:
    return parse_report(line.stdout.readline() if line.stdout else "")
