"""Does a port serve its queues strictly? The frames of a trial, its phases, and the judgement.

In each phase one pair of neighbouring queues meets on a link that is too small for both: the high one is offered
0.8 of the link, the low one all of it, in as many frames as overflow the low queue. Served strictly, the high queue
loses nothing and its frames wait for hardly more than one other; a fair or a common queue fails at least one of these.
If every queue goes before the next, each goes before all that follow.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median
from typing import NamedTuple

from emulation.decide.queues import QueueSetup
from ryu_apps.plan.fields import ETH_IPV4, ETH_MPLS, ETH_VLAN

HIGH_SHARE, LOW_SHARE = 0.8, 1.0
# Frames a second that one program sends on time, at each attempt; the last is for emulated processors.
BUDGETS_PPS = (30_000, 15_000, 7_500, 3_000)
LABEL = 0xFFFFF  # no plan uses it
_VLAN_ID = 0xFFE
ETH_TRIAL = 0x88B5  # IEEE 802, for local experiments
_LINK_PPS, _MIN_FRAME_BYTES, _MAX_FRAME_BYTES = 1500, 200, 1400
_OVERFLOW, _SPARE_FRAMES = 1.6, 20
_MOST_WAITED_FRAMES, _MOST_LATE_MS = 6, 1.0
_LEAST_REST = 0.5
_SOURCE = bytes.fromhex("060a00000001")
_MAGIC = b"\0AQU"  # begins like no tag that a set-up names, should a filter look at the wrong place
_PAYLOAD = struct.Struct("!4sBBQ")  # magic, phase, queue, time of sending (ns)
_MARK_AT = 12
_IPV4_HEAD = struct.Struct("!BBH5xB2x4s4s")  # the rest of the header may be 0: no switch looks at it
_IPV4_BYTES = _IPV4_HEAD.size + _PAYLOAD.size
_IP_TRIAL = 253  # RFC 3692: for experiments
_IPV4_ENDS = (bytes((192, 0, 2, 1)), bytes((192, 0, 2, 2)))  # RFC 5737: for documentation
_FULL_FRAME_BITS = 1500 * 8


@dataclass(frozen=True, slots=True)
class TrialPort:
    """A port to try: its switch, its number, what its link carries and how long the link delays (netem)."""

    node: str
    port_no: int
    capacity_mbps: float
    delay_ms: float = 0.0

    @property
    def frame_bytes(self) -> int:
        """Size of trial frames: small on slow links, so that many fit into a short trial."""
        return round(min(_MAX_FRAME_BYTES, max(_MIN_FRAME_BYTES, self.capacity_mbps * 1e6 / 8 / _LINK_PPS)))

    @property
    def link_pps(self) -> float:
        """Trial frames that the link carries in a second."""
        return self.capacity_mbps * 1e6 / 8 / self.frame_bytes

    @property
    def offered_pps(self) -> float:
        """Trial frames that are sent in a second of a phase."""
        return self.link_pps * (HIGH_SHARE + LOW_SHARE)

    def longest(self, queue_pkts: int) -> int:
        """Packets that a queue holds: those that wait, and with netem those under way."""
        return queue_pkts + math.ceil(self.capacity_mbps * 1e3 * self.delay_ms / _FULL_FRAME_BITS)

    def emptying_s(self, queue_pkts: int) -> float:
        """Time that full queues need to empty."""
        return self.longest(queue_pkts) / self.link_pps + self.delay_ms / 1e3


class Phase(NamedTuple):
    """Ports tried at the same time with one pair of queues."""

    number: int
    high: int
    low: int
    ports: tuple[TrialPort, ...]


Load = Mapping[tuple[int, int], Sequence[TrialPort]]
"""Ports to try, by pair of queues."""


def first_load(ports: Sequence[TrialPort], setup: QueueSetup) -> Load:
    """All pairs of neighbouring queues on all ports."""
    return dict.fromkeys(pairwise(setup.traffic_queues), ports)


def next_load(outcomes: Iterable[PairOutcome]) -> Load:
    """What is not proven yet."""
    failed: dict[tuple[int, int], list[TrialPort]] = {}
    for outcome in outcomes:
        if outcome.complaint():
            failed.setdefault((outcome.high, outcome.low), []).append(outcome.port)
    return failed


def phases(number: int, pair: tuple[int, int], ports: Sequence[TrialPort], budget_pps: float) -> Iterator[Phase]:
    """Phases of one pair: as many ports at once as one program can feed.

    Parameters
    ----------
    number
        Tells this use of the pair from others; frames carry it.
    pair : tuple of int
        High and low queue.
    """
    for batch in _batches(ports, budget_pps):
        yield Phase(number % 256, *pair, batch)


def _batches(ports: Sequence[TrialPort], budget_pps: float) -> Iterator[tuple[TrialPort, ...]]:
    batch: list[TrialPort] = []
    for port in ports:
        if batch and sum(each.offered_pps for each in (*batch, port)) > budget_pps:
            yield tuple(batch)
            batch = []
        batch.append(port)
    if batch:
        yield tuple(batch)


def phase_frames(port: TrialPort, queue_pkts: int) -> int:
    """Frames that the link carries during a phase, so that the low queue overflows."""
    return round(_OVERFLOW * port.longest(queue_pkts)) + _SPARE_FRAMES


def destination(port_no: int, queue_id: int) -> bytes:
    """MAC address by which the rows of a trial find the port and the queue."""
    return struct.pack("!HHH", 0x060A, queue_id, port_no)


def make_frame(port: TrialPort, queue_id: int, setup: QueueSetup) -> tuple[bytearray, int]:
    """A trial frame, marked as packets of its queue are, and where its payload stands."""
    mark = _mark(queue_id, setup)
    start = _MARK_AT + len(mark)
    frame = bytearray(destination(port.port_no, queue_id) + _SOURCE + mark)
    return frame + bytes(port.frame_bytes - start), start


def _mark(queue_id: int, setup: QueueSetup) -> bytes:
    """Bytes from the EtherType on: a label, a tag, a marked IPv4 header, or nothing that a filter knows."""
    for tc, queue in setup.queue_of_tc:
        if queue == queue_id:
            return struct.pack("!HI", ETH_MPLS, LABEL << 12 | tc << 9 | 1 << 8 | 64)
    for pcp, queue in setup.queue_of_pcp:
        if queue == queue_id:
            return struct.pack("!HHH", ETH_VLAN, pcp << 13 | _VLAN_ID, ETH_TRIAL)
    for tos, queue in (*((dscp << 2, queue) for dscp, queue in setup.queue_of_dscp), *setup.queue_of_ecn):
        if queue == queue_id:
            return struct.pack("!H", ETH_IPV4) + _IPV4_HEAD.pack(0x45, tos, _IPV4_BYTES, _IP_TRIAL, *_IPV4_ENDS)
    return ETH_TRIAL.to_bytes(2, "big")


# By EtherType; the kernel takes 802.1Q tags off.
_MARK_BYTES = {ETH_TRIAL: 2, ETH_MPLS: 6, ETH_VLAN: 6, ETH_IPV4: 2 + _IPV4_HEAD.size}


def stamp(frame: bytearray, start: int, phase: int, queue_id: int, sent_ns: int) -> None:
    """Write the payload of a frame that leaves now."""
    _PAYLOAD.pack_into(frame, start, _MAGIC, phase, queue_id, sent_ns)


def read_stamp(frame: bytes) -> tuple[int, int, int] | None:
    """(phase, queue, time of sending in ns) of a frame that arrived; None: no frame of ours."""
    mark_bytes = _MARK_BYTES.get(int.from_bytes(frame[_MARK_AT : _MARK_AT + 2], "big"), 0)
    start = _MARK_AT + mark_bytes
    if len(frame) < start + _PAYLOAD.size or frame[start : start + 4] != _MAGIC:
        return None
    _, phase, queue_id, sent_ns = _PAYLOAD.unpack_from(frame, start)
    return phase, queue_id, sent_ns


class Arrival(NamedTuple):
    """A trial frame that came through: its queue, and how long it was under way."""

    queue_id: int
    delay_ms: float


@dataclass(frozen=True, slots=True)
class PairOutcome:
    """What one pair of queues did on one port.

    Attributes
    ----------
    high, low
        Queues.
    high_delay_ms
        Median over the frames of the high queue that arrived.
    """

    port: TrialPort
    high: int
    low: int
    high_sent: int
    high_received: int
    low_sent: int
    low_received: int
    high_delay_ms: float | None

    @property
    def frame_ms(self) -> float:
        """Time that the link needs for a frame."""
        return 1000 / self.port.link_pps

    def complaint(self) -> str | None:
        """Why this is no proof of strict priority; None: it is one."""
        where = f"{self.port.node} port {self.port.port_no}"
        if not self.high_received or self.high_delay_ms is None:
            return f"{where}: no frame of queue {self.high} came through"
        if self.high_received < self.high_sent:
            lost = self.high_sent - self.high_received
            return f"{where}: queue {self.high} lost {lost} of {self.high_sent} frames beside a full queue {self.low}"
        waited_ms = self.high_delay_ms - self.port.delay_ms
        if waited_ms > self.frame_ms * _MOST_WAITED_FRAMES + _MOST_LATE_MS:
            return f"{where}: queue {self.high} waits {waited_ms:.1f} ms behind queue {self.low}"
        if self.low_received == self.low_sent:
            return f"{where}: queue {self.low} could not be filled, so nothing is proven"
        rest = self.high_sent * (LOW_SHARE - HIGH_SHARE) / HIGH_SHARE
        if self.low_received < rest * _LEAST_REST:
            return f"{where}: queue {self.low} got {self.low_received} frames of {rest:.0f} that queue {self.high} left"
        return None


def outcome_of(port: TrialPort, phase: Phase, sent: dict[int, int], arrivals: Iterable[Arrival]) -> PairOutcome:
    """Sum up a phase on one port.

    Parameters
    ----------
    sent
        Frames sent by queue.
    """
    by_queue: dict[int, list[float]] = {phase.high: [], phase.low: []}
    for arrival in arrivals:
        by_queue[arrival.queue_id].append(arrival.delay_ms)
    high, low = by_queue[phase.high], by_queue[phase.low]
    delay_ms = median(high) if high else None
    return PairOutcome(port, phase.high, phase.low, sent[phase.high], len(high), sent[phase.low], len(low), delay_ms)


@dataclass(frozen=True)
class QueueVerdict:
    """Whether every pair of queues was served strictly on every port that was tried, and what each did."""

    setup: QueueSetup
    outcomes: tuple[PairOutcome, ...]
    seconds: float = 0.0

    @property
    def complaints(self) -> tuple[str, ...]:
        """One sentence for every pair of queues on a port that is not proven."""
        return tuple(said for outcome in self.outcomes if (said := outcome.complaint()))

    @property
    def ok(self) -> bool:
        """Whether priority is strict; not, when nothing was tried."""
        return bool(self.outcomes) and not self.complaints

    def describe(self) -> str:
        """One sentence: what is proven, or the first complaint and how many there are."""
        n_ports = len({(outcome.port.node, outcome.port.port_no) for outcome in self.outcomes})
        where = f"{n_ports} port{'s' if n_ports != 1 else ''}, queues {self.setup.name!r}"
        if self.ok:
            delays = [outcome.high_delay_ms for outcome in self.outcomes if outcome.high_delay_ms is not None]
            return (
                f"strict priority on {where}: nothing lost before a full queue, worst median delay {max(delays):.1f} ms"
            )
        if not self.outcomes:
            return f"strict priority was not tried: no port has queues {self.setup.name!r}"
        more = f" (and {len(self.complaints) - 1} more)" if len(self.complaints) > 1 else ""
        return f"priority is not strict on {where}: {self.complaints[0]}{more}"


def judge_queues(setup: QueueSetup, outcomes: Iterable[PairOutcome], seconds: float = 0.0) -> QueueVerdict:
    """Judge a trial; of a port and pair tried more than once the best outcome counts.

    A stalled machine can fail a strict port, but no luck passes one that is not.
    """
    best: dict[tuple[TrialPort, int, int], PairOutcome] = {}
    for outcome in outcomes:
        key = outcome.port, outcome.high, outcome.low
        if key not in best or best[key].complaint():
            best[key] = outcome
    return QueueVerdict(setup, tuple(best.values()), seconds)
