"""A folder and processes that a program needs for a while, outside an emulated network; all gone however it ends."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from emulation.guard import end_run, start_guard
from emulation.runfile import RunFile
from machine.ending import ending_waits


@dataclass(frozen=True)
class Scratch:
    """A folder, and the variables by which processes that work in it are found: each must be started with them."""

    folder: Path
    environment: Mapping[str, str]


@contextmanager
def scratch(command: str) -> Iterator[Scratch]:
    """A run without a network: at the end, or when this program is killed, its processes and its folder go.

    Parameters
    ----------
    command
        What it is for, as `armor clean` shows it.

    Raises
    ------
    MissingRequirementError
        There is no folder for it.
    """
    run_file, guard = None, None
    try:
        with ending_waits():
            run_file = RunFile(command)
            guard = start_guard(run_file)
        run_file.add_folder(run_file.temporary_folder)
        yield Scratch(run_file.temporary_folder, run_file.environment)
    finally:
        if run_file is not None:
            with ending_waits():
                end_run(run_file, guard)
