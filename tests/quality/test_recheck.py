"""The second look at failed tests: it forgives what passes alone, and nothing else."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

import pytest

from tests.patience import patient_s
from tests.quality.layers import ROOT

FAILS_AT_FIRST = """
    seen = pathlib.Path(__file__).with_name(f"{request.node.name}.seen")
    if not seen.exists():
        seen.touch()
        raise AssertionError("the first look")
"""
BODIES = {"passes": "    pass\n", "always fails": "    raise AssertionError\n", "fails at first": FAILS_AT_FIRST}


@pytest.fixture
def look(tmp_path):
    """Runs the script on a project whose tests behave as named."""
    (tmp_path / "scripts").mkdir()
    shutil.copy(ROOT / "scripts" / "recheck.sh", tmp_path / "scripts")
    (tmp_path / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")

    def run(*behaviours, options=()):
        tests = (f"def test_{number}(request):\n{BODIES[each]}" for number, each in enumerate(behaviours))
        (tmp_path / "test_all.py").write_text("import pathlib\n" + "\n".join(tests), encoding="utf-8")
        command = ["bash", str(tmp_path / "scripts" / "recheck.sh"), *options]
        environment = {**os.environ, "PYTHON_OF_TESTS": sys.executable}
        return subprocess.run(
            command, env=environment, capture_output=True, text=True, check=False, timeout=patient_s(120)
        )

    return run


@pytest.mark.slow
@pytest.mark.parametrize("options", [(), ("-n", "2")])
def test_what_fails_once_is_forgiven_and_named(look, options):
    outcome = look("passes", "fails at first", "passes", options=options)
    assert outcome.returncode == 0, outcome.stdout
    assert "AssertionError: the first look" in outcome.stdout
    assert outcome.stdout.endswith("(the first failure is printed above):\ntest_all.py::test_1\n")


@pytest.mark.slow
def test_what_fails_twice_fails(look):
    outcome = look("passes", "always fails", "fails at first")
    assert outcome.returncode == 1
    assert "passed at the second look" not in outcome.stdout


@pytest.mark.slow
def test_many_failures_get_no_second_look(look):
    outcome = look(*["fails at first"] * 4)
    assert outcome.returncode == 1
    assert "second look" not in outcome.stdout


def test_without_failures_there_is_one_look(look):
    outcome = look("passes")
    assert (outcome.returncode, outcome.stdout.count("1 passed")) == (0, 1)


def test_a_run_that_pytest_refuses_gets_no_second_look(look):
    outcome = look("passes", options=("--no-such-option",))
    assert outcome.returncode == pytest.ExitCode.USAGE_ERROR
    assert "second look" not in outcome.stdout
