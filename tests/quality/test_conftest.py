"""The suite refuses to shrink in silence, and says why a test cannot run here."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys

import pytest
from hypothesis import settings

from tests import conftest
from tests.examples import examples, scaled
from tests.patience import patient_s
from tests.quality.layers import ROOT


@pytest.mark.parametrize(("profile", "count"), [("check", 3), ("test", 20), ("long", 400)])
def test_each_command_tries_its_share_of_a_laws_examples(profile, count):
    ours = settings.get_current_profile_name()
    settings.load_profile(profile)
    try:
        assert scaled(40) == examples(40).max_examples == count
    finally:
        settings.load_profile(ours)


@pytest.fixture
def small_suite(tmp_path):
    """A project with our conftest, two tests, and a committed minimum of three."""
    (tmp_path / "tests" / "quality").mkdir(parents=True)
    shutil.copy(ROOT / "tests" / "conftest.py", tmp_path / "tests")
    require(tmp_path, "2 not emulation\n1 emulation\n")
    (tmp_path / "tests" / "test_two.py").write_text(TWO_TESTS, encoding="utf-8")
    (tmp_path / "pyproject.toml").write_text(SETTINGS, encoding="utf-8")
    return tmp_path


TWO_TESTS = """
import pytest
def test_one(): pass
@pytest.mark.emulation
def test_other(): pass
"""
SETTINGS = """
[tool.pytest.ini_options]
testpaths = ["tests"]
markers = ["emulation: needs a network"]
"""
PARALLEL = ["-n", "2"]


def require(folder, text):
    (folder / "tests" / "quality" / "minimum_tests.txt").write_text(text, encoding="utf-8")


def run_pytest(folder, *arguments):
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=patient_s(120))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("part", "workers", "complaint"),
    [
        ([], [], "2 tests collected, but minimum_tests.txt says 3"),
        (["-m", "not emulation"], PARALLEL, "1 tests collected"),
    ],
)
def test_whole_part_with_fewer_tests_than_its_minimum_fails(small_suite, part, workers, complaint):
    outcome = run_pytest(small_suite, *part, *workers)
    assert outcome.returncode == pytest.ExitCode.USAGE_ERROR
    assert complaint in outcome.stdout + outcome.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    ("part", "workers"), [([], []), (["-m", "not emulation"], PARALLEL), (["-m", "emulation"], [])]
)
def test_whole_part_with_enough_tests_passes(small_suite, part, workers):
    require(small_suite, "1 not emulation\n1 emulation\n")
    assert run_pytest(small_suite, *part, *workers).returncode == pytest.ExitCode.OK


@pytest.mark.slow
@pytest.mark.parametrize(
    ("narrowing", "workers"), [(["-k", "one"], PARALLEL), (["-m", "not ryu"], []), (["tests/test_two.py"], [])]
)
def test_narrowed_run_may_have_fewer_tests(small_suite, narrowing, workers):
    assert run_pytest(small_suite, *narrowing, *workers).returncode == pytest.ExitCode.OK


@pytest.mark.slow
def test_collection_error_is_reported_as_itself_and_not_as_a_lost_test(small_suite):
    (small_suite / "tests" / "test_broken.py").write_text("import no_such_module\n", encoding="utf-8")
    outcome = run_pytest(small_suite)
    assert outcome.returncode == pytest.ExitCode.INTERRUPTED
    assert "no_such_module" in outcome.stdout


def test_missing_tool_is_the_reason_of_the_skip(monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda name: None if name == "ovsdb-tool" else f"/bin/{name}")
    assert conftest.why_not("ovs") == "ovsdb-tool is not installed"


def test_missing_library_is_the_reason_of_the_skip(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert conftest.why_not("ryu") == "Python package ryu is not installed"


def test_emulation_asks_for_root_first_and_then_for_mininet(monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda name: f"/bin/{name}")
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert "needs root" in (conftest.why_not("emulation") or "")
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert conftest.why_not("emulation") == "Python package mininet is not installed"
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: object())
    assert conftest.why_not("emulation") is None
