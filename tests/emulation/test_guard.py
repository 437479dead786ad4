"""The guard of a run: what a killed program leaves goes, what a living one has stays, and no guard outlives its run."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from emulation.clean import clean_all, marked_processes
from emulation.guard import GUARD
from emulation.runfile import STATE_VARIABLE, ProcessId, RunRecord, is_alive, list_runs
from tests.patience import wait_until

# Owner of a run with a guard, a process and a folder, as an emulated network has them, but without one.
OWNER = """
import os, subprocess, sys, time
from pathlib import Path
from emulation.guard import start_guard
from emulation.runfile import RunFile
run_file = RunFile("owner")
start_guard(run_file)
run_file.add_folder(run_file.temporary_folder)
(run_file.temporary_folder / "conf.db").write_text("x")
sleeper = subprocess.Popen(["sleep", "600"], env={**os.environ, **run_file.environment}, start_new_session=True)
run_file.add_process(sleeper.pid, "sleep", "h1")
print("ready", flush=True)
time.sleep(600)
"""
# The same with a small network; "end" on its input ends it.
NETWORK = """
import sys
from mininet_topos import toy
from emulation.decide.options import EmulationOptions
from emulation.network import EmulatedNetwork
with EmulatedNetwork(toy.pair(), EmulationOptions(bfd_interval_ms=100), command="network") as net:
    net.popen("h1", ["ping", "-q", "10.0.0.2"])
    print("ready", flush=True)
    sys.stdin.read()
"""


@pytest.fixture(autouse=True)
def state(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Run files of the test itself, away from other runs of this machine."""
    folder = tmp_path_factory.mktemp("st")
    monkeypatch.setenv(STATE_VARIABLE, str(folder))
    return folder


class Program:
    """A program in a process group of its own, and its run."""

    def __init__(self, text: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", text], stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
        )
        assert self.process.stdout is not None
        assert self.process.stdout.readline() == b"ready\n"
        (self.run,) = list_runs()

    @property
    def guard(self) -> ProcessId:
        """Its guard."""
        return next(process for name, process in recorded(self.run) if name == GUARD)

    def kill(self) -> None:
        """Kill -9."""
        self.process.kill()
        self.process.wait()

    def close(self) -> None:
        """End it, however far it has come."""
        self.process.kill()
        self.process.communicate()


def recorded(run: RunRecord) -> list[tuple[str, ProcessId]]:
    """Processes that a run file names."""
    return [(str(one["name"]), ProcessId(int(one["pid"]), int(one["start_ticks"]))) for one in run.of_kind("process")]


def is_gone(run: RunRecord) -> bool:
    """Whether nothing is left of a run: no process, hence no namespace and no link, no folder, no run file."""
    folders = [Path(str(one["path"])) for one in run.of_kind("folder")]
    running = [name for name, process in recorded(run) if is_alive(process)] + marked_processes(run.run_id)
    return not running and not run.path.exists() and not any(folder.exists() for folder in folders)


@pytest.fixture
def owner() -> Iterator[Program]:
    program = Program(OWNER)
    yield program
    program.close()
    clean_all()


def test_what_a_killed_program_leaves_goes_without_being_asked(owner: Program) -> None:
    assert not is_gone(owner.run)
    owner.kill()
    wait_until(lambda: is_gone(owner.run), "the guard has removed everything", 60)


def test_an_interrupt_of_the_terminal_does_not_reach_the_guard(owner: Program) -> None:
    assert os.getsid(owner.guard.pid) == owner.guard.pid != owner.process.pid
    os.killpg(owner.process.pid, signal.SIGINT)  # as Ctrl-C does; this program does not clean up after itself
    owner.process.wait()
    wait_until(lambda: is_gone(owner.run), "the guard has removed everything", 60)


def test_when_the_guard_is_killed_too_clean_removes_everything(owner: Program) -> None:
    os.kill(owner.guard.pid, signal.SIGKILL)
    owner.kill()
    assert not is_gone(owner.run)
    (report,) = clean_all()
    assert (report.run_id, report.skipped) == (owner.run.run_id, "")
    assert is_gone(owner.run)


def test_clean_and_guard_at_the_same_time_do_not_hinder_each_other(owner: Program) -> None:
    owner.kill()
    assert all(not report.skipped for report in clean_all())
    wait_until(lambda: is_gone(owner.run), "both are done", 60)


def test_runs_of_other_programs_stay(owner: Program, state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other_state = state / "other"
    monkeypatch.setenv(STATE_VARIABLE, str(other_state))
    other = Program(OWNER)
    other.kill()
    wait_until(lambda: is_gone(other.run), "the other guard has removed everything", 60)
    assert all(is_alive(process) for _, process in recorded(owner.run))


@pytest.mark.emulation
def test_a_network_whose_program_is_killed_leaves_nothing() -> None:
    program = Program(NETWORK)
    assert {"ovs-vswitchd", "ovsdb-server", "shell", GUARD} <= {name for name, _ in recorded(program.run)}
    program.kill()
    wait_until(lambda: is_gone(program.run), "the guard has removed everything", 60)
    program.close()


@pytest.mark.emulation
def test_a_network_that_ends_leaves_no_guard() -> None:
    program = Program(NETWORK)
    program.process.communicate(timeout=60)
    assert program.process.returncode == 0
    assert is_gone(program.run)
