"""The run file and the clean-up: exactly what a run created goes, whatever happened to the run."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from emulation.clean import NEWBORN_S, LiveRunError, clean_all, clean_run, marked_processes
from emulation.runfile import (
    MARKER_NAME,
    RUN_VARIABLE,
    STATE_VARIABLE,
    ProcessId,
    RunFile,
    RunFileError,
    is_alive,
    is_within_exec,
    list_runs,
    read_run_file,
    start_ticks,
    state_dir,
)
from mininet_topos.errors import MissingRequirementError
from tests.patience import wait_until

Starter = Callable[..., "subprocess.Popen[bytes]"]
MARK = f"mark-of-test-run-{os.getpid()}"  # other runs of these tests may be under way on this machine


@pytest.fixture
def sleeper() -> Iterator[Starter]:
    """Starts a process that only sleeps; those left are ended with the test."""
    started: list[subprocess.Popen[bytes]] = []

    def start(**environment: str) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(["sleep", "60"], env={**os.environ, **environment})
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.wait()


def abandon(run_file: RunFile) -> None:
    """Make a run look as if its owner had been killed: the head names a process that is gone."""
    gone = subprocess.Popen(["true"])
    ticks = start_ticks(gone.pid) or 0
    gone.wait()
    head, *rest = run_file.path.read_text(encoding="utf-8").splitlines()
    changed = json.loads(head) | {"pid": gone.pid, "start_ticks": ticks}
    run_file.path.write_text("\n".join([json.dumps(changed), *rest]) + "\n", encoding="utf-8")


def test_a_run_file_reads_back_what_was_written(tmp_path: Path) -> None:
    run_file = RunFile("armor demo", tmp_path)
    run_file.add("namespace", place="s1", inode=4026531840)
    run_file.add_all({"kind": "interface", "place": "s1", "name": f"s1-eth{port}"} for port in (1, 2))
    (run,) = list_runs(tmp_path)
    assert (run.run_id, run.command) == (run_file.run_id, "armor demo")
    assert run.owner == ProcessId(os.getpid(), start_ticks(os.getpid()) or 0)
    assert [record["name"] for record in run.of_kind("interface")] == ["s1-eth1", "s1-eth2"]
    run_file.close()
    assert list_runs(tmp_path) == ()


def test_the_state_folder_follows_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(STATE_VARIABLE, str(tmp_path))
    assert state_dir() == tmp_path


def test_an_unwritable_state_folder_is_named(tmp_path: Path) -> None:
    blocker = tmp_path / "file"
    blocker.write_text("", encoding="ascii")
    with pytest.raises(MissingRequirementError, match=STATE_VARIABLE):
        RunFile(folder=blocker)


def test_a_line_cut_short_by_a_crash_is_left_out(tmp_path: Path) -> None:
    run_file = RunFile(folder=tmp_path)
    run_file.add("folder", path="/nowhere")
    with run_file.path.open("a", encoding="ascii") as file:
        file.write('{"kind": "proc')
    assert [record["kind"] for record in read_run_file(run_file.path).records] == ["folder"]


@pytest.mark.parametrize("text", ["", "hello\n", '{"kind": "run", "version": 99}\n', '{"kind": "process"}\n'])
def test_a_file_that_is_no_run_file_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text(text, encoding="ascii")
    with pytest.raises(RunFileError, match="by hand"):
        read_run_file(path)


def test_a_reused_process_id_is_not_taken_for_the_old_process(sleeper: Starter) -> None:
    process = sleeper()
    ticks = start_ticks(process.pid)
    assert ticks is not None
    assert is_alive(ProcessId(process.pid, ticks))
    assert not is_alive(ProcessId(process.pid, ticks - 1))
    process.kill()
    process.wait()
    assert not is_alive(ProcessId(process.pid, ticks))


def test_a_zombie_is_not_running(sleeper: Starter) -> None:
    process = sleeper()
    identity = ProcessId(process.pid, start_ticks(process.pid) or 0)
    process.kill()
    while is_alive(identity):  # not waited for, so it stays a zombie
        time.sleep(0.005)
    assert start_ticks(process.pid) == identity.start_ticks


def test_a_live_run_is_left_alone_without_force(tmp_path: Path, sleeper: Starter) -> None:
    run_file = RunFile(folder=tmp_path)
    process = sleeper()
    run_file.add_process(process.pid, "sleep", "h1")
    (report,) = clean_all(folder=tmp_path)
    assert "still at work" in report.skipped
    assert process.poll() is None
    with pytest.raises(LiveRunError, match=run_file.run_id):
        clean_run(read_run_file(run_file.path))
    run_file.close()


def test_an_abandoned_run_loses_its_processes_folders_and_file_and_nothing_else(
    tmp_path: Path, sleeper: Starter
) -> None:
    run_file = RunFile("armor run", tmp_path)
    recorded, unrelated = sleeper(), sleeper()
    forgotten = sleeper(**{RUN_VARIABLE: run_file.run_id})  # killed before it could be written down
    other_run = sleeper(**{RUN_VARIABLE: run_file.run_id + "0"})
    run_file.add_process(recorded.pid, "ovs-vswitchd", "s1")
    folder = tmp_path / "work"
    run_file.add_folder(folder)
    (folder / "conf.db").write_text("x", encoding="ascii")
    abandon(run_file)
    (report,) = clean_all(folder=tmp_path)
    assert report.processes == ("ovs-vswitchd@s1", f"process {forgotten.pid}")
    assert report.folders == (str(folder),)
    assert not folder.exists()
    assert not run_file.path.exists()
    assert recorded.wait() == forgotten.wait() == -9
    assert unrelated.poll() is None
    assert other_run.poll() is None
    assert clean_all(folder=tmp_path) == ()


def test_a_child_that_gets_its_mark_after_the_first_look_goes_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_file = RunFile(folder=tmp_path)
    become = f"import os; input(); os.execvpe('sleep', ['sleep', '60'], {{'{RUN_VARIABLE}': '{run_file.run_id}'}})"
    newborn = subprocess.Popen([sys.executable, "-c", become], stdin=subprocess.PIPE)
    assert newborn.stdin is not None
    stdin, pause = newborn.stdin, time.sleep
    abandon(run_file)

    def mark_meanwhile(seconds: float) -> None:
        pause(seconds)
        if seconds == NEWBORN_S:
            stdin.write(b"\n")
            stdin.close()
            wait_until(lambda: marked_processes(run_file.run_id), "its mark is there", 30)

    monkeypatch.setattr(time, "sleep", mark_meanwhile)
    (report,) = clean_all(folder=tmp_path)
    try:
        assert report.processes == (f"process {newborn.pid}",)
        assert newborn.wait() == -9
    finally:
        newborn.kill()
        newborn.wait()


def test_what_was_started_last_is_killed_first(
    tmp_path: Path, sleeper: Starter, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So a switch goes before its database."""
    run_file = RunFile(folder=tmp_path)
    pids = [sleeper().pid for _ in range(3)]
    for pid in pids:
        run_file.add_process(pid, "sleep", "s1")
    abandon(run_file)
    killed, kill = list[int](), os.kill

    def noted(pid: int, number: int) -> None:
        killed.append(pid)
        kill(pid, number)

    monkeypatch.setattr(os, "kill", noted)
    clean_all(folder=tmp_path)
    assert killed == pids[::-1]


def test_a_process_with_a_reused_id_survives_the_clean_up(tmp_path: Path, sleeper: Starter) -> None:
    run_file = RunFile(folder=tmp_path)
    innocent = sleeper()
    run_file.add("process", pid=innocent.pid, start_ticks=1, name="ovs-vswitchd", place="s1")
    abandon(run_file)
    (report,) = clean_all(folder=tmp_path)
    assert report.processes == ()
    assert innocent.poll() is None


def test_a_run_of_an_earlier_boot_kills_nothing(tmp_path: Path, sleeper: Starter) -> None:
    run_file = RunFile(folder=tmp_path)
    innocent = sleeper()
    run_file.add_process(innocent.pid, "ovs-vswitchd", "s1")
    head, *rest = run_file.path.read_text(encoding="utf-8").splitlines()
    changed = json.loads(head) | {"boot_id": "another"}
    run_file.path.write_text("\n".join([json.dumps(changed), *rest]) + "\n", encoding="utf-8")
    (report,) = clean_all(folder=tmp_path)
    assert report.processes == ()
    assert innocent.poll() is None
    assert not run_file.path.exists()


def test_a_folder_without_the_runs_marker_is_not_removed(tmp_path: Path) -> None:
    run_file = RunFile(folder=tmp_path)
    folder = tmp_path / "work"
    run_file.add_folder(folder)
    (folder / MARKER_NAME).unlink()
    (folder / "thesis.txt").write_text("x", encoding="ascii")
    abandon(run_file)
    later = RunFile("another", tmp_path)
    abandon(later)
    first, second = clean_all(folder=tmp_path)
    assert "marker" in first.skipped
    assert (second.command, second.skipped) == ("another", "")
    assert (folder / "thesis.txt").exists()
    assert run_file.path.exists()


@pytest.mark.parametrize("marker", [None, ""], ids=["no marker yet", "an empty marker"])
def test_a_folder_goes_whose_run_was_killed_while_it_made_that(tmp_path: Path, marker: str | None) -> None:
    run_file = RunFile(folder=tmp_path)
    folder = tmp_path / "work"
    run_file.add("folder", path=str(folder))
    folder.mkdir()
    if marker is not None:
        (folder / MARKER_NAME).write_text(marker, encoding="ascii")
    abandon(run_file)
    (report,) = clean_all(folder=tmp_path)
    assert (report.folders, report.skipped) == ((str(folder),), "")
    assert not folder.exists()


def test_half_of_a_run_gone_already_is_no_trouble(tmp_path: Path) -> None:
    run_file = RunFile(folder=tmp_path)
    run_file.add("folder", path=str(tmp_path / "never made"))
    run_file.add("process", pid=2**22 + 1, start_ticks=5, name="agent", place="s1")
    run_file.add("namespace", place="s1", inode=1)
    abandon(run_file)
    (report,) = clean_all(folder=tmp_path)
    assert (report.processes, report.namespaces, report.folders) == ((), (), ())


def test_force_kills_the_owner_first(tmp_path: Path) -> None:
    script = (
        "import sys, time, subprocess\n"
        "from pathlib import Path\n"
        "from emulation.runfile import RunFile\n"
        "run = RunFile('owner', Path(sys.argv[1]))\n"
        "child = subprocess.Popen(['sleep', '60'], env={**__import__('os').environ, **run.environment})\n"
        "run.add_process(child.pid, 'sleep', 'h1')\n"
        "print('ready', flush=True)\n"
        "time.sleep(60)\n"
    )
    owner = subprocess.Popen([sys.executable, "-c", script, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    assert owner.stdout is not None
    assert owner.stdout.readline() == "ready\n"
    (report,) = clean_all(force=True, folder=tmp_path)
    assert report.processes == ("sleep@h1",)
    assert owner.wait() == -9
    owner.stdout.close()


def test_marked_processes_leave_this_process_out(monkeypatch: pytest.MonkeyPatch, sleeper: Starter) -> None:
    process = sleeper(**{RUN_VARIABLE: f"{MARK}-of-both"})
    monkeypatch.setenv(RUN_VARIABLE, f"{MARK}-of-both")
    assert [found.pid for found in marked_processes(f"{MARK}-of-both")] == [process.pid]


@pytest.mark.slow
def test_marked_processes_miss_none_that_is_still_within_exec(sleeper: Starter) -> None:
    for number in range(100):
        process = sleeper(**{RUN_VARIABLE: f"{MARK}-{number}"})
        assert [found.pid for found in marked_processes(f"{MARK}-{number}")] == [process.pid]


def test_a_process_is_within_exec_until_it_shows_its_environment(sleeper: Starter) -> None:
    many = {f"V{number}": "" for number in range(30_000)}  # the more there are, the longer an exec takes
    for _ in range(10):
        process = sleeper(**many)
        was_within = is_within_exec(process.pid)
        while not Path(f"/proc/{process.pid}/environ").read_bytes():
            assert was_within
            was_within = is_within_exec(process.pid)


def test_a_process_that_never_has_an_environment_is_not_within_exec() -> None:
    bare = subprocess.Popen(["sleep", "60"], env={})
    try:
        deadline = time.monotonic() + 10
        while is_within_exec(bare.pid) and time.monotonic() < deadline:
            time.sleep(0.01)
        assert Path(f"/proc/{bare.pid}/environ").read_bytes() == b""
        kernel_thread = 2
        assert [pid for pid in (bare.pid, kernel_thread) if is_within_exec(pid)] == []
    finally:
        bare.kill()
        bare.wait()


def test_a_folder_below_tmp_that_somebody_else_has_made_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    nobody = 2**31 - 7
    for name in (STATE_VARIABLE, "XDG_RUNTIME_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(os, "geteuid", lambda: nobody)
    monkeypatch.setattr(os, "getuid", lambda: nobody)
    taken = Path(f"/tmp/armor-{nobody}")
    assert state_dir() == taken / "armor"
    taken.mkdir()
    try:
        with pytest.raises(MissingRequirementError, match=f"{taken} belongs to another user"):
            state_dir()
    finally:
        taken.rmdir()
