"""From the files of a measured run to its `Record`: captures become flights, events become stamps."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from experiments.analysis.dumps import DumpReport
from experiments.analysis.events import detections, installs, read_events
from experiments.analysis.frames import Frame, parse_pcap
from experiments.analysis.notices import Notice, notices_of
from experiments.analysis.packet_counts import Sighting, Way, fly, sightings_of, stamps_of
from experiments.analysis.record import Record, Stream
from experiments.analysis.trust import Health, StreamHealth, answers_counted, assess, pace
from experiments.scenario.stream import ProbedTraffic
from experiments.scenario.values import Scenario, Variation
from experiments.testbed.runs.measure import Measured
from mininet_topos.ports import assign_ports
from mininet_topos.topology import Topology
from ryu_apps.plan.addressing import hosts_of


def make_record(
    scenario: Scenario,
    variation: Variation,
    measured: Measured,
    events_text: str,
    dumps: Sequence[DumpReport],
    *,
    notes: Sequence[str],
) -> Record:
    """Everything that a run left behind, read and joined.

    Parameters
    ----------
    scenario, variation : Scenario, Variation
        What ran.
    measured
        Stamps and capture files.
    events_text
        The event log.
    dumps
        Rows against plans, after the end.
    notes
        What the emulation warns of.
    """
    events = read_events(events_text)
    joined = _Joined(scenario.topology, measured)
    numbered = [(number, stream) for number, stream in enumerate(scenario.traffic) if isinstance(stream, ProbedTraffic)]
    streams, healths = [], []
    for number, traffic in numbered:
        stream, unexplained = joined.stream(traffic)
        streams.append(stream)
        healths.append(_stream_health(stream, unexplained, measured.own_counts[number], measured.zero_s))
    warnings, trustworthy = assess(_health(measured, healths, notes))
    return Record(
        scenario=scenario,
        variation=variation,
        streams=tuple(streams),
        injected=measured.injected,
        zero_s=measured.zero_s,
        end_s=measured.end_s,
        detections=detections(events),
        installs_s=installs(events),
        dumps=tuple(dumps),
        warnings=warnings,
        trustworthy=trustworthy,
        datagrams=measured.datagrams,
        tcp=measured.tcp,
        notices=tuple(joined.notices),
    )


class _Joined:
    """The captures of a run, read once."""

    def __init__(self, topology: Topology, measured: Measured) -> None:
        self._hosts = hosts_of(topology)
        self._clock = measured.clock
        self._frames: dict[str, list[Frame]] = {}
        self._sightings: dict[tuple[int, int, str, bool], list[Sighting]] = {}
        self.notices: list[Notice] = []
        ports = assign_ports(topology)
        port_at = {(node, f"{node}-eth{port}"): direction for (node, port), direction in ports.direction_at.items()}
        for tap, path in measured.captures.items():
            frames = list(parse_pcap(Path(path).read_bytes()))
            direction = port_at.get((tap.place, tap.device))
            if direction is None:
                self._frames[tap.place] = frames
            else:
                self.notices += notices_of(frames, direction, self._clock)
                for sighting in sightings_of(frames, direction, self._clock):
                    self._sightings.setdefault(sighting.probe[:4], []).append(sighting)

    def stream(self, traffic: ProbedTraffic) -> tuple[Stream, int]:
        """One probed pair, and how many of its packets arrived without a departure."""
        source, destination = self._hosts[traffic.source], self._hosts[traffic.destination]
        out = Way("out", source.ipv4, destination.ipv4, traffic.kind, is_reply=False)
        back = Way("back", destination.ipv4, source.ipv4, traffic.kind, is_reply=True)
        flights, unexplained = [], 0
        for way, (start, end) in ((out, (source, destination)), (back, (destination, source))):
            departures = stamps_of(self._frames[start.name], way, self._clock)
            arrivals = stamps_of(self._frames[end.name], way, self._clock)
            sightings = self._sightings.get((way.source, way.destination, way.kind, way.is_reply), ())
            found, odd = fly(way, departures, arrivals, sightings)
            flights.append(tuple(found))
            unexplained += odd
        return Stream(traffic, (out, back), (flights[0], flights[1])), unexplained


def _stream_health(stream: Stream, unexplained: int, own: tuple[int, int] | None, zero_s: float) -> StreamHealth:
    requests, answers = stream.flights
    early = [flight for flight in (*requests, *answers) if flight.sent_s < zero_s and flight.is_lost]
    return StreamHealth(
        name=stream.name,
        warm_up_lost=len(early),
        unexplained=unexplained,
        tapped=(len(requests), answers_counted(answers, copies=stream.traffic.counts_copies)),
        own=own,
        pace=pace(requests, stream.traffic.interval_ms),
    )


def _health(measured: Measured, streams: Sequence[StreamHealth], notes: Sequence[str]) -> Health:
    return Health(
        streams=streams,
        flaps={f"{node}:{port}": count for (node, port), count in measured.flaps.items()},
        restarts=measured.restarts,
        faults=measured.faults,
        missed={tap.device: count for tap, count in measured.missed.items()},
        drift_ms=measured.clock.drift_ns / 1e6,
        load_per_core=measured.load_per_core,
        notes=(*notes, *measured.remarks),
        unread=measured.unread_frames,
        late_s={each.action.at_s: each.before_s - measured.zero_s - each.action.at_s for each in measured.injected},
    )
