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
    rate_mbps,
    seconds,
    sequence,
    whole_number,
    with_default,
)
from experiments.scenario.targets import read_host
from experiments.scenario.values import DATAGRAMS, TRAFFIC_KINDS, Traffic
from mininet_topos.lines import Line
from mininet_topos.topology import Topology

KEYS = ("from", "to", "kind", "interval_ms", "rate_mbps", "rate_pps", "size_bytes", "start_s", "stop_s")
MIN_INTERVAL_MS = 0.5
MAX_INTERVAL_MS = 60_000.0
MAX_UDP_PAYLOAD_BYTES = 1472
MIN_PROBE_BYTES = 60  # the header that irtt needs for stamps both ways
MAX_RATE_PPS = 100_000.0
# Which kinds may say at what rate they send; of these, which must.
_RATES = {"rate_mbps": ("iperf3-udp", "iperf3-tcp"), "rate_pps": (DATAGRAMS,)}
_MUST_SAY = {"iperf3-udp": "rate_mbps", DATAGRAMS: "rate_pps"}


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
    start_s = with_default(fields, "start_s", seconds, context, 0.0)
    stop_s = optional(fields, "stop_s", seconds, context)
    if stop_s is not None and stop_s <= start_s:
        raise context.error(fields["stop_s"], f"stop_s {stop_s:g} is not after start_s {start_s:g}; make it later")
    if stop_s is not None and kind == DATAGRAMS:
        raise context.error(fields["stop_s"], "datagrams are sent until the run ends; remove stop_s")
    _check_rates(context, entry, fields, kind)
    return Traffic(
        source=source,
        destination=destination,
        kind=kind,
        interval_ms=with_default(fields, "interval_ms", number(MIN_INTERVAL_MS, highest=MAX_INTERVAL_MS), context, 2.0),
        rate_mbps=optional(fields, "rate_mbps", rate_mbps, context),
        rate_pps=optional(fields, "rate_pps", number(0, exclusive=True, highest=MAX_RATE_PPS), context),
        size_bytes=optional(fields, "size_bytes", whole_number(MIN_PROBE_BYTES, MAX_UDP_PAYLOAD_BYTES), context),
        start_s=start_s,
        stop_s=stop_s,
    )


def _check_rates(context: Context, entry: Line, fields: Mapping[str, Line], kind: str) -> None:
    for key, kinds in _RATES.items():
        if key in fields and kind not in kinds:
            raise context.error(fields[key], f"{key} does not go with kind {kind}; remove it")
    needed = _MUST_SAY.get(kind)
    if needed is not None and needed not in fields:
        raise context.error(entry, f"kind {kind} needs {needed}")


def _end(context: Context, entry: Line, fields: Mapping[str, Line], key: str, topology: Topology) -> str:
    line = fields.get(key)
    if line is None:
        raise context.error(entry, f"a traffic entry needs '{key}'; name a host, for example '{key}: h1'")
    return read_host(context, line, key, topology)
