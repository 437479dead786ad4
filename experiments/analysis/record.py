"""Everything that one run left behind, and what its scheme promised: the input of every claim."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from experiments.analysis.counted import DatagramCount, TcpCount
from experiments.analysis.dumps import DumpReport
from experiments.analysis.injected import InjectedEvent
from experiments.analysis.notices import Notice
from experiments.analysis.packet_counts import Flight, Way
from experiments.scenario.stream import ProbedTraffic
from experiments.scenario.values import Scenario, Variation
from mininet_topos.topology import LinkId

Promise = Callable[[str, str, frozenset[LinkId]], bool]
"""(source, destination, links that are down) -> the scheme promises delivery between the two nodes."""


@dataclass(frozen=True)
class Stream:
    """One probed pair: its packets both ways; `flights[i]` belongs to `ways[i]`."""

    traffic: ProbedTraffic
    ways: tuple[Way, Way]
    flights: tuple[tuple[Flight, ...], tuple[Flight, ...]]

    @property
    def name(self) -> str:
        """ "s4>s10"."""
        return f"{self.traffic.source}>{self.traffic.destination}"


@dataclass(frozen=True)
class Record:
    """Everything that one run left behind, in one clock (CLOCK_MONOTONIC, seconds).

    Attributes
    ----------
    zero_s, end_s
        The scenario's second 0, and the end of the measured time.
    detections : tuple of (str, float)
        Switch and stamp of every report that a port is down.
    installs_s
        When agents installed rows.
    dumps
        After the end, one a switch.
    notices
        Notification frames on all links; None where the switches' plans have no notifications.
    """

    scenario: Scenario
    variation: Variation
    streams: tuple[Stream, ...]
    injected: tuple[InjectedEvent, ...]
    zero_s: float
    end_s: float
    detections: tuple[tuple[str, float], ...] = ()
    installs_s: tuple[float, ...] = ()
    dumps: tuple[DumpReport, ...] = ()
    bfd_interval_ms: int | None = None
    warnings: tuple[str, ...] = ()
    trustworthy: bool = True
    datagrams: tuple[DatagramCount, ...] = ()
    tcp: tuple[TcpCount, ...] = ()
    notices: tuple[Notice, ...] | None = None
