"""The `traffic` list of a scenario; each kind of traffic is a module of this folder."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from experiments.scenario.fields import Context, known_keys, mapping, one_of, sequence, stated, with_default
from experiments.scenario.folders import find_kinds
from experiments.scenario.keys import Document, Key, NetworkContext, a_host, read_keys, write_keys
from experiments.scenario.stream import ENDS, INTERVAL_MS, TIMES, ProbedTraffic, Traffic
from experiments.scenario.traffic.probe import Probe
from mininet_topos.lines import Line
from mininet_topos.topology import Topology

KEYS_OF_ALL = (Key("from", a_host, "source"), Key("to", a_host, "destination"), *TIMES)


@cache
def traffic_kinds() -> Mapping[str, type[Traffic]]:
    """Every kind of traffic by its name."""
    return find_kinds(Traffic, "traffic")


@cache
def probed_kinds() -> Mapping[str, type[ProbedTraffic]]:
    """Those whose packets are followed one by one, by their names."""
    return {name: kind for name, kind in traffic_kinds().items() if issubclass(kind, ProbedTraffic)}


def read_traffic(context: Context, line: Line | None, topology: Topology) -> tuple[Traffic, ...]:
    """Read the list of streams.

    Raises
    ------
    BadInputError
        No stream at all, an unknown host, a stream from a host to itself, or a value out of its range.
    """
    entries = () if line is None else sequence(context, line, "traffic")
    if not entries:
        where = 1 if line is None else line.number
        raise context.error(
            where, "a scenario needs traffic; add for example 'traffic: [{from: h1, to: h2, interval_ms: 2}]'"
        )
    there = NetworkContext(context.file_name, topology)
    streams = tuple(_stream(there, entry) for entry in entries)
    for index, stream in enumerate(streams):
        pair = {stream.source, stream.destination}
        if any({other.source, other.destination} == pair and other.kind == stream.kind for other in streams[:index]):
            raise context.error(
                entries[index], f"a {stream.kind} between {' and '.join(sorted(pair))} stands twice; keep one of them"
            )
    return streams


def stream_to_document(stream: Traffic) -> Document:
    """The entry that gives a stream back."""
    return write_keys(stream, (*KEYS_OF_ALL, *stream.keys)) | {"kind": stream.kind}


def _stream(context: NetworkContext, entry: Line) -> Traffic:
    kinds = traffic_kinds()
    fields = mapping(context, entry, "a traffic entry")
    names = dict.fromkeys(key.name for kind in kinds.values() for key in (*KEYS_OF_ALL, *kind.keys))
    known_keys(context, fields, ["kind", *names], "a traffic entry")
    fields = stated(fields)
    for name in ENDS:
        if name not in fields:
            raise context.error(entry, f"a traffic entry needs '{name}'; name a host, for example '{name}: h1'")
    source, destination = (a_host(context, fields[name], name) for name in ENDS)
    if source == destination:
        raise context.error(entry, f"traffic goes from {source} to itself; choose two hosts")
    kind = kinds[with_default(fields, "kind", one_of(tuple(kinds)), context, Probe.kind)]
    own = {key.name for key in (*KEYS_OF_ALL, *kind.keys)}
    for name, line in fields.items():
        # Scenarios that Armor once wrote give an interval to every kind.
        if name not in own | {"kind", INTERVAL_MS.name}:
            raise context.error(line, f"{name} does not go with kind {kind.kind}; remove it")
    for name in kind.needed:
        if name not in fields:
            raise context.error(entry, f"kind {kind.kind} needs {name}")
    kind.check(context, fields)
    stream = kind(**read_keys(context, fields, (*KEYS_OF_ALL, *kind.keys)))
    if stream.stop_s is not None and stream.stop_s <= stream.start_s:
        raise context.error(
            fields["stop_s"], f"stop_s {stream.stop_s:g} is not after start_s {stream.start_s:g}; make it later"
        )
    return stream
