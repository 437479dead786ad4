"""Counters of ports and rows, and the rates between two polls."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ryu_apps.openflow.messages import FlowStat, PortStat
from ryu_apps.plan.ids import split_cookie

BITS_PER_BYTE, BITS_PER_MEGABIT = 8, 1e6


@dataclass(frozen=True, slots=True)
class PortSample:
    """Counters of a port at a time (seconds), and rates since the sample before (None: there is none)."""

    at_s: float
    stat: PortStat
    rx_mbps: float | None = None
    tx_mbps: float | None = None
    tx_dropped_per_s: float | None = None


@dataclass(frozen=True, slots=True)
class FlowSample:
    """Traffic that a switch sent towards one destination by its primary rows, and its rate."""

    at_s: float
    n_packets: int
    n_bytes: int
    rate_mbps: float | None = None


def port_sample(before: PortSample | None, stat: PortStat, at_s: float) -> PortSample:
    """Sample of a port; a counter that went back (the switch restarted) gives no rate."""
    if before is None or at_s <= before.at_s:
        return PortSample(at_s, stat)
    seconds = at_s - before.at_s
    return PortSample(
        at_s,
        stat,
        _rate_mbps(stat.rx_bytes - before.stat.rx_bytes, seconds),
        _rate_mbps(stat.tx_bytes - before.stat.tx_bytes, seconds),
        _per_second(stat.tx_dropped - before.stat.tx_dropped, seconds),
    )


def port_samples(before: Mapping[int, PortSample], stats: Iterable[PortStat], at_s: float) -> dict[int, PortSample]:
    """Samples of all ports of a switch, by port number."""
    return {stat.port_no: port_sample(before.get(stat.port_no), stat, at_s) for stat in stats}


def flow_samples(before: Mapping[int, FlowSample], stats: Iterable[FlowStat], at_s: float) -> dict[int, FlowSample]:
    """Traffic by destination (IPv4 address), summed over the rows whose cookies name it."""
    totals: dict[int, tuple[int, int]] = {}
    for stat in stats:
        destination = split_cookie(stat.cookie).destination
        if destination:
            n_packets, n_bytes = totals.get(destination, (0, 0))
            totals[destination] = n_packets + stat.n_packets, n_bytes + stat.n_bytes
    samples: dict[int, FlowSample] = {}
    for destination, (n_packets, n_bytes) in totals.items():
        earlier = before.get(destination)
        rate = None
        if earlier is not None and at_s > earlier.at_s:
            rate = _rate_mbps(n_bytes - earlier.n_bytes, at_s - earlier.at_s)
        samples[destination] = FlowSample(at_s, n_packets, n_bytes, rate)
    return samples


def _rate_mbps(n_bytes: int, seconds: float) -> float | None:
    per_second = _per_second(n_bytes, seconds)
    return None if per_second is None else per_second * BITS_PER_BYTE / BITS_PER_MEGABIT


def _per_second(difference: int, seconds: float) -> float | None:
    return None if difference < 0 else difference / seconds
