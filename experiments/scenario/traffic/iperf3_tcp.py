"""A TCP connection of iperf3, at a rate or as fast as it goes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from experiments.scenario.iperf3 import pacing_words, programs
from experiments.scenario.stream import Programs, TcpTraffic


@dataclass(frozen=True, slots=True, kw_only=True)
class Iperf3Tcp(TcpTraffic):
    """`{from: h1, to: h2, kind: iperf3-tcp, rate_mbps: 8}`."""

    kind: ClassVar[str] = "iperf3-tcp"

    def programs(self, address: str, seconds: float, number: int) -> Programs:
        """Command lines of iperf3, paced by the socket."""
        return programs(address, seconds, number, [] if self.rate_mbps is None else pacing_words(self.rate_mbps))
