"""A UDP load of iperf3; its packets are not counted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from experiments.scenario.iperf3 import programs
from experiments.scenario.keys import Key
from experiments.scenario.stream import RATE_MBPS, Programs, Traffic


@dataclass(frozen=True, slots=True, kw_only=True)
class Iperf3Udp(Traffic):
    """`{from: h1, to: h2, kind: iperf3-udp, rate_mbps: 8}`.

    Attributes
    ----------
    rate_mbps
        Offered rate.
    """

    rate_mbps: float

    kind: ClassVar[str] = "iperf3-udp"
    keys: ClassVar[tuple[Key, ...]] = (RATE_MBPS,)
    needed: ClassVar[tuple[str, ...]] = ("rate_mbps",)

    def programs(self, address: str, seconds: float, number: int) -> Programs:
        """Command lines of iperf3."""
        return programs(address, seconds, number, ["-u", "-b", f"{self.rate_mbps}M"])
