"""What iperf3 prints while it runs, read: throughput at the receiver, segments retransmitted at the sender.

Its report at the end needs the connection between client and server, which a congested tunnel may starve; what it
prints at each interval does not.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from experiments.scenario.flow_values import BIN_S, Flow
from experiments.scenario.iperf3 import pacing_words

_INTERVAL = re.compile(
    r"^\[\s*\d+\]\s+(?P<start>\d+\.\d+)-(?P<end>\d+\.\d+)\s+sec\s+\S+\s+\S?Bytes\s+"
    r"(?P<kbits>\d+(?:\.\d+)?)\s+Kbits/sec(?:\s+(?P<retransmits>\d+)\s+\S+\s+\S?Bytes)?\s*$"
)


class Interval(NamedTuple):
    """One line of iperf3: seconds of its own clock, rate, and (a sender's) segments retransmitted."""

    start_s: float
    end_s: float
    mbps: float
    retransmits: int | None = None


def server_words(flow: Flow, address: str) -> tuple[str, ...]:
    """Command line of a flow's iperf3 server: prints the rate of every tenth of a second at once."""
    return ("iperf3", "-s", "-B", address, "-p", str(flow.port), "-i", f"{BIN_S:g}", "-f", "k", "--forceflush")


def client_words(flow: Flow, address: str, source_port: int, dscp: int, seconds: float) -> tuple[str, ...]:
    """Command line of a flow's iperf3 client."""
    words = ["iperf3", "-c", address, "-p", str(flow.port), "--cport", str(source_port)]
    words += ["-t", f"{max(1, round(seconds))}", "-i", "1", "-f", "k", "--forceflush", "--connect-timeout", "5000"]
    if flow.offered_mbps is not None:
        words += pacing_words(flow.offered_mbps)
    return (*words, *(("--dscp", str(dscp)) if dscp else ()))


def retransmitted(report: str, from_s: float) -> int | None:
    """Segments that a TCP client retransmitted, from a second of its own clock on; None where its report does not say.

    Parameters
    ----------
    report
        What `iperf3 -c -J` printed.
    from_s
        An interval that ends later counts whole.
    """
    try:
        intervals = json.loads(report).get("intervals", ())
    except ValueError:
        return None
    sums = [interval["sum"] for interval in intervals]
    counts = [each["retransmits"] for each in sums if each["end"] > from_s and "retransmits" in each]
    return sum(counts) if counts else None


def parse_line(line: str) -> Interval | None:
    """The interval that a line reports; None for every other line, sums at the end among them."""
    found = _INTERVAL.match(line)
    if found is None:
        return None
    retransmits = found["retransmits"]
    return Interval(
        float(found["start"]),
        float(found["end"]),
        float(found["kbits"]) / 1000,
        None if retransmits is None else int(retransmits),
    )


def zero_of(lines: Iterable[tuple[float, Interval]]) -> float | None:
    """When iperf3's own clock was 0, from the stamps of its lines: none can come before it is printed.

    Parameters
    ----------
    lines : iterable of (float, Interval)
        When each line was read (seconds), and what it says.
    """
    return min((read_s - interval.end_s for read_s, interval in lines), default=None)


def to_bins(intervals: Sequence[Interval], zero_s: float, start_s: float, count: int) -> tuple[float, ...]:
    """Rates of whole tenths of a second from intervals that begin and end anywhere, Mbit/s, shape (count,).

    Parameters
    ----------
    zero_s
        Their second 0.
    start_s
        Where the first bin begins.
    count
        Bins without any interval hold 0.
    """
    bits = [0.0] * count
    for interval in intervals:
        first, last = (zero_s + edge - start_s for edge in (interval.start_s, interval.end_s))
        place = max(0, int(first // BIN_S))
        while place < count and place * BIN_S < last:
            overlap = min(last, (place + 1) * BIN_S) - max(first, place * BIN_S)
            bits[place] += interval.mbps * max(0.0, overlap)
            place += 1
    return tuple(volume / BIN_S for volume in bits)
