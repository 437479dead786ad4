"""Whether a run can be believed: what the instruments saw of themselves and of the quiet network."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from experiments.analysis.packet_counts import Flight

MAX_DRIFT_MS = 1.0
MAX_PACE = 1.1
MAX_LATE_S = 0.25


@dataclass(frozen=True)
class StreamHealth:
    """One probe stream as its taps and its own program saw it.

    Attributes
    ----------
    warm_up_lost
        Packets lost before anything was broken.
    unexplained
        Arrivals whose departure no tap saw.
    tapped, own : (int, int), (int, int) or None
        Requests sent and answered: by the taps, and by the program itself.
    pace
        Mean time between packets over the time that was asked for.
    """

    name: str
    warm_up_lost: int
    unexplained: int
    tapped: tuple[int, int]
    own: tuple[int, int] | None
    pace: float


@dataclass(frozen=True)
class Health:
    """What was observed of the machine, the network and the instruments during one run.

    Attributes
    ----------
    flaps
        Switch port to liveness changes of its BFD session that no failure of the scenario explains.
    restarts
        Processes that ended and were restarted though the scenario did not kill them.
    missed
        Tap to frames that it could not keep.
    drift_ms
        Change of the offset between the two clocks.
    notes
        What the emulation itself warns of.
    faults
        What the emulation has found wrong with itself: queues that are not strict, processes that do not run.
    unread
        Interface to frames that the machine lost because the switch did not read them in time.
    late_s
        Second for which a failure or repair was planned to how much later it came.
    avoided
        Links that traffic engineering left out, though no failure of the scenario explains it.
    """

    streams: Sequence[StreamHealth] = ()
    flaps: Mapping[str, int] = field(default_factory=dict)
    restarts: Sequence[str] = ()
    missed: Mapping[str, int] = field(default_factory=dict)
    drift_ms: float = 0.0
    load_per_core: float = 0.0
    notes: Sequence[str] = ()
    faults: Sequence[str] = ()
    unread: Mapping[str, int] = field(default_factory=dict)
    late_s: Mapping[float, float] = field(default_factory=dict)
    avoided: Collection[str] = ()


def assess(health: Health) -> tuple[tuple[str, ...], bool]:
    """Warnings, and whether the run can be trusted in spite of them.

    Notes of the emulation, a slow pace, a busy machine and frames that it lost are only reported; everything else
    means that numbers of the run may be wrong.
    """
    faults = [_flapping(health.flaps)] if health.flaps else []
    faults += list(health.faults)
    faults += [f"{restart} ended and was restarted, which the scenario did not ask for" for restart in health.restarts]
    faults += [f"the tap on {tap} missed {count} frames" for tap, count in health.missed.items()]
    if abs(health.drift_ms) > MAX_DRIFT_MS:
        faults.append(f"the wall clock was shifted by {health.drift_ms:.1f} ms during the run")
    faults += [
        f"what was to fail or be repaired at second {at_s:g} came {late_s:.2f} s late; the machine is too busy"
        for at_s, late_s in health.late_s.items()
        if late_s > MAX_LATE_S
    ]
    if health.avoided:
        faults.append(f"traffic engineering left out {_some(health.avoided)}, which the scenario did not ask for")
    remarks = list(health.notes)
    if health.load_per_core > 1:
        remarks.append(f"the machine was busy: {health.load_per_core:.1f} runnable tasks a core before the run")
    if health.unread:
        ports = _some(health.unread)
        remarks.append(f"{sum(health.unread.values())} frames were lost before a switch read them ({ports})")
    for stream in health.streams:
        faults += _stream_faults(stream)
        if stream.pace > MAX_PACE:
            remarks.append(f"{stream.name}: packets were sent every {stream.pace:.1f} intervals instead of every one")
    return (*faults, *remarks), not faults


def _flapping(flaps: Mapping[str, int]) -> str:
    return f"BFD flapped {sum(flaps.values())} times on links that nobody broke ({_some(flaps)}); raise bfd_interval_ms"


def _some(names: Collection[str]) -> str:
    return ", ".join(list(names)[:4]) + (", ..." if len(names) > 4 else "")


def _stream_faults(stream: StreamHealth) -> list[str]:
    faults = []
    if not stream.tapped[0]:
        faults.append(f"{stream.name}: not one packet was sent")
    if stream.warm_up_lost:
        faults.append(f"{stream.name}: {stream.warm_up_lost} packets were lost before anything was broken")
    if stream.unexplained:
        faults.append(f"{stream.name}: {stream.unexplained} packets arrived that no tap saw leave")
    if stream.own is not None and stream.own != stream.tapped:
        faults.append(
            f"{stream.name}: the taps saw {stream.tapped[0]} requests and {stream.tapped[1]} answers, "
            f"the probe itself {stream.own[0]} and {stream.own[1]}"
        )
    return faults


def answers_counted(answers: Sequence[Flight], *, copies: bool) -> int:
    """Answers as the program that probes counts them: every copy, or each number once."""
    if not copies:
        return len({flight.sequence for flight in answers if not flight.is_lost})
    return sum(len(flight.arrivals_s) for flight in answers)


def pace(flights: Sequence[Flight], interval_ms: float) -> float:
    """Mean time between departures over `interval_ms` (1 when there are fewer than two)."""
    if len(flights) < 2:
        return 1.0
    return (flights[-1].sent_s - flights[0].sent_s) / (len(flights) - 1) * 1000 / interval_ms
