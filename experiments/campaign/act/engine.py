"""Runs trials, session by session, and keeps a row of every attempt.

The engine decides order, attempts and rows; runners measure. Whatever interrupts it (Ctrl-C, kill -9) leaves a store
that a later call goes on with, because a row is on disk before the next trial begins.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Hashable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, closing
from itertools import groupby
from typing import Protocol, runtime_checkable

from experiments.campaign.act.attempts import Attempt, RunTrial, attempt, now
from experiments.campaign.act.store import Store
from experiments.campaign.act.workers import SpreadRunner
from experiments.campaign.order import FAILED, MAX_ATTEMPTS, attempts_of, in_order, remaining, trial_row
from experiments.campaign.values import Json, Trial
from mininet_topos.errors import ArmorError, MissingRequirementError


@runtime_checkable
class SessionRunner(Protocol):
    """Runs trials on a network that is built once for all of them."""

    def session(self, trial: Trial) -> AbstractContextManager[RunTrial]:
        """Build what `trial` and its neighbours need; what is given runs one of them at a time."""


Runner = SessionRunner | RunTrial


class Progress(Protocol):
    """Gets the progress of the engine."""

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
    runners : mapping of kind to Runner
        Trials share a session when they have the same session key and their kinds the same runner.
    store
        Being written (`Store.writing`).
    quick
        Becomes a column of every row.

    Raises
    ------
    MissingRequirementError
        The machine lacks something that all trials need.
    """
    rows = store.rows()
    todo = remaining(in_order(trials), rows)
    progress.start()
    attempts = {trial: len(statuses) for trial, statuses in attempts_of(rows).items()}
    for _, group in groupby(todo, key=lambda trial: _together(trial, runners[trial.kind])):
        session = list(group)
        _Session(runners[session[0].kind], store, quick, progress, attempts).run(session)


def _together(trial: Trial, runner: Runner) -> Hashable:
    """What neighbours have in common that run together; computed trials need no network."""
    return (None if isinstance(runner, SpreadRunner) else trial.session_key, id(runner))


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
        if isinstance(self.runner, SpreadRunner):
            self._spread(self.runner, trials)
            return
        waiting = deque(trials)
        while waiting:
            with ExitStack() as stack:
                run = self._open(stack, waiting)
                # After an error nobody knows what state the network is in: the next attempt gets a new one.
                while run is not None and waiting and self._attempt(waiting, run):
                    pass

    def _spread(self, runner: SpreadRunner, trials: Sequence[Trial]) -> None:
        """Try all at once, and again those that failed."""
        waiting = list(trials)
        while waiting:
            again = []
            with closing(runner.attempts(waiting)) as found:
                for each in found:
                    self.progress.begin(each.trial, self._next_attempt(each.trial))
                    if not self._keep(each, more={"cpu_seconds": round(each.cpu_seconds, 3)}):
                        again.append(each.trial)
            waiting = again

    def _open(self, stack: ExitStack, waiting: deque[Trial]) -> RunTrial | None:
        """Open a session; when that fails, it is the first trial's failure, and at last that of all that wait."""
        if not isinstance(self.runner, SessionRunner):
            return self.runner
        trial = waiting[0]
        started, start_s = now(), time.monotonic()
        try:
            return stack.enter_context(self.runner.session(trial))
        except MissingRequirementError:
            raise
        except ArmorError as error:
            reason = f"its network could not be built: {error}"
        given_up = self._next_attempt(trial) >= MAX_ATTEMPTS
        measured, seconds = {"status": FAILED, "error": reason}, time.monotonic() - start_s
        for failed in list(waiting) if given_up else [trial]:
            self.progress.begin(failed, self._next_attempt(failed))
            self._keep(Attempt(failed, measured, started, seconds), given_up=given_up)
            if given_up:
                waiting.popleft()
        return None

    def _attempt(self, waiting: deque[Trial], run: RunTrial) -> bool:
        """Try the first trial that waits; tell whether it went well."""
        trial = waiting[0]
        self.progress.begin(trial, self._next_attempt(trial))
        found = attempt(run, trial)
        if self._keep(found):
            waiting.popleft()
        return found.is_good

    def _next_attempt(self, trial: Trial) -> int:
        return self.attempts.get(trial.trial_id, 0) + 1

    def _keep(self, found: Attempt, more: Mapping[str, float] | None = None, *, given_up: bool = False) -> bool:
        """Store a row: what follows from the trial, what was measured, when and how long; tell whether it is the last.

        A good attempt is, one that was tried often enough, and one that nobody will try again (`given_up`).
        """
        trial, number = found.trial, self._next_attempt(found.trial)
        is_last = given_up or found.is_good or number >= MAX_ATTEMPTS
        clock = {"started": found.started, "seconds": round(found.seconds, 3), **(more or {})}
        name = {"trial": trial.trial_id, "attempt": number}
        row = {**trial_row(trial, self.quick), **clock, **found.measured, **name}
        self.store.append(row)
        self.attempts[trial.trial_id] = number
        self.progress.end(trial, row, is_last)
        return is_last
