"""Signals while workers are busy: they end with the process that started them, however it ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from emulation.runfile import ProcessId, is_alive, start_ticks
from experiments.verify.result import Tally
from experiments.verify.workers import tallies
from tests.patience import patient_s, wait_until

pytestmark = pytest.mark.slow

COMMAND = "verify sdfast darkstrand --failures 3 --sample 4000 --max-failures 2 --jobs 2".split()
PATIENCE_S = patient_s(60)


@pytest.mark.parametrize(
    ("number", "delay_ms"),
    [(signal.SIGINT, 0), (signal.SIGINT, 5), (signal.SIGINT, 500), (signal.SIGTERM, 50), (signal.SIGHUP, 50)],
)
def test_a_signal_to_all_ends_verify_and_its_workers_with_one_line(number, delay_ms):
    with verifying() as process:
        workers = wait_for_workers(process)
        time.sleep(delay_ms / 1000)
        os.killpg(process.pid, number)
        out, err = process.communicate(timeout=PATIENCE_S)
    assert (process.returncode, out, err) == (130, "", "armor: interrupted\n")
    assert not [worker for worker in workers if is_alive(worker)]


def test_workers_end_when_verify_is_killed():
    with verifying() as process:
        workers = wait_for_workers(process)
        process.kill()
        process.wait(PATIENCE_S)
        wait_until(lambda: not any(map(is_alive, workers)), "the workers have ended", 60)


def test_a_killed_worker_is_reported_in_one_line():
    with verifying() as process:
        os.kill(wait_for_workers(process)[0].pid, signal.SIGKILL)
        out, err = process.communicate(timeout=PATIENCE_S)
    assert (process.returncode, out) == (1, "")
    assert err == "armor: a worker process was killed, for want of memory perhaps; ask for fewer --jobs\n"


class Sleepy:
    """A verifier that is done with its first failures at once, and never with others."""

    def tally(self, masks: list[int]) -> Tally:
        time.sleep(0 if masks == [0] else 3600)
        return Tally()


def test_an_interrupt_leaves_no_thread_for_python_to_stumble_over_as_it_ends():
    before = set(threading.enumerate())
    parts = tallies(Sleepy(), [[number] for number in range(5)], 2)
    next(parts)
    with pytest.raises(KeyboardInterrupt):
        parts.throw(KeyboardInterrupt())
    assert set(threading.enumerate()) == before


@contextmanager
def verifying() -> Iterator[subprocess.Popen[str]]:
    """A verification in a session of its own, which ends with the block."""
    process = subprocess.Popen(
        [sys.executable, "-m", "experiments", *COMMAND],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        yield process
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def wait_for_workers(process: subprocess.Popen[str]) -> list[ProcessId]:
    """Processes of the workers, once there are two."""
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")

    def found() -> list[str]:
        assert process.poll() is None, process.communicate()
        return pids if len(pids := children.read_text(encoding="ascii").split()) >= 2 else []

    pids = wait_until(found, "verify has started its workers", 60)
    return [ProcessId(int(pid), start_ticks(int(pid)) or 0) for pid in pids]
