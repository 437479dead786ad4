"""Kind "low-queue": UDP flows of SD-FAST that fill links, with a queue for packets that met a failure or without."""

from __future__ import annotations

from dataclasses import dataclass

from experiments.campaign.kind import TrialKind, after
from experiments.campaign.kinds.flows import FlowsMeasured
from experiments.campaign.kinds.probed import WatchedParameters
from experiments.campaign.rows import Row, RowType


@dataclass(frozen=True, slots=True, kw_only=True)
class LowQueueParameters(WatchedParameters):
    """One case.

    Attributes
    ----------
    network
        Words for the set-up of queues: trials with another cannot share a network.
    queues
        Set-up of queues; empty: one queue.
    case
        Number of the drawn case.
    victim_mbps, others_mbps
        Offered by the flow that meets the failure, and by each flow that fills a link of its way round.
    most_others, fewest_others
        Links that are filled.
    least_bfd_ms
        What is judged is the state long after the failure, so detection need not be quick.
    """

    network: str
    queues: str
    case: int
    victim_mbps: float
    others_mbps: float
    most_others: int
    fewest_others: int
    settle_s: float = 3.0
    least_bfd_ms: int = 100


ROWS = RowType("low-queue", LowQueueParameters, FlowsMeasured)
LowQueueRow = Row[LowQueueParameters, FlowsMeasured]
KIND = TrialKind(
    "low-queue", "experiments.testbed.trials.low_queue_session:low_queue_runner", after(10.0), emulated=True
)
