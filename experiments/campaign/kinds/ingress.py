"""Kind "ingress": a link of a network with tunnels fails, and ingress switches give their flows other tunnels."""

from __future__ import annotations

from dataclasses import dataclass

from experiments.campaign.kind import TrialKind, after
from experiments.campaign.parameters import Parameters
from experiments.campaign.rows import Row, RowType


@dataclass(frozen=True, slots=True)
class IngressParameters(Parameters):
    """One failure.

    Attributes
    ----------
    network
        Who notifies the ingress, in words: trials with another notifier cannot share a network.
    notified_by
        "agent" or "controller".
    control_delay_ms
        One way, of control links.
    drawing, seed, demand_mbps, pairs, tunnels
        Pairs, their demand in the paper's Mbit/s, and tunnels of each.
    queues
        Set-up of queues.
    scale, headroom
        The paper's rates over ours; capacity of links over the scaled one.
    low_to_high
        Of both classes, where there are queues for them.
    wait_to_restore_s, update_s
        After a repair; most time in which an ingress is waited for.
    """

    network: str
    notified_by: str
    control_delay_ms: float
    drawing: int
    seed: int
    demand_mbps: int
    pairs: int
    tunnels: int
    queues: str
    scale: float
    headroom: float
    wait_to_restore_s: float = 0.5
    update_s: float = 4.0
    low_to_high: float | None = None


@dataclass(frozen=True, slots=True)
class Update:
    """An ingress switch with a failed tunnel, and when its last new row was in force; None: not in time."""

    node: str
    from_failure_ms: float | None
    from_detection_ms: float | None


@dataclass(frozen=True, slots=True)
class IngressMeasured:
    """One failure: when it was first noticed at each end of the link, and what became of every ingress switch."""

    noticed_ms: dict[str, float]
    ingresses: tuple[Update, ...]
    warnings: tuple[str, ...] = ()
    trustworthy: bool = True
    load_per_core: float = 0.0


ROWS = RowType("ingress", IngressParameters, IngressMeasured)
IngressRow = Row[IngressParameters, IngressMeasured]
KIND = TrialKind("ingress", "experiments.testbed.trials.ingress_session:ingress_runner", after(4.0), emulated=True)
