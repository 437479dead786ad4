"""Kind "in_band": packets that go to the controller and back over links of an emulated network that data fills."""

from __future__ import annotations

from dataclasses import dataclass

from experiments.campaign.kind import TrialKind, after
from experiments.campaign.parameters import Parameters
from experiments.campaign.rows import Row, RowType


@dataclass(frozen=True, slots=True)
class InBandParameters(Parameters):
    """One load of data beside packets for the controller.

    Attributes
    ----------
    data_share
        Data offered, of the capacity of a link.
    seconds
        Measured.
    controller_at, asking, target
        Nodes: of the controller, of the host whose packets ask, and of that which gets the data.
    probe_pps
        Packets a second of each class.
    warm_s, wait_s
        Of data before the first packet; of waiting for answers after the last.
    data_bytes
        Payload of a data packet.
    pmt
        File with the Policy Map Table; None: without PSO, one queue for everything but BFD.
    """

    data_share: float
    seconds: float
    capacity_mbps: float
    bfd_ms: int
    controller_at: str
    asking: str
    target: str
    probe_pps: float
    warm_s: float
    wait_s: float
    data_bytes: int
    pmt: str | None


@dataclass(frozen=True, slots=True)
class ClassColumns:
    """Packets of a class that were sent and that returned, and their delays; None where there was none."""

    offered: int
    answered: int
    lost_percent: float | None
    mean_ms: float | None
    p99_ms: float | None


@dataclass(frozen=True, slots=True)
class InBandMeasured:
    """What became of one load.

    Attributes
    ----------
    classes
        By "high" and "low".
    link_share
        Of the shared link's capacity that was used.
    data_mbps
        Received.
    unconnected
        Switches that had lost the controller at the end.
    flaps
        Of BFD sessions.
    """

    classes: dict[str, ClassColumns]
    link_share: float
    data_mbps: float
    unconnected: int = 0
    flaps: int = 0
    warnings: tuple[str, ...] = ()
    trustworthy: bool = True


ROWS = RowType("in_band", InBandParameters, InBandMeasured, "x-in-band/")
InBandRow = Row[InBandParameters, InBandMeasured]
KIND = TrialKind("in_band", "experiments.testbed.trials.in_band_trial:InBandRunner", after(8.0))
