"""An interrupt at the worst moment: a process runs already, and its starter does not know it yet."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest


@contextmanager
def interrupted_starts(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[subprocess.Popen[Any]]]:
    """Each process that is started in the block brings a SIGINT before its starter knows it; gives these processes."""
    started: list[subprocess.Popen[Any]] = []
    popen, before = subprocess.Popen, signal.signal(signal.SIGINT, signal.default_int_handler)

    def interrupted(*arguments: Any, **parameters: Any) -> subprocess.Popen[Any]:
        started.append(popen(*arguments, **parameters))
        signal.raise_signal(signal.SIGINT)
        return started[-1]

    try:
        with monkeypatch.context() as patch:
            patch.setattr(subprocess, "Popen", interrupted)
            yield started
    finally:
        signal.signal(signal.SIGINT, before)
        for process in started:
            process.kill()
