"""Trials of kind "sweep": what is computed, and neither built nor measured."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from experiments.campaign.act.attempts import RunTrial
from experiments.campaign.values import Json, TestbedSettings, Trial
from experiments.figures.kuijia import fields, fig4, fig8
from experiments.figures.pso import classifying, fig10

_COMPUTED: Mapping[str, Callable[[Trial], Json]] = {
    fig4.ID: fig4.run_unit,
    fig8.ID: fig8.run_trial,
    fields.ID: fields.run_trial,
    fig10.ID: classifying.run_trial,
}


def run_sweep(trial: Trial) -> Json:
    """Row of a trial; its name begins with the id that it was made for."""
    return _COMPUTED[trial.trial_id.partition("/")[0]](trial)


def sweep_runner(_settings: TestbedSettings) -> RunTrial:
    """What runs such trials."""
    return run_sweep
