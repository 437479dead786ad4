"""Repeating the whole suite: each run has a row, a second call goes on, and what failed is named."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from scripts.repeat_tests import main, repeat
from tests.interrupting import interrupted_starts
from tests.patience import patient_s, wait_until

PASSES = ("sh", "-c", "echo '==== 3 passed, 1 skipped in 0.5s ===='")
FAILS = (
    "sh",
    "-c",
    "echo 'FAILED tests/a.py::test_b[x] - assert 0'; echo '= 1 failed, 2 passed in 1s ='; echo '= 1 passed in 1s ='; "
    "exit 1",
)
ENDS_BADLY = ("sh", "-c", "echo 'format: bad'; exit 1")


def rows_of(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "runs.jsonl").read_text(encoding="utf-8").splitlines()]


def test_each_run_has_a_row_and_keeps_what_it_printed(tmp_path: Path) -> None:
    rows = repeat(2, tmp_path, FAILS)
    assert rows == rows_of(tmp_path)
    assert [(row["run"], row["exit_code"], row["passed"], row["failed"]) for row in rows] == [
        (number, 1, 3, ["tests/a.py::test_b[x]"]) for number in (1, 2)
    ]
    assert "assert 0" in (tmp_path / "run-2.txt").read_text(encoding="utf-8")


def test_a_second_call_goes_on(tmp_path: Path) -> None:
    repeat(1, tmp_path, PASSES)
    assert [row["failed"] for row in repeat(3, tmp_path, FAILS)] == [
        [],
        ["tests/a.py::test_b[x]"],
        ["tests/a.py::test_b[x]"],
    ]
    assert len(repeat(2, tmp_path, FAILS)) == 3


def test_a_run_that_fails_is_not_a_good_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for number, command in enumerate((PASSES, FAILS, ENDS_BADLY), start=1):
        repeat(number, tmp_path, command)
    assert main(["3", str(tmp_path)]) == 1
    said = capsys.readouterr().out
    assert "1 of 3 runs without any failure" in said
    assert "1 times: tests/a.py::test_b[x]" in said


def test_good_runs_alone_are_a_success_and_bad_arguments_are_not(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    repeat(2, tmp_path, PASSES)
    assert main(["2", str(tmp_path)]) == 0
    assert main(["two", str(tmp_path)]) == 2
    assert "usage:" in capsys.readouterr().err


@contextmanager
def repeating(folder: Path, *command: str) -> Iterator[subprocess.Popen[str]]:
    """`main` with another command, in a process of its own, once the run says by a file that it has begun."""
    call = "import sys; from scripts.repeat_tests import main; exit(main(['2', sys.argv[1]], sys.argv[2:]))"
    words = [sys.executable, "-c", call, str(folder), *command]
    with subprocess.Popen(words, stderr=subprocess.PIPE, text=True) as process:
        try:
            wait_until((folder / "begun").exists, "a run is under way")
            yield process
        finally:
            process.kill()


def test_ctrl_c_lets_the_run_under_way_clean_up_and_leaves_its_row_out(tmp_path: Path) -> None:
    """As scripts/test.sh, whose second part has a session of its own and ends only by the script's trap."""
    cleans_up = f"kill $!; wait $!; echo $? >{tmp_path}/ended"
    # Not bash itself says that the run has begun: it can lose a signal while it starts a program.
    begins = f"{sys.executable} -c \"import pathlib, time; pathlib.Path('{tmp_path}/begun').touch(); time.sleep(600)\""
    with repeating(tmp_path, "bash", "-c", f"setsid sleep 600 & trap '{cleans_up}' EXIT; {begins}") as process:
        process.send_signal(signal.SIGINT)
        said = process.communicate(timeout=patient_s(30))[1]
    assert (process.returncode, said) == (130, "ended; the run under way does not count\n")
    assert (tmp_path / "ended").read_text(encoding="utf-8") == f"{128 + signal.SIGTERM}\n"
    assert not (tmp_path / "runs.jsonl").exists()


def test_ctrl_c_while_a_run_is_being_started_ends_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with interrupted_starts(monkeypatch) as started:
        assert main(["1", str(tmp_path)], ("sleep", "600")) == 130
        assert [process.returncode for process in started] == [-signal.SIGINT]


def test_a_run_that_loses_an_interrupt_hears_the_next(tmp_path: Path) -> None:
    """A first Ctrl-C that changes nothing, as bash has it while it starts a program."""
    hears = (
        "import pathlib, signal, sys, time\n"
        "signal.signal(signal.SIGINT, lambda *_: (signal.signal(signal.SIGINT, signal.SIG_DFL), "
        "pathlib.Path(sys.argv[1], 'lost').touch()))\n"
        "pathlib.Path(sys.argv[1], 'begun').touch()\n"
        "time.sleep(600)\n"
    )
    with repeating(tmp_path, sys.executable, "-c", hears, str(tmp_path)) as process:
        process.send_signal(signal.SIGINT)
        wait_until((tmp_path / "lost").exists, "the run has lost an interrupt")
        assert process.poll() is None
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=patient_s(30))
    assert process.returncode == 130
