"""Numbered UDP datagrams, one way, counted by their receiver."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from experiments.scenario.keys import NetworkContext
from experiments.scenario.stream import CountedTraffic
from mininet_topos.lines import Line


@dataclass(frozen=True, slots=True, kw_only=True)
class Datagrams(CountedTraffic):
    """`{from: h1, to: h2, kind: datagrams, rate_pps: 1000}`."""

    kind: ClassVar[str] = "datagrams"
    sender: ClassVar[str] = "experiments.testbed.runs.loads:CountedDatagrams"

    @classmethod
    def check(cls, context: NetworkContext, fields: Mapping[str, Line]) -> None:
        """They do not stop before the run."""
        if "stop_s" in fields:
            raise context.error(fields["stop_s"], "datagrams are sent until the run ends; remove stop_s")

    def programs(self, _address: str, _seconds: float, _number: int) -> None:
        """None: Armor sends them itself."""
        return
