"""Kind "lossless": probes of one pair under SD-FAST while a link of their way fails, with SQR at its ends or not."""

from __future__ import annotations

from dataclasses import dataclass

from experiments.campaign.kind import TrialKind, after
from experiments.campaign.parameters import Parameters
from experiments.campaign.rows import Row, RowType


@dataclass(frozen=True, slots=True)
class LosslessParameters(Parameters):
    """One trial.

    Attributes
    ----------
    failure
        How the link fails: "silent" or "carrier".
    hops_back
        Links that the first packets backtrack.
    probe_ms
        Between two probes, each way.
    slots
        Packets that a ring holds.
    delta_ms
        Age of the packets that SQR retransmits.
    margin
        Slots that a ring keeps free.
    """

    failure: str
    hops_back: int | None
    probe_ms: float
    bfd_ms: int
    slots: int
    delta_ms: float
    margin: int


@dataclass(frozen=True, slots=True)
class LosslessMeasured:
    """Counts of both ways of a pair.

    Attributes
    ----------
    pair
        Source and destination.
    rate_pps
        Probes a second, as sent.
    lost
        Sent from the failure on, or on their way then; `lost_before` are others, not due to it.
    outages_ms
        Of each way.
    broken_claims
        Promises of the scheme that this run broke.
    """

    pair: tuple[str, str]
    rate_pps: float
    sent: int
    lost: int
    duplicated: int
    reordered: int
    backtracked: int
    outages_ms: tuple[float, ...]
    received: int = 0
    lost_before: int = 0
    broken_claims: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    trustworthy: bool = True


ROWS = RowType("lossless", LosslessParameters, LosslessMeasured)
LosslessRow = Row[LosslessParameters, LosslessMeasured]
KIND = TrialKind("lossless", "experiments.testbed.trials.lossless_trial:lossless_runner", after(30.0, timed=False))
