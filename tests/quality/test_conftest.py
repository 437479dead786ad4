"""The suite refuses to shrink in silence, and says why a test cannot run here."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys

import pytest

from tests import conftest
from tests.quality.layers import ROOT


@pytest.fixture
def small_suite(tmp_path):
    """A project with our conftest, two tests, and a committed minimum of three."""
    (tmp_path / "tests" / "quality").mkdir(parents=True)
    shutil.copy(ROOT / "tests" / "conftest.py", tmp_path / "tests")
    (tmp_path / "tests" / "quality" / "minimum_tests.txt").write_text("3\n", encoding="utf-8")
    (tmp_path / "tests" / "test_two.py").write_text("def test_one(): pass\ndef test_other(): pass\n", encoding="utf-8")
    (tmp_path / "pyproject.toml").write_text('[tool.pytest.ini_options]\ntestpaths = ["tests"]\n', encoding="utf-8")
    return tmp_path


def run_pytest(folder, *arguments):
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=120)


def test_whole_run_with_fewer_tests_than_the_minimum_fails(small_suite):
    outcome = run_pytest(small_suite)
    assert outcome.returncode == pytest.ExitCode.USAGE_ERROR
    assert "2 tests collected, but minimum_tests.txt says 3" in outcome.stdout + outcome.stderr


def test_whole_run_with_enough_tests_passes(small_suite):
    (small_suite / "tests" / "quality" / "minimum_tests.txt").write_text("2\n", encoding="utf-8")
    assert run_pytest(small_suite).returncode == pytest.ExitCode.OK


@pytest.mark.parametrize("narrowing", [["-k", "one"], ["-m", "not emulation"], ["tests/test_two.py"]])
def test_narrowed_run_may_have_fewer_tests(small_suite, narrowing):
    assert run_pytest(small_suite, *narrowing).returncode == pytest.ExitCode.OK


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
