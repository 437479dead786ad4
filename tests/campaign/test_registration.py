"""Which commit registered the rules of a run's verdicts, in repositories made for the test."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from experiments.campaign.act.registration import RULES, UNKNOWN, registration_of, registration_text

CLAIMS = f"{RULES[0]}/claims.py"


class Repository:
    """A repository with rules and other files."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.git("init", "-q")

    def git(self, *words: str) -> str:
        identity = ("-c", "user.name=t", "-c", "user.email=t@example.org")
        argv = ["git", "-C", str(self.path), *identity, *words]
        return subprocess.run(argv, capture_output=True, text=True, check=True).stdout.strip()

    def write(self, name: str, text: str) -> None:
        (self.path / name).parent.mkdir(parents=True, exist_ok=True)
        (self.path / name).write_text(text, encoding="utf-8")

    def commit(self, name: str, text: str) -> str:
        self.write(name, text)
        self.git("add", "-A")
        self.git("commit", "-qm", name)
        return self.git("rev-parse", "HEAD")


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository(tmp_path)


def test_the_last_change_of_the_rules_before_the_run_registers_it(repository: Repository) -> None:
    registered = repository.commit(CLAIMS, "band = 1")
    run = repository.commit("README.md", "other")
    repository.commit("setup.py", "later, no rule")

    found = registration_of(run, repository.path)

    assert (found["commit"], found["changed"], found["run_was_changed"]) == (registered, [], False)
    assert registration_text(found).endswith(", unchanged since")


@pytest.mark.parametrize("committed", [True, False])
def test_rules_changed_after_the_run_are_named(repository: Repository, committed: bool) -> None:
    run = repository.commit(CLAIMS, "band = 1")
    if committed:
        repository.commit(CLAIMS, "band = 2")
    else:
        repository.write(CLAIMS, "band = 2")
    repository.write(f"{RULES[1]}/new.py", "more")

    found = registration_of(f"{run}+", repository.path)

    assert (found["commit"], found["changed"]) == (run, [f"{RULES[1]}/new.py", CLAIMS])
    assert registration_text(found).endswith("the run's checkout had changes of its own")


def test_a_later_commit_of_the_rules_does_not_register_an_earlier_run(repository: Repository) -> None:
    run = repository.commit("README.md", "no rules yet")
    repository.commit(CLAIMS, "band = 1")

    assert registration_of(run, repository.path) == UNKNOWN


@pytest.mark.parametrize("commit", [None, "0" * 40])
def test_without_the_commit_it_is_unknown(repository: Repository, commit: str | None) -> None:
    repository.commit(CLAIMS, "band = 1")

    assert registration_of(commit, repository.path) == UNKNOWN
    assert "unknown" in registration_text(UNKNOWN)


def test_outside_a_repository_it_is_unknown(tmp_path: Path) -> None:
    assert registration_of("0" * 40, tmp_path) == UNKNOWN
