"""Which queues a port has and which packets wait in each: strict priority by number, queue 0 first, or shares.

On the kernel datapath `set_queue` alone decides: Open vSwitch writes class 1:(queue + 1) into the packet's priority.
The userspace datapath keeps the queue number to itself, so filters read it again from what the packet carries:
the traffic class (TC) of its MPLS label, the PCP of its 802.1Q tag, its DSCP, or the tag in its ECN.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from emulation.decide.class_rates import ClassRate, class_rates
from mininet_topos.errors import BadInputError
from ryu_apps.plan.choices import DSCP_FIELD, MPLS_FIELD
from ryu_apps.plan.ids import Status
from ryu_apps.plan.kuijia.priorities import PRIORITY_SETUPS, PrioritySetup, strict_queues
from ryu_apps.plan.kuijia.tunnel_field import ECN_OF_TC
from ryu_apps.plan.notification import AFRESH
from ryu_apps.plan.rows import QueueRow
from ryu_apps.pmt.scheduling import SchedulerKind

MAX_QUEUES = 8  # TC_HTB_NUMPRIO: a priority each
VLAN_NEW, VLAN_OLD = -4, 0  # where u32 finds the tag of a frame from a packet socket; kernels differ
CONTROL_CLASS = "1:10"  # class of control packets where queue 0 carries traffic
CONTROL_SHARE, CONTROL_MAX_MBPS = 0.1, 1.0  # what control packets have for themselves of a port
CS6_TOS, _DSCP_MASK, _DSCP_SHIFT = 0xC0, 0xFC, 2
_UDP, _BFD_PORT = 17, 3784
_TC_SHIFT, _TC_MASK = 9, 0x0E00  # within a label stack entry (RFC 3032, RFC 5462)
_ECN_MASK = 0b11
_VALUES = {"TC": 8, "PCP": 8, "DSCP": 64, "ECN": 4}
_PCP_SHIFT, _PCP_MASK = 13, 0xE000  # within the tag control information (IEEE 802.1Q)


@dataclass(frozen=True, slots=True)
class QueueSetup:
    """Queues of every port, from first (0) to last.

    Parameters
    ----------
    n_queues
        2 to 8.
    default_queue
        Where packets wait that nothing below names.
    control_is_queue_0
        Queue 0 carries nothing but control packets (BFD and whatever else has DSCP CS6). False: traffic uses it, and
        control packets have a class of their own before it.
    has_control
        Whether there are such control packets at all; on a control link there are none beside the marked classes.
    control_is_bfd
        Control packets are BFD's alone: with in-band control, DSCP CS6 is a class of OpenFlow or means nothing.
    scheduler, shares
        How the queues share a port, and the weight or guaranteed fraction of each (`class_rates`); by default strict
        priority, queue 0 first.
    queue_of_tc, queue_of_pcp, queue_of_dscp, queue_of_ecn : tuple of (int, int)
        Queue by TC of MPLS packets, by PCP of tagged ones, by DSCP and by ECN of plain IPv4.

    Raises
    ------
    BadInputError
        A queue, or a value that names one, does not exist; or two queues for one value.
    """

    name: str
    n_queues: int
    default_queue: int
    control_is_queue_0: bool = True
    queue_of_tc: tuple[tuple[int, int], ...] = ()
    queue_of_pcp: tuple[tuple[int, int], ...] = ()
    queue_of_dscp: tuple[tuple[int, int], ...] = ()
    queue_of_ecn: tuple[tuple[int, int], ...] = ()
    has_control: bool = True
    control_is_bfd: bool = False
    scheduler: SchedulerKind = SchedulerKind.STRICT
    shares: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        n_shares = 0 if self.scheduler is SchedulerKind.STRICT else self.n_queues
        if len(self.shares) != n_shares:
            raise BadInputError(
                f"{self.name!r} has {len(self.shares)} shares for {self.n_queues} queues served "
                f"{self.scheduler.value}; give {n_shares}"
            )
        classes = self.n_queues + (self.has_control and not self.control_is_queue_0)
        if self.n_queues < 2 or classes > MAX_QUEUES:
            raise BadInputError(f"{self.name!r} has {classes} classes of traffic a port; a port has 2 to {MAX_QUEUES}")
        for word, pairs in self._marked.items():
            self._check(word, pairs, _VALUES[word])
        self._check("any", ((0, self.default_queue),), 1)

    def _check(self, word: str, pairs: tuple[tuple[int, int], ...], values: int) -> None:
        # What switches tell each other about failures is labelled or tagged, and goes with the control packets.
        first = self._first_traffic_queue if word in ("DSCP", "ECN", "any") else 0
        for value, queue_id in pairs:
            if not 0 <= value < values or not first <= queue_id < self.n_queues:
                raise BadInputError(
                    f"{self.name!r} sends {word} {value} to queue {queue_id}; "
                    f"use {word} 0..{values - 1} and queue {first}..{self.n_queues - 1}"
                )
        if len(dict(pairs)) < len(pairs):
            raise BadInputError(f"{self.name!r} names two queues for one {word}: {pairs}; keep one")

    @property
    def control_class(self) -> str:
        """Class of BFD and other control packets; none when there are no such packets."""
        if not self.has_control:
            return ""
        return class_of(0) if self.control_is_queue_0 else CONTROL_CLASS

    @property
    def _first_traffic_queue(self) -> int:
        return 1 if self.control_is_queue_0 and self.has_control else 0

    @property
    def traffic_queues(self) -> tuple[int, ...]:
        """Queues that carry traffic, first to last."""
        return tuple(range(self._first_traffic_queue, self.n_queues))

    @property
    def classes(self) -> tuple[str, ...]:
        """Class ids, from first to last priority."""
        own = (CONTROL_CLASS,) if self.has_control and not self.control_is_queue_0 else ()
        return (*own, *(class_of(queue_id) for queue_id in range(self.n_queues)))

    def describe(self) -> str:
        """Mapping from packets to queues in one line."""
        control = "BFD" if self.control_is_bfd else "control (CS6)"
        beside = [] if 0 in self.traffic_queues else self._marks(0)
        words = []
        if self.has_control:
            words = [f"queue {0 if self.control_is_queue_0 else 'before 0'}: {', '.join([control, *beside])}"]
        for queue_id in self.traffic_queues:
            marks = self._marks(queue_id) + (["the rest"] if queue_id == self.default_queue else [])
            share = [f"share {self.shares[queue_id]:g}"] if self.shares else []
            words.append(f"queue {queue_id}: {', '.join(marks + share) or 'set_queue only'}")
        return f"{self.name}: {'; '.join(words)}"

    def rates(self, classes: Sequence[str], rate_kbit: float) -> dict[str, ClassRate]:
        """Rates of classes of a port; queues share what the class of control packets leaves, which goes first.

        Parameters
        ----------
        classes
            Those that the port has, from first to last.
        rate_kbit
            Of the port.
        """
        control_kbit = min(rate_kbit * CONTROL_SHARE, CONTROL_MAX_MBPS * 1000) * (self.control_class in classes)
        control = {self.control_class: ClassRate(max(1, round(control_kbit)), 0)} if control_kbit else {}
        share_of = dict(zip(map(class_of, range(self.n_queues)), self.shares, strict=False))
        queues = [each for each in classes if each not in control]
        found = class_rates(self.scheduler, [share_of.get(each, 0.0) for each in queues], rate_kbit - control_kbit)
        after = (replace(rate, priority=rate.priority + len(control)) for rate in found)
        return control | dict(zip(queues, after, strict=True))

    @property
    def _marked(self) -> dict[str, tuple[tuple[int, int], ...]]:
        """Queues by value, for what a packet may carry."""
        ip = {"DSCP": self.queue_of_dscp, "ECN": self.queue_of_ecn}
        return {"TC": self.queue_of_tc, "PCP": self.queue_of_pcp, **ip}

    def _marks(self, queue_id: int) -> list[str]:
        return [
            f"{word} {value}" for word, pairs in self._marked.items() for value, queue in pairs if queue == queue_id
        ]


def control_match(bfd_only: bool) -> str:
    """What u32 matches for control packets: DSCP CS6, or single-hop BFD alone (RFC 5881 section 4)."""
    if bfd_only:
        return f"match ip protocol {_UDP} 0xff match ip dport {_BFD_PORT} 0xffff"
    return f"match ip tos {CS6_TOS:#x} {_DSCP_MASK:#x}"


def class_of(queue_id: int) -> str:
    """Class id of a queue: what the kernel datapath's set_queue writes (lib/dpif-netlink.c of Open vSwitch)."""
    return f"1:{queue_id + 1:x}"


_NOTIFICATIONS = (Status.NOTIFICATION.value, AFRESH | Status.NOTIFICATION.value)
# SD-FAST whose packets that met a failure wait behind all others; notifications of it go with the control packets.
LOW_QUEUE = QueueSetup(
    "low-queue",
    3,
    default_queue=1,
    queue_of_pcp=tuple((pcp, 0 if pcp in _NOTIFICATIONS else 2) for pcp in range(1, 8)),
)


def queue_setup(setup: PrioritySetup, tunnel_field: str = MPLS_FIELD) -> QueueSetup:
    """Queues of a set-up of traffic classes; what no class claims waits where the last class does.

    Parameters
    ----------
    setup
        `ryu_apps.plan.kuijia.priorities`.
    tunnel_field
        What carries the tag: the TC of a label, or ECN (`ryu_apps.plan.kuijia.tunnel_field`).
    """
    marks = {mark for each in setup.classes for mark in (each.normal, each.victim)}
    by_ecn = tunnel_field == DSCP_FIELD
    dscps = tuple((each.dscp, each.normal.queue_id) for each in setup.classes if each.dscp)
    return QueueSetup(
        setup.name,
        setup.n_queues,
        default_queue=setup.classes[-1].normal.queue_id,
        control_is_queue_0=all(mark.queue_id for mark in marks),
        queue_of_tc=() if by_ecn else tuple(sorted((mark.tc, mark.queue_id) for mark in {*marks, setup.ldi})),
        queue_of_dscp=dscps,
        queue_of_ecn=tuple(sorted((ECN_OF_TC[mark.tc], mark.queue_id) for mark in marks)) if by_ecn else (),
    )


QUEUE_SETUPS = {setup.name: setup for setup in (*map(queue_setup, PRIORITY_SETUPS.values()), LOW_QUEUE)}


@dataclass(frozen=True, slots=True)
class QueueTree:
    """Queues as one daemon's ports have them.

    Attributes
    ----------
    by_filter
        Whether filters must find the queue (userspace datapath).
    queue_pkts
        Longest queue, in packets.
    vlan_at
        Offset at which u32 finds an 802.1Q tag.
    rows
        The queues that a port has; None: all of the set-up, each up to the port's capacity.
    """

    setup: QueueSetup
    by_filter: bool
    queue_pkts: int
    vlan_at: int = VLAN_NEW
    rows: tuple[QueueRow, ...] | None = None

    def classes(self, capacity_mbps: float) -> dict[str, float]:
        """Class ids, from first to last priority, each with the most that it may send (Mbit/s)."""
        rows = strict_queues(self.setup.n_queues, {0: capacity_mbps}) if self.rows is None else self.rows
        own = {CONTROL_CLASS: capacity_mbps} if self.setup.control_class == CONTROL_CLASS else {}
        return own | {
            class_of(row.queue_id): min(row.max_rate_mbps or capacity_mbps, capacity_mbps)
            for row in sorted(rows, key=lambda row: row.priority)
        }

    def filter_lines(self, device: str) -> list[str]:
        """Lines for `tc -batch` that send packets to their classes; `device` is "dev NAME"."""
        setup = self.setup
        control = f"u32 {control_match(setup.control_is_bfd)} flowid {setup.control_class}"
        lines = [f"filter add {device} parent 1: protocol ip prio 1 {control}"] if setup.has_control else []
        if not self.by_filter:
            return lines
        for dscp, queue_id in setup.queue_of_dscp:
            words = f"u32 match ip tos {dscp << _DSCP_SHIFT:#x} {_DSCP_MASK:#x} flowid {class_of(queue_id)}"
            lines.append(f"filter add {device} parent 1: protocol ip prio 1 {words}")
        for ecn, queue_id in setup.queue_of_ecn:
            words = f"u32 match ip tos {ecn:#x} {_ECN_MASK:#x} flowid {class_of(queue_id)}"
            lines.append(f"filter add {device} parent 1: protocol ip prio 1 {words}")
        for tc, queue_id in setup.queue_of_tc:
            words = f"u32 match u32 {tc << _TC_SHIFT:#x} {_TC_MASK:#x} at 0 flowid {class_of(queue_id)}"
            lines.append(f"filter add {device} parent 1: protocol mpls_uc prio 2 {words}")
        for pcp, queue_id in setup.queue_of_pcp:
            words = f"u32 match u16 {pcp << _PCP_SHIFT:#x} {_PCP_MASK:#x} at {self.vlan_at} flowid {class_of(queue_id)}"
            lines.append(f"filter add {device} parent 1: protocol 802.1q prio 3 {words}")
        return lines


@dataclass(frozen=True, slots=True)
class QueueFacts:
    """What a machine can do for queues: whether send buffers can be widened, and where u32 finds an 802.1Q tag."""

    wide_buffers: bool = True
    vlan_at: int = VLAN_NEW


def queue_of_class(setup: QueueSetup) -> Mapping[str, int]:
    """Queue by class id; a control class of its own is queue -1."""
    own = {} if setup.control_is_queue_0 else {CONTROL_CLASS: -1}
    return own | {class_of(queue_id): queue_id for queue_id in range(setup.n_queues)}


def rows_of_queues(
    port_no: int, queues: Mapping[int, Mapping[str, str]], capacity_scale: float
) -> tuple[QueueRow, ...]:
    """Rows of a port's queues from `other_config` by number, as a database has them; the emulation scales rates."""
    scale = capacity_scale / 1e6
    return tuple(
        QueueRow(
            port_no,
            queue_id,
            int(config.get("priority", queue_id)),
            float(config["min-rate"]) * scale if "min-rate" in config else None,
            float(config["max-rate"]) * scale if "max-rate" in config else None,
        )
        for queue_id, config in sorted(queues.items())
    )
