"""Delays and TCP summaries of trials between two hosts, from what programs said."""

from __future__ import annotations

import json
from collections.abc import Sequence
from statistics import fmean

from experiments.campaign.kinds.paths import GoodputMeasured, JitterMeasured
from mininet_topos.errors import ArmorError


class PathsError(ArmorError):
    """A trial on the testbed of two paths went wrong."""


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
