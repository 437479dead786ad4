"""Kind "paths": between two hosts, two nodes and two paths in network namespaces, without a bridge."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from experiments.campaign.kind import TrialKind, after
from experiments.campaign.parameters import Parameters


@dataclass(frozen=True, slots=True)
class PathsParameters(Parameters):
    """What every such trial has: the id that it was made for."""

    what: str


@dataclass(frozen=True, slots=True)
class LossParameters(PathsParameters):
    """A numbered stream while paths fail in turn: `failures` are (path, seconds after the start, outage in seconds)."""

    rate_pps: int
    stream_s: float
    failures: tuple[tuple[str, float, float], ...]


@dataclass(frozen=True, slots=True)
class CostParameters(PathsParameters):
    """Frames as fast as one processor takes them all the way."""

    frame_bytes: int
    frames: int


@dataclass(frozen=True, slots=True)
class GoodputParameters(PathsParameters):
    """TCP flows at once.

    Attributes
    ----------
    mbps, queue_packets
        Limit and queue of what the sending host sends; None: as fast as the processors let it.
    """

    flows: int
    seconds: float
    mbps: float | None = None
    queue_packets: int | None = None


@dataclass(frozen=True, slots=True)
class JitterParameters(PathsParameters):
    """One-way delays over paths that delay each packet by `base_delay_ms` and a time drawn from 0 to the jitter.

    What has not arrived `settle_s` after the last packet was sent is lost.
    """

    jitter_ms: float
    packets: int
    interval_ms: float
    base_delay_ms: float
    settle_s: float = 0.3


@dataclass(frozen=True, slots=True)
class SilentParameters(PathsParameters):
    """A silent failure that the first node is notified of after a while; SQR covers that and `spare_ms` more."""

    detection_ms: float
    rate_pps: int
    stream_s: float
    failure_at_s: float
    frame_bytes: int
    spare_ms: float


@dataclass(frozen=True, slots=True)
class WindowParameters(PathsParameters):
    """Failures notified in the middle of a stream, `windows` times with `apart_s` around each."""

    rate_pps: int
    delta_ms: float
    frame_bytes: int
    windows: int
    apart_s: float
    failure_at_s: float


@dataclass(frozen=True, slots=True)
class BreakingParameters(Parameters):
    """How paths fail, in milliseconds: `dataplane`'s FailureModel, and TCP's least retransmission time-out."""

    interval_ms: float
    detection_ms: float
    down_ms: float
    bound_ms: float
    spare_ms: float
    rto_min_ms: float


@dataclass(frozen=True, slots=True)
class FlowsParameters(PathsParameters):
    """Short flows one after another while the path breaks every so often.

    Attributes
    ----------
    workload
        Table of flow sizes.
    beside
        Other traffic: "transfers" or "nothing".
    limit_bytes
        Of a flow.
    pause_ms
        Mean between flows.
    background_bytes, background_mbps, background_pause_ms : float
        Of transfers beside.
    """

    workload: str
    seconds: float
    beside: str
    limit_bytes: int
    pause_ms: float
    background_bytes: int
    background_mbps: float
    background_pause_ms: float
    breaking: BreakingParameters


@dataclass(frozen=True, slots=True)
class StreamParameters(PathsParameters):
    """One long flow through a bottleneck, whose path fails once; sampled every `sample_ms`.

    Attributes
    ----------
    loss_probes
        Whether TCP sends them (RFC 8985), as Linux does.
    """

    seconds: float
    failure_s: float
    sample_ms: float
    window_ms: float
    mbps: float
    queue_packets: int
    breaking: BreakingParameters
    loss_probes: bool = True


@dataclass(frozen=True, slots=True)
class CountedStream:
    """What became of a numbered stream: `reordered` came after a higher number, first copies only."""

    lost: int = 0
    duplicated: int = 0
    reordered: int = 0
    sent: int = 0
    received: int = 0


@dataclass(frozen=True, slots=True)
class LossMeasured(CountedStream):
    """A stream while paths fail; packets that the first node numbered, and that the second accepted."""

    numbered: int = 0
    accepted: int = 0


@dataclass(frozen=True, slots=True)
class SilentMeasured(CountedStream):
    """A stream while a path fails silently: until it had failed, and until the node was notified."""

    breaking_ms: float = 0.0
    failure_ms: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowMeasured(CountedStream):
    """Packets that each window held, their mean, and the rate of the stream as sent."""

    window: float
    rate_pps: float
    windows: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class CostMeasured:
    """Nanoseconds a packet: the whole way, and the programs at both nodes (`dataplane.cost_trial.Cost`)."""

    whole_ns: float
    first_node_ns: float
    second_node_ns: float
    lost: int = 0


@dataclass(frozen=True, slots=True)
class GoodputMeasured:
    """At the receiver, all flows together."""

    goodput_mbps: float
    retransmits: int


@dataclass(frozen=True, slots=True)
class JitterMeasured:
    """One-way delays of the packets that arrived."""

    mean_ms: float
    deviation_ms: float
    arrived: int
    sent: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class TcpMeasured:
    """What TCP of the sender counted, and SQR at both nodes (None: it is not there)."""

    timeouts: int = 0
    loss_probes: int = 0
    fast_retransmits: int = 0
    sqr_s1: dict[str, Any] | None = None
    sqr_s2: dict[str, Any] | None = None
    warnings: tuple[str, ...] = ()
    trustworthy: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowsMeasured(TcpMeasured):
    """Short flows.

    Attributes
    ----------
    completion_ms
        None: given up.
    hits
        Of flows that a failure hit: number, start after the first outage that it met (ms, negative if it was under
        way), longest silence (ms), segments retransmitted.
    notified_ms
        After each failure.
    hits_left_out
        Flows that a failure hit whose repair came later than a replay by the same port.
    """

    flows: int
    unfinished: int
    sizes_bytes: tuple[int, ...]
    completion_ms: tuple[float | None, ...]
    hits: tuple[tuple[int, float, float, int], ...]
    outages_ms: tuple[float, ...]
    retransmitted: int = 0
    notified_ms: tuple[float, ...] = ()
    hits_left_out: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamMeasured(TcpMeasured):
    """One long flow: samples from the failure on (negative: before), and what they amount to.

    Attributes
    ----------
    cwnd_at_failure, smallest_cwnd
        Segments; None without a sample.
    stalled_ms
        Longest time without progress around the failure.
    largest_gap_ms
        Between two samples.
    """

    at_ms: tuple[float, ...]
    cwnd_segments: tuple[int, ...]
    sent_bytes: tuple[int, ...]
    retransmits: int
    cwnd_at_failure: int | None
    smallest_cwnd: int | None
    stalled_ms: float
    rate_mbps: float
    largest_gap_ms: float = 0.0


KIND = TrialKind("paths", "experiments.testbed.trials.paths_session:paths_runner", after(2.5))
