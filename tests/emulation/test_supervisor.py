"""The supervisor: what ends is started again, what is held stays stopped, nothing survives the close."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from emulation import supervisor
from emulation.runfile import RunFile, is_within_exec, list_runs
from emulation.running import RunningNetwork
from emulation.supervisor import MAX_RESTARTS, ProcessError, ProcessSpec, Supervisor
from machine.event_log import EventLog
from tests.patience import wait_until


class Testbed:
    """A supervisor with its run file and events in a temporary folder."""

    def __init__(self, folder: Path, *, restart: bool) -> None:
        self.folder = folder
        self.run_file = RunFile(folder=folder)
        self.events = EventLog("test", folder / "events.jsonl")
        self.supervisor = Supervisor(self.run_file, self.events, restart=restart)

    def spec(self, *argv: str, process: str = "agent", gentle: bool = False, realtime: bool = False) -> ProcessSpec:
        log = self.folder / f"{process}.log"
        return ProcessSpec(process, "s1", argv, log, {"COLOUR": "red"}, gentle=gentle, realtime=realtime)

    def event_names(self) -> list[str]:
        lines = (self.folder / "events.jsonl").read_text(encoding="utf-8").splitlines()
        return [json.loads(line)["event"] for line in lines]


@pytest.fixture
def testbed(tmp_path: Path) -> Iterator[Testbed]:
    made = Testbed(tmp_path, restart=True)
    yield made
    made.supervisor.close()


def test_a_killed_process_comes_back_with_another_id_and_is_written_down(testbed: Testbed) -> None:
    first = testbed.supervisor.start(testbed.spec("sleep", "60"))
    testbed.supervisor.kill("agent", "s1")
    wait_until(lambda: testbed.supervisor.restarts, "it was started again")
    second = testbed.supervisor.pid_of("agent", "s1")
    assert second != first
    (restart,) = testbed.supervisor.restarts
    assert (restart.process, restart.place, restart.pid) == ("agent", "s1", second)
    recorded = [record["pid"] for record in list_runs(testbed.folder)[0].of_kind("process")]
    assert recorded == [first, second]
    assert testbed.event_names() == ["error", "restart"]


def test_children_carry_the_mark_of_the_run_and_their_own_variables(testbed: Testbed) -> None:
    pid = testbed.supervisor.start(testbed.spec("sleep", "60"))
    wait_until(lambda: not is_within_exec(pid), "the program has begun")
    variables = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    assert f"ARMOR_RUN={testbed.run_file.run_id}".encode() in variables
    assert b"COLOUR=red" in variables


def test_children_stand_in_their_own_session_so_that_ctrl_c_does_not_reach_them(testbed: Testbed) -> None:
    pid = testbed.supervisor.start(testbed.spec("sleep", "60"))
    assert os.getsid(pid) == pid


def test_a_process_that_keeps_ending_is_left_stopped_and_reported(
    testbed: Testbed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(supervisor, "RESTART_WINDOW_S", 3600.0)  # however slowly this machine restarts it
    testbed.supervisor.start(testbed.spec("false"))
    wait_until(lambda: testbed.supervisor.problems, "it is given up")
    assert testbed.supervisor.problems == [f"agent@s1 ended {MAX_RESTARTS} times within 3600 s; left stopped"]
    assert len(testbed.supervisor.restarts) == MAX_RESTARTS - 1
    assert not testbed.supervisor.is_running("agent", "s1")


def test_a_process_that_is_killed_on_request_comes_back_however_often(
    testbed: Testbed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(supervisor, "RESTART_WINDOW_S", 3600.0)  # however slowly this machine restarts it
    testbed.supervisor.start(testbed.spec("sleep", "60"))
    for times in range(1, MAX_RESTARTS + 2):
        testbed.supervisor.kill("agent", "s1")
        wait_until(lambda times=times: len(testbed.supervisor.restarts) == times, "it was started again")
    assert testbed.supervisor.problems == []
    assert testbed.supervisor.stopped == ()


def test_a_network_in_which_a_process_does_not_run_is_at_fault(tmp_path: Path) -> None:
    testbed = Testbed(tmp_path, restart=False)
    network = RunningNetwork()
    network.queue_verdict, network._supervisor = None, testbed.supervisor
    testbed.supervisor.start(testbed.spec("sleep", "60", process="held"))
    testbed.supervisor.hold("held", "s1")
    testbed.supervisor.start(testbed.spec("sleep", "60", process="runs"))
    assert network.faults == ()
    testbed.supervisor.start(testbed.spec("false"))
    wait_until(lambda: testbed.supervisor.problems, "its end is seen")
    assert network.faults == ("agent@s1 does not run; its log says why it ended",)
    testbed.supervisor.close()


def test_without_restart_a_death_is_a_problem(tmp_path: Path) -> None:
    testbed = Testbed(tmp_path, restart=False)
    testbed.supervisor.start(testbed.spec("sh", "-c", "exit 3"))
    wait_until(lambda: testbed.supervisor.problems, "its end is reported")
    assert testbed.supervisor.problems == ["agent@s1 ended with status 3"]
    testbed.supervisor.close()


def test_a_held_process_stays_stopped_until_it_is_released(testbed: Testbed) -> None:
    testbed.supervisor.start(testbed.spec("sleep", "60"))
    testbed.supervisor.hold("agent", "s1")
    assert not testbed.supervisor.is_running("agent", "s1")
    assert testbed.supervisor.restarts == []
    testbed.supervisor.release("agent", "s1")
    assert testbed.supervisor.is_running("agent", "s1")
    assert testbed.event_names() == ["restart"]


def test_starting_what_runs_is_refused(testbed: Testbed) -> None:
    testbed.supervisor.start(testbed.spec("sleep", "60"))
    with pytest.raises(ProcessError, match="already runs"):
        testbed.supervisor.start(testbed.spec("sleep", "60"))


def test_refused_real_time_priority_is_reported_once_and_the_process_runs(
    testbed: Testbed, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError

    monkeypatch.setattr(os, "sched_setscheduler", refuse)
    for name in ("first", "second"):
        testbed.supervisor.start(testbed.spec("sleep", "60", process=name, realtime=True))
        assert testbed.supervisor.is_running(name, "s1")
    assert len(testbed.supervisor.problems) == 1
    assert "real-time" in testbed.supervisor.problems[0]


def test_real_time_processes_are_killed_first_so_that_none_runs_without_rest_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    testbed = Testbed(tmp_path, restart=False)
    killed, kill = list[int](), subprocess.Popen.kill

    def noted(process: subprocess.Popen[bytes]) -> None:
        killed.append(process.pid)
        kill(process)

    monkeypatch.setattr(subprocess.Popen, "kill", noted)
    pids = [
        testbed.supervisor.start(testbed.spec("sleep", "60", process=name, realtime=realtime))
        for name, realtime in (("ovsdb-server", False), ("ovs-vswitchd", True), ("agent", False))
    ]
    testbed.supervisor.close()
    assert killed == [pids[1], pids[0], pids[2]]


def test_a_program_that_does_not_exist_is_named(testbed: Testbed) -> None:
    with pytest.raises(ProcessError, match="no-such-program-anywhere"):
        testbed.supervisor.start(testbed.spec("no-such-program-anywhere"))


def test_asking_for_a_process_that_does_not_run_lists_those_of_the_run(testbed: Testbed) -> None:
    testbed.supervisor.start(testbed.spec("sleep", "60"))
    with pytest.raises(ProcessError, match="agent@s1"):
        testbed.supervisor.pid_of("agent", "s9")


def close_once_up(testbed: Testbed, *pids: int) -> None:
    """Close as soon as every process has said that it is up; none is there afterwards."""
    for log in testbed.folder.glob("*.log"):
        wait_until(lambda log=log: "up" in log.read_text(encoding="ascii"), f"{log.stem} is up")
    testbed.supervisor.close()
    assert not [pid for pid in pids if Path(f"/proc/{pid}").exists()]
    assert testbed.supervisor.restarts == []


def test_gentle_processes_may_say_good_bye(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(supervisor, "_TERMINATE_WAIT_S", 60.0)  # a moment, on this machine
    testbed = Testbed(tmp_path, restart=True)
    words = 'trap "echo bye; exit" TERM; echo up; while :; do sleep 0.01; done'
    polite = testbed.supervisor.start(testbed.spec("sh", "-c", words, process="polite", gentle=True))
    close_once_up(testbed, polite)
    assert (tmp_path / "polite.log").read_text(encoding="ascii") == "up\nbye\n"


def test_stubborn_processes_and_those_that_are_not_gentle_are_killed(tmp_path: Path) -> None:
    testbed = Testbed(tmp_path, restart=True)
    stubborn = 'trap "" TERM; echo up; while :; do sleep 0.01; done'
    polite = 'trap "echo bye; exit" TERM; echo up; while :; do sleep 0.01; done'
    close_once_up(
        testbed,
        testbed.supervisor.start(testbed.spec("sh", "-c", stubborn, process="stubborn", gentle=True)),
        testbed.supervisor.start(testbed.spec("sh", "-c", polite, process="plain")),
    )
    assert (tmp_path / "plain.log").read_text(encoding="ascii") == "up\n"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
def test_a_full_disk_is_reported_and_does_not_end_the_watching(testbed: Testbed, tmp_path: Path) -> None:
    full = EventLog("test", tmp_path / "full.jsonl")
    testbed.supervisor._events = full
    os.dup2(os.open("/dev/full", os.O_WRONLY), full._descriptor)
    for times in (1, 2):
        testbed.supervisor.start(testbed.spec("sleep", "60", process=f"agent{times}"))
        testbed.supervisor.kill(f"agent{times}", "s1")
        wait_until(lambda times=times: len(testbed.supervisor.restarts) == times, "it was started again")
    assert "the event log cannot be written (No space left on device)" in testbed.supervisor.problems[0]


def test_nothing_is_started_once_the_end_has_begun(tmp_path: Path) -> None:
    testbed = Testbed(tmp_path, restart=True)
    testbed.supervisor.close()
    with pytest.raises(ProcessError, match="agent@s1 is not started: the network ends"):
        testbed.supervisor.start(testbed.spec("sleep", "60"))
