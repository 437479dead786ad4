"""One traffic-control tree a port: what `tc` is told so that a link has its capacity and delay.

The tree is an HTB root with two classes: 1:10 for control packets (BFD and OpenFlow send DSCP CS6),
which are always served first, so that a full link does not look like a dead one; 1:20 for the rest.

The trap: ovs-vswitchd's userspace datapath sends through ONE packet socket, whose send buffer is charged
for a packet until the packet leaves its queue. Long queues on a few ports exhaust it, and then
packets for idle ports are lost too, control packets among them. So the queues of one daemon are kept
short in sum (`queue_limit_pkts`). netem takes packets off that account, and the kernel datapath has none.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from mininet_topos.emulation.options_core import EmulationOptions
from mininet_topos.errors import BadInputError
from mininet_topos.topology import Link, Topology

SEND_BUFFER_BYTES = 212_992  # net.core.wmem_default; the usual value of Linux
_CHARGE_BYTES = 2304  # what a queued packet of 1,500 bytes costs a socket
_SEND_BUFFER_SHARE = 0.65  # the rest is for packets on their way and for control
MIN_QUEUE_PKTS, MAX_QUEUE_PKTS = 8, 100
_CONTROL_QUEUE_PKTS = 10
_CONTROL_SHARE, _CONTROL_MAX_MBPS = 0.1, 1.0
_PACKET_BITS = 1500 * 8
CS6_TOS, DSCP_MASK = 0xC0, 0xFC
CONTROL_CLASS, DATA_CLASS = "1:10", "1:20"


@dataclass(frozen=True, slots=True)
class PortShape:
    """What the queue of one port must do; None means "not limited" and "not delayed"."""

    interface: str
    capacity_mbps: float | None
    delay_ms: float | None
    queue_pkts: int

    @property
    def is_plain(self) -> bool:
        """Whether the port needs no queueing of ours at all."""
        return self.capacity_mbps is None and not self.delay_ms


def emulated_capacity_mbps(link: Link, options: EmulationOptions) -> float | None:
    """Capacity that a link is shaped to; None when it is not shaped."""
    capacity = link.capacity_mbps if link.capacity_mbps is not None else options.default_capacity_mbps
    if capacity is None or not options.shape:
        return None
    return capacity * options.capacity_scale


def queue_limit_pkts(shaped_ports: int, kernel_datapath: bool) -> int:
    """Longest queue of a port, in packets, so that the queues of one daemon fit its send buffer together."""
    if kernel_datapath or shaped_ports == 0:
        return MAX_QUEUE_PKTS
    fitting = int(SEND_BUFFER_BYTES * _SEND_BUFFER_SHARE / _CHARGE_BYTES) // shaped_ports
    return min(MAX_QUEUE_PKTS, max(MIN_QUEUE_PKTS, fitting))


def port_shapes(
    topology: Topology,
    options: EmulationOptions,
    interface_of: Mapping[Link, str],
    members: Sequence[str],
    *,
    netem: bool,
    kernel_datapath: bool,
) -> tuple[PortShape, ...]:
    """Shapes of the link ports of the switches that one daemon serves.

    Parameters
    ----------
    topology : Topology
    options : EmulationOptions
    interface_of : mapping of directed link to the interface that sends it
    members : sequence of switch names
    netem : bool
        Whether the kernel can delay packets; without it the delay is left out.
    kernel_datapath : bool
    """
    links = [link for node in members for link in topology.links_from[node]]
    capacities = {link: emulated_capacity_mbps(link, options) for link in links}
    limit = queue_limit_pkts(sum(value is not None for value in capacities.values()), kernel_datapath)
    return tuple(
        PortShape(
            interface_of[link], capacities[link], link.delay_ms if netem and options.shape else None, queue_pkts=limit
        )
        for link in links
    )


def port_tc_plan(shape: PortShape) -> list[str]:
    """Lines for `tc -batch` that build the tree of one port (none when it needs no tree).

    Raises
    ------
    BadInputError
        The capacity is below what `tc` can express (8 kbit/s).
    """
    device = f"dev {shape.interface}"
    if shape.is_plain:
        return []
    if shape.capacity_mbps is None:
        return [f"qdisc replace {device} root handle 1: {_delay_words(shape)}"]
    rate_kbit = shape.capacity_mbps * 1000
    if rate_kbit < 8:
        raise BadInputError(f"{shape.interface} would be shaped to {rate_kbit:g} kbit/s; raise capacity_scale")
    control_kbit = min(rate_kbit * _CONTROL_SHARE, _CONTROL_MAX_MBPS * 1000)
    quantum = f"quantum 1600 burst {_burst_bytes(rate_kbit)} cburst {_burst_bytes(rate_kbit)}"
    return [
        f"qdisc replace {device} root handle 1: htb default 20",
        f"class replace {device} parent 1: classid 1:1 htb rate {_kbit(rate_kbit)} {quantum}",
        f"class replace {device} parent 1:1 classid {CONTROL_CLASS} htb "
        f"rate {_kbit(control_kbit)} ceil {_kbit(rate_kbit)} prio 0 {quantum}",
        f"class replace {device} parent 1:1 classid {DATA_CLASS} htb "
        f"rate {_kbit(rate_kbit - control_kbit)} ceil {_kbit(rate_kbit)} prio 1 {quantum}",
        f"qdisc replace {device} parent {CONTROL_CLASS} handle 10: {_leaf_words(shape, _CONTROL_QUEUE_PKTS)}",
        f"qdisc replace {device} parent {DATA_CLASS} handle 20: {_leaf_words(shape, shape.queue_pkts)}",
        f"filter replace {device} parent 1: protocol ip prio 1 u32 match ip tos {CS6_TOS:#x} {DSCP_MASK:#x} "
        f"flowid {CONTROL_CLASS}",
    ]


def _burst_bytes(rate_kbit: float) -> int:
    """What may leave at once: 1 ms of the rate (timers are no finer on a busy machine), at least three frames."""
    return max(4800, round(rate_kbit / 8))


def _kbit(value: float) -> str:
    return f"{max(8, round(value))}kbit"


def _leaf_words(shape: PortShape, queue_pkts: int) -> str:
    return _delay_words(shape, queue_pkts) if shape.delay_ms else f"pfifo limit {queue_pkts}"


def _delay_words(shape: PortShape, queue_pkts: int | None = None) -> str:
    """Delay in netem; its limit holds what is under way on the line besides what queues."""
    delay_ms = shape.delay_ms or 0.0
    line_mbps = shape.capacity_mbps or 10_000.0
    under_way_pkts = math.ceil(line_mbps * 1e6 * delay_ms / 1e3 / _PACKET_BITS)
    return f"netem limit {under_way_pkts + (queue_pkts or MAX_QUEUE_PKTS)} delay {delay_ms:g}ms"


def control_tc_plan(interface: str, rate_mbps: float | None, delay_ms: float | None) -> list[str]:
    """Lines for `tc -batch` that make one end of a control link as slow as asked (none when nothing is asked)."""
    return port_tc_plan(PortShape(interface, rate_mbps, delay_ms, MAX_QUEUE_PKTS))


@dataclass(frozen=True, slots=True)
class ClassCounters:
    """Counters of one traffic class as the kernel keeps them."""

    sent_bytes: int
    sent_pkts: int
    dropped_pkts: int


def parse_class_counters(text: str) -> dict[str, ClassCounters]:
    """Counters by class id, from the output of `tc -s class show dev DEV`."""
    counters: dict[str, ClassCounters] = {}
    class_id = None
    for line in text.splitlines():
        words = line.replace("(", " ").replace(",", " ").replace(")", " ").split()
        if words[:2] == ["class", "htb"]:
            class_id = words[2]
        elif class_id is not None and words[:1] == ["Sent"]:
            # Sent 7722 bytes 117 pkt (dropped 0, overlimits 0 requeues 0)
            counters[class_id] = ClassCounters(int(words[1]), int(words[3]), int(words[6]))
            class_id = None
    return counters
