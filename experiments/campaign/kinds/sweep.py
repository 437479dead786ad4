"""Kind "sweep": what is computed, and neither built nor measured on a network (experiments/campaign/computed)."""

from __future__ import annotations

from experiments.campaign.computed.fields import FieldsParameters
from experiments.campaign.kind import TrialKind
from experiments.campaign.values import Trial


def _seconds(trial: Trial) -> float:
    return 1.25 if isinstance(trial.parameters, FieldsParameters) else 0.3


KIND = TrialKind("sweep", "experiments.loadgen.computed:sweep_runner", _seconds, root=False)
