"""The tutorial: its commands run, in order, and print what it shows. Those that need root only parse (test_manuals)."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from experiments.cli.main import main

PAGE = Path(__file__).resolve().parents[2] / "docs" / "tutorial.md"
_STEP = re.compile(r"^```(?P<kind>\w+)\n(?P<text>(?s:.*?))^```|^    \.venv/bin/armor (?P<command>.+)$", re.MULTILINE)
_OF_ROOT = "## 6."


def test_the_commands_of_the_tutorial_print_what_it_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    without_root = PAGE.read_text(encoding="utf-8").partition(_OF_ROOT)[0]
    printed, shown = "", 0
    for step in _STEP.finditer(without_root):
        if step["command"]:
            assert main(shlex.split(step["command"])) == 0
            printed = capsys.readouterr().out
        elif step["kind"] == "json":
            (tmp_path / "campus.json").write_text(step["text"], encoding="utf-8")
        elif step["kind"] == "python":
            exec(compile(step["text"], PAGE.name, "exec"), {})
            printed = capsys.readouterr().out
        else:
            lines = step["text"].splitlines()
            assert [line for line in lines if line not in printed] == []
            shown += len(lines)
    assert shown
    assert (tmp_path / "figure2.svg").exists()
