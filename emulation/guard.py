"""The guard of a run: a process that removes what the run has created when its program ends without doing so.

`EmulatedNetwork` starts one, in a session of its own so that Ctrl-C on the terminal does not reach it. It sleeps on
a pidfd of the program. A run that ends by itself ends its guard with everything else that carries its mark; a program
that was killed leaves its run file, and the guard cleans what that names. When the guard was killed as well,
`armor clean` does the same.

    python -m emulation.guard RUN_FILE
"""

from __future__ import annotations

import os
import select
import subprocess
import sys
from pathlib import Path

from emulation.clean import clean_run, sweep
from emulation.runfile import ProcessId, RunFile, RunFileError, is_alive, read_run_file

GUARD = "guard"
PLACE = "host"


def start_guard(run_file: RunFile) -> subprocess.Popen[bytes]:
    """Start the guard of a run; it is in the run file when this returns.

    Raises
    ------
    RunFileError
        It cannot be started.
    """
    try:
        guard = subprocess.Popen(
            [sys.executable, "-m", __name__, str(run_file.path.resolve())],
            # Holding on to the program's output would keep the reader of that output waiting.
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={**os.environ, **run_file.environment},
            start_new_session=True,
        )
    except OSError as error:
        raise RunFileError(f"cannot start the guard of the run with {sys.executable}: {error.strerror}") from error
    run_file.add_process(guard.pid, GUARD, PLACE)
    return guard


def end_run(run_file: RunFile, guard: subprocess.Popen[bytes] | None) -> None:
    """Remove what is left of this program's own run, its guard with it, and then the run file.

    Raises
    ------
    ArmorError
        Something could not be removed; the run file stays, for the guard or `armor clean`.
    """
    sweep(read_run_file(run_file.path))
    run_file.close()
    if guard is not None:
        guard.wait()


def wait_for_end(process: ProcessId) -> None:
    """Sleep until a process has ended; at once when it has."""
    try:
        descriptor = os.pidfd_open(process.pid)
    except ProcessLookupError:
        return
    try:
        if is_alive(process):  # else the number is another process's by now
            select.select([descriptor], [], [])
    finally:
        os.close(descriptor)


def guard_run(path: Path) -> None:
    """Wait for the end of the program that owns a run, and remove what it has left.

    Raises
    ------
    ArmorError
        Something could not be removed; the run file stays, for `armor clean`.
    """
    wait_for_end(read_run_file(path).owner)
    if path.exists():
        clean_run(read_run_file(path))


if __name__ == "__main__":
    guard_run(Path(sys.argv[1]))
