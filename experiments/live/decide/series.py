"""Followed packets as series for charts: delay, losses, and the ways of packets that backtracked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any

from experiments.live.decide.document import CapturedWalk, SeriesView
from mininet_topos.topology import LinkId, Topology

Json = Mapping[str, Any]
MOST_PACKETS = 20_000
"""Of one series; of more, those that arrived far from any failure are thinned out."""
MOST_CAPTURED = 60
_AROUND_MS = 500.0


def series_views(
    topology: Topology, rows: Iterable[Json], probes: Iterable[Json], failed_ms: Sequence[float]
) -> tuple[SeriesView, ...]:
    """Series of one run.

    Parameters
    ----------
    rows
        Of probes.jsonl, in the file's order: those of a stream and way stand together.
    probes
        The run's `probes` in verdict.json: packet counts.
    failed_ms
        When something failed or was repaired: packets nearby stay.
    """
    counts = {(str(each["from"]), str(each["to"]), str(each["kind"])): each for each in probes}
    found = []
    for key, packets in groupby(rows, key=lambda row: (str(row["from"]), str(row["to"]), str(row["kind"]), row["way"])):
        *stream, way = key
        source, destination, kind = stream
        entry = counts.get((source, destination, kind), {})
        ends = (source, destination) if way == "out" else (destination, source)
        found.append(_series(topology, (*ends, kind, str(way)), list(packets), failed_ms, entry.get(way, {})))
    return tuple(found)


def _series(
    topology: Topology,
    key: tuple[str, str, str, str],
    packets: Sequence[Json],
    failed_ms: Sequence[float],
    counts: Json,
) -> SeriesView:
    source, destination, kind, way = key
    kept = thinned(packets, failed_ms)
    backtracked = [row for row in packets if "route" in row]
    return SeriesView(
        source=source,
        destination=destination,
        kind=kind,
        way=way,
        sent_ms=tuple(1000 * float(row["sent_s"]) for row in kept),
        delay_ms=tuple(
            None if row["arrived_s"] is None else 1000 * (float(row["arrived_s"]) - float(row["sent_s"]))
            for row in kept
        ),
        captured=tuple(_captured(topology, row) for row in backtracked[:MOST_CAPTURED]),
        is_thinned=len(kept) < len(packets),
        counts={str(name): int(value) for name, value in counts.items()},
    )


def thinned(packets: Sequence[Json], failed_ms: Sequence[float]) -> Sequence[Json]:
    """At most about `MOST_PACKETS` packets, and all that are lost, backtracked or were sent around a failure."""
    if len(packets) <= MOST_PACKETS:
        return packets
    step = -(-len(packets) // MOST_PACKETS)
    return [row for number, row in enumerate(packets) if number % step == 0 or _is_telling(row, failed_ms)]


def _is_telling(row: Json, failed_ms: Sequence[float]) -> bool:
    sent_ms = 1000 * float(row["sent_s"])
    is_odd = row["arrived_s"] is None or bool(row.get("back_hops"))
    return is_odd or any(abs(sent_ms - at_ms) <= _AROUND_MS for at_ms in failed_ms)


def _captured(topology: Topology, row: Json) -> CapturedWalk:
    """A packet's way from [["s1>s4", status, seconds], ...]."""
    hops = [_hop(topology, str(hop[0])) for hop in row["route"]]
    nodes = [hops[0][0], *(dst for _, dst, _ in hops)] if hops else []
    at_ms = [1000 * float(row["sent_s"]), *(1000 * float(hop[2]) for hop in row["route"])]
    links = tuple(str(link) for _, _, link in hops)
    return CapturedWalk(1000 * float(row["sent_s"]), tuple(nodes), links, tuple(at_ms[: len(nodes)]))


def _hop(topology: Topology, text: str) -> tuple[str, str, LinkId]:
    """Ends and link of "s1>s2" or "s1>s2#1", as `Direction` prints itself."""
    ends, mark, key = text.partition("#")
    src, _, dst = ends.partition(">")
    return src, dst, topology.parse_link(f"{src}-{dst}{mark}{key}")
