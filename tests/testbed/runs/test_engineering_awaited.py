"""A run of traffic engineering that was asked for: its end is waited for, and its failure ends the waiting."""

from __future__ import annotations

from pathlib import Path

import pytest

from experiments.testbed.runs.flow_run import _wait_engineered
from experiments.testbed.runs.folder import Work
from machine.event_log import EventLog
from mininet_topos.errors import ArmorError


def work_with(folder: Path, *names: str) -> Work:
    work = Work(folder)
    log = EventLog("controller", work.events)
    for name in names:
        log.write(name, run=1)
    log.close()
    return work


def test_a_run_that_has_ended_is_not_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("experiments.testbed.runs.flow_run._RERUN_S", 0.0)
    _wait_engineered(work_with(tmp_path, "te_begin", "te_done"))


def test_a_run_that_has_failed_is_an_error_at_once(tmp_path: Path) -> None:
    with pytest.raises(ArmorError, match="traffic engineering has failed"):
        _wait_engineered(work_with(tmp_path, "te_begin", "te_failed"))


def test_a_run_without_end_is_an_error_in_the_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("experiments.testbed.runs.flow_run._RERUN_S", 0.0)
    with pytest.raises(ArmorError, match="has not ended 0 s after the flows"):
        _wait_engineered(work_with(tmp_path, "te_begin"))
