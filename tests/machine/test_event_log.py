"""The event log: whole lines from many processes, nothing when nobody asked."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

from machine.event_log import EVENTS_VARIABLE, EventLog

WRITER = """
import sys
from machine.event_log import EventLog
log = EventLog(sys.argv[2], sys.argv[1])
for number in range(300):
    log.write("tick", number=number, padding="x" * number)
"""


def test_lines_of_concurrent_processes_never_mix(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    writers = [subprocess.Popen([sys.executable, "-c", WRITER, str(path), f"writer:{n}"]) for n in range(4)]
    assert [writer.wait() for writer in writers] == [0, 0, 0, 0]
    events = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    for n in range(4):
        assert [event["number"] for event in events if event["source"] == f"writer:{n}"] == list(range(300))


def test_a_stamp_lies_between_the_clock_before_and_after(tmp_path: Path) -> None:
    log = EventLog("injector", tmp_path / "events.jsonl")
    before = time.monotonic()
    log.write("inject")
    after = time.monotonic()
    log.close()
    (line,) = (tmp_path / "events.jsonl").read_text(encoding="utf-8").splitlines()
    assert before <= json.loads(line)["t_monotonic_s"] <= after


def test_nothing_is_written_when_no_file_is_named(monkeypatch, tmp_path: Path) -> None:
    monkeypatch.delenv(EVENTS_VARIABLE, raising=False)
    monkeypatch.chdir(tmp_path)
    log = EventLog("agent:s1")
    log.write("port_status", live=False)
    log.close()
    assert list(tmp_path.iterdir()) == []


def test_the_environment_names_the_file(monkeypatch, tmp_path: Path) -> None:
    monkeypatch.setenv(EVENTS_VARIABLE, str(tmp_path / "from_environment.jsonl"))
    log = EventLog("agent:s1")
    log.write("port_status", t_monotonic_s=2.0, live=False)
    log.close()
    event = json.loads((tmp_path / "from_environment.jsonl").read_text(encoding="utf-8"))
    assert event == {"t_monotonic_s": 2.0, "source": "agent:s1", "event": "port_status", "live": False}
