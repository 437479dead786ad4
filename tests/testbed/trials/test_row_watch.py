"""Changes of a table of a real switch are heard of."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from experiments.analysis.events import Event, read_events
from experiments.verify.against_ovs.dummy_ovs import dummy_ovs
from ryu_apps.plan.rows import FlowRow, Output, match
from tests.patience import wait_until


@pytest.mark.ovs
def test_rows_of_the_watched_table_are_counted_as_they_come_and_go(tmp_path: Path) -> None:
    log = tmp_path / "events.jsonl"
    log.touch()

    def events() -> list[Event]:
        return read_events(log.read_text())

    def changes() -> tuple[int, int]:
        found = [event.fields for event in events() if event.name == "rows_changed"]
        return sum(each["added"] for each in found), sum(each["deleted"] for each in found)

    with dummy_ovs() as switch:
        switch.add_bridges({1: [1, 2]})
        argv = [
            sys.executable,
            "-m",
            "experiments.testbed.instruments.row_watch",
            "5",
            f"s1={switch.directory}/b1.mgmt",
        ]
        program = subprocess.Popen(argv, env={**os.environ, "ARMOR_EVENTS": str(log)})
        try:
            wait_until(lambda: [event.name for event in events()] == ["rows_watched"], "the table is watched", 20)
            switch.add_flows(1, [FlowRow(4, 10, match(reg1=3), (Output(2),))])
            switch.add_flows(1, [FlowRow(5, 10 + number, match(reg1=3), (Output(2),), cookie=1) for number in range(3)])
            wait_until(lambda: changes() == (3, 0), "three rows came, the other table is quiet", 20)
            cookies = [each for event in events() for each in event.fields.get("cookies", ())]
            assert cookies == [hex(1)] * 3
            switch.delete_flows(1, "table=5,reg1=3")
            wait_until(lambda: changes() == (3, 3), "and went", 20)
        finally:
            program.terminate()
            code = program.wait()
    assert code == 0


@pytest.mark.ovs
def test_a_monitor_that_ends_is_named_with_its_last_line(tmp_path: Path) -> None:
    argv = [sys.executable, "-m", "experiments.testbed.instruments.row_watch", "5", f"s1={tmp_path}/nowhere.mgmt"]

    ended = subprocess.run(
        argv, env={**os.environ, "ARMOR_EVENTS": str(tmp_path / "log")}, capture_output=True, text=True, check=False
    )

    assert ended.returncode == 1
    assert "the flow monitor of s1 has ended" in ended.stderr
    assert "nowhere.mgmt" in ended.stderr
