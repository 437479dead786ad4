"""Trials of kind "verify": every failure case of a scheme, decided by the interpreter; no network is built."""

from __future__ import annotations

from experiments.campaign.act.attempts import RunTrial
from experiments.campaign.kinds.verify import VerifyParameters
from experiments.campaign.values import Arm, Json, LaboratorySettings, Trial, parameters_of
from experiments.verify.verify import coverage
from mininet_topos.catalogue import load_topology
from mininet_topos.errors import BadInputError
from ryu_apps.plan.choices import DEFAULT_MODE, NO_MODE
from ryu_apps.plan.options import PlanOptions


def verify_row(trial: Trial) -> Json:
    """Decide a trial.

    Parameters
    ----------
    trial : Trial
        Of kind "verify"; `failures` links fail at once. Its `parameters` may give "sample", the number of failed sets
        to draw by the trial's seed (none: all sets), and "max_failures", the links that a tag can name (none: the
        scheme's default).

    Returns
    -------
    dict
        {"result": what `armor verify --json` gives}; one process decides it, so that trials beside it are disturbed
        as little as possible.

    Raises
    ------
    BadInputError
        The trial has no arm, or the scheme, topology, failures or sample are not possible.
    """
    if trial.arm is None:
        raise BadInputError(f"the trial {trial.trial_id} names no scheme; give it an arm")
    topology, parameters = load_topology(trial.topology), parameters_of(trial, VerifyParameters)
    options = options_of(trial.arm, parameters.max_failures)
    sample = parameters.sample
    return {"result": coverage(topology, trial.arm.scheme, options, trial.failures, sample, trial.seed)}


def options_of(arm: Arm, max_failures: int | None = None) -> PlanOptions:
    """Plan options of an arm; a scheme without modes ("none") ignores the one that is given."""
    mode = DEFAULT_MODE if arm.mode == NO_MODE else arm.mode
    return PlanOptions(mode=mode, planner=arm.planner, max_failures=max_failures)


def verify_runner(_settings: LaboratorySettings) -> RunTrial:
    """What runs such trials."""
    return verify_row
