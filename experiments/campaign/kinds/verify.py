"""Kind "verify": every failure case of a scheme, decided by the interpreter; no network is built."""

from __future__ import annotations

from dataclasses import dataclass

from experiments.campaign.kind import TrialKind, after
from experiments.campaign.parameters import Parameters


@dataclass(frozen=True, slots=True)
class VerifyParameters(Parameters):
    """Failed sets to draw by the trial's seed (None: all), and links that a tag can name (None: as the scheme says)."""

    sample: int | None = None
    max_failures: int | None = None


KIND = TrialKind("verify", "experiments.testbed.trials.verifying:verify_runner", after(1.0), root=False)
