"""Spreads computed trials: over this process, several (joblib), or a cluster (dask.distributed)."""

from __future__ import annotations

import logging
import multiprocessing
import os
from collections import deque
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing import resource_tracker

from experiments.campaign.act.attempts import Attempt, RunTrial, attempt
from experiments.campaign.values import Json, Trial
from machine.ending import KILLED_WORKER, ending_held, leave_ending_to_parent
from mininet_topos.errors import ArmorError, BadInputError, MissingRequirementError

Attempts = Generator[Attempt, None, None]
# One thread each: trials are the parallelism.
THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMBA_NUM_THREADS",
    "RAYON_NUM_THREADS",
)


@dataclass(frozen=True, slots=True)
class SpreadRunner:
    """Runs computed trials in `workers` processes, or on the cluster whose scheduler listens at `dask`.

    `run` must be importable by name, for other processes.
    """

    run: RunTrial
    workers: int = 1
    dask: str | None = None

    def __call__(self, trial: Trial) -> Json:
        """Row of one trial, computed here."""
        return self.run(trial)

    def attempts(self, trials: Sequence[Trial]) -> Attempts:
        """Try each trial once; attempts come as they end.

        Raises
        ------
        BadInputError
            The cluster does not answer.
        MissingRequirementError
            joblib or dask.distributed is needed and not installed, or a trial lacks something.
        ArmorError
            A worker was killed, or the cluster gave up.
        """
        if self.dask is not None:
            yield from _on_cluster(trials, self.run, self.dask)
        elif self.workers == 1:
            yield from (attempt(self.run, trial) for trial in trials)
        else:
            yield from _in_processes(trials, self.run, self.workers)


def _in_processes(trials: Sequence[Trial], run: RunTrial, workers: int) -> Attempts:
    try:
        from joblib import Parallel, delayed
        from joblib.externals.loky.backend import resource_tracker as loky_tracker
        from joblib.externals.loky.process_executor import TerminatedWorkerError
    except ImportError as error:
        raise MissingRequirementError("joblib is not installed; run 'make setup', or use --workers 1") from error
    # Trials wait here and few of them in the pool, whose own thread would stumble over them when it is given up.
    pool = Parallel(
        n_jobs=workers,
        return_as="generator_unordered",  # so that a finished trial is on disk at once
        batch_size=1,
        initializer=leave_ending_to_parent,
        initargs=(os.getpid(),),
    )
    with _environment_of_workers():
        for tracker in (resource_tracker, loky_tracker):
            with ending_held():  # each ends the holding back when it has started its process
                tracker.ensure_running()
        found = None
        try:
            with ending_held():  # workers are started here
                found = pool(delayed(attempt)(run, trial) for trial in trials)
            for each in found:  # noqa: UP028 - `yield from` would close the pool before its workers are ended
                yield each
        except TerminatedWorkerError as error:
            raise ArmorError(KILLED_WORKER.format("--workers")) from error
        except BaseException:
            for worker in multiprocessing.active_children():
                if worker.name.startswith("Loky"):  # an earlier sweep of this process may have started them
                    worker.terminate()
            with suppress(TerminatedWorkerError):  # the pool gives up when it has seen them end
                deque(found or (), maxlen=0)
            raise


def _on_cluster(trials: Sequence[Trial], run: RunTrial, address: str) -> Attempts:
    try:
        from distributed import Client, as_completed
    except ImportError as error:
        raise MissingRequirementError(
            "dask.distributed is not installed; run 'make setup', or pip install '.[cluster]' in Armor's folder"
        ) from error
    logging.getLogger("distributed.client").setLevel(logging.CRITICAL)  # it shows tracebacks of a cluster that is gone
    try:
        client = Client(address, timeout=10)
    except (OSError, ValueError) as error:
        raise BadInputError(f"no dask scheduler answers at {address!r}; start one with 'dask scheduler'") from error
    try:
        futures = client.map(attempt, [run] * len(trials), list(trials), pure=False)
        for future, answer in as_completed(futures, with_results=True):
            if future.status != "finished":
                raise ArmorError(
                    f"the dask cluster at {address!r} gave up ({future.status}); finished trials are kept, so start it "
                    "and this command again"
                )
            yield answer
    finally:
        client.close()


@contextmanager
def _environment_of_workers() -> Iterator[None]:
    """New processes get one thread for each numeric library; what a kill leaves is removed without a word."""
    silence = ",".join(filter(None, (os.environ.get("PYTHONWARNINGS"), "ignore:resource_tracker")))
    wanted = {**dict.fromkeys(THREAD_VARIABLES, "1"), "PYTHONWARNINGS": silence}
    old = {name: os.environ.get(name) for name in wanted}
    os.environ.update(wanted)
    try:
        yield
    finally:
        for name, value in old.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
