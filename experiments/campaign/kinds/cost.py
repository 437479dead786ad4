"""Kind "cost": what a packet costs a switch by each chain of tables; a trial is one repetition of all of them."""

from __future__ import annotations

from dataclasses import dataclass

from experiments.campaign.kind import TrialKind, after
from experiments.campaign.parameters import Parameters


@dataclass(frozen=True, slots=True)
class CostParameters(Parameters):
    """Bursts that each way through the switch is measured with, packets of each, and single packets for its delay.

    A burst fits the receive buffer of a packet socket as Linux sets it by default, with room to spare.
    """

    bursts: int = 60
    burst_pkts: int = 192
    delays: int = 40


KIND = TrialKind("cost", "experiments.testbed.trials.cost:cost_runner", after(9.0))
