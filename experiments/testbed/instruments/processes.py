"""Programs that a measurement runs: whether they still do, and how they are ended (ask, wait, insist)."""

from __future__ import annotations

import subprocess
from collections.abc import Iterable
from signal import Signals

from mininet_topos.errors import ArmorError


class ProgramEndedError(ArmorError):
    """A program that a measurement needs has ended before it should; what it would have measured is missing."""


def require_running(named: Iterable[tuple[str, subprocess.Popen[bytes]]]) -> None:
    """Refuse to go on without a program that ends by a signal only.

    Raises
    ------
    ProgramEndedError
        One has ended; the message has its name, and how.
    """
    for name, process in named:
        code = process.poll()
        if code is not None:
            raise ProgramEndedError(f"{name} ended before its time ({_how(code)}); run this again")


def require_unkilled(named: Iterable[tuple[str, subprocess.Popen[bytes]]]) -> None:
    """Refuse what a program says that a signal has ended; it may still run, or have ended by itself.

    Raises
    ------
    ProgramEndedError
        A signal has ended one; the message has its name, and which.
    """
    require_running((name, process) for name, process in named if (process.poll() or 0) < 0)


def _how(code: int) -> str:
    return Signals(-code).name if code < 0 else f"exit code {code}"


def end_all(processes: Iterable[subprocess.Popen[bytes]], signal: Signals, patience_s: float) -> None:
    """Send `signal` to all that still run, and kill those that are there `patience_s` later."""
    running = [process for process in processes if process.poll() is None]
    for process in running:
        process.send_signal(signal)
    for process in running:
        _wait_or_kill(process, patience_s)


def _wait_or_kill(process: subprocess.Popen[bytes], patience_s: float) -> None:
    try:
        process.wait(timeout=patience_s)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
