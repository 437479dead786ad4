"""Try the queues of ports: send marked frames into full links, see what comes out (decide.queue_trial judges)."""

from __future__ import annotations

import errno
import socket
import struct
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from emulation.decide.queue_trial import (
    BUDGETS_PPS,
    HIGH_SHARE,
    LOW_SHARE,
    Arrival,
    PairOutcome,
    Phase,
    QueueVerdict,
    TrialPort,
    destination,
    first_load,
    judge_queues,
    make_frame,
    next_load,
    outcome_of,
    phase_frames,
    phases,
    read_stamp,
    stamp,
)
from emulation.decide.queues import QueueSetup
from emulation.decide.traffic import emulated_capacity_mbps
from machine.places import call_inside, run_program
from mininet_topos.errors import BadInputError
from mininet_topos.ports import HOST_PORT
from mininet_topos.topology import Direction
from ryu_apps.plan.ids import Kind, Owner, cookie

if TYPE_CHECKING:
    from emulation.decide.switch import SwitchSite
    from emulation.running import RunningNetwork

_TICK_S = 0.001  # frames of a tick leave back to back
_EMPTYING, _LATE_S = 1.2, 0.02  # how long queues may take to empty, and what else is late
_COOKIE = cookie(Owner.QUEUE_TRIAL, Kind.PLANNED)
_PARALLEL = 8
_BUFFER_BYTES = 64 * 1024 * 1024
_HEAD_BYTES = 64
_TIMESPEC = struct.Struct("@qq")
_SO_TIMESTAMPNS, _SO_RCVBUFFORCE, _SO_SNDBUFFORCE, _SOL_PACKET, _PACKET_IGNORE_OUTGOING = 35, 33, 32, 263, 23
_ETH_P_ALL = 3


@dataclass(frozen=True)
class TrialWire:
    """A port, a socket whose frames it sends, and one that receives them at the other end of its link."""

    port: TrialPort
    sender: socket.socket
    receiver: socket.socket


def run_trial(wires: Sequence[TrialWire], setup: QueueSetup, queue_pkts: int) -> QueueVerdict:
    """Try all pairs of queues on all ports; what fails is tried again, since a busy machine can fail it too.

    Parameters
    ----------
    queue_pkts
        Longest queue.
    """
    began_s, number = time.monotonic(), 0
    wire_of = {wire.port: wire for wire in wires}
    outcomes: list[PairOutcome] = []
    load = first_load(list(wire_of), setup)
    for budget_pps in BUDGETS_PPS:
        for pair, ports in load.items():
            outcomes += _try_pair(list(phases(number, pair, ports, budget_pps)), wire_of, setup, queue_pkts)
            number += 1
        verdict = judge_queues(setup, outcomes, time.monotonic() - began_s)
        load = next_load(verdict.outcomes)
        if not load:
            break
    return verdict


@dataclass
class _Stream:
    """Frames of one queue into one port, at a steady pace."""

    sender: socket.socket
    frame: bytearray
    start: int
    queue_id: int
    interval_s: float
    left: int
    next_s: float
    sent: int = 0

    def send_due(self, phase: int, most: int, now_s: float) -> None:
        """Send what is due; time in which nothing could be sent is not made up for, since a burst fills queues."""
        for _ in range(most):
            if self.next_s > now_s or not self.left:
                return
            stamp(self.frame, self.start, phase, self.queue_id, time.time_ns())
            _send(self.sender, self.frame)
            self.next_s += self.interval_s
            self.left -= 1
            self.sent += 1
        self.next_s = max(self.next_s, now_s)


def _send(sender: socket.socket, frame: bytearray) -> None:
    try:
        sender.send(frame)
    except OSError as error:
        if error.errno != errno.ENOBUFS:  # a full queue of this very interface says so; the frame counts as lost
            raise


def _try_pair(
    parts: Sequence[Phase], wire_of: Mapping[TrialPort, TrialWire], setup: QueueSetup, queue_pkts: int
) -> list[PairOutcome]:
    """Send all phases of a pair, let the queues run empty, and see what came."""
    sent = {port: counts for part in parts for port, counts in _send_phase(part, wire_of, setup, queue_pkts).items()}
    time.sleep(_EMPTYING * max((port.emptying_s(queue_pkts) for port in sent), default=0) + _LATE_S)
    return [
        outcome_of(port, part, sent[port], _arrivals(wire_of[port].receiver, part.number))
        for part in parts
        for port in part.ports
    ]


def _send_phase(
    phase: Phase, wire_of: Mapping[TrialPort, TrialWire], setup: QueueSetup, queue_pkts: int
) -> dict[TrialPort, dict[int, int]]:
    """Frames sent by port and queue."""
    now = time.monotonic()
    streams = {
        port: [
            _Stream(
                wire_of[port].sender,
                *make_frame(port, queue_id, setup),
                queue_id,
                interval_s=1 / (share * port.link_pps),
                left=round(share * phase_frames(port, queue_pkts)),
                next_s=now,
            )
            # Low first: where a refused frame costs those behind it, high ones are behind it.
            for queue_id, share in ((phase.low, LOW_SHARE), (phase.high, HIGH_SHARE))
        ]
        for port in phase.ports
    }
    waiting = [stream for pair in streams.values() for stream in pair]
    while waiting:
        now = time.monotonic()
        for stream in waiting:
            stream.send_due(phase.number, max(1, queue_pkts // 4), now)
        waiting = [stream for stream in waiting if stream.left]
        time.sleep(_TICK_S)
    return {port: {stream.queue_id: stream.sent for stream in pair} for port, pair in streams.items()}


def _arrivals(receiver: socket.socket, phase: int) -> Iterator[Arrival]:
    """Frames of a phase that a receiver has got."""
    while True:
        try:
            head, ancillary, _, _ = receiver.recvmsg(_HEAD_BYTES, 64)
        except BlockingIOError:
            return
        found = read_stamp(head)
        if found is not None and found[0] == phase:
            seconds, nanoseconds = _TIMESPEC.unpack_from(ancillary[0][2])
            yield Arrival(found[1], (seconds * 10**9 + nanoseconds - found[2]) / 1e6)


def open_sender(pid: int, interface: str) -> socket.socket:
    """A packet socket that sends by an interface of a process's namespace."""

    def make() -> socket.socket:
        made = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
        made.bind((interface, 0))
        made.setsockopt(socket.SOL_SOCKET, _SO_SNDBUFFORCE, _BUFFER_BYTES)
        return made

    return call_inside(pid, make)


def open_receiver(pid: int, interface: str) -> socket.socket:
    """A packet socket that keeps and stamps what arrives at an interface of a process's namespace."""

    def make() -> socket.socket:
        made = socket.socket(socket.AF_PACKET, socket.SOCK_RAW | socket.SOCK_NONBLOCK, 0)
        made.setsockopt(_SOL_PACKET, _PACKET_IGNORE_OUTGOING, 1)
        made.setsockopt(socket.SOL_SOCKET, _SO_RCVBUFFORCE, _BUFFER_BYTES)
        made.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)
        made.bind((interface, _ETH_P_ALL))
        return made

    return call_inside(pid, make)


def try_queues(network: RunningNetwork, setup: QueueSetup, queue_pkts: int) -> QueueVerdict:
    """Try the queues of every link port of a running network.

    Frames go from each switch's host through the switch into its links.
    Rows of the trial stand before all others and are gone afterwards; other traffic makes it fail.

    Parameters
    ----------
    queue_pkts
        Longest queue.

    Raises
    ------
    BadInputError
        A link has no capacity.
    CommandError
        A switch does not take the rows.
    """
    with ExitStack() as stack:
        wires = [
            _network_wire(network, direction, stack)
            for direction in (link.direction for link in network.topology.links)
        ]
        stack.enter_context(_trial_rows(network, [wire.port for wire in wires], setup))
        return run_trial(wires, setup, queue_pkts)


def _network_wire(network: RunningNetwork, direction: Direction, stack: ExitStack) -> TrialWire:
    link = network.topology.link_at[direction]
    capacity = emulated_capacity_mbps(link, network.options)
    if capacity is None:
        raise BadInputError(f"link {link.src}-{link.dst} has no capacity, so its queues cannot be tried")
    far_port = network.ports.port_of[Direction(direction.dst, direction.src, direction.key)]
    delay_ms = link.delay_ms or 0.0 if network.delays_links else 0.0
    host = network.hosts[direction.src].name
    return TrialWire(
        TrialPort(direction.src, network.ports.port_of[direction], capacity, delay_ms),
        stack.enter_context(open_sender(network.shell_pid(host), f"{host}-eth0")),
        stack.enter_context(
            open_receiver(network.shell_pid(direction.dst), network.interface(direction.dst, far_port))
        ),
    )


@contextmanager
def _trial_rows(network: RunningNetwork, ports: Sequence[TrialPort], setup: QueueSetup) -> Iterator[None]:
    """Rows that send trial frames from a switch's host to the port and queue in their address."""
    rows: dict[str, list[str]] = {}
    for port in ports:
        rows.setdefault(port.node, []).extend(trial_row(port.port_no, queue) for queue in setup.traffic_queues)

    def change(node: str, *words: str, text: str = "") -> None:
        site: SwitchSite = network.sites[node]
        run_program(["ovs-ofctl", "-O", "OpenFlow13", words[0], f"unix:{site.mgmt_socket}", *words[1:]], stdin=text)

    with ThreadPoolExecutor(_PARALLEL) as pool:
        try:
            list(pool.map(lambda node: change(node, "add-flows", "-", text="\n".join(rows[node])), rows))
            yield
        finally:
            list(pool.map(lambda node: change(node, "del-flows", f"cookie={_COOKIE:#x}/-1"), rows))


def trial_row(port_no: int, queue_id: int) -> str:
    """Row, as `ovs-ofctl` reads it, that sends trial frames for a port and queue there."""
    address = destination(port_no, queue_id).hex(":")
    match = f"priority=65000,in_port={HOST_PORT},dl_dst={address}"
    return f"cookie={_COOKIE:#x},{match},actions=set_queue:{queue_id},output:{port_no}"
