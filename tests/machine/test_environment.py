"""Facts about the machine."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from machine import environment


def test_facts_are_json_and_name_what_is_not_installed() -> None:
    facts = json.loads(json.dumps(environment.environment_facts(7, ("numpy", "no-such-package"))))
    assert facts["seed"] == 7
    assert facts["packages"]["no-such-package"] is None
    assert facts["packages"]["numpy"]
    assert {"command", "commit", "at", "kernel", "machine", "python", "open_vswitch", "cores", "load"} <= set(facts)


@pytest.mark.parametrize(
    ("words", "command"),
    [
        (["bin/armor", "run", "a.yaml"], ["armor", "run", "a.yaml"]),
        (["site/armor/__main__.py", "run", "a.yaml"], ["armor", "run", "a.yaml"]),
        (["lib/ipykernel_launcher.py", "-f", "runtime/kernel-1.json"], ["python", "ipykernel_launcher.py"]),
    ],
)
def test_the_command_is_that_of_armor_or_the_program_that_imports_it(
    words: list[str], command: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(environment.sys, "argv", words)
    assert environment.environment_facts(1, ())["command"] == command


def test_a_machine_without_git_and_open_vswitch_has_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    assert environment.commit() is None
    assert environment.open_vswitch_version() is None


def test_a_folder_that_is_no_repository_has_no_commit_though_one_is_around_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inner = tmp_path / "site-packages"
    inner.mkdir()
    subprocess.run(["git", "init", "--quiet", str(tmp_path)], check=True)
    git = ["git", "-C", str(tmp_path), "-c", "user.name=a", "-c", "user.email=a@b.c"]
    subprocess.run([*git, "commit", "--quiet", "--allow-empty", "--message", "first"], check=True)
    monkeypatch.setattr(environment, "REPOSITORY", tmp_path)
    assert environment.commit() is not None
    monkeypatch.setattr(environment, "REPOSITORY", inner)
    assert environment.commit() is None


def test_a_changed_file_is_marked_and_an_output_folder_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(environment, "REPOSITORY", tmp_path)
    git = ["git", "-C", str(tmp_path), "-c", "user.name=a", "-c", "user.email=a@b.c"]
    code = tmp_path / "code.py"
    code.write_text("old", encoding="utf-8")
    for words in (["init", "--quiet"], ["add", "code.py"], ["commit", "--quiet", "--message", "first"]):
        subprocess.run([*git, *words], check=True)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "rows.jsonl").touch()
    unchanged = environment.commit()
    assert unchanged is not None
    assert not unchanged.endswith("+")
    code.write_text("new", encoding="utf-8")
    assert environment.commit() == f"{unchanged}+"
