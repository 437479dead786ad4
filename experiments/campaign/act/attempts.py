"""One attempt of a trial, in whichever process it is made."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from experiments.campaign.act.store import row_text
from experiments.campaign.order import FAILED, OK
from experiments.campaign.values import Json, Trial
from mininet_topos.errors import ArmorError, MissingRequirementError

RunTrial = Callable[[Trial], Json]


@dataclass(frozen=True, slots=True)
class Attempt:
    """What came of it: columns with `status` and `error`, when it began, and how long it took."""

    trial: Trial
    measured: Json
    started: str
    seconds: float
    cpu_seconds: float = 0.0

    @property
    def is_good(self) -> bool:
        """Whether it gave a row."""
        return bool(self.measured["status"] == OK)


def attempt(run: RunTrial, trial: Trial) -> Attempt:
    """Try a trial; an error of ours is a failed attempt.

    Raises
    ------
    MissingRequirementError
        The machine lacks something that all trials need.
    """
    started, start_s, cpu_s = now(), time.monotonic(), time.process_time()
    try:
        measured = {**run(trial), "status": OK, "error": None}
        row_text({**measured, "trial": trial.trial_id})
    except MissingRequirementError:
        raise
    except ArmorError as error:
        measured = {"status": FAILED, "error": str(error)}
    return Attempt(trial, measured, started, time.monotonic() - start_s, time.process_time() - cpu_s)


def now() -> str:
    """Local time with its zone."""
    return time.strftime("%Y-%m-%dT%H:%M:%S%z")
