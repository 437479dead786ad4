"""The `traffic` list of a scenario."""

from __future__ import annotations

from collections.abc import Mapping

from experiments.scenario.fields import (
    Context,
    known_keys,
    mapping,
    number,
    one_of,
    optional,
    sequence,
    whole_number,
    with_default,
)
from experiments.scenario.lines import Line
from experiments.scenario.targets import read_host
from experiments.scenario.values import TRAFFIC_KINDS, Traffic
from mininet_topos.topology import Topology

KEYS = ("from", "to", "kind", "interval_ms", "rate_mbps", "size_bytes", "start_s", "stop_s")
MIN_INTERVAL_MS = 0.5
MAX_UDP_PAYLOAD_BYTES = 1472
MIN_PROBE_BYTES = 60  # the header that irtt needs for stamps both ways


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
    streams = tuple(_stream(context, entry, topology) for entry in entries)
    for index, stream in enumerate(streams):
        pair = {stream.source, stream.destination}
        if any({other.source, other.destination} == pair and other.kind == stream.kind for other in streams[:index]):
            raise context.error(
                entries[index], f"a {stream.kind} between {' and '.join(sorted(pair))} stands twice; keep one of them"
            )
    return streams


def _stream(context: Context, entry: Line, topology: Topology) -> Traffic:
    fields = mapping(context, entry, "a traffic entry")
    known_keys(context, fields, KEYS, "a traffic entry")
    source, destination = (_end(context, entry, fields, key, topology) for key in ("from", "to"))
    if source == destination:
        raise context.error(entry, f"traffic goes from {source} to itself; choose two hosts")
    kind = with_default(fields, "kind", one_of(TRAFFIC_KINDS), context, "probe")
    start_s = with_default(fields, "start_s", number(0), context, 0.0)
    stop_s = optional(fields, "stop_s", number(0), context)
    if stop_s is not None and stop_s <= start_s:
        raise context.error(fields["stop_s"], f"stop_s {stop_s:g} is not after start_s {start_s:g}; make it later")
    rate_mbps = optional(fields, "rate_mbps", number(0, exclusive=True), context)
    if (rate_mbps is not None) != (kind == "iperf3-udp"):
        raise context.error(
            fields.get("rate_mbps", entry),
            "kind iperf3-udp needs rate_mbps"
            if rate_mbps is None
            else f"rate_mbps does not go with kind {kind}; remove it",
        )
    return Traffic(
        source=source,
        destination=destination,
        kind=kind,
        interval_ms=with_default(fields, "interval_ms", number(MIN_INTERVAL_MS), context, 2.0),
        rate_mbps=rate_mbps,
        size_bytes=optional(fields, "size_bytes", whole_number(MIN_PROBE_BYTES, MAX_UDP_PAYLOAD_BYTES), context),
        start_s=start_s,
        stop_s=stop_s,
    )


def _end(context: Context, entry: Line, fields: Mapping[str, Line], key: str, topology: Topology) -> str:
    line = fields.get(key)
    if line is None:
        raise context.error(entry, f"a traffic entry needs '{key}'; name a host, for example '{key}: h1'")
    return read_host(context, line, key, topology)
