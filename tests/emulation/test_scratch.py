"""A folder with processes outside a network: gone at its end, after an interrupt, and when its program is killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from emulation.clean import marked_processes
from emulation.runfile import STATE_VARIABLE, list_runs
from emulation.scratch import scratch
from tests.patience import patient_s, wait_until
from tests.signals import heard_as_from_a_terminal

PROGRAM = """
import os, subprocess, sys, time
from emulation.scratch import scratch
with scratch("test") as place:
    (place.folder / "conf.db").write_text("x")
    subprocess.Popen(["sleep", "600"], env={**os.environ, **place.environment}, start_new_session=True)
    print("ready", flush=True)
    time.sleep(600)
"""


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Run files of the test itself, away from other runs of this machine."""
    monkeypatch.setenv(STATE_VARIABLE, str(tmp_path))
    return tmp_path


def left(state: Path) -> list[str]:
    """Files and folders of runs."""
    return [path.name for kind in ("runs", "tmp") if (state / kind).exists() for path in (state / kind).iterdir()]


def test_at_the_end_its_processes_and_its_folder_go(state: Path) -> None:
    with scratch("test") as place:
        sleeper = subprocess.Popen(["sleep", "600"], env={**os.environ, **place.environment}, start_new_session=True)
        (place.folder / "conf.db").write_text("x")
        (run,) = list_runs(state)
    assert sleeper.wait(patient_s(10)) == -signal.SIGKILL
    assert marked_processes(run.run_id) == []
    assert left(state) == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_when_its_program_is_interrupted_or_killed_everything_goes(number: int, state: Path) -> None:
    restored = (
        "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # a background job ignores it
    )
    with subprocess.Popen(
        [sys.executable, "-c", restored + PROGRAM], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as program:
        assert program.stdout is not None
        assert program.stdout.readline() == b"ready\n"
        (run,) = list_runs(state)
        assert len(marked_processes(run.run_id)) == 2  # the guard and the sleeper
        program.send_signal(number)
    wait_until(lambda: not left(state) and not marked_processes(run.run_id), "all is removed", 60)


def test_a_second_interrupt_while_it_ends_leaves_nothing(state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from emulation import guard

    sweep = guard.sweep

    def interrupted(run):
        signal.raise_signal(signal.SIGINT)
        return sweep(run)

    monkeypatch.setattr(guard, "sweep", interrupted)
    with heard_as_from_a_terminal(), pytest.raises(KeyboardInterrupt, match="first"), scratch("test"):
        raise KeyboardInterrupt("first")
    assert left(state) == []
