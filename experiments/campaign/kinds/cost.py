"""Kind "cost": what a packet costs a switch by each chain of tables; a trial is one repetition of all of them."""

from __future__ import annotations

from dataclasses import dataclass

from experiments.campaign.kind import TrialKind, after
from experiments.campaign.parameters import Parameters
from experiments.campaign.rows import Row, RowType


@dataclass(frozen=True, slots=True)
class CostParameters(Parameters):
    """Bursts that each way through the switch is measured with, packets of each, and single packets for its delay.

    A burst fits the receive buffer of a packet socket as Linux sets it by default, with room to spare.
    """

    bursts: int = 60
    burst_pkts: int = 192
    delays: int = 40


@dataclass(frozen=True, slots=True)
class PathCost:
    """One way through the switch, found in one way.

    Attributes
    ----------
    path, lookup
        Keys of `PATHS` and `LOOKUPS` (experiments.testbed.packet_cost).
    cached
        Whether a cache of the switch finds the way.
    ns_per_packet, median_ns_per_packet
        CPU time of the least disturbed tenth of the bursts, and of the median burst.
    delay_us
        Median delay of single packets.
    hits
        Packets by what found their way: "exact", "megaflow", "upcall".
    flows, hops
        Rows of the switch, and hops that the ways count.
    """

    path: str
    lookup: str
    cached: bool
    ns_per_packet: float
    median_ns_per_packet: float
    packets: int
    delay_us: float
    hits: dict[str, int]
    flows: int
    hops: int


@dataclass(frozen=True, slots=True)
class CostMeasured:
    """One repetition: every way that was measured, at one switch of the topology."""

    repetition: int
    datapath: str
    topology: str
    node: str
    frame_bytes: int
    results: tuple[PathCost, ...]


ROWS = RowType("cost", CostParameters, CostMeasured)
CostRow = Row[CostParameters, CostMeasured]
KIND = TrialKind("cost", "experiments.testbed.trials.cost:cost_runner", after(9.0))
