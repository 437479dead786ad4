"""Runs trials, session by session, and keeps a row of every attempt.

The engine decides order, attempts and rows; runners measure. Whatever interrupts it (Ctrl-C, kill -9) leaves a store
that a later call goes on with, because a row is on disk before the next trial begins.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from itertools import groupby
from typing import Protocol, runtime_checkable

from experiments.campaign.act.store import Store
from experiments.campaign.order import FAILED, MAX_ATTEMPTS, OK, attempts_of, in_order, remaining, trial_row
from experiments.campaign.values import Json, Trial
from mininet_topos.errors import ArmorError, MissingRequirementError

RunTrial = Callable[[Trial], Json]


@runtime_checkable
class SessionRunner(Protocol):
    """Runs trials on a network that is built once for all of them."""

    def session(self, trial: Trial) -> AbstractContextManager[RunTrial]:
        """Build what `trial` and its neighbours need; what is given runs one of them at a time."""


Runner = SessionRunner | RunTrial


class Progress(Protocol):
    """Told what the engine does."""

    def start(self) -> None:
        """The first network is about to be built."""

    def begin(self, trial: Trial, attempt: int) -> None:
        """An attempt begins."""

    def end(self, trial: Trial, row: Json, is_last: bool) -> None:
        """An attempt ended with this row; `is_last` when the trial will not be tried again."""


def run_campaign(
    trials: Sequence[Trial], runners: Mapping[str, Runner], store: Store, quick: bool, progress: Progress
) -> None:
    """Run the trials that the store has no good row for.

    Parameters
    ----------
    trials : sequence of Trial
    runners : mapping of kind to Runner
        Trials share a session when they have the same session key and their kinds the same runner.
    store : Store
        Being written (`Store.writing`).
    quick : bool
        Becomes a column of every row.
    progress : Progress

    Raises
    ------
    MissingRequirementError
        The machine lacks something that all trials need.
    """
    rows = store.rows()
    todo = remaining(in_order(trials), rows)
    progress.start()
    attempts = {trial: len(statuses) for trial, statuses in attempts_of(rows).items()}
    for _, group in groupby(todo, key=lambda trial: (trial.session_key, id(runners[trial.kind]))):
        session = list(group)
        _Session(runners[session[0].kind], store, quick, progress, attempts).run(session)


class _Session:
    """The trials of one network, each tried until it is good or was tried often enough."""

    def __init__(self, runner: Runner, store: Store, quick: bool, progress: Progress, attempts: dict[str, int]) -> None:
        self.runner = runner
        self.store = store
        self.quick = quick
        self.progress = progress
        self.attempts = attempts

    def run(self, trials: Sequence[Trial]) -> None:
        """Run all trials."""
        waiting = deque(trials)
        while waiting:
            with ExitStack() as stack:
                run = self._open(stack, waiting)
                # After an error nobody knows what state the network is in: the next attempt gets a new one.
                while run is not None and waiting and self._attempt(waiting, run):
                    pass

    def _open(self, stack: ExitStack, waiting: deque[Trial]) -> RunTrial | None:
        """Open a session; when that fails, it is the first trial's failure, and at last that of all that wait."""
        if not isinstance(self.runner, SessionRunner):
            return self.runner
        trial = waiting[0]
        started, start_s = _now(), time.monotonic()
        try:
            return stack.enter_context(self.runner.session(trial))
        except MissingRequirementError:
            raise
        except ArmorError as error:
            reason = f"its network could not be built: {error}"
        given_up = self._next_attempt(trial) >= MAX_ATTEMPTS
        for failed in list(waiting) if given_up else [trial]:
            self.progress.begin(failed, self._next_attempt(failed))
            self._keep(failed, {"status": FAILED, "error": reason}, (started, start_s), given_up)
            if given_up:
                waiting.popleft()
        return None

    def _attempt(self, waiting: deque[Trial], run: RunTrial) -> bool:
        """Try the first trial that waits; tell whether it went well."""
        trial = waiting[0]
        self.progress.begin(trial, self._next_attempt(trial))
        started, start_s = _now(), time.monotonic()
        try:
            self._keep(trial, {**run(trial), "status": OK, "error": None}, (started, start_s), True)
        except MissingRequirementError:
            raise
        except ArmorError as error:
            is_last = self._next_attempt(trial) >= MAX_ATTEMPTS
            self._keep(trial, {"status": FAILED, "error": str(error)}, (started, start_s), is_last)
            if is_last:
                waiting.popleft()
            return False
        waiting.popleft()
        return True

    def _next_attempt(self, trial: Trial) -> int:
        return self.attempts.get(trial.trial_id, 0) + 1

    def _keep(self, trial: Trial, measured: Json, start: tuple[str, float], is_last: bool) -> None:
        """Store a row: what follows from the trial, what was measured, when and how long."""
        attempt = self._next_attempt(trial)
        clock = {"started": start[0], "seconds": round(time.monotonic() - start[1], 3)}
        row = {**trial_row(trial, self.quick), **clock, **measured, "trial": trial.trial_id, "attempt": attempt}
        self.store.append(row)
        self.attempts[trial.trial_id] = attempt
        self.progress.end(trial, row, is_last)


def _now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S%z")
