"""Remove what a run left behind: what its run file names and what carries its mark, nothing else."""

from __future__ import annotations

import os
import shutil
import signal
import time
from dataclasses import dataclass, replace
from pathlib import Path

from emulation.runfile import (
    MARKER_NAME,
    RUN_VARIABLE,
    ProcessId,
    RunRecord,
    boot_id,
    is_alive,
    is_within_exec,
    read_run_file,
    run_paths,
    start_ticks,
)
from machine.places import namespace_inode
from machine.small_disk import unmount_small_disk
from mininet_topos.errors import ArmorError

# Limits for what cannot be; a machine that is busy makes both take longer than one would think.
_GONE_WAIT_S = 30.0
_EXEC_WAIT_S = 10.0
# A child that the program had forked and that had not yet become what it was started for carries no mark until then.
NEWBORN_S = 0.5


class LiveRunError(ArmorError):
    """A run that still works was asked to be cleaned without force."""

    exit_code = 2


@dataclass(frozen=True)
class CleanReport:
    """What was removed for one run.

    `skipped` tells why a run was left alone ("" when it was not).
    """

    run_id: str
    command: str
    processes: tuple[str, ...] = ()
    namespaces: tuple[str, ...] = ()
    interfaces: int = 0
    qdiscs: int = 0
    folders: tuple[str, ...] = ()
    skipped: str = ""


def clean_all(*, force: bool = False, folder: Path | None = None) -> tuple[CleanReport, ...]:
    """Clean every run that has a run file; runs that are still at work are skipped, or killed with `force`.

    A run that cannot be cleaned is reported as skipped, with the reason, and the others are cleaned all the same.
    A run whose guard was quicker is not reported.

    Parameters
    ----------
    force
        Kill live runs too.
    folder
        State folder; the usual one when left out.
    """
    reports = (_clean_path(path, force) for path in run_paths(folder))
    return tuple(report for report in reports if report is not None)


def _clean_path(path: Path, force: bool) -> CleanReport | None:
    try:
        run = read_run_file(path)
    except FileNotFoundError:
        return None
    except ArmorError as error:
        return CleanReport(path.stem, "", skipped=str(error))
    try:
        return clean_run(run, force=force)
    except ArmorError as error:
        return CleanReport(path.stem, "", skipped=str(error))


def clean_run(run: RunRecord, *, force: bool = False) -> CleanReport:
    """Kill the run's processes (its namespaces and interfaces go with them), remove its folders and its run file.

    Raises
    ------
    LiveRunError
        The run is still at work and `force` is not given.
    ArmorError
        Something could not be removed; the run file stays.
    """
    if run.is_live():
        if not force:
            raise LiveRunError(f"run {run.run_id} is still at work (process {run.owner.pid}); stop it, or use --force")
        _kill_all([run.owner])  # first, since it would restart what is killed
    report = sweep(run)
    time.sleep(NEWBORN_S)
    late = sweep(run)
    run.path.unlink(missing_ok=True)
    return replace(report, processes=(*report.processes, *late.processes))


def sweep(run: RunRecord) -> CleanReport:
    """Remove what is left of a run, its owner and its run file excepted.

    Raises
    ------
    ArmorError
        Something could not be removed.
    """
    processes, namespaces, interfaces, qdiscs = _kill_processes(run)
    folders = tuple(path for record in run.of_kind("folder") if _remove_folder(path := str(record["path"]), run.run_id))
    return CleanReport(run.run_id, run.command, processes, namespaces, interfaces, qdiscs, folders)


def _kill_processes(run: RunRecord) -> tuple[tuple[str, ...], tuple[str, ...], int, int]:
    if run.boot_id != boot_id():
        return (), (), 0, 0  # another boot: all of its processes and namespaces are gone
    named = {
        ProcessId(int(record["pid"]), int(record["start_ticks"])): f"{record['name']}@{record['place']}"
        for record in run.of_kind("process")
        if record["pid"] != os.getpid()  # the guard, at work
    }
    running = {process: name for process, name in named.items() if is_alive(process)}
    held = _held_namespaces(run, list(running))
    for _ in range(3):  # a process may have forked while the list was made
        marked = {process: running.get(process, f"process {process.pid}") for process in marked_processes(run.run_id)}
        running |= marked
        # Switches before their databases, without which they never rest (Supervisor.close).
        _kill_all([process for process in reversed(running) if is_alive(process)])
        if not marked:
            break
    places = {str(record["place"]) for record in held}
    interfaces = sum(str(record["place"]) in places for record in run.of_kind("interface"))
    qdiscs = sum(str(record["place"]) in places for record in run.of_kind("qdisc"))
    return tuple(sorted(running.values())), tuple(sorted(places)), interfaces, qdiscs


def _held_namespaces(run: RunRecord, running: list[ProcessId]) -> list[dict[str, str | int]]:
    """Namespace records of the run that some live process still holds."""
    inodes = {namespace_inode(process.pid) for process in [*running, *marked_processes(run.run_id)]}
    return [record for record in run.of_kind("namespace") if int(record["inode"]) in inodes]


def marked_processes(run_id: str) -> list[ProcessId]:
    """Processes that carry the mark of a run in their environment (this process excepted)."""
    mark = f"{RUN_VARIABLE}={run_id}".encode()
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        pid = int(entry.name)
        ticks = start_ticks(pid) if mark in _environment(pid).split(b"\0") else None
        if ticks is not None:
            process = ProcessId(pid, ticks)
            if is_alive(process):
                found.append(process)
    return found


def _environment(pid: int) -> bytes:
    """Environment of a process, once it has one; empty for one that is gone or another user's, so not of this run."""
    deadline = time.monotonic() + _EXEC_WAIT_S
    try:
        while True:
            # Looked at first: an exec that ends between the two looks has left nothing to read but would not show.
            may_come = is_within_exec(pid) and time.monotonic() < deadline
            variables = Path(f"/proc/{pid}/environ").read_bytes()
            if variables or not may_come:
                return variables
            time.sleep(0.001)
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return b""


def _kill_all(processes: list[ProcessId]) -> None:
    for process in processes:
        if is_alive(process):
            try:
                os.kill(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                continue  # ended between the look and the kill
            except PermissionError as error:
                raise ArmorError(f"process {process.pid} is another user's; clean as root") from error
    deadline = time.monotonic() + _GONE_WAIT_S
    while any(is_alive(process) for process in processes):
        if time.monotonic() > deadline:
            left = ", ".join(str(process.pid) for process in processes if is_alive(process))
            raise ArmorError(f"processes {left} do not end after SIGKILL; look at them by hand")
        time.sleep(0.01)


def _remove_folder(path: str, run_id: str) -> bool:
    """Remove a folder that carries the run's marker; tell whether it was there."""
    folder = Path(path)
    marker = folder / MARKER_NAME
    if not folder.is_dir():
        return False
    unmount_small_disk(folder)  # which hides the marker
    owner = marker.read_text(encoding="ascii") if marker.is_file() else ""  # empty: killed while it wrote that
    if owner not in {"", run_id}:
        return False  # the name was used again by another run
    if not owner and any(entry != marker for entry in folder.iterdir()):
        raise ArmorError(f"folder {folder} has lost its marker {MARKER_NAME}; look into it and delete it by hand")
    for entry in folder.iterdir():
        if entry == marker:
            continue  # it goes last: the remover may be killed, and the next one looks for it
        shutil.rmtree(entry) if entry.is_dir() and not entry.is_symlink() else entry.unlink()
    marker.unlink(missing_ok=True)
    folder.rmdir()
    return True
