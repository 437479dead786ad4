"""A control link in namespaces of its own: switch - wire - controller, the wire with a rate in both directions."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from experiments.loadgen.connection import Target, connect
from experiments.loadgen.decide.link import (
    CONTROLLER_ADDRESS,
    CONTROLLER_DEVICE,
    DOWN_DEVICE,
    ONE_QUEUE,
    QUEUE_PKTS,
    SWITCH_ADDRESS,
    SWITCH_DEVICE,
    UP_DEVICE,
    LinkClasses,
    class_counters,
    end_lines,
    rate_lines,
    wire_lines,
)
from machine.places import call_inside, inside, private_namespace, run_batch, run_program

Counters = dict[str, dict[str, int]]
_OFFLOADS = ("tso", "gso", "gro", "tx")


@dataclass(frozen=True, slots=True)
class LinkShape:
    """Rate of a control link and its classes.

    Attributes
    ----------
    rate_mbps
        Each direction, Ethernet headers counted; None: as fast as the machine.
    classes
        Without any: one queue.
    queue_pkts
        Longest queue, each.
    """

    rate_mbps: float | None = None
    classes: LinkClasses = ONE_QUEUE
    queue_pkts: int = QUEUE_PKTS


@dataclass(frozen=True, slots=True)
class ControlLink:
    """Processes whose namespaces are the two ends and the wire."""

    switch_pid: int
    wire_pid: int
    controller_pid: int
    shape: LinkShape

    @property
    def controller_address(self) -> str:
        """Where the controller listens."""
        return CONTROLLER_ADDRESS

    def connect(self, target: Target) -> socket.socket:
        """A connection from the switch's end."""
        return call_inside(self.switch_pid, lambda: connect(target))

    def counters(self) -> Counters | None:
        """What each class has carried towards the controller since the start; None without a rate."""
        if self.shape.rate_mbps is None:
            return None
        words = ["tc", "-s", "-j", "qdisc", "show", "dev", DOWN_DEVICE]
        return class_counters(json.loads(run_program(inside(self.wire_pid, words))), self.shape.classes.dscps)


@contextmanager
def control_link(shape: LinkShape, switch_pid: int | None = None) -> Iterator[ControlLink]:
    """Build a control link; it is gone with the block, and with this program.

    Parameters
    ----------
    switch_pid
        A process in whose network namespace the switch's end shall be; None: a new namespace.

    Notes
    -----
    Packets go one by one: with segmentation offload an urgent packet would wait behind 64 kB of others.

    Raises
    ------
    CommandError
        Not root, or a program refused.
    BadInputError
        A rate or a number of classes that `tc` cannot express.
    """
    with ExitStack() as stack:
        if switch_pid is None:
            switch_pid = stack.enter_context(private_namespace())
        wire_pid, controller_pid = (stack.enter_context(private_namespace()) for _ in range(2))
        run_batch(wire_pid, ["ip", "-batch", "-"], wire_lines(switch_pid, controller_pid))
        call_inside(wire_pid, _forward)
        ends = ((switch_pid, SWITCH_DEVICE, SWITCH_ADDRESS), (controller_pid, CONTROLLER_DEVICE, CONTROLLER_ADDRESS))
        for pid, device, address in ends:
            run_batch(pid, ["ip", "-batch", "-"], end_lines(device, address))
            _plain_packets(pid, (device,))
        _plain_packets(wire_pid, (UP_DEVICE, DOWN_DEVICE))
        if shape.rate_mbps is not None:
            for device in (UP_DEVICE, DOWN_DEVICE):
                lines = rate_lines(device, shape.rate_mbps, shape.classes, shape.queue_pkts)
                run_batch(wire_pid, ["tc", "-batch", "-"], lines)
        yield ControlLink(switch_pid, wire_pid, controller_pid, shape)


def _forward() -> None:
    Path("/proc/sys/net/ipv4/ip_forward").write_text("1", encoding="ascii")


def _plain_packets(pid: int, devices: Sequence[str]) -> None:
    for device in devices:
        words = [word for name in _OFFLOADS for word in (name, "off")]
        run_program(inside(pid, ["ethtool", "-K", device, *words]))
