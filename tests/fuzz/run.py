"""Fuzz all targets, or those named, for some minutes: `python -m tests.fuzz.run --minutes M [TARGET ...]`.

Two targets run at a time. Inputs that found something new are kept in .fuzz/TARGET and used again; what crashes or
hangs a target goes to .fuzz/found, and the exit code is 1.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from hashlib import sha256

from tests.fuzz.targets import ROOT, TARGETS, seeds

FOLDER = ROOT / ".fuzz"
HANG_S = 10
PARALLEL = 2
_SLACK_S = 120.0


@dataclass(frozen=True)
class Outcome:
    """What became of a target; `found` are files of inputs that crash or hang it."""

    target: str
    seconds: int
    executions: int
    corpus: int
    found: tuple[str, ...]
    said: str = ""


def fuzz(name: str, seconds: int) -> Outcome:
    """Fuzz one target for some seconds."""
    corpus, findings = FOLDER / name, FOLDER / "found"
    for folder in (corpus, findings):
        folder.mkdir(parents=True, exist_ok=True)
    for data in seeds(name):
        (corpus / sha256(data).hexdigest()[:16]).write_bytes(data)
    prefix = findings / f"{name}-"
    options = [f"-max_total_time={seconds}", f"-timeout={HANG_S}", "-rss_limit_mb=2048", "-print_final_stats=1"]
    words = [sys.executable, "-m", "tests.fuzz.one", name, str(corpus), *options, f"-artifact_prefix={prefix}"]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False, timeout=seconds + _SLACK_S)
    executions = re.search(r"stat::number_of_executed_units:\s*([0-9]+)", done.stderr)
    found = tuple(sorted(str(path.relative_to(ROOT)) for path in findings.glob(f"{name}-*")))
    said = "" if done.returncode == 0 else done.stderr[-3000:]
    return Outcome(name, seconds, int(executions[1]) if executions else 0, len(list(corpus.iterdir())), found, said)


def main() -> int:
    """Fuzz, print a line a target, and say whether nothing was found."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("targets", metavar="TARGET", nargs="*", help=f"default: all of {', '.join(TARGETS)}")
    parser.add_argument("--minutes", type=float, default=2.0, help="all targets together")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    unknown = sorted(set(given.targets) - set(TARGETS))
    if unknown:
        parser.error(f"there is no target {unknown[0]!r}; known: {', '.join(TARGETS)}")
    names = given.targets or list(TARGETS)
    seconds = max(2, round(60 * given.minutes * PARALLEL / len(names)))
    outcomes = []
    with ThreadPoolExecutor(PARALLEL) as pool:
        for outcome in pool.map(lambda name: fuzz(name, seconds), names):
            outcomes.append(outcome)
            if not given.json:
                print(_line(outcome), flush=True)
    if given.json:
        print(json.dumps([asdict(outcome) for outcome in outcomes], indent=2))
    return 1 if any(outcome.said or outcome.found for outcome in outcomes) else 0


def _line(outcome: Outcome) -> str:
    numbers = f"{outcome.executions:>12,} executions in {outcome.seconds} s, {outcome.corpus:,} inputs kept"
    good = f"{outcome.target:17} {numbers}"
    bad = [f"  found: {path}" for path in outcome.found] + ([outcome.said] if outcome.said else [])
    return "\n".join([good, *bad])


if __name__ == "__main__":
    sys.exit(main())
