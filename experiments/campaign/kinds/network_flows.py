"""Kind "network-flows": short TCP flows, then streams, across an emulated network while a link on their way fails."""

from __future__ import annotations

from dataclasses import dataclass

from experiments.campaign.kind import TrialKind
from experiments.campaign.kinds.paths import PathsParameters
from experiments.campaign.values import Trial

# Variants, all of scheme sqr on the same routes: nothing fails; fast failover alone, because SQR keeps only packets
# with a mark that the flows do not have; SQR.
NO_FAILURE, UNMARKED, BUFFERED = "no-failure", "unmarked", "buffered"
_AROUND_S, _FAILURE_S = 40.0, 5.0


@dataclass(frozen=True, slots=True)
class NetworkFlowsParameters(PathsParameters):
    """One trial: flows of each workload from `source` to `destination` one after another, then streams.

    Attributes
    ----------
    failing : (str, str)
        Sending and receiving switch of the direction that fails silently.
    wait_to_restore_s
        That the link has worked again when it gets its traffic back.
    calm_s
        Before each failure: BFD that has just come up detects late.
    repair_s
        From the detection of a failure to its repair.
    delta_ms, slots
        Window and ring of SQR.
    rto_min_ms
        Least retransmission time-out of the source's TCP.
    seconds
        Of each workload.
    failures
        In each workload.
    pause_ms
        Mean between flows.
    streams_pps
        UDP streams of small packets, each of which meets one failure, in variant `BUFFERED` only.
    """

    source: str
    destination: str
    failing: tuple[str, str]
    bfd_ms: int
    wait_to_restore_s: float
    calm_s: float
    repair_s: float
    delta_ms: float
    slots: int
    rto_min_ms: float
    workloads: tuple[str, ...]
    seconds: float
    failures: int
    limit_bytes: int
    pause_ms: float
    streams_pps: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class WorkloadMeasured:
    """Flows of one workload, as `paths.FlowsMeasured` has them; `timeouts` are the source's TCP's."""

    workload: str
    flows: int
    unfinished: int
    retransmitted: int
    sizes_bytes: tuple[int, ...]
    completion_ms: tuple[float | None, ...]
    hits: tuple[tuple[int, float, float, int], ...]
    outages_ms: tuple[float, ...]
    timeouts: int
    loss_probes: int
    fast_retransmits: int


@dataclass(frozen=True, slots=True)
class Held:
    """What the buffer held when a failure was detected.

    Attributes
    ----------
    during
        Workload, or "stream".
    rate_pps
        Of the stream; None in a workload.
    detection_ms
        From the failure to when SQR was notified.
    packets, frame_bytes
        Held then.
    sent_within_delta, sent_since_failure
        Packets of the stream that its host sent within delta before then, and since the failure; None in a workload.
    """

    during: str
    rate_pps: float | None
    detection_ms: float
    packets: int
    frame_bytes: int
    sent_within_delta: int | None = None
    sent_since_failure: int | None = None


@dataclass(frozen=True, slots=True)
class NetworkFlowsMeasured:
    """What became of flows, and what the buffer before the failing link held at each failure."""

    workloads: tuple[WorkloadMeasured, ...]
    held: tuple[Held, ...] = ()
    warnings: tuple[str, ...] = ()
    trustworthy: bool = True


def _seconds(trial: Trial) -> float:
    own = trial.parameters
    if not isinstance(own, NetworkFlowsParameters):
        return _AROUND_S
    return _AROUND_S + len(own.workloads) * own.seconds + len(own.streams_pps) * (own.calm_s + _FAILURE_S)


KIND = TrialKind("network-flows", "experiments.testbed.trials.network_flows_trial:network_flows_runner", _seconds)
