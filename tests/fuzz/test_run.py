"""What a run of the fuzzer keeps, without fuzzing: rounds add up, and no finding of an earlier round is lost."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tests.fuzz import run
from tests.fuzz.run import Outcome, added, keep


def test_rounds_add_up_and_an_error_of_an_earlier_round_stays() -> None:
    first = Outcome("yaml", 10, 100, 5, (), said="it ended with code 1")
    second = Outcome("yaml", 20, 250, 9, ("found/yaml-1",))
    assert added(None, first) == first
    assert added(first, second) == Outcome("yaml", 30, 350, 9, ("found/yaml-1",), said="it ended with code 1")


def test_every_time_that_a_target_ran_has_a_line_with_its_commit(tmp_path: Path) -> None:
    file = tmp_path / "new" / "runs.jsonl"
    for seconds in (10, 20):
        keep(Outcome("yaml", seconds, 7, 3, ()), file)
    rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    assert [row["seconds"] for row in rows] == [10, 20]
    assert all(row["commit"] and row["ended"] for row in rows)


def test_what_a_target_said_is_kept_without_the_folders_of_this_machine(tmp_path: Path) -> None:
    file = tmp_path / "runs.jsonl"
    keep(Outcome("yaml", 10, 7, 3, (), said=f'{sys.base_prefix}/lib/a.py, File "{run.ROOT}/te_solver/b.py"'), file)
    assert json.loads(file.read_text(encoding="utf-8"))["said"] == 'lib/a.py, File "te_solver/b.py"'


@pytest.mark.parametrize(("said", "code"), [("", 0), ("AssertionError", 1)])
def test_a_long_run_has_several_rounds_and_one_finding_decides_the_exit_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], said: str, code: int
) -> None:
    tried: list[tuple[str, int]] = []

    def fuzz(name: str, seconds: int) -> Outcome:
        tried.append((name, seconds))
        return Outcome(name, seconds, 1000, 1, (), said if len(tried) == 1 else "")

    monkeypatch.setattr(run, "fuzz", fuzz)
    monkeypatch.setattr(run, "FOLDER", tmp_path)
    monkeypatch.setattr(run, "PARALLEL", 1)
    monkeypatch.setattr("sys.argv", ["run", "--minutes", "40", "json", "pmt"])
    assert run.main() == code
    assert tried == 2 * [("json", 600), ("pmt", 600)]
    assert "2,000 executions in 1200 s" in capsys.readouterr().out
