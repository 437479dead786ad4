"""Put the mutants of the table into a copy of the tree one by one, and say which of them its tests kill.

A mutant is *killed* when one of its tests fails, *survived* when they pass, and an *error* when it cannot be put into
the code, when pytest ends in another way, or when the tests fail without it. The checkout is never changed: not by
Ctrl-C or kill either. Exit code: 0 when all are killed, 1 otherwise, 2 when there is nothing to run.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from fnmatch import fnmatch
from pathlib import Path
from queue import SimpleQueue
from threading import Lock
from typing import NoReturn

from machine.places import ENDS_WITH_ITS_PARENT
from tests.mutants.table import FOLDER, Mutant, MutantError, read_table

ROOT = Path(__file__).resolve().parents[2]
KILLED, SURVIVED, ERROR = "killed", "survived", "error"
TEST_LIMIT_S = 120  # of one test: a mutant may make it wait for ever
RUN_LIMIT_S = 1800
OPTIONS = (
    *("-x", "-q", "-p", "no:randomly", "-p", "no:cacheprovider"),
    *("--hypothesis-profile=mutants", f"--timeout={TEST_LIMIT_S}"),
)
ENVIRONMENT = {
    "PYTHONDONTWRITEBYTECODE": "",
    # numba does not see that a kernel's callee in another file changed.
    "NUMBA_DISABLE_JIT": "1",
}


@dataclass(frozen=True)
class Outcome:
    """What became of a mutant, or of a test file without mutants.

    Attributes
    ----------
    said
        The test that failed, or why there is no verdict.
    """

    name: str
    verdict: str
    said: str
    seconds: float


class Places:
    """Copies of a tree, each for one run of pytest at a time."""

    def __init__(self, places: Sequence[Path]) -> None:
        self._free: SimpleQueue[Path] = SimpleQueue()
        for place in places:
            self._free.put(place)
        self._lock = Lock()
        self._running: set[subprocess.Popen[str]] = set()
        self._stopped = False

    @contextmanager
    def one(self) -> Iterator[Path]:
        """A copy that nobody else has."""
        place = self._free.get()
        try:
            yield place
        finally:
            self._free.put(place)

    def run_pytest(self, place: Path, tests: Sequence[str]) -> tuple[int | None, str]:
        """Return pytest's exit code, None after `RUN_LIMIT_S`, and what it printed."""
        process = self._start(place, tests)
        try:
            printed, _ = process.communicate(timeout=RUN_LIMIT_S)
            return process.returncode, printed
        except subprocess.TimeoutExpired:
            return None, f"no end within {RUN_LIMIT_S} s"
        finally:
            with self._lock:
                self._running.discard(process)
            end(process)

    def _start(self, place: Path, tests: Sequence[str]) -> subprocess.Popen[str]:
        command = [*ENDS_WITH_ITS_PARENT, sys.executable, "-m", "pytest", *OPTIONS, *tests]
        environment = {**os.environ, **ENVIRONMENT, "PYTHONPATH": str(place)}
        streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
        with self._lock:
            if self._stopped:
                raise MutantError("interrupted")
            # A session of its own: Ctrl-C reaches the runner only, which then ends the rest.
            process = subprocess.Popen(
                command, cwd=place, env=environment, text=True, errors="replace", start_new_session=True, **streams
            )
            self._running.add(process)
        return process

    def stop(self) -> None:
        """End every run and let none begin."""
        with self._lock:
            self._stopped = True
            for process in self._running:
                end(process)


def end(process: subprocess.Popen[str]) -> None:
    """End a process and its group, unless it has ended."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def copy_tree(root: Path, place: Path) -> None:
    """Copy what git tracks, as it is now, and what it neither tracks nor ignores."""
    listing = ["git", "-C", str(root), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(listing, check=True, capture_output=True, text=True).stdout.split("\0")
    for name in filter(None, names):
        if (root / name).is_file():  # else deleted, and not yet committed
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(root / name, place / name)
    if (root / ".venv").exists():
        (place / ".venv").symlink_to(root / ".venv")


@contextmanager
def copies(root: Path, count: int) -> Iterator[Places]:
    """`count` copies of a tree in a temporary folder."""
    with tempfile.TemporaryDirectory(prefix="armor-mutants-") as folder:
        places = [Path(folder) / str(number) for number in range(count)]
        for place in places:
            copy_tree(root, place)
        yield Places(places)


@contextmanager
def mutated(place: Path, mutant: Mutant) -> Iterator[None]:
    """The mutant is in the code of this copy. Compiled files go: they may have its size and second."""
    file = place / mutant.file
    before = file.read_text(encoding="utf-8")
    after = mutant.applied_to(before)
    try:
        write_source(file, after)
        yield
    finally:
        write_source(file, before)


def write_source(file: Path, text: str) -> None:
    """Write a file and forget what Python compiled of it."""
    file.write_text(text, encoding="utf-8")
    for compiled in (file.parent / "__pycache__").glob(f"{file.stem}.*.pyc"):
        compiled.unlink()


def judged(code: int | None, printed: str) -> tuple[str, str]:
    """Return the verdict on a mutant, and what decided it, from how pytest ended with it."""
    if code == 1:
        failed = re.search(r"^(?:FAILED|ERROR) (\S+)", printed, re.MULTILINE)
        return KILLED, failed[1][:120] if failed else "a failing test"
    if code == 0 and re.search(r"\b\d+ passed", printed):
        return SURVIVED, "its tests pass"
    if code == 0:
        return ERROR, "its tests are skipped here"
    last = printed.strip().splitlines()[-1:] or ["nothing printed"]
    return ERROR, f"pytest ended with {code}: {last[0][:160]}"


def try_tests(places: Places, test: str) -> Outcome:
    """Run a test file without mutants: the error is that it does not pass."""
    begin = time.monotonic()
    with places.one() as place:
        verdict, said = judged(*places.run_pytest(place, [test]))
    if verdict == KILLED:
        verdict, said = ERROR, f"fails without mutants: {said}"
    return Outcome(test, verdict, said, time.monotonic() - begin)


def try_mutant(places: Places, mutant: Mutant) -> Outcome:
    """Run a mutant's tests with it."""
    begin = time.monotonic()
    try:
        with places.one() as place, mutated(place, mutant):
            verdict, said = judged(*places.run_pytest(place, mutant.tests))
    except (OSError, MutantError) as error:
        verdict, said = ERROR, str(error)
    return Outcome(mutant.name, verdict, said, time.monotonic() - begin)


Tell = Callable[[str], None]


def try_all(mutants: Sequence[Mutant], root: Path, jobs: int, tell: Tell) -> tuple[list[Outcome], list[Outcome]]:
    """Return what became of the test files without mutants, and of each mutant, in their order.

    Parameters
    ----------
    jobs
        So many runs of pytest at a time, each in a copy of its own.
    tell : callable
        Gets a line for each run that ends.
    """
    files = sorted({test for mutant in mutants for test in mutant.tests})
    with copies(root, jobs) as places, ThreadPoolExecutor(jobs) as pool, stopping(places, pool):
        tell(f"{len(files)} test files without mutants")
        sound = _finished([pool.submit(try_tests, places, test) for test in files], tell)
        broken = {each.name: each.said for each in sound if each.verdict == ERROR}
        tell(f"{len(mutants)} mutants")

        def tried(mutant: Mutant) -> Outcome:
            reasons = [f"{test} {broken[test]}" for test in mutant.tests if test in broken]
            return Outcome(mutant.name, ERROR, reasons[0], 0.0) if reasons else try_mutant(places, mutant)

        return sound, _finished([pool.submit(tried, mutant) for mutant in mutants], tell)


@contextmanager
def stopping(places: Places, pool: ThreadPoolExecutor) -> Iterator[None]:
    """Ctrl-C in this block ends what runs in the pool, which would go on for minutes."""
    try:
        yield
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        places.stop()
        raise


def _finished(runs: Sequence[Future[Outcome]], tell: Tell) -> list[Outcome]:
    """Wait for all, and say of each when it ends."""
    for number, run in enumerate(as_completed(runs), 1):
        each = run.result()
        word = "passes" if each.name.endswith(".py") and each.verdict == SURVIVED else each.verdict
        tell(f"[{number}/{len(runs)}] {word:8} {each.seconds:6.1f} s  {each.name}")
    return [run.result() for run in runs]


def summary(outcomes: Sequence[Outcome]) -> str:
    """Return the table at the end: each mutant, and the counts."""
    width = max(len(each.name) for each in outcomes)
    lines = [f"{each.verdict:8}  {each.name:{width}}  {each.seconds:6.1f} s  {each.said}" for each in outcomes]
    counts = ", ".join(f"{sum(each.verdict == word for each in outcomes)} {word}" for word in (KILLED, SURVIVED, ERROR))
    return "\n".join([*lines, f"{counts}; {sum(each.seconds for each in outcomes):.0f} s"])


def options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make test-mutants ARGS=...", description=__doc__.split("\n\n")[0])
    parser.add_argument("--only", metavar="PATTERN", default="*", help="mutants of this name, e.g. 'plan/*' or '*tag*'")
    parser.add_argument("--jobs", metavar="N", type=int, default=1, help="so many at a time (default 1)")
    parser.add_argument("--json", action="store_true", help="print the outcomes as JSON; progress goes to stderr")
    parser.add_argument("--table", metavar="FOLDER", type=Path, default=FOLDER, help="another folder of tables")
    parser.add_argument("--root", metavar="FOLDER", type=Path, default=ROOT, help="another repository")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> int:
    chosen = options(arguments)
    try:
        mutants = [each for each in read_table(chosen.table) if fnmatch(each.name, chosen.only)]
    except MutantError as error:
        print(f"mutants: {error}", file=sys.stderr)
        return 2
    if not mutants:
        print(f"mutants: no mutant is named {chosen.only}", file=sys.stderr)
        return 2
    progress = sys.stderr if chosen.json else sys.stdout
    sound, outcomes = try_all(
        mutants, chosen.root, max(1, chosen.jobs), lambda line: print(line, file=progress, flush=True)
    )
    if chosen.json:
        print(json.dumps({"tests": [asdict(each) for each in sound], "mutants": [asdict(each) for each in outcomes]}))
    else:
        print(summary(outcomes))
    return int(any(each.verdict != KILLED for each in outcomes))


def _stop(*_: object) -> NoReturn:
    raise KeyboardInterrupt


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, _stop)
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        print("mutants: interrupted; the checkout is as it was", file=sys.stderr)
        sys.exit(130)
