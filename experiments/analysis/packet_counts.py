"""What became of every probe packet, each way by itself: sent, arrived, lost, duplicated, reordered, backtracked.

The stamps are those of packet taps: at the sending host's device, on the links between the switches, and at the
receiving host's device; one kernel stamps them all, so differences of stamps are one-way delays.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from experiments.analysis.frames import Frame
from experiments.analysis.probes import ProbeId, probe_id
from experiments.scenario.traffic import probed_kinds
from mininet_topos.topology import Direction

WAYS = ("out", "back")
_SAME_S = 1.0  # numbers of pings come again after minutes; answers to a packet that was duplicated, at once


@dataclass(frozen=True, slots=True)
class Clock:
    """Turns capture stamps (CLOCK_REALTIME, ns) into CLOCK_MONOTONIC seconds.

    `offset_ns` is realtime minus monotonic; `drift_ns` is by how much it changed during the run, which is the
    uncertainty of every converted stamp.
    """

    offset_ns: int
    drift_ns: int = 0

    def to_s(self, t_ns: int) -> float:
        """CLOCK_MONOTONIC seconds of a capture stamp."""
        return (t_ns - self.offset_ns) / 1e9

    def to_ns(self, t_s: float) -> int:
        """Capture stamp of CLOCK_MONOTONIC seconds."""
        return round(t_s * 1e9) + self.offset_ns


@dataclass(frozen=True, slots=True)
class Way:
    """One way of a probed pair: requests go "out", replies come "back".

    Attributes
    ----------
    source, destination
        IPv4 addresses in the order of travel.
    kind
        "probe" (irtt) or "ping".
    is_reply
        Whether these packets answer those of the other way.
    """

    name: str
    source: int
    destination: int
    kind: str
    is_reply: bool

    def is_of(self, probe: ProbeId) -> bool:
        """Whether a probe packet travels this way."""
        return probe[:4] == (self.source, self.destination, self.kind, self.is_reply)


@dataclass(frozen=True, slots=True)
class Sighting:
    """A probe frame that left a switch on a link; `status` is its tag's PCP, 0 without a tag."""

    t_s: float
    direction: Direction
    probe: ProbeId
    status: int


@dataclass(frozen=True, slots=True)
class Flight:
    """One probe packet of one way.

    Attributes
    ----------
    sequence
        Number in the stream; counts on where the wire's 16 bits wrap.
    sent_s
        When it left the host (CLOCK_MONOTONIC, seconds).
    arrivals_s
        When copies reached the other host; none: lost.
    hops
        The links that it crossed, by time.
    """

    sequence: int
    sent_s: float
    arrivals_s: tuple[float, ...] = ()
    hops: tuple[Sighting, ...] = ()

    @property
    def back_hops(self) -> tuple[Sighting, ...]:
        """Hops over a link that it had crossed before in the other direction: it backtracked."""
        crossed: set[Direction] = set()
        back = []
        for hop in self.hops:
            if _reverse(hop.direction) in crossed:
                back.append(hop)
            crossed.add(hop.direction)
        return tuple(back)

    @property
    def is_lost(self) -> bool:
        """Whether no copy arrived."""
        return not self.arrivals_s

    @property
    def delay_ms(self) -> float | None:
        """One-way delay of the first copy."""
        return None if self.is_lost else (self.arrivals_s[0] - self.sent_s) * 1000


@dataclass(frozen=True, slots=True)
class Counts:
    """Packet counts of some flights; sent = received + lost always.

    `duplicated` counts surplus copies, `reordered` packets that arrived after a later one (RFC 4737, type P),
    `backtracked` packets that crossed a link both ways.
    """

    sent: int = 0
    received: int = 0
    lost: int = 0
    duplicated: int = 0
    reordered: int = 0
    backtracked: int = 0

    def __add__(self, other: Counts) -> Counts:
        return Counts(
            self.sent + other.sent,
            self.received + other.received,
            self.lost + other.lost,
            self.duplicated + other.duplicated,
            self.reordered + other.reordered,
            self.backtracked + other.backtracked,
        )


def count(flights: Sequence[Flight]) -> Counts:
    """Packet counts of one way; departures tell what is reordered, since a host may send a number again (an answer)."""
    received = sorted((flight for flight in flights if not flight.is_lost), key=lambda flight: flight.sent_s)
    highest, reordered = -1, 0
    for place, _ in sorted(enumerate(received), key=lambda numbered: numbered[1].arrivals_s[0]):
        reordered += place < highest
        highest = max(highest, place)
    return Counts(
        sent=len(flights),
        received=len(received),
        lost=len(flights) - len(received),
        duplicated=sum(len(flight.arrivals_s) - 1 for flight in received),
        reordered=reordered,
        backtracked=sum(bool(flight.back_hops) for flight in flights),
    )


def unwrap(sequences: Iterable[int], modulus: int) -> list[int]:
    """Sequence numbers that count on across wraps; neighbours differ by less than half the modulus.

    Examples
    --------
    >>> unwrap([65534, 65535, 0, 1], 65536)
    [65534, 65535, 65536, 65537]
    """
    unwrapped: list[int] = []
    for sequence in sequences:
        base = unwrapped[-1] if unwrapped else sequence
        step = (sequence - base + modulus // 2) % modulus - modulus // 2
        unwrapped.append(base + step)
    return unwrapped


def stamps_of(frames: Iterable[Frame], way: Way, clock: Clock) -> list[tuple[float, int]]:
    """(seconds, sequence on the wire) of the packets of a way in a host's capture, by time."""
    found = ((frame.t_ns, probe_id(frame)) for frame in frames)
    return sorted((clock.to_s(t_ns), probe.sequence) for t_ns, probe in found if probe and way.is_of(probe))


def sightings_of(frames: Iterable[Frame], direction: Direction, clock: Clock) -> list[Sighting]:
    """Probe packets in the capture of frames that leave a switch on a link; notifications are no part of their way."""
    found = ((frame, probe_id(frame)) for frame in frames if not frame.notifies)
    return [
        Sighting(clock.to_s(frame.t_ns), direction, probe, frame.priority_code or 0)
        for frame, probe in found
        if probe is not None
    ]


def fly(
    way: Way,
    departures: Sequence[tuple[float, int]],
    arrivals: Sequence[tuple[float, int]],
    sightings: Iterable[Sighting] = (),
) -> tuple[list[Flight], int]:
    """Join the taps of one way into flights.

    Parameters
    ----------
    way
        Whose packets.
    departures, arrivals : sequence of (float, int)
        Seconds and sequence numbers on the wire, as `stamps_of` gives them.
    sightings
        Frames on links, of any stream.

    Returns
    -------
    list of Flight, int
        By time of departure; and how many arrivals have no departure (0 unless a tap missed frames).
    """
    departures = sorted(departures)
    numbers = unwrap((sequence for _, sequence in departures), 1 << probed_kinds()[way.kind].sequence_bits)
    index = _Departures(departures)
    arrivals_of: list[list[float]] = [[] for _ in departures]
    unexplained = 0
    for t_s, sequence in sorted(arrivals):
        places = index.candidates(sequence, t_s)
        if not places:
            unexplained += 1
        else:
            # A number that was sent twice arrives for the first time once, and once more.
            arrivals_of[next((place for place in places if not arrivals_of[place]), places[-1])].append(t_s)
    seen_of: list[list[Sighting]] = [[] for _ in departures]
    for sighting in sightings:
        if way.is_of(sighting.probe):
            place = index.latest(sighting.probe.sequence, sighting.t_s)
            if place is not None:
                seen_of[place].append(sighting)
    flights = [
        Flight(number, sent_s, tuple(copies), tuple(sorted(seen, key=_by_time)))
        for number, (sent_s, _), copies, seen in zip(numbers, departures, arrivals_of, seen_of, strict=True)
    ]
    return flights, unexplained


def _reverse(direction: Direction) -> Direction:
    return Direction(direction.dst, direction.src, direction.key)


def _by_time(sighting: Sighting) -> float:
    return sighting.t_s


class _Departures:
    """Finds the departure that a later sighting of a sequence number belongs to."""

    def __init__(self, departures: Sequence[tuple[float, int]]) -> None:
        self._times: dict[int, list[float]] = {}
        self._places: dict[int, list[int]] = {}
        for place, (sent_s, sequence) in enumerate(departures):
            self._times.setdefault(sequence, []).append(sent_s)
            self._places.setdefault(sequence, []).append(place)

    def candidates(self, sequence: int, t_s: float) -> list[int]:
        """Places of the departures of `sequence` at or before `t_s`: those so close together that all may be meant."""
        times = self._times.get(sequence, [])
        nth = bisect_right(times, t_s)
        first = bisect_left(times, times[nth - 1] - _SAME_S) if nth else 0
        return self._places.get(sequence, [])[first:nth]

    def latest(self, sequence: int, t_s: float) -> int | None:
        """Place of the last departure of `sequence` at or before `t_s`."""
        nth = bisect_right(self._times.get(sequence, ()), t_s)
        return self._places[sequence][nth - 1] if nth else None
