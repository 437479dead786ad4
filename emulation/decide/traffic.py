"""One traffic-control tree a port: commands of `tc` by which a link has its capacity and delay.

The tree is an HTB root with two classes: 1:10 for control packets (BFD and OpenFlow send DSCP CS6),
which are always served first, so that a full link does not look like a failed one; 1:20 for the rest. With in-band
control OpenFlow is traffic like other traffic, unless it has classes (PSO), and only BFD goes first.
With priority queues (decide.queues) each queue has a class instead, and none but control packets a share of its own
worth the name: what a class may use of the link is what those before it leave.

The trap: ovs-vswitchd's userspace datapath sends through ONE packet socket, whose send buffer is charged
for a packet until the packet leaves its queue. Long queues on a few ports exhaust it, and then
packets for idle ports are lost too, control packets among them. So the queues of one daemon are kept
short in sum (`queue_limit_pkts`), or its send buffer is made to hold them all (`send_buffer_bytes`, send_buffers).
netem takes packets off that account, and the kernel datapath has none.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from emulation.decide.options import EmulationOptions
from emulation.decide.queues import (
    CONTROL_MAX_MBPS,
    CONTROL_SHARE,
    QueueFacts,
    QueueSetup,
    QueueTree,
    class_of,
    control_match,
    queue_of_class,
)
from mininet_topos.errors import BadInputError
from mininet_topos.topology import Link, Topology
from ryu_apps.plan.rows import QueueRow

SEND_BUFFER_BYTES = 212_992  # net.core.wmem_default; the usual value of Linux
_CHARGE_BYTES = 2304  # what a queued packet of 1,500 bytes costs a socket
_SEND_BUFFER_SHARE = 0.65  # the rest is for packets on their way and for control
MIN_QUEUE_PKTS, MAX_QUEUE_PKTS = 8, 100
PRIORITY_QUEUE_PKTS = 50  # of each priority queue, where the send buffer allows
_CONTROL_QUEUE_PKTS = 10
_LEAST_BURST_BYTES = 4800
_PACKET_BITS = 1500 * 8
_IN_ORDER_RATE = "10gbit"
CONTROL_CLASS, DATA_CLASS = "1:10", "1:20"
_ROOT_CLASS = "1:fffe"  # with priority queues, as Open vSwitch numbers its own; queue 0 has 1:1


@dataclass(frozen=True, slots=True)
class PortShape:
    """What the queues of one port must do; None means "not limited", "not delayed" and "no priority queues"."""

    interface: str
    capacity_mbps: float | None
    delay_ms: float | None
    queue_pkts: int
    tree: QueueTree | None = None
    jitter_ms: float | None = None
    control_is_bfd: bool = False

    @property
    def is_delayed(self) -> bool:
        """Whether packets are to be held back."""
        return bool(self.delay_ms or self.jitter_ms)

    @property
    def is_plain(self) -> bool:
        """Whether the port needs no queueing of ours at all."""
        return self.capacity_mbps is None and not self.is_delayed


def emulated_capacity_mbps(link: Link, options: EmulationOptions) -> float | None:
    """Capacity that a link is shaped to; None when it is not shaped."""
    capacity = link.capacity_mbps if link.capacity_mbps is not None else options.default_capacity_mbps
    if capacity is None or not options.shape:
        return None
    return capacity * options.capacity_scale


def queue_limit_pkts(queues: int, kernel_datapath: bool) -> int:
    """Longest queue, in packets, so that the queues of one daemon fit its send buffer together."""
    if kernel_datapath or queues == 0:
        return MAX_QUEUE_PKTS
    fitting = int(SEND_BUFFER_BYTES * _SEND_BUFFER_SHARE / _CHARGE_BYTES) // queues
    return min(MAX_QUEUE_PKTS, max(MIN_QUEUE_PKTS, fitting))


def send_buffer_bytes(shapes: Iterable[PortShape]) -> int:
    """Send buffer that holds everything that may wait in the priority queues of one daemon; 0 without such queues."""
    waiting = sum(
        len(shape.tree.setup.classes) * shape.tree.queue_pkts for shape in shapes if shape.tree and not shape.is_plain
    )
    return math.ceil(waiting * _CHARGE_BYTES / _SEND_BUFFER_SHARE)


def port_shapes(
    topology: Topology,
    options: EmulationOptions,
    interface_of: Mapping[Link, str],
    members: Sequence[str],
    *,
    netem: bool,
    kernel_datapath: bool,
    facts: QueueFacts | None = None,
) -> tuple[PortShape, ...]:
    """Shapes of the link ports of the switches that one daemon serves.

    Parameters
    ----------
    interface_of : mapping of directed link to the interface that sends it
    members : sequence of switch names
    netem
        Whether the kernel can delay packets; without it the delay is left out.
    facts
        For priority queues.

    Raises
    ------
    BadInputError
        Priority queues on a link without capacity.
    """
    links = [link for node in members for link in topology.links_from[node]]
    capacities = {link: emulated_capacity_mbps(link, options) for link in links}
    limit = queue_limit_pkts(sum(value is not None for value in capacities.values()), kernel_datapath)
    queues, by_controller = options.link_queues, options.queues_by_controller
    tree = _queue_tree(capacities, queues, kernel_datapath, facts or QueueFacts(), by_controller)
    delayed = netem and options.shape and options.link_delays is not False
    return tuple(
        PortShape(
            interface_of[link],
            capacities[link],
            link.delay_ms if delayed else None,
            queue_pkts=limit,
            tree=tree,
            jitter_ms=link.jitter_ms if delayed else None,
            control_is_bfd=options.in_band_at is not None,
        )
        for link in links
    )


def _queue_tree(
    capacities: Mapping[Link, float | None],
    setup: QueueSetup | None,
    kernel_datapath: bool,
    facts: QueueFacts,
    by_controller: bool,
) -> QueueTree | None:
    """Priority queues of all ports of a daemon; by a controller there are none at first."""
    if setup is None:
        return None
    for link, capacity in capacities.items():
        if capacity is None:
            raise BadInputError(
                f"link {link.src}-{link.dst} has no capacity, so nothing would wait in its queues; "
                "set default_capacity_mbps"
            )
    queue_pkts = PRIORITY_QUEUE_PKTS
    if not facts.wide_buffers:
        queue_pkts = min(queue_pkts, queue_limit_pkts(len(capacities) * len(setup.classes), kernel_datapath))
    # No row sets the queue of in-band control, so its marks decide on every datapath.
    by_filter = setup.control_is_bfd or not kernel_datapath
    rows = () if by_controller else None
    return QueueTree(setup, by_filter=by_filter, queue_pkts=queue_pkts, vlan_at=facts.vlan_at, rows=rows)


def with_rows(shape: PortShape, rows: tuple[QueueRow, ...]) -> PortShape:
    """The port with the queues of these rows; without any it has one beside that of control packets."""
    return shape if shape.tree is None else replace(shape, tree=replace(shape.tree, rows=rows))


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
    control_kbit = min(rate_kbit * CONTROL_SHARE, CONTROL_MAX_MBPS * 1000)
    if shape.tree is not None and shape.tree.rows != ():
        return _queue_lines(shape, shape.tree, rate_kbit)
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
        f"filter replace {device} parent 1: protocol ip prio 1 u32 {control_match(shape.control_is_bfd)} "
        f"flowid {CONTROL_CLASS}",
    ]


def _queue_lines(shape: PortShape, tree: QueueTree, rate_kbit: float) -> list[str]:
    """The tree of a port with priority queues.

    `class_rates` says what each queue has for itself and how the rest is lent.
    """
    device, setup = f"dev {shape.interface}", tree.setup
    classes = tree.classes(rate_kbit / 1000)
    if rate_kbit < 8 * len(classes):
        raise BadInputError(
            f"{shape.interface} would be shaped to {rate_kbit:g} kbit/s, too little for {len(classes)} classes; "
            "raise capacity_scale"
        )
    burst = f"burst {_LEAST_BURST_BYTES} cburst {_burst_bytes(rate_kbit)}"
    whole = f"rate {_kbit(rate_kbit)} ceil {_kbit(rate_kbit)} quantum 1600"
    lines = [
        f"qdisc replace {device} root handle 1: htb default {class_of(setup.default_queue).partition(':')[2]}",
        f"class replace {device} parent 1: classid {_ROOT_CLASS} htb {whole} burst {_burst_bytes(rate_kbit)} "
        f"cburst {_burst_bytes(rate_kbit)}",
    ]
    rates = setup.rates(tuple(classes), rate_kbit)
    for place, (class_id, most_mbps) in enumerate(classes.items()):
        own = rates[class_id]
        lines.append(
            f"class replace {device} parent {_ROOT_CLASS} classid {class_id} htb rate {own.rate_kbit}kbit "
            f"ceil {_kbit(most_mbps * 1000)} prio {own.priority} quantum {own.quantum_bytes} {burst}"
        )
        limit = min(_CONTROL_QUEUE_PKTS, tree.queue_pkts) if class_id == setup.control_class else tree.queue_pkts
        leaf = _delay_words(shape, limit) if shape.is_delayed else f"pfifo_head_drop limit {limit}"
        lines.append(f"qdisc replace {device} parent {class_id} handle {0x20 + place:x}: {leaf}")
    return lines + [line for line in tree.filter_lines(device) if line.rpartition(" ")[2] in classes]


def _burst_bytes(rate_kbit: float) -> int:
    """What may leave at once: 1 ms of the rate (timers are no finer on a busy machine), at least three frames."""
    return max(4800, round(rate_kbit / 8))


def _kbit(value: float) -> str:
    return f"{max(8, round(value))}kbit"


def _leaf_words(shape: PortShape, queue_pkts: int) -> str:
    return _delay_words(shape, queue_pkts) if shape.is_delayed else f"pfifo limit {queue_pkts}"


def _delay_words(shape: PortShape, queue_pkts: int | None = None) -> str:
    """Delay in netem; its limit holds what is under way on the line besides what queues.

    netem's jitter is to both sides of its delay, and with a rate it lets no packet overtake another.
    """
    delay_ms, jitter_ms = shape.delay_ms or 0.0, shape.jitter_ms or 0.0
    line_mbps = shape.capacity_mbps or 10_000.0
    under_way_pkts = math.ceil(line_mbps * 1e6 * (delay_ms + jitter_ms) / 1e3 / _PACKET_BITS)
    words = f"netem limit {under_way_pkts + (queue_pkts or MAX_QUEUE_PKTS)} delay {delay_ms + jitter_ms / 2:g}ms"
    return words + (f" {jitter_ms / 2:g}ms rate {_IN_ORDER_RATE}" if jitter_ms else "")


def control_tc_plan(
    interface: str, rate_mbps: float | None, delay_ms: float | None, setup: QueueSetup | None = None
) -> list[str]:
    """Lines for `tc -batch` that make one end of a control link as slow as asked (none when nothing is asked).

    With queues the marks of packets decide who waits; each is as long as the one queue that there is without.
    """
    # The packets come from the kernel's own sockets, so filters must find their queues on every datapath.
    tree = QueueTree(setup, by_filter=True, queue_pkts=MAX_QUEUE_PKTS) if setup is not None else None
    return port_tc_plan(PortShape(interface, rate_mbps, delay_ms, MAX_QUEUE_PKTS, tree))


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


def parse_queue_counters(text: str, tree: QueueTree) -> dict[int, ClassCounters]:
    """Counters by queue (-1: control packets, where queue 0 carries traffic), from `tc -s class show dev DEV`."""
    queue_of = queue_of_class(tree.setup)
    return {
        queue_of[class_id]: counters
        for class_id, counters in parse_class_counters(text).items()
        if class_id in queue_of
    }
