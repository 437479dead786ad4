"""Ctrl-C while workers are busy."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

COMMAND = "verify sdfast darkstrand --failures 3 --sample 4000 --max-failures 2 --jobs 2".split()
PATIENCE_S = 60


def test_ctrl_c_ends_verify_and_its_workers_with_one_line():
    process = subprocess.Popen(
        [sys.executable, "-m", "experiments", *COMMAND],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        workers = wait_for_workers(process)
        os.killpg(process.pid, signal.SIGINT)
        out, err = process.communicate(timeout=PATIENCE_S)
    finally:
        process.kill()
    assert (process.returncode, out) == (130, "")
    assert err.count("\n") == 1
    assert "Traceback" not in err
    assert not [worker for worker in workers if is_running(worker)]


def wait_for_workers(process):
    """Process ids of the workers, once there are two."""
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline and process.poll() is None:
        if len(found := children.read_text().split()) >= 2:
            return found
        time.sleep(0.05)
    raise AssertionError("verify ended, or started no workers")


def is_running(pid):
    stat = Path(f"/proc/{pid}/stat")
    return stat.exists() and stat.read_text().rpartition(")")[2].split()[0] != "Z"
