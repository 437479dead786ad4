"""Kind "control": one load of packet-ins on one controller, in a regime."""

from __future__ import annotations

from dataclasses import dataclass

from experiments.campaign.kind import TrialKind, after
from experiments.campaign.parameters import Parameters

LINK, REAL, CPU, IN_BAND = "link-bound", "real-switch", "cpu-bound", "in-band"
MISBEHAVING, PATH_SETUP = "misbehaving", "path-setup"


@dataclass(frozen=True, slots=True)
class LinkParameters(Parameters):
    """What every regime has: the control link, its queues and buffers, and the times around a measurement."""

    link_mbps: float
    link_queue_pkts: int
    switch_queue_pkts: int
    send_buffer_bytes: int
    warm_up_s: float
    patience_s: float


@dataclass(frozen=True, slots=True)
class ControlParameters(Parameters):
    """One load.

    Attributes
    ----------
    regime
        What is full first, or what happens: one of the names above.
    seconds
        Measured.
    pmt
        File with the Policy Map Table of PSO; None: the app alone.
    settings : tuple of (str, str)
        Of the app, as environment variables.
    switches
        That offer the load.
    nl
        Load, of what the bottleneck takes.
    high_pps
        Packet-ins a second of the high class, whatever the load is.
    burst_pkts
        Data packets that come at once (in-band); None: one.
    control_nl
        Share of the link that control takes (in-band).
    data_bytes
        Payload of a data packet (in-band).
    behaviour
        What the misbehaving switch does.
    flows_pps, high_share
        First packets a second, and the share of the high class (path setup).
    line
        File with the switches that packets pass one after another (path setup).
    """

    regime: str
    seconds: float
    link: LinkParameters
    pmt: str | None
    settings: tuple[tuple[str, str], ...] = ()
    switches: int = 1
    nl: float | None = None
    high_pps: float | None = None
    burst_pkts: int | None = None
    control_nl: float | None = None
    data_bytes: int | None = None
    behaviour: str | None = None
    flows_pps: float | None = None
    high_share: float | None = None
    line: str | None = None


KIND = TrialKind("control", "experiments.loadgen.trials:control_runner", after(3.0))
