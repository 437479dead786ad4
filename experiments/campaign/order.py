"""In which order trials run, and which are still to run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby

from experiments.campaign.values import Json, Trial
from ryu_apps.plan.choices import NO_MODE

ROW_VERSION = 1
MAX_ATTEMPTS = 2
OK, FAILED = "ok", "failed"
NOT_RUN = "it has not run yet"


def in_order(trials: Iterable[Trial]) -> tuple[Trial, ...]:
    """Trials in the order in which they run; a trial that several figures ask for runs once.

    Rounds are outermost, and inside a round the variants take turns (A B C, then A B C), so that whatever drifts over
    hours hits all variants alike. Trials that can share a network stand together.

    Raises
    ------
    ValueError
        Two different trials have the same name.
    """
    by_id: dict[str, Trial] = {}
    for trial in trials:
        if by_id.setdefault(trial.trial_id, trial).to_json() != trial.to_json():
            raise ValueError(f"two different trials are called {trial.trial_id!r}; name what tells them apart")
    places: dict[object, int] = {}
    for trial in by_id.values():
        places.setdefault(trial.session_key, len(places))
    return tuple(sorted(by_id.values(), key=lambda trial: (trial.round, places[trial.session_key])))


def remaining(trials: Sequence[Trial], rows: Iterable[Json]) -> tuple[Trial, ...]:
    """Trials without a good row that have not been tried as often as allowed."""
    attempts = attempts_of(rows)
    return tuple(trial for trial in trials if not _is_finished(attempts.get(trial.trial_id, [])))


def attempts_of(rows: Iterable[Json]) -> dict[str, list[str]]:
    """Per trial the status of each attempt, in order."""
    found: dict[str, list[str]] = {}
    for row in rows:
        found.setdefault(row["trial"], []).append(row["status"])
    return found


def good_rows(rows: Iterable[Json]) -> dict[str, Json]:
    """Per trial its good row; a trial without one is absent."""
    return {row["trial"]: row for row in rows if row["status"] == OK}


def failed_trials(trial_ids: Sequence[str], rows: Sequence[Json]) -> dict[str, str]:
    """Per trial without a good row: why. A trial that never ran says so."""
    good = good_rows(rows)
    errors = {row["trial"]: str(row["error"]) for row in rows if row["status"] == FAILED}
    return {name: errors.get(name, NOT_RUN) for name in trial_ids if name not in good}


def sessions(trials: Sequence[Trial]) -> tuple[tuple[Trial, ...], ...]:
    """Neighbours that share a network."""
    return tuple(tuple(group) for _, group in groupby(trials, key=lambda trial: trial.session_key))


def trial_row(trial: Trial, quick: bool) -> Json:
    """What follows from the trial itself: the columns that every row has, good or failed."""
    variant, load, own = trial.variant, trial.load, trial.parameters.to_json()
    return {
        "version": ROW_VERSION,
        "trial": trial.trial_id,
        "attempt": 1,
        "status": OK,
        "error": None,
        "quick": quick,
        "seed": trial.seed,
        "kind": trial.kind,
        "topology": trial.topology,
        "variant": variant.name if variant else None,
        "scheme": variant.scheme if variant else None,
        "mode": variant.mode if variant else None,
        "planner": variant.planner if variant else None,
        "notification": variant.notification if variant and variant.mode != NO_MODE else None,
        "control_delay_ms": (variant.control_delay_ms or 0.0) if variant else None,
        "round": trial.round,
        "failures": trial.failures,
        "links": list(trial.links),
        "capacity_mbps": load.capacity_mbps if load else None,
        "udp_mbps": load.udp_mbps if load else None,
        "ping_interval_ms": load.ping_interval_ms if load else None,
        "download_bytes": load.download_bytes if load else None,
        **({"parameters": own} if own else {}),
    }


def first_difference(stored: Sequence[Json], wanted: Sequence[Json]) -> str | None:
    """Where two lists of trials part, in words; None when they are the same.

    Examples
    --------
    >>> first_difference([{"trial": "a", "seed": 1}], [{"trial": "a", "seed": 2}])
    "trial 'a' has seed 2, stored is 1"
    """
    old, new = ({trial["trial"]: trial for trial in trials} for trials in (stored, wanted))
    for name, trial in new.items():
        if name not in old:
            return f"trial {name!r} is not stored"
        for key in sorted({*trial, *old[name]}):
            if trial.get(key) != old[name].get(key):
                return f"trial {name!r} has {key} {trial.get(key)!r}, stored is {old[name].get(key)!r}"
    for name in old:
        if name not in new:
            return f"stored trial {name!r} is no longer part of it"
    return None if list(old) == list(new) else "the trials stand in another order"


def _is_finished(statuses: Sequence[str]) -> bool:
    return OK in statuses or len(statuses) >= MAX_ATTEMPTS
