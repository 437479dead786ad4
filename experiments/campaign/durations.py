"""How long trials take, for progress bars and lists: measured on four cores, a guess anywhere else."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from experiments.campaign.order import in_order, sessions
from experiments.campaign.values import Arm, Trial

CALIBRATION_S = 30.0
# Building a network and taking it down; agents take the rows of pairs through their databases.
_SESSION_S = 12.0
_AGENT_SESSION_S = 25.0
# Around the windows of a trial: start of the instruments, reading captures, waiting for the return.
_AROUND_S = {"mixed": 9.0, "flow": 6.0, "download": 20.0, "flows": 8.0, "ingress": 4.0, "demoted": 10.0}
_BENCH_S = {"verify": 1.0, "cost": 9.0, "sweep": 0.3, "control": 3.0, "paths": 2.5, "lossless": 30.0, "in_band": 8.0}
# Sweeps that take longer, by the id that stands first in a trial's name.
_SWEEP_S = {"kuijia-fields": 1.25}
# What is computed, and neither built nor measured.
COMPUTED = ("verify", "sweep")


def session_seconds(arm: Arm | None) -> float:
    """What building the network of an arm takes."""
    return _AGENT_SESSION_S if arm is not None and arm.mode == "agent" else _SESSION_S


def trial_seconds(trial: Trial) -> float:
    """What one trial takes on a network that is there."""
    if trial.kind in _BENCH_S:
        own_s = _SWEEP_S.get(trial.trial_id.partition("/")[0], _BENCH_S[trial.kind])
        return own_s + float(trial.parameters.get("seconds", 0.0))
    return _AROUND_S.get(trial.kind, 10.0) + (trial.timing.total_s if trial.timing else 0.0)


class Estimate(NamedTuple):
    """What a trial probably takes, and its kind: estimates of one kind tend to be wrong by the same factor."""

    kind: str
    seconds: float


def estimates(trials: Sequence[Trial]) -> dict[str, Estimate]:
    """Estimate of every trial by its id, in order; the first of a session carries what building it takes."""
    found: dict[str, Estimate] = {}
    for session in sessions(in_order(trials)):
        builds_s = session_seconds(session[0].arm) if session[0].kind not in _BENCH_S else 0.0
        for trial in session:
            found[trial.trial_id] = Estimate(trial.kind, trial_seconds(trial) + builds_s)
            builds_s = 0.0
    return found


def total_seconds(found: Iterable[Estimate]) -> float:
    """What trials take together."""
    return sum(estimate.seconds for estimate in found)


def campaign_seconds(trials: Sequence[Trial]) -> float:
    """What all trials take together, calibration included."""
    return total_seconds(estimates(trials).values()) + (CALIBRATION_S if needs_network(trials) else 0.0)


def needs_network(trials: Sequence[Trial]) -> bool:
    """Tell whether any of the trials builds an emulated network, whose machine is then calibrated."""
    return any(trial.kind not in _BENCH_S for trial in trials)


def needs_root(trials: Sequence[Trial]) -> bool:
    """Tell whether any of the trials starts switches."""
    return any(trial.kind not in COMPUTED for trial in trials)


def in_words(seconds: float) -> str:
    """A duration for people.

    Examples
    --------
    >>> in_words(40), in_words(400), in_words(6000)
    ('40 s', '7 min', '1 h 40 min')
    """
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60} min"
