"""Ending programs: ask, wait, insist."""

from __future__ import annotations

import subprocess
from collections.abc import Iterable
from signal import Signals


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
