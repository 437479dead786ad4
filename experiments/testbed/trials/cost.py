"""Runs trials of kind "cost", each one repetition of the packet cost testbed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from experiments.campaign.kinds.cost import CostParameters
from experiments.campaign.parameters import plain
from experiments.campaign.values import Json, TestbedSettings, Trial, parameters_of
from experiments.testbed import packet_cost


class CostRunner:
    """Keeps the testbed's switch for all repetitions."""

    @contextmanager
    def session(self, trial: Trial) -> Iterator[Callable[[Trial], Json]]:
        """Start the testbed's switch; a trial's round is the number of its repetition."""
        with packet_cost.session(parameters_of(trial, CostParameters)) as testbed:
            yield lambda each: _columns(testbed, each)


def _columns(testbed: packet_cost.Session, trial: Trial) -> Json:
    columns: Json = plain(testbed.run(trial.round))
    return columns


def cost_runner(_settings: TestbedSettings) -> CostRunner:
    """What runs such trials."""
    return CostRunner()
