"""A runner for every kind of trial."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from experiments import packet_cost
from experiments.campaign.engine import Runner
from experiments.campaign.values import Json, LaboratorySettings, Trial
from experiments.laboratory.demoted_session import DemotedSession
from experiments.laboratory.flow_session import FlowSession
from experiments.laboratory.in_band_trial import InBandRunner
from experiments.laboratory.ingress_session import IngressSession
from experiments.laboratory.kept import KeptRunner
from experiments.laboratory.lossless_trial import lossless_runner
from experiments.laboratory.paths_session import PathsRunner
from experiments.laboratory.session import Session
from experiments.laboratory.verifying import verify_row


def make_runners(settings: LaboratorySettings) -> Mapping[str, Runner]:
    """Kind of trial to what runs it.

    Parameters
    ----------
    settings : LaboratorySettings
        `work` receives raw files, which are removed with each trial.
    """
    network = KeptRunner(Session, settings)
    return {
        **dict.fromkeys(("mixed", "flow", "download"), network),
        "flows": KeptRunner(FlowSession, settings),
        "ingress": KeptRunner(IngressSession, settings),
        "demoted": KeptRunner(DemotedSession, settings),
        "verify": verify_row,
        "cost": CostRunner(),
        "paths": PathsRunner(),
        "lossless": lossless_runner(settings),
        "in_band": InBandRunner(settings),
    }


class CostRunner:
    """Runs trials of kind "cost", each one repetition of the packet cost bench."""

    @contextmanager
    def session(self, _trial: Trial) -> Iterator[Callable[[Trial], Json]]:
        """Start the bench's switch; a trial's round is the number of its repetition."""
        with packet_cost.session() as bench:
            yield lambda trial: bench.run(trial.round)
