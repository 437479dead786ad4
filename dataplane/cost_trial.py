"""What 1+1 protection and SQR cost a packet: run times that the kernel counts, and the whole way on one processor."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network
from itertools import pairwise
from statistics import median

from dataplane.decide.sqr import SqrPort
from dataplane.loader import RunTime, run_time_statistics
from dataplane.model.flow_match import FlowMatch
from dataplane.model.protection_node import Connection
from dataplane.protect import ProtectNode
from dataplane.sqr import SqrSwitch
from dataplane.two_paths import H1_ADDRESS, H2_ADDRESS, TwoPaths, count_stream, numbered_frames, numbers_in
from machine.places import pin_receive

VARIANTS = ("plain", "unprotected", "protected", "sqr", "sqr-in-send")
S1_ADDRESS, S2_ADDRESS = IPv4Address("192.0.2.1"), IPv4Address("192.0.2.2")
THERE, BACK = Connection(7, S1_ADDRESS, S2_ADDRESS), Connection(7, S2_ADDRESS, S1_ADDRESS)
PATHS = ("p1", "p2")
# By source: a node would take what it has just freed of its headers for a flow to protect, if that matched all.
FROM_H1 = FlowMatch(source=IPv4Network(f"{H1_ADDRESS}/32"))
FROM_H2 = FlowMatch(source=IPv4Network(f"{H2_ADDRESS}/32"))
_SLOTS = 8192
GROUP = 100


@dataclass(frozen=True)
class Cost:
    """Nanoseconds a packet: the whole way from socket to socket, and the programs at both nodes; what was lost.

    `whole_ns` is the median over groups of `GROUP` frames, so what else the processor did meanwhile does not count.
    `first_node_ns` and `second_node_ns` are a run of the program at the node; the second has a run for each copy.
    A run in which a packet is cloned contains the sending of the clone.
    """

    variant: str
    frame_bytes: int
    frames: int
    whole_ns: float
    first_node_ns: float
    second_node_ns: float
    lost: int


@contextmanager
def protected_nodes(
    testbed: TwoPaths, flows: Sequence[tuple[FlowMatch, Connection]], program: str = "protect"
) -> Iterator[tuple[ProtectNode, ProtectNode]]:
    """Put 1+1 protection on both nodes of a testbed, from h1 to h2 by these flows, and back for all packets of h2.

    Parameters
    ----------
    flows : sequence of (FlowMatch, Connection)
        Protected flows at s1, of the connection `THERE`.
    program : {"protect", "forward"}
        `forward` sends everything by p1.
    """
    with ExitStack() as stack:
        back = [(FROM_H2, BACK)] if flows else []
        nodes = (
            stack.enter_context(ProtectNode(testbed.s1, S1_ADDRESS, [THERE, BACK], flows)),
            stack.enter_context(ProtectNode(testbed.s2, S2_ADDRESS, [THERE, BACK], back)),
        )
        for node in nodes:
            node.between("h", plain="p1", paths=PATHS, program=program)
            for path in PATHS:
                node.between(path, plain="h", paths=PATHS, program=program)
        yield nodes


@contextmanager
def sqr_nodes(testbed: TwoPaths, port: SqrPort) -> Iterator[tuple[SqrSwitch, ProtectNode]]:
    """Put SQR on what h1 sends at s1, and plain forwarding on all else; h2's packets return by p3, which stays."""
    with ExitStack() as stack:
        first = stack.enter_context(ProtectNode(testbed.s1, S1_ADDRESS))
        second = stack.enter_context(ProtectNode(testbed.s2, S2_ADDRESS))
        switch = stack.enter_context(SqrSwitch(testbed.s1, [port]))
        first.between("p3", plain="h", paths=PATHS, program="forward")
        second.between("h", plain="p3", paths=PATHS, program="forward")
        for path in PATHS:
            second.between(path, plain="h", paths=PATHS, program="forward")
        yield switch, second


@contextmanager
def variant(testbed: TwoPaths, name: str) -> Iterator[tuple[Callable[[], RunTime], Callable[[], RunTime]]]:
    """Set up what is compared; gives the run times of the programs of both nodes."""
    with ExitStack() as stack:
        if name.startswith("sqr"):
            port = SqrPort("h", "p1", "p2", slots=_SLOTS, in_send=name == "sqr-in-send")
            switch, second = stack.enter_context(sqr_nodes(testbed, port))
            yield lambda: switch.run_time("h"), lambda: second.run_time("forward")
        else:
            program = "forward" if name == "plain" else "protect"
            flows = [(FROM_H1, THERE)] if name == "protected" else []
            first, second = stack.enter_context(protected_nodes(testbed, flows, program))
            yield lambda: first.run_time(program), lambda: second.run_time(program)


def measure(testbed: TwoPaths, name: str, frame_bytes: int, frames: int, processor: int) -> Cost:
    """Send frames as fast as one processor takes them all the way, first unobserved, then with run times counted.

    Parameters
    ----------
    testbed
        Nothing is attached to it.
    name
        One of `VARIANTS`.
    frame_bytes
        Length of the frames.
    frames
        How many, each time.
    processor
        On which sender, nodes and receiver work.
    """
    for node in (testbed.s1, testbed.s2):
        pin_receive(node, {"h": processor})
    with variant(testbed, name) as (first, second), testbed.listen() as receiver, testbed.sender() as sender:
        whole_ns = median(_send_all(sender, frame_bytes, range(frames), processor)) / GROUP
        with run_time_statistics():
            before = first(), second()
            _send_all(sender, frame_bytes, range(frames, 2 * frames), processor)
            after = first(), second()
        lost = count_stream(2 * frames, numbers_in(receiver)).lost
    first_ns, second_ns = (_mean_ns(early, late) for early, late in zip(before, after, strict=True))
    return Cost(name, frame_bytes, frames, whole_ns, first_ns, second_ns, lost)


def _send_all(sender: socket.socket, frame_bytes: int, numbers: range, processor: int) -> list[int]:
    """Send frames back to back on one processor; nanoseconds of each whole group of them."""
    usable = os.sched_getaffinity(0)
    ready = list(numbered_frames(frame_bytes, numbers))
    stamps = []
    os.sched_setaffinity(0, {processor})
    try:
        for number, frame in enumerate(ready):
            if number % GROUP == 0:
                stamps.append(time.perf_counter_ns())
            sender.send(frame)
    finally:
        os.sched_setaffinity(0, usable)
    return [late - early for early, late in pairwise(stamps)]


def _mean_ns(before: RunTime, after: RunTime) -> float:
    runs = after.count - before.count
    return (after.total_ns - before.total_ns) / runs if runs else 0.0
