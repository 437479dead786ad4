"""Start the delay line in its namespace, and ask it what it has done."""

from __future__ import annotations

import os
import shutil
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from emulation.decide.delay_line import (
    DELAY_LINE,
    PROGRAM_NAME,
    DelayLineError,
    DelayReport,
    Relay,
    delay_line_command,
    parse_report,
)
from emulation.decide.wiring import DELAY_PLACE
from emulation.supervisor import ProcessSpec, Supervisor
from machine.places import inside

_ANSWER_S = 5.0
_POLL_S = 0.005


def find_delay_line() -> Path | None:
    """The program, beside this Python (where `make setup` puts it) or on the search path; None when not built."""
    beside = Path(sys.executable).with_name(PROGRAM_NAME)
    if beside.exists():
        return beside
    found = shutil.which(PROGRAM_NAME)
    return Path(found) if found else None


def start_delay_line(
    relays: Sequence[Relay], shell_pid: int, folder: Path, supervisor: Supervisor, *, realtime: bool, seed: int
) -> None:
    """Start the delay line and wait until it carries frames.

    Parameters
    ----------
    shell_pid
        A process in the delay place.
    folder
        Where its log goes.
    seed
        Of the jitter.

    Raises
    ------
    DelayLineError
        It is not ready in time.
    ProcessError
        It cannot be started.
    """
    program = find_delay_line()
    if program is None:
        raise DelayLineError(f"{PROGRAM_NAME} has disappeared since the start of this program; run make setup")
    argv = inside(shell_pid, delay_line_command(program, relays, realtime=realtime, seed=seed))
    log = _log(folder)
    before = log.stat().st_size if log.exists() else 0  # of an earlier run in a folder that is kept
    supervisor.start(ProcessSpec(DELAY_LINE, DELAY_PLACE, tuple(argv), log, gentle=True))
    _wait_line(log, before)


def ask_delay_line(pid: int, folder: Path) -> DelayReport:
    """Counters of a running delay line.

    Parameters
    ----------
    pid
        Of the delay line.
    folder
        Where its log is.

    Raises
    ------
    DelayLineError
        It does not answer.
    """
    log = _log(folder)
    size = log.stat().st_size
    os.kill(pid, signal.SIGUSR1)
    return parse_report(_wait_line(log, size))


def _log(folder: Path) -> Path:
    return folder / f"{DELAY_LINE}.log"


def _wait_line(log: Path, offset: int) -> str:
    """The first whole line that stands in a log after an offset."""
    deadline = time.monotonic() + _ANSWER_S
    while time.monotonic() < deadline:
        line, end, _ = log.read_bytes()[offset:].decode().partition("\n")
        if end:
            parse_report(line)
            return line
        time.sleep(_POLL_S)
    raise DelayLineError(f"the delay line does not answer within {_ANSWER_S:g} s; see {log}")
