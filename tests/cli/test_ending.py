"""Ctrl-C and its like in any command: one line and exit code 130, whatever the interrupt ran into."""

from __future__ import annotations

import contextlib
import json
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from experiments.charts.run_panels import read_panels
from experiments.cli import main as command_line
from mininet_topos.errors import ArmorError
from tests.signals import heard_as_from_a_terminal


@pytest.fixture(autouse=True)
def handlers() -> Iterator[None]:
    """As in a program started from a terminal."""
    with heard_as_from_a_terminal():
        yield


def unwinds() -> int:
    signal.raise_signal(signal.SIGINT)
    return 0


def swallows() -> int:
    with contextlib.suppress(KeyboardInterrupt):
        signal.raise_signal(signal.SIGTERM)
    return 0


def fails_for_it() -> int:
    try:
        signal.raise_signal(signal.SIGHUP)
    except KeyboardInterrupt as error:
        raise ArmorError("a library is not installed") from error
    return 0


def turns_it_into_another_error() -> int:
    try:
        signal.raise_signal(signal.SIGINT)
    except KeyboardInterrupt as error:
        raise RuntimeError("Error calling __set_name__ on 'cached_property' instance") from error
    return 0


def is_interrupted_again() -> int:
    try:
        signal.raise_signal(signal.SIGINT)
    finally:
        signal.raise_signal(signal.SIGTERM)
    return 0


@pytest.mark.parametrize(
    "command", [unwinds, swallows, fails_for_it, turns_it_into_another_error, is_interrupted_again]
)
def test_an_interrupt_is_one_line_and_130(command: Callable[[], int], monkeypatch, capsys) -> None:
    monkeypatch.setattr(command_line, "_dispatch", lambda _argv: command())
    assert command_line.main(["plan"]) == 130
    assert capsys.readouterr().err == "armor: interrupted\n"


def test_an_error_that_no_signal_explains_is_not_hidden(monkeypatch) -> None:
    def fails(_argv: list[str]) -> int:
        raise RuntimeError("a fault of the program")

    monkeypatch.setattr(command_line, "_dispatch", fails)
    with pytest.raises(RuntimeError, match="a fault of the program"):
        command_line.main(["plan"])


def test_nothing_large_is_imported_before_signals_are_heard() -> None:
    program = "import sys, experiments.cli.main; print({'networkx', 'numpy', 'yaml'} & set(sys.modules))"
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert said == "set()\n"


def test_a_folder_whose_runs_all_broke_off_has_no_panels(tmp_path: Path) -> None:
    runs = [{"run": "sdfast-agent", "failures": [], "error": "a probe gave up"}]
    (tmp_path / "verdict.json").write_text(json.dumps({"runs": runs}))
    assert read_panels(tmp_path) == []
