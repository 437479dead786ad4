"""How long trials take, for progress bars and lists: compared with full runs on two cores, a guess elsewhere."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from experiments.campaign.kind import TrialKind
from experiments.campaign.order import in_order, sessions
from experiments.campaign.values import Trial, Variant

CALIBRATION_S = 30.0
# Building a network and taking it down; agents take the rows of pairs through their databases.
_SESSION_S = 12.0
_AGENT_SESSION_S = 25.0

Kinds = Mapping[str, TrialKind]


def session_seconds(variant: Variant | None) -> float:
    """What building the network of a variant takes."""
    return _AGENT_SESSION_S if variant is not None and variant.uses_agent else _SESSION_S


class Estimate(NamedTuple):
    """What a trial probably takes, and its kind: estimates of one kind tend to be wrong by the same factor."""

    kind: str
    seconds: float


def estimates(trials: Sequence[Trial], kinds: Kinds) -> dict[str, Estimate]:
    """Estimate of every trial by its id, in order; the first of a session carries what building it takes."""
    found: dict[str, Estimate] = {}
    for session in sessions(in_order(trials)):
        builds_s = session_seconds(session[0].variant) if kinds[session[0].kind].emulated else 0.0
        for trial in session:
            found[trial.trial_id] = Estimate(trial.kind, kinds[trial.kind].seconds(trial) + builds_s)
            builds_s = 0.0
    return found


def total_seconds(found: Iterable[Estimate]) -> float:
    """What trials take together."""
    return sum(estimate.seconds for estimate in found)


def campaign_seconds(trials: Sequence[Trial], kinds: Kinds) -> float:
    """What all trials take together, calibration included."""
    return total_seconds(estimates(trials, kinds).values()) + (CALIBRATION_S if needs_network(trials, kinds) else 0.0)


def needs_network(trials: Sequence[Trial], kinds: Kinds) -> bool:
    """Whether any of the trials builds an emulated network, whose machine is then calibrated."""
    return any(kinds[trial.kind].emulated for trial in trials)


def needs_root(trials: Sequence[Trial], kinds: Kinds) -> bool:
    """Whether any of the trials starts switches."""
    return any(kinds[trial.kind].root for trial in trials)


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
