"""Kind "lossless": probes of one pair under SD-FAST while a link of their way fails, with SQR at its ends or not."""

from __future__ import annotations

from dataclasses import dataclass

from experiments.campaign.kind import TrialKind, after
from experiments.campaign.parameters import Parameters


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


KIND = TrialKind("lossless", "experiments.testbed.trials.lossless_trial:lossless_runner", after(30.0, timed=False))
