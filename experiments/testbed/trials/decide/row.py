"""The row of a trial with pings and UDP: what every pair got in each window, and when the backtracking ended.

A packet backtracks when it leaves a switch over a link that it has crossed before, as the taps on the links saw it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from experiments.analysis.backtracking import backtracking_of
from experiments.analysis.datagrams import Datagram, goodput_mbps
from experiments.analysis.packet_counts import Flight, Sighting
from experiments.analysis.record import Record, Stream
from experiments.analysis.timeline import IN_FLIGHT_S, WayOutcome, Window, stages, way_outcome
from experiments.campaign.values import Json, Timing, Trial
from experiments.testbed.trials.decide.scenario import timing_of
from mininet_topos.topology import Direction, LinkId
from ryu_apps.plan.ids import Status

BIN_S = 0.02
PHASES = ("fail_free", "transient", "converged")
# Columns of a pair that need every packet's way; null where only files were fetched.
PACKET_MEASURES = (
    "backtracked_out",
    "backtracked_back",
    "outage_ms",
    "convergence_ms",
    "backtracking_rtt_ms",
    "backtracking_rtt_back_ms",
)
Pair = tuple[str, str]


@dataclass(frozen=True)
class PairFacts:
    """What is known of a pair beforehand.

    Attributes
    ----------
    primary, primary_back
        Links from source to destination, and from destination to source, while nothing is broken.
    joined
        Whether the pair is connected without the failed links.
    hops_back
        Links that its first packet backtracks from the first failed link by the tree planner; None: cannot be said.
    """

    primary: tuple[LinkId, ...]
    primary_back: tuple[LinkId, ...]
    joined: bool
    hops_back: int | None


@dataclass(frozen=True)
class Seen:
    """What a trial left behind: its record, its UDP datagrams, and what was known of its pairs."""

    trial: Trial
    record: Record
    datagrams: Mapping[Pair, Sequence[Datagram]]
    facts: Mapping[Pair, PairFacts]

    @property
    def failure_s(self) -> float:
        """Stamp right before the first failure; without a failure the instant at which it would have been."""
        planned_s = self.record.zero_s + timing_of(self.trial).before_s
        return min((event.before_s for event in self.record.injected), default=planned_s)


@dataclass(frozen=True)
class _PairView:
    """One pair's flights, and what became of both ways after the failure."""

    stream: Stream
    outcomes: tuple[WayOutcome, WayOutcome]
    facts: PairFacts
    failed: tuple[str, ...]
    after: Window

    @property
    def is_hit(self) -> bool:
        """Whether a failed link is on the pair's way out."""
        return any(str(link) in self.failed for link in self.facts.primary)

    @property
    def convergence_ms(self) -> float | None:
        """From the failure to the last packet that was lost or backtracked; None: some still are at the end."""
        if any(outcome.steady_s is None for outcome in self.outcomes if outcome.counts.sent):
            return None
        last = [stamp for outcome in self.outcomes for stamp in (outcome.last_lost_s, outcome.last_crankback_s)]
        return max([(stamp - self.after.start_s) * 1000 for stamp in last if stamp is not None], default=0.0)


def phase_windows(timing: Timing, failure_s: float) -> dict[str, Window]:
    """The three windows of a trial."""
    edges = (-timing.before_s, 0.0, timing.transient_s, timing.transient_s + timing.converged_s)
    return {
        name: Window(failure_s + start, failure_s + end)
        for name, start, end in zip(PHASES, edges, edges[1:], strict=False)
    }


def network_row(seen: Seen, detected: Mapping[LinkId, float]) -> Json:
    """Everything measured in a trial of kind "mixed" or "flow", as the shape that rows.jsonl keeps.

    Parameters
    ----------
    detected
        When the watcher first heard of each failed link, as `first_detections` has it.
    """
    timing, failure_s, record = timing_of(seen.trial), seen.failure_s, seen.record
    windows = phase_windows(timing, failure_s)
    after = _watched(record.streams, Window(failure_s, windows["converged"].end_s))
    views = [_view(seen, stream, after) for stream in record.streams]
    detected_s = [t_s for _, t_s in record.detections if after.holds(t_s)]
    outcomes = [outcome for view in views for outcome in view.outcomes]
    found = stages(after, outcomes, detected_s, record.installs_s)
    has_failure = bool(seen.trial.links)
    return {
        "bfd_interval_ms": record.bfd_interval_ms,
        "windows_s": {
            name: [_round(w.start_s - failure_s), _round(w.end_s - failure_s)] for name, w in windows.items()
        },
        "failure_spread_ms": _round((max(event.after_s for event in record.injected) - failure_s) * 1000)
        if has_failure
        else None,
        "stages_ms": found.to_dict() if has_failure else dict.fromkeys(found.to_dict()),
        "convergence_ms": _convergence(views) if has_failure else None,
        "backtracking_ms": backtracking(views_flights(views), after, detected_s) if has_failure else None,
        "directions": [direction for view in views for direction in _directions(view, detected)],
        "crankback_frames": sum(_crankback_frames(flight, after) for flight in views_flights(views)),
        "notification_frames": sum(after.holds(notice.t_s) for notice in record.notices or ()),
        "pairs": [_pair(view, windows, seen.datagrams) for view in views],
        "timeline": timeline([view.stream for view in views if view.is_hit], windows) if has_failure else None,
        "trustworthy": record.trustworthy,
        "warnings": list(record.warnings),
    }


def _watched(streams: Sequence[Stream], after: Window) -> Window:
    """From the failure to the last sight of a packet: a failure that a busy machine injects late outlasts the traffic.

    Where nothing is sent nothing backtracks, and that would pass for the end of the backtracking.
    """
    sent = [flight for stream in streams for flights in stream.flights for flight in flights]
    seen_s = (stamp for flight in sent for stamp in (flight.sent_s, *(hop.t_s for hop in flight.hops)))
    last_s = max(filter(after.holds, seen_s), default=None)
    return after if last_s is None else Window(after.start_s, math.nextafter(last_s, math.inf))


def views_flights(views: Sequence[_PairView]) -> list[Flight]:
    """All packets of all pairs."""
    return [flight for view in views for flights in view.stream.flights for flight in flights]


def _view(seen: Seen, stream: Stream, after: Window) -> _PairView:
    facts = seen.facts[stream.traffic.source, stream.traffic.destination]
    outcomes = (way_outcome(stream.flights[0], after), way_outcome(stream.flights[1], after))
    return _PairView(stream, outcomes, facts, seen.trial.links, after)


def _convergence(views: Sequence[_PairView]) -> float | None:
    times = [view.convergence_ms for view in views if view.facts.joined]
    known = [time for time in times if time is not None]
    return _round(max(known)) if known and len(known) == len(times) else None


def backtracking(flights: Sequence[Flight], after: Window, detected_s: Sequence[float]) -> Json | None:
    """When the last packet backtracked, in milliseconds from the failure and from the first detection.

    Zero when none did; None when packets still do at the end of the window.

    Parameters
    ----------
    flights
        Of all pairs and both ways.
    after
        From the failure to the end.
    detected_s
        Reports of failed ports.
    """
    stamps = [hop.t_s for flight in flights for hop in flight.back_hops if after.holds(hop.t_s)]
    if not stamps:
        return {"from_failure": 0.0, "from_detection": 0.0}
    last_s = max(stamps)
    if last_s > after.end_s - IN_FLIGHT_S:
        return None
    from_detection = _round((last_s - min(detected_s)) * 1000) if detected_s else None
    return {"from_failure": _round((last_s - after.start_s) * 1000), "from_detection": from_detection}


def _directions(view: _PairView, detected: Mapping[LinkId, float]) -> list[Json]:
    """Both directions of a pair that stays joined, those whose primary path crosses a failed link."""
    ends, found = (view.stream.traffic.source, view.stream.traffic.destination), []
    ways = zip(view.stream.flights, (view.facts.primary, view.facts.primary_back), (ends, ends[::-1]), strict=True)
    for flights, primary, (source, destination) in ways if view.facts.joined else ():
        failed = [link for link in primary if str(link) in view.failed]
        result = backtracking_of(flights, primary, failed, detected, view.after)
        if result is not None:
            after_ms = None if result.detected_s is None else (result.detected_s - view.after.start_s) * 1000
            found.append(
                {
                    "source": source,
                    "destination": destination,
                    "link": str(result.link),
                    "detected_ms": _maybe(after_ms),
                    "backtracking_ms": _maybe(result.lasted_ms),
                    "outage_ms": _maybe(result.outage_ms),
                }
            )
    return found


def _crankback_frames(flight: Flight, after: Window) -> int:
    return sum(hop.status == Status.CRANKBACK and after.holds(hop.t_s) for hop in flight.hops)


def _pair(view: _PairView, windows: Mapping[str, Window], found: Mapping[Pair, Sequence[Datagram]]) -> Json:
    traffic = view.stream.traffic
    datagrams = found.get((traffic.source, traffic.destination), ())
    backtracked = [
        sum(bool(flight.back_hops) and view.after.holds(flight.back_hops[0].t_s) for flight in flights)
        for flights in view.stream.flights
    ]
    return {
        **pair_head((traffic.source, traffic.destination), view.facts, view.failed),
        "phases": {name: _phase(view.stream, window, datagrams) for name, window in windows.items()},
        "backtracked_out": backtracked[0],
        "backtracked_back": backtracked[1],
        "outage_ms": _maybe(_outage_ms(view.outcomes)),
        "convergence_ms": _maybe(view.convergence_ms),
        "backtracking_rtt_ms": _maybe(backtracking_rtt_ms(view.stream.flights[0])),
        "backtracking_rtt_back_ms": _maybe(backtracking_rtt_ms(view.stream.flights[1])),
        "download": None,
    }


def _outage_ms(outcomes: Sequence[WayOutcome]) -> float | None:
    """The longer one of both ways; None while one still went on at the end."""
    if not all(outcome.has_recovered for outcome in outcomes):
        return None
    return max(outcome.outage_ms for outcome in outcomes)


def pair_head(ends: Pair, facts: PairFacts, failed: Sequence[str]) -> Json:
    """What the row of any trial says of a pair beforehand."""
    return {
        "source": ends[0],
        "destination": ends[1],
        "primary": [str(link) for link in facts.primary],
        "primary_back": [str(link) for link in facts.primary_back],
        "hit": [str(link) for link in facts.primary if str(link) in failed],
        "joined": facts.joined,
        "hops_back": facts.hops_back,
    }


def round_trips_ms(stream: Stream) -> list[tuple[Flight, float | None]]:
    """Requests of a pair, each with its round-trip time (None: it was not answered)."""
    arrived = {reply.sequence: reply.arrivals_s[0] for reply in stream.flights[1] if not reply.is_lost}
    return [
        (request, (arrived[request.sequence] - request.sent_s) * 1000 if request.sequence in arrived else None)
        for request in stream.flights[0]
    ]


def _phase(stream: Stream, window: Window, datagrams: Sequence[Datagram]) -> Json:
    trips = [(request, rtt) for request, rtt in round_trips_ms(stream) if window.holds(request.sent_s)]
    rtts = [rtt for _, rtt in trips if rtt is not None]
    sent = [datagram for datagram in datagrams if window.holds(datagram.sent_s)]
    back = [flight for flights in stream.flights for flight in flights if window.holds(flight.sent_s)]
    return {
        "sent": len(trips),
        "received": len(rtts),
        "lost": len(trips) - len(rtts),
        "backtracked": sum(bool(flight.back_hops) for flight in back),
        "rtt_mean_ms": _maybe(float(np.mean(rtts)) if rtts else None),
        "rtt_p50_ms": _maybe(float(np.percentile(rtts, 50)) if rtts else None),
        "rtt_p99_ms": _maybe(float(np.percentile(rtts, 99)) if rtts else None),
        "udp_sent": len(sent),
        "udp_received": sum(datagram.arrived_s is not None for datagram in sent),
        "goodput_mbps": _round(goodput_mbps(datagrams, window), 4) if datagrams else None,
    }


def backtracking_rtt_ms(flights: Sequence[Flight]) -> float | None:
    """Time of the first packet that backtracked: from crossing a link until it had crossed it back, the outermost link.

    So long does the switch where the backup route begins go on sending packets the old way.
    """
    first = next((flight for flight in flights if flight.back_hops), None)
    if first is None:
        return None
    crossed: list[Sighting] = []
    span_ms = None
    for hop in first.hops:
        if crossed and crossed[-1].direction == Direction(hop.direction.dst, hop.direction.src, hop.direction.key):
            span_ms = (hop.t_s - crossed.pop().t_s) * 1000
        elif span_ms is not None:
            break
        else:
            crossed.append(hop)
    return span_ms


def timeline(streams: Sequence[Stream], windows: Mapping[str, Window]) -> Json | None:
    """Round-trip time, share of answered requests, and packets that backtracked, in bins over all these pairs.

    A request counts in the bin of its sending, a packet that backtracked in the bin in which it first did.
    """
    if not streams:
        return None
    start_s, end_s = windows[PHASES[0]].start_s, windows[PHASES[-1]].end_s
    bins = round((end_s - start_s) / BIN_S)
    rtts: list[list[float]] = [[] for _ in range(bins)]
    sent, backtracked = [0] * bins, [0] * bins
    for stream in streams:
        for request, rtt in round_trips_ms(stream):
            place = int((request.sent_s - start_s) / BIN_S)
            if start_s <= request.sent_s and place < bins:
                sent[place] += 1
                rtts[place] += [] if rtt is None else [rtt]
        for flight in (flight for flights in stream.flights for flight in flights if flight.back_hops):
            place = int((flight.back_hops[0].t_s - start_s) / BIN_S)
            if 0 <= place < bins:
                backtracked[place] += 1
    return {
        "start_ms": _round((start_s - windows[PHASES[1]].start_s) * 1000),
        "bin_ms": round(BIN_S * 1000),
        "rtt_mean_ms": [_round(sum(each) / len(each)) if each else None for each in rtts],
        "delivered_share": [_round(len(r) / n) if n else None for r, n in zip(rtts, sent, strict=True)],
        "backtracked": backtracked,
    }


def _round(value: float, digits: int = 3) -> float:
    return round(value, digits)


def _maybe(value: float | None) -> float | None:
    return None if value is None else _round(value)
