"""Trials of kind "verify": every failure case of a scheme, decided by the interpreter; no network is built."""

from __future__ import annotations

from experiments.campaign.act.attempts import RunTrial
from experiments.campaign.kinds.verify import VerifyParameters
from experiments.campaign.values import Json, TestbedSettings, Trial, Variant, parameters_of
from experiments.verify.verify import coverage
from mininet_topos.catalogue import load_topology
from mininet_topos.errors import BadInputError
from ryu_apps.plan.choices import DEFAULT_MODE, NO_MODE
from ryu_apps.plan.options import PlanOptions


def verify_row(trial: Trial) -> Json:
    """Decide a trial.

    Parameters
    ----------
    trial
        Of kind "verify"; `failures` links fail at once. Its `parameters` may give "sample", the number of failed sets
        to draw by the trial's seed (none: all sets), and "max_failures", the links that a tag can name (none: the
        scheme's default).

    Returns
    -------
    {"result": what `armor verify --json` gives}; one process decides it, so that trials beside it are disturbed
    as little as possible.

    Raises
    ------
    BadInputError
        The trial has no variant, or the scheme, topology, failures or sample are not possible.
    """
    if trial.variant is None:
        raise BadInputError(f"the trial {trial.trial_id} names no scheme; give it a variant")
    topology, parameters = load_topology(trial.topology), parameters_of(trial, VerifyParameters)
    options = options_of(trial.variant, parameters.max_failures)
    sample = parameters.sample
    return {"result": coverage(topology, trial.variant.scheme, options, trial.failures, sample, seed=trial.seed)}


def options_of(variant: Variant, max_failures: int | None = None) -> PlanOptions:
    """Plan options of a variant; a scheme without modes ("none") ignores the one that is given."""
    mode = DEFAULT_MODE if variant.mode == NO_MODE else variant.mode
    return PlanOptions(mode=mode, planner=variant.planner, max_failures=max_failures, notification=variant.notification)


def verify_runner(_settings: TestbedSettings) -> RunTrial:
    """What runs such trials."""
    return verify_row
