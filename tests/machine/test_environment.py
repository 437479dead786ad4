"""Facts about the machine."""

from __future__ import annotations

import json
import subprocess

import pytest

from machine import environment


def test_facts_are_json_and_name_what_is_not_installed() -> None:
    facts = json.loads(json.dumps(environment.environment_facts(7, ("numpy", "no-such-package"))))
    assert facts["seed"] == 7
    assert facts["packages"]["no-such-package"] is None
    assert facts["packages"]["numpy"]
    assert {"command", "commit", "at", "kernel", "machine", "python", "open_vswitch", "cores", "load"} <= set(facts)


def test_a_machine_without_git_and_open_vswitch_has_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    assert environment.commit() is None
    assert environment.open_vswitch_version() is None


def test_a_changed_working_tree_is_marked(monkeypatch: pytest.MonkeyPatch) -> None:
    said = {"rev-parse": "abc\n", "status": " M file\n"}

    def run(words: list[str], **_: object) -> subprocess.CompletedProcess[str]:
        return subprocess.CompletedProcess(words, 0, said[words[3]], "")

    monkeypatch.setattr(environment.subprocess, "run", run)
    assert environment.commit() == "abc+"
    said["status"] = ""
    assert environment.commit() == "abc"
