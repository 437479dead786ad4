"""What has finished can be read, however a command of several runs ends."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from experiments.analysis.result import judge
from experiments.report.build import report_page
from experiments.report.folders import read_folder
from experiments.report.render import to_html
from experiments.scenario.values import Variation
from experiments.testbed.runs import run as runs
from experiments.testbed.runs.folder import ResultFolder
from tests.analysis.test_result import RECOVERED, always


def test_an_interrupt_in_the_last_run_leaves_a_report_of_those_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    finished = [judge(RECOVERED, always)]

    def until_stable(_run: object, interval_ms: int | None) -> tuple[object, int | None]:
        if not finished:
            raise KeyboardInterrupt
        return finished.pop(), interval_ms

    monkeypatch.setattr(runs._Run, "until_stable", until_stable)
    scenario = replace(RECOVERED.scenario, variations=(RECOVERED.variation, Variation("ffg", "none")))
    planned = {variation: runs.PlannedRun({}) for variation in scenario.variations}
    folder = ResultFolder(tmp_path / "out")
    with pytest.raises(KeyboardInterrupt):
        runs.run_scenario(scenario, planned, folder, None, lambda _what: None)
    verdict = read_folder(folder.path).verdict
    assert [(run["run"], run["held"]) for run in verdict["runs"]] == [("sdfast-learned", True), ("ffg", False)]
    assert "ended before this run had finished" in verdict["runs"][1]["error"]
    assert not verdict["held"]
    assert "Claims failed in ffg." in to_html(report_page([folder.path]))
