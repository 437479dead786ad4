"""A runner for every kind of trial."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from experiments.campaign.engine import Runner
from experiments.campaign.values import Json, LaboratorySettings, Trial
from experiments.laboratory.scenario_core import arm_of, variation_of
from experiments.laboratory.session import NetworkRunner
from experiments.runner.parts import options_of
from experiments.verification.verify import Request, verify_scheme
from mininet_topos.catalogue import load_topology


def make_runners(settings: LaboratorySettings) -> Mapping[str, Runner]:
    """Kind of trial to what runs it.

    Parameters
    ----------
    settings : LaboratorySettings
        `work` receives raw files, which are removed with each trial.
    """
    network = NetworkRunner(settings)
    return {"mixed": network, "flow": network, "download": network, "verify": verify_row, "cost": CostRunner()}


def verify_row(trial: Trial) -> Json:
    """Decide a trial of kind "verify": `parameters` may give "sample", the number of failed sets to draw."""
    variation = variation_of(arm_of(trial))
    request = Request(
        load_topology(trial.topology),
        variation.scheme,
        options_of(variation),
        trial.failures,
        trial.parameters.get("sample"),
        trial.seed,
    )
    return {"result": verify_scheme(request).to_json()}


class CostRunner:
    """Runs trials of kind "cost", each one repetition of the packet cost bench."""

    @contextmanager
    def session(self, _trial: Trial) -> Iterator[Callable[[Trial], Json]]:
        """Start the bench's switch; a trial's round is the number of its repetition."""
        from experiments import packet_cost  # needs root when it starts; nobody else should wait for its imports

        with packet_cost.session() as bench:
            yield lambda trial: bench.run(trial.round)
