"""Run all tests again and again, and keep what failed; goes on where an earlier call ended.

Usage: ``.venv/bin/python scripts/repeat_tests.py TIMES FOLDER`` (``make test-repeat TIMES=20``). FOLDER gets what each
run printed, and ``runs.jsonl`` with a line for each run that came to its end. The exit code is 1 when a run failed,
and 130 after Ctrl-C.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

from machine.ending import ending_waits

COMMAND = ("scripts/test.sh",)
_FAILED = re.compile(r"^(?:FAILED|ERROR) (\S+)", re.MULTILINE)
_PASSED = re.compile(r"^=.*?\b(\d+) passed", re.MULTILINE)


def outcome_of(printed: str) -> dict[str, Any]:
    """How many tests passed, and which failed, from what `scripts/test.sh` printed.

    Examples
    --------
    >>> outcome_of("FAILED tests/a.py::test_b - assert 0\\n== 1 failed, 7 passed ==\\n== 1 passed ==\\n")
    {'passed': 8, 'failed': ['tests/a.py::test_b']}
    """
    passed = sum(int(count) for count in _PASSED.findall(printed))
    return {"passed": passed, "failed": sorted(set(_FAILED.findall(printed)))}


def repeat(times: int, folder: Path, command: tuple[str, ...]) -> list[dict[str, Any]]:
    """Run the command until `folder` has rows of so many runs; all rows."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "runs.jsonl"
    rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()] if file.exists() else []
    while len(rows) < times:
        number, began_s = len(rows) + 1, time.time()
        print(f"run {number} of {times} ...", flush=True)
        with (folder / f"run-{number}.txt").open("w+", encoding="utf-8", errors="replace") as printed:
            code = _code_of(command, printed)
            printed.seek(0)
            outcome = outcome_of(printed.read())
        rows.append({"run": number, **origin(), "minutes": round((time.time() - began_s) / 60, 1), "exit_code": code})
        rows[-1].update(outcome)
        with file.open("a", encoding="utf-8") as kept:
            kept.write(json.dumps(rows[-1]) + "\n")
        print(
            f"  {rows[-1]['minutes']} min, {outcome['passed']} passed, failed: {outcome['failed'] or 'none'}",
            flush=True,
        )
    return rows


def _code_of(command: tuple[str, ...], printed: IO[str]) -> int:
    """Exit code of a command. If it is interrupted, so is all that it runs, and this returns when it has cleaned up."""
    process = None
    try:
        with ending_waits():  # a run that an interrupt leaves unknown would go on
            process = subprocess.Popen(command, stdout=printed, stderr=subprocess.STDOUT, start_new_session=True)
        return process.wait()
    except KeyboardInterrupt:
        if process is not None:
            _interrupt(process)
        raise


def _interrupt(process: subprocess.Popen[bytes]) -> None:
    """Interrupt a run, and again at each further Ctrl-C, until it has ended: bash can lose one."""

    def interrupt(*_: object) -> None:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGINT)

    before = signal.signal(signal.SIGINT, interrupt)
    try:
        interrupt()
        process.wait()
    finally:
        signal.signal(signal.SIGINT, before)


def origin() -> dict[str, str]:
    """Commit of the checkout, and the time."""
    words = ["git", "describe", "--always", "--dirty", "--abbrev=12"]
    commit = subprocess.run(words, capture_output=True, text=True, check=False).stdout.strip()
    return {"commit": commit, "ended": time.strftime("%Y-%m-%dT%H:%M:%S%z")}


def main(arguments: list[str], command: tuple[str, ...] = COMMAND) -> int:
    """Repeat, and say how often each test failed."""
    if len(arguments) != 2 or not arguments[0].isdigit():
        print("usage: repeat_tests.py TIMES FOLDER", file=sys.stderr)
        return 2
    try:
        rows = repeat(int(arguments[0]), Path(arguments[1]), command)
    except KeyboardInterrupt:
        print("ended; the run under way does not count", file=sys.stderr)
        return 130
    good = [row for row in rows if not row["failed"] and not row["exit_code"]]
    print(f"{len(good)} of {len(rows)} runs without any failure")
    for name, count in Counter(name for row in rows for name in row["failed"]).most_common():
        print(f"  {count} times: {name}")
    return int(len(good) < len(rows))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
