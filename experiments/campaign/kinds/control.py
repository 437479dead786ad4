"""Kind "control": one load of packet-ins on one controller, in a regime."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from experiments.campaign.kind import TrialKind, after
from experiments.campaign.parameters import Parameters
from experiments.campaign.rows import Row, RowType

LINK, REAL, CPU, IN_BAND = "link-bound", "real-switch", "cpu-bound", "in-band"
MISBEHAVING, PATH_SETUP, SHARES = "misbehaving", "path-setup", "shares"


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
    retransmit_after_s
        When switches send packet-ins again that they dropped; None: they do not.
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
    retransmit_after_s: float | None = None
    line: str | None = None


@dataclass(frozen=True, slots=True)
class ClassColumns:
    """What became of the packet-ins of a class, as `experiments.loadgen.decide.ledger.ClassResult` says it.

    Delays are of answered packets, None when none was answered; `lost_percent` is None when none was offered.
    """

    offered: int
    answered: int
    lost_percent: float | None
    mean_ms: float | None
    p50_ms: float | None
    p99_ms: float | None
    name: str = ""
    p90_ms: float | None = None
    max_ms: float | None = None
    sent: int | None = None
    refused: int | None = None
    waiting: int | None = None
    unanswered: int | None = None
    lost: int | None = None
    dropped: int | None = None
    dropped_percent: float | None = None
    answers_pps: float | None = None
    histogram: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class ControlMeasured:
    """One load.

    Attributes
    ----------
    classes
        By "high" and "low".
    answers_pps
        Of all classes.
    frame_bytes
        Of the packet in a packet-in.
    window_s
        Measured.
    controller_rss_mb, controller_first_rss_mb
        Memory of the controller: the most, and at first.
    link_mbps, link_classes
        Rate of the control link that was used towards the controller, and bytes and packets by its classes; None
        where the link is not shaped.
    capacity_pps, data_pps
        Packet-ins a second of normalised load 1; data packets beside (in-band).
    flows
        First packets that were sent (path setup).
    service, faults
        PSO's counters, and errors by name.
    packet_ins
        That switches sent; None where nobody counts them.
    tries
        Loads until the generator kept its schedule.
    """

    classes: dict[str, ClassColumns]
    answers_pps: float
    frame_bytes: int
    window_s: float
    controller_rss_mb: float
    controller_first_rss_mb: float
    controller_cpu_percent: float
    link_mbps: float | None = None
    link_classes: dict[str, dict[str, int]] | None = None
    capacity_pps: float | None = None
    data_pps: float | None = None
    flows: int | None = None
    service: dict[str, Any] | None = None
    faults: dict[str, int] | None = None
    packet_ins: int | None = None
    controller_ended: bool = False
    realtime: bool = True
    switches: int | None = None
    channels_per_switch: int | None = None
    rate_pps: float | None = None
    arrivals: str | None = None
    high_share: float | None = None
    buffered: bool | None = None
    repeated_answers: int | None = None
    generator_late_ms: float = 0.0
    warnings: tuple[str, ...] = ()
    trustworthy: bool = True
    tries: int = 1


ROWS = RowType("control", ControlParameters, ControlMeasured)
ControlRow = Row[ControlParameters, ControlMeasured]
KIND = TrialKind("control", "experiments.loadgen.trials:control_runner", after(3.0))
