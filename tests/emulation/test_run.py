"""Whole runs on real switches: a failure is detected, recovered from, repaired, and leaves nothing behind."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from emulation.clean import marked_processes
from emulation.guard import GUARD
from emulation.runfile import STATE_VARIABLE, list_runs
from experiments.cli.main import main
from tests.analysis.pcapng_reader import PcapngFile, read_pcapng
from tests.patience import wait_until
from tests.undisturbed import undisturbed_run

pytestmark = pytest.mark.emulation

SCENARIO = """\
topology: figure2
scheme: {scheme}
mode: {mode}
notification: {notification}
bfd_interval_ms: 100
wait_to_restore_s: 1
settle_s: 1
traffic:
  - {{from: h1, to: h5, interval_ms: 5, size_bytes: {size_bytes}}}
failures:
  - {failure}
duration_s: {duration_s}
"""
PROBE_BYTES = 14 + 20 + 8 + 400  # headers of Ethernet, IPv4 and UDP, and what size_bytes says
SILENT = "{link: [s4, s5], at_s: 0.5, repair_at_s: 2}"
LONG = "{link: [s4, s5], at_s: 0.5, repair_at_s: 4}"  # agents of a busy machine take their time


@pytest.fixture(autouse=True)
def own_state(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Run files of these tests lie apart, so that leftovers of others are not mistaken for theirs."""
    folder = tmp_path_factory.mktemp("state")
    monkeypatch.setenv(STATE_VARIABLE, str(folder))
    return folder


def write(folder: Path, **values: object) -> Path:
    path = folder / "scenario.yaml"
    given = {"notification": "off", "failure": SILENT, "duration_s": 7.0, "size_bytes": 64, **values}
    path.write_text(SCENARIO.format(**given), encoding="utf-8")
    return path


def run(folder: Path, capsys: pytest.CaptureFixture[str], *arguments: str, **scenario: object) -> tuple[int, dict]:
    code, (result,) = undisturbed_run(write(folder, **scenario), folder / "out", capsys, *arguments)
    return code, result


def packets_of(folder: Path) -> list[dict]:
    """What became of each packet of a run."""
    lines = (folder / "out" / "probes.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def lasted_ms(failure: dict) -> float:
    """From the failure to the repair, as they really were."""
    return (failure["until_s"] - failure["failure_s"]) * 1000


def is_never_steady(failure: dict) -> bool:
    """Whether no good state came before the repair; the last packet before it may meet it."""
    return (failure["stages_ms"]["steady"] or lasted_ms(failure)) > lasted_ms(failure) - 150


def assert_nothing_is_left(state: Path) -> None:
    assert list((state / "runs").iterdir()) == []
    assert not (state / "tmp").exists() or list((state / "tmp").iterdir()) == []


def assert_everybody_knew(result: dict, folder: Path) -> None:
    (failure,) = result["failures"]
    known = failure["notification"]
    assert known["knew"] == known["switches"] == len(known["knew_ms"]) == 8
    assert known["frames"] >= 7
    assert known["last_ms"] == max(known["knew_ms"].values())
    assert known["since"] == "detection"
    assert (folder / "knowledge.svg").stat().st_size > 0


@pytest.mark.parametrize("mode", ["learned", "agent"])
def test_a_notification_reaches_every_switch_and_the_run_says_when(
    mode: str, tmp_path: Path, own_state: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, result = run(tmp_path, capsys, scheme="sdfast", mode=mode, notification="flood", failure=LONG, duration_s=9.0)
    assert code == 0, result["claims"]
    assert_everybody_knew(result, tmp_path / "out")
    assert_nothing_is_left(own_state)


@pytest.mark.parametrize("mode", ["learned", "agent"])
def test_sdfast_recovers_by_backtracking_and_returns_after_the_repair(
    mode: str, tmp_path: Path, own_state: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, result = run(tmp_path, capsys, scheme="sdfast", mode=mode, failure=LONG, duration_s=9.0)
    (failure,) = result["failures"]
    stages = failure["stages_ms"]
    assert code == 0, result["claims"]
    assert all(claim["held"] for claim in result["claims"])
    assert len(result["claims"]) == 3
    assert result["sent"] == result["received"] + result["lost"]
    assert failure["lost"] > 0
    assert failure["notification"] is None
    assert result["backtracked"] >= 1
    assert stages["detect"] > 0
    assert stages["switch_over"] > 0
    assert stages["last_lost"] < stages["steady"]
    assert stages["first_good"] <= stages["steady"]
    folder = tmp_path / "out"
    for name in ("scenario.yaml", "environment.json", "events.jsonl", "probes.jsonl", "rows.jsonl", "verdict.json"):
        assert (folder / name).stat().st_size > 0
    assert sum(row["back_hops"] > 0 and row["sent_s"] >= 0 for row in packets_of(tmp_path)) == result["backtracked"]
    assert not (folder / "work").exists()
    assert_nothing_is_left(own_state)


def test_captures_are_kept_with_failure_and_repair_as_comments(
    tmp_path: Path, own_state: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before_ns = time.time_ns()
    code, result = run(tmp_path, capsys, "--pcap", scheme="sdfast", mode="learned", size_bytes=400)
    assert code == 0, result["claims"]
    verdict = json.loads((tmp_path / "out" / "verdict.json").read_text(encoding="utf-8"))
    (name,) = verdict["captures"]
    assert name == "captures/sdfast-learned.pcapng"
    file = read_pcapng((tmp_path / "out" / name).read_bytes())
    assert_frames_are_those_of_the_run(file, result, before_ns)
    failed, repaired = file.commented
    for packet, what, at_s in ((failed, "failure", 0.5), (repaired, "repair", 2)):
        (comment,) = packet[4]
        said = re.fullmatch(rf"{what} of s4-s5 \(silent\) at second {at_s} of the scenario, (\S+) ms .*", comment)
        assert said, comment
        assert 0 < float(said[1]) < 500
    assert (repaired[1] - failed[1]) / 1e9 > 1
    assert_nothing_is_left(own_state)


def assert_frames_are_those_of_the_run(file: PcapngFile, result: dict, before_ns: int) -> None:
    """By time, from every tap that saw packets, whole lengths of what was cut at 128 bytes."""
    names = [name for name, _, _ in file.interfaces]
    assert {"h1-eth0", "h5-eth0", "s4-eth2"} <= set(names)
    assert "what s4 sends to s5" in [description for _, description, _ in file.interfaces]
    stamps = [t_ns for _, t_ns, _, _, _ in file.packets]
    assert stamps == sorted(stamps)
    assert before_ns < stamps[0] < stamps[-1] < time.time_ns()
    requests = [packet for packet in file.packets if names[packet[0]] == "h1-eth0" and packet[3] == PROBE_BYTES]
    assert len(requests) >= result["sent"] / 2
    assert all(len(data) == min(length, 128) for _, _, data, length, _ in file.packets)


def test_shortest_paths_lose_everything_until_the_repair_and_that_breaks_no_promise(
    tmp_path: Path, own_state: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, result = run(tmp_path, capsys, scheme="shortest", mode="learned", duration_s=3.5)
    (failure,) = result["failures"]
    assert code == 0, result["claims"]
    assert is_never_steady(failure)
    assert failure["backtracked"] == 0
    assert failure["outage_ms"] == pytest.approx(lasted_ms(failure), abs=300)
    assert_nothing_is_left(own_state)


def test_crankback_delivers_on_ways_back_until_the_repair_and_breaks_no_promise(
    tmp_path: Path, own_state: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, result = run(tmp_path, capsys, scheme="cb", mode="learned")
    (failure,) = result["failures"]
    assert code == 0, result["claims"]
    assert len(result["claims"]) == 3, result
    assert failure["recovered"]
    assert is_never_steady(failure)
    again_s = failure["failure_s"] + failure["stages_ms"]["first_good"] / 1000
    meanwhile = [row for row in packets_of(tmp_path) if again_s <= row["sent_s"] < failure["until_s"]]
    assert [row for row in meanwhile if row["way"] == "out" and not row["back_hops"]] == []
    assert failure["backtracked"] > 100
    assert_nothing_is_left(own_state)


@pytest.mark.parametrize("scheme", ["cbc", "restoration", "ffg_restoration"])
def test_a_controller_leads_around_a_failure_that_lasts_and_switches_hold_what_it_wrote(
    scheme: str, tmp_path: Path, own_state: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, result = run(
        tmp_path, capsys, scheme=scheme, mode="learned", failure="{link: [s4, s5], at_s: 0.5}", duration_s=2.5
    )
    (failure,) = result["failures"]
    assert code == 0, result["claims"]
    assert len(result["claims"]) == 2
    assert failure["stages_ms"]["detect"] < failure["stages_ms"]["steady"]
    assert_nothing_is_left(own_state)


def test_a_killed_controller_and_a_killed_agent_cost_no_packet(
    tmp_path: Path, own_state: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kills = "{kill: controller, at_s: 0.5}\n  - {kill: agent, node: s4, at_s: 0.5}"
    code, result = run(tmp_path, capsys, scheme="sdfast", mode="agent", failure=kills, duration_s=4)
    assert code == 0, result["claims"]
    assert result["lost"] == 0 or not result["trustworthy"]
    assert [failure["kind"] for failure in result["failures"]] == ["kill", "kill"]
    assert_nothing_is_left(own_state)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_leaves_nothing_and_says_so(number: int, tmp_path: Path, own_state: Path) -> None:
    path = write(tmp_path, scheme="sdfast", mode="learned", duration_s=60)
    argv = [sys.executable, "-m", "experiments", "run", str(path), "--out", str(tmp_path / "out")]
    process = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)
    events = tmp_path / "out" / "work" / "sdfast-learned" / "events.jsonl"
    wait_until(
        lambda: process.poll() is not None or (events.exists() and '"inject"' in events.read_text(encoding="utf-8")),
        "the run has failed its link",
        120,
    )
    assert process.poll() is None, process.communicate()
    os.kill(process.pid, number)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert out == ""
    assert "Traceback" not in err
    assert err.splitlines()[-1] == "armor: interrupted"
    assert_nothing_is_left(own_state)


def daemons() -> list[object]:
    return [one for run in list_runs() for one in run.of_kind("process") if one["name"] == "ovs-vswitchd"]


@pytest.mark.parametrize("guarded", [True, False])
def test_what_a_killed_run_left_is_cleaned_by_its_guard_or_when_asked_for(
    guarded: bool, tmp_path: Path, own_state: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(tmp_path, scheme="shortest", mode="learned", duration_s=60)
    argv = [sys.executable, "-m", "experiments", "run", str(path), "--out", str(tmp_path / "out")]
    process = subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
    wait_until(lambda: process.poll() is not None or daemons(), "a switch has started", 60)
    (run,) = list_runs()
    if not guarded:
        (guard,) = [one for one in run.of_kind("process") if one["name"] == GUARD]
        os.kill(int(guard["pid"]), signal.SIGKILL)
    process.kill()
    process.wait()
    if guarded:
        wait_until(lambda: not list_runs() and not marked_processes(run.run_id), "the guard is done", 60)
    else:
        assert main(["clean", "--json"]) == 0
        (report,) = json.loads(capsys.readouterr().out)["runs"]
        assert report["processes"]
        assert report["skipped"] == ""
    assert marked_processes(run.run_id) == []
    assert_nothing_is_left(own_state)
    assert main(["clean"]) == 0
    assert capsys.readouterr().out == "nothing to clean\n"
