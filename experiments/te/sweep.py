"""Run many independent units of a sweep: in this process, in several (joblib), or on a cluster (dask.distributed).

Every finished unit is a file of its own, so a broken-off sweep goes on where it stopped, and results do not depend on
who computed what. A unit's file carries its parameters: other parameters mean that it is computed again.
"""

from __future__ import annotations

import json
import logging
import multiprocessing
import os
import time
from collections import deque
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from multiprocessing import resource_tracker
from pathlib import Path
from typing import Any

from experiments.terminal.output import progress
from machine.ending import KILLED_WORKER, ending_held, leave_ending_to_parent
from machine.whole_file import write_whole
from mininet_topos.errors import ArmorError, BadInputError, MissingRequirementError

Json = dict[str, Any]
Compute = Callable[[Mapping[str, Any]], Json]
# One thread each: units are the parallelism.
THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMBA_NUM_THREADS",
    "RAYON_NUM_THREADS",
)


@dataclass(frozen=True, slots=True)
class Unit:
    """One piece of a sweep: the name of its file, and everything that decides its result."""

    name: str
    parameters: Mapping[str, Any]


Computed = Generator[tuple[Unit, Json, float], None, None]


@dataclass(frozen=True, slots=True)
class SweepOptions:
    """Where units run: in `workers` processes, or on the cluster whose scheduler listens at `dask`."""

    workers: int = 1
    dask: str | None = None
    again: bool = False


@dataclass(frozen=True, slots=True)
class SweepRun:
    """Results in the order of the units, and what computing them took (units found finished cost nothing)."""

    results: tuple[Json, ...]
    computed: int
    wall_s: float
    cpu_s: float


def run_sweep(units: Sequence[Unit], compute: Compute, folder: Path, options: SweepOptions) -> SweepRun:
    """Compute the units that are not finished yet.

    Parameters
    ----------
    units : sequence of Unit
    compute : callable
        From a unit's parameters to its result, both JSON values; importable by name, for other processes.
    folder : Path
        Holds one JSON file a finished unit.
    options : SweepOptions

    Raises
    ------
    BadInputError
        The folder cannot be written, or the cluster does not answer.
    MissingRequirementError
        joblib or dask.distributed is needed and not installed.
    ArmorError
        A worker was killed, or the cluster gave up.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadInputError(
            f"{str(folder)!r} cannot be made ({error.strerror}); name another folder with --out"
        ) from error
    found = (
        {}
        if options.again
        else {unit.name: result for unit in units if (result := _finished(folder, unit)) is not None}
    )
    missing = [unit for unit in units if unit.name not in found]
    start_s, cpu_s = time.perf_counter(), 0.0
    with progress(len(units), "units", "unit") as bar, closing(_computed(missing, compute, options)) as computed:
        bar.update(len(found))
        for unit, result, unit_cpu_s in computed:
            _write(folder, unit, result)
            found[unit.name] = result
            cpu_s += unit_cpu_s
            bar.update()
    results = tuple(found[unit.name] for unit in units)
    return SweepRun(results, len(missing), time.perf_counter() - start_s, cpu_s)


def timed(compute: Compute, unit: Unit) -> tuple[Unit, Json, float]:
    """Result of a unit and the processor seconds that it took in its process."""
    start_s = time.process_time()
    result = compute(unit.parameters)
    return unit, result, time.process_time() - start_s


def _computed(units: Sequence[Unit], compute: Compute, options: SweepOptions) -> Computed:
    if not units:
        return
    if options.dask is not None:
        yield from _on_cluster(units, compute, options.dask)
    elif options.workers == 1:
        yield from (timed(compute, unit) for unit in units)
    else:
        yield from _in_processes(units, compute, options.workers)


def _in_processes(units: Sequence[Unit], compute: Compute, workers: int) -> Computed:
    try:
        from joblib import Parallel, delayed
        from joblib.externals.loky.backend import resource_tracker as loky_tracker
        from joblib.externals.loky.process_executor import TerminatedWorkerError
    except ImportError as error:
        raise MissingRequirementError("joblib is not installed; run 'make setup', or use --workers 1") from error
    # Units wait here and few of them in the pool, whose own thread would stumble over them when it is given up.
    pool = Parallel(
        n_jobs=workers,
        return_as="generator_unordered",  # so that a finished unit is on disk at once
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
                found = pool(delayed(timed)(compute, unit) for unit in units)
            for unit in found:  # noqa: UP028 - `yield from` would close the pool before its workers are ended
                yield unit
        except TerminatedWorkerError as error:
            raise ArmorError(KILLED_WORKER.format("--workers")) from error
        except BaseException:
            for worker in multiprocessing.active_children():
                if worker.name.startswith("Loky"):  # an earlier sweep of this process may have started them
                    worker.terminate()
            with suppress(TerminatedWorkerError):  # the pool gives up when it has seen them end
                deque(found or (), maxlen=0)
            raise


def _on_cluster(units: Sequence[Unit], compute: Compute, address: str) -> Computed:
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
        futures = client.map(timed, [compute] * len(units), list(units), pure=False)
        for future, answer in as_completed(futures, with_results=True):
            if future.status != "finished":
                raise ArmorError(
                    f"the dask cluster at {address!r} gave up ({future.status}); finished units are kept, so start it "
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


def _finished(folder: Path, unit: Unit) -> Json | None:
    path = folder / f"{unit.name}.json"
    if not path.is_file():
        return None
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise BadInputError(f"{str(path)!r} is no finished unit; remove it, or use --again") from error
    # Through JSON, as the file was: tuples become lists.
    same = isinstance(value, dict) and value.get("parameters") == json.loads(json.dumps(dict(unit.parameters)))
    result: Json | None = value["result"] if same else None
    return result


def _write(folder: Path, unit: Unit, result: Json) -> None:
    """A file that has the unit's name is whole."""
    text = json.dumps({"parameters": dict(unit.parameters), "result": result}) + "\n"
    write_whole(folder / f"{unit.name}.json", text)
