"""Kind "paths": between two hosts, two nodes and two paths in network namespaces, without a bridge."""

from __future__ import annotations

from dataclasses import dataclass

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
    """TCP flows at once."""

    flows: int
    seconds: float


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
    """One long flow through a bottleneck, whose path fails once; sampled every `sample_ms`."""

    seconds: float
    failure_s: float
    sample_ms: float
    window_ms: float
    mbps: float
    queue_packets: int
    breaking: BreakingParameters


KIND = TrialKind("paths", "experiments.testbed.trials.paths_session:paths_runner", after(2.5))
