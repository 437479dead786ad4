"""Streams that are counted at their ends, not followed packet by packet: numbered datagrams, and TCP."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from experiments.analysis.packet_counts import Counts
from experiments.scenario.stream import CountedTraffic, TcpTraffic, Traffic

Json = dict[str, object]
BIN_S = 0.1  # in which sender and receiver count


@dataclass(frozen=True)
class DatagramCount:
    """Numbered datagrams of one stream, one way.

    Attributes
    ----------
    rate_pps
        What was offered: what the scenario asks for, or less if the network does not carry that.
    start_s
        CLOCK_MONOTONIC; where the first bin begins.
    sent, arrived
        By the tenth of a second in which they were sent; arrived counts each of them once.
    duplicated, reordered
        Copies too many, and datagrams whose first copy came after a later one.
    """

    traffic: CountedTraffic
    rate_pps: float
    start_s: float
    sent: tuple[int, ...]
    arrived: tuple[int, ...]
    duplicated: int = 0
    reordered: int = 0

    @property
    def counts(self) -> Counts:
        """Packet counts of the whole run."""
        sent, arrived = sum(self.sent), sum(self.arrived)
        return Counts(sent, arrived, sent - arrived, self.duplicated, self.reordered)

    def sent_while(self, spans: Sequence[tuple[float, float]]) -> float:
        """Datagrams sent within spans of time (CLOCK_MONOTONIC, disjoint); bins at their edges count in part."""
        total = 0.0
        for number, sent in enumerate(self.sent):
            begin_s = self.start_s + number * BIN_S
            within_s = sum(max(0.0, min(end, begin_s + BIN_S) - max(start, begin_s)) for start, end in spans)
            total += sent * within_s / BIN_S
        return total

    def to_json(self) -> Json:
        """An entry of `loads`."""
        counts = self.counts
        return {
            **_ends(self.traffic),
            "asked_pps": self.traffic.rate_pps,
            "rate_pps": round(self.rate_pps, 1),
            "sent": counts.sent,
            "received": counts.received,
            "lost": counts.lost,
            "duplicated": counts.duplicated,
            "reordered": counts.reordered,
        }


@dataclass(frozen=True)
class TcpCount:
    """One TCP stream: segments retransmitted from second 0 on; None where iperf3 does not say."""

    traffic: TcpTraffic
    retransmits: int | None

    def to_json(self) -> Json:
        """An entry of `loads`."""
        return {**_ends(self.traffic), "rate_mbps": self.traffic.rate_mbps, "retransmits": self.retransmits}


def _ends(traffic: Traffic) -> Json:
    return {"from": traffic.source, "to": traffic.destination, "kind": traffic.kind}
