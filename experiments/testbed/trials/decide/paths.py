"""Delays and TCP summaries of trials between two hosts, from what programs said."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import NamedTuple

from experiments.campaign.kinds.paths import GoodputMeasured, JitterMeasured
from mininet_topos.errors import ArmorError

# `ss -tinH` writes two lines a connection: its ends, and what TCP knows of it.
_CONNECTION = re.compile(r"\S+:(\d+)\s+\S+:(\d+)\s*\n(.*)")
Ends = tuple[int, int]
"""TCP ports of a connection: this host's, and the other's."""


class PathsError(ArmorError):
    """A trial on the testbed of two paths went wrong."""


class TcpCounts(NamedTuple):
    """What a host's TCP has counted of a connection so far."""

    received_bytes: int
    retransmits: int


def delays(times_ms: Sequence[float], sent: int) -> JitterMeasured:
    """Mean and standard deviation of delays, and how many packets arrived.

    Raises
    ------
    PathsError
        Nothing arrived.
    """
    if not times_ms:
        raise PathsError(f"none of {sent} packets arrived; the testbed is broken")
    mean = fmean(times_ms)
    deviation = fmean([(each - mean) ** 2 for each in times_ms]) ** 0.5
    return JitterMeasured(mean, deviation, len(times_ms), sent)


def read_iperf(text: str) -> GoodputMeasured:
    """Goodput at the receiver and retransmissions from iperf3's JSON.

    Raises
    ------
    PathsError
        It is no result.
    """
    try:
        value = json.loads(text)
        if "error" in value:
            raise PathsError(f"iperf3 says: {value['error']}")
        end = value["end"]
        return GoodputMeasured(end["sum_received"]["bits_per_second"] / 1e6, end["sum_sent"]["retransmits"])
    except (ValueError, KeyError, TypeError) as error:
        raise PathsError(f"iperf3 said {text[:80]!r}, which is no result") from error


def read_connections(text: str) -> dict[Ends, TcpCounts]:
    """Counters of all connections of a host, from what `ss -tinH` says.

    Received bytes are those of the stream, each once, in order.
    """
    found = {}
    for local, remote, said in _CONNECTION.findall(text):
        received, again = (re.search(rf"\b{word}:(?:\d+/)?(\d+)", said) for word in ("bytes_received", "retrans"))
        found[int(local), int(remote)] = TcpCounts(*(int(each[1]) if each else 0 for each in (received, again)))
    return found


def counted_between(before: Mapping[Ends, TcpCounts], after: Mapping[Ends, TcpCounts]) -> TcpCounts:
    """What all connections together have counted between two looks.

    Raises
    ------
    PathsError
        A connection has ended meanwhile.
    """
    if missing := before.keys() - after.keys():
        raise PathsError(f"{len(missing)} of {len(before)} TCP connections ended before they should")
    return TcpCounts(*(sum(after[ends][at] - before[ends][at] for ends in before) for at in range(2)))
