"""Fuzz all targets, or those named, for some minutes: `python -m tests.fuzz.run --minutes M [TARGET ...]`.

Two targets run at a time, and a long run runs all of them several times. Inputs that found something new are
kept in .fuzz/TARGET and used again, so that runs add up; .fuzz/runs.jsonl gets a line each time a target has run. What
crashes or hangs a target goes to .fuzz/found, and the exit code is 1.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import secrets
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from hashlib import sha256
from pathlib import Path

from scripts.repeat_tests import origin
from tests.fuzz.targets import ROOT, TARGETS, seeds

FOLDER = ROOT / ".fuzz"
HANG_S = 10
ROUND_MINUTES = 20
PARALLEL = 2
_SLACK_S = 120.0


@dataclass(frozen=True)
class Outcome:
    """What became of a target; `found` are files of inputs that crash or hang it, `left_out` is why it did not run."""

    target: str
    seconds: int
    executions: int
    corpus: int
    found: tuple[str, ...]
    said: str = ""
    left_out: str = ""


@dataclass(frozen=True)
class Machine:
    """Something real that is held to its model on random packets, instead of a function of bytes.

    Attributes
    ----------
    command
        Words after the Python program.
    a_second
        Packets that it tries in a second, about.
    executed
        Pattern of the number of packets that it says it has tried; several are added up.
    """

    command: tuple[str, ...]
    a_second: int
    executed: str


MACHINES = {
    "packet-programs": Machine(
        ("benchmarks.dataplane_fuzz", "--packets"), 1500, r": ([0-9]+) (?:packets|frames) alike"
    ),
    "real-switch": Machine(
        ("experiments", "verify", "sdfast", "figure2", "--against-ovs", "--samples"), 40, r": ([0-9,]+) packets"
    ),
}
"""Packet programs in the kernel (as root); tags and notifications through a private Open vSwitch."""


def try_machine(name: str, seconds: int) -> Outcome:
    """Try a machine for about some seconds, with packets of another seed each time."""
    machine = MACHINES[name]
    if name == "packet-programs" and os.geteuid() != 0:
        return Outcome(name, 0, 0, 0, (), said="", left_out="it needs root")
    packets = max(100, seconds * machine.a_second)
    words = [sys.executable, "-m", *machine.command, str(packets), "--seed", str(secrets.randbelow(1 << 30))]
    done = _run(words, 10 * seconds + _SLACK_S)
    tried = sum(int(number.replace(",", "")) for number in re.findall(machine.executed, done.stdout))
    said = "" if done.returncode == 0 else f"{' '.join(words)}\n{(done.stdout + done.stderr)[-3000:]}"
    return Outcome(name, seconds, tried, 0, (), said)


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
    done = _run(words, seconds + _SLACK_S)
    executions = re.search(r"stat::number_of_executed_units:\s*([0-9]+)", done.stderr)
    found = tuple(sorted(str(path.relative_to(ROOT)) for path in findings.glob(f"{name}-*")))
    said = "" if done.returncode == 0 else done.stderr[-3000:]
    return Outcome(name, seconds, int(executions[1]) if executions else 0, len(list(corpus.iterdir())), found, said)


def _run(words: list[str], within_s: float) -> subprocess.CompletedProcess[str]:
    """Run a program; one that does not end in time has failed, and the other targets go on."""
    try:
        return subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False, timeout=within_s)
    except subprocess.TimeoutExpired as error:
        printed = [each.decode(errors="replace") if each else "" for each in (error.stdout, error.stderr)]
        late = f"{printed[1]}\nkilled: it did not end within {within_s:g} s"
        return subprocess.CompletedProcess(words, 1, printed[0], late)


def main() -> int:
    """Fuzz, print a line a target, and say whether nothing was found."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    known = (*TARGETS, *MACHINES)
    parser.add_argument("targets", metavar="TARGET", nargs="*", help=f"default: all of {', '.join(known)}")
    parser.add_argument("--minutes", type=float, default=2.0, help="all targets together")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    unknown = sorted(set(given.targets) - set(known))
    if unknown:
        parser.error(f"there is no target {unknown[0]!r}; known: {', '.join(known)}")
    names = given.targets or list(known)
    rounds = max(1, round(given.minutes / ROUND_MINUTES))
    seconds = max(2, round(60 * given.minutes * PARALLEL / len(names) / rounds))
    totals: dict[str, Outcome] = {}
    with ThreadPoolExecutor(PARALLEL) as pool:
        for outcome in pool.map(lambda name: (fuzz if name in TARGETS else try_machine)(name, seconds), rounds * names):
            keep(outcome, FOLDER / "runs.jsonl")
            totals[outcome.target] = added(totals.get(outcome.target), outcome)
            if not given.json:
                print(_line(outcome), flush=True)
    if given.json:
        print(json.dumps([asdict(outcome) for outcome in totals.values()], indent=2))
    elif rounds > 1:
        print("in all:", *(_line(outcome) for outcome in totals.values()), sep="\n")
    return 1 if any(outcome.said or outcome.found for outcome in totals.values()) else 0


def keep(outcome: Outcome, file: Path) -> None:
    """Append a line to the file of all runs; paths in it begin at the checkout, or at Python's own folder."""
    file.parent.mkdir(parents=True, exist_ok=True)
    said = outcome.said
    for folder in (ROOT, sys.base_prefix):
        said = said.replace(f"{folder}/", "")
    with file.open("a", encoding="utf-8") as lines:
        lines.write(json.dumps({**origin(), **asdict(outcome), "said": said}) + "\n")


def added(total: Outcome | None, outcome: Outcome) -> Outcome:
    """The outcome of a target after one more round."""
    if total is None:
        return outcome
    return replace(
        outcome,
        seconds=total.seconds + outcome.seconds,
        executions=total.executions + outcome.executions,
        said="\n".join(filter(None, (total.said, outcome.said))),
    )


def _line(outcome: Outcome) -> str:
    if outcome.left_out:
        return f"{outcome.target:17} left out: {outcome.left_out}"
    numbers = f"{outcome.executions:>12,} executions in {outcome.seconds} s, {outcome.corpus:,} inputs kept"
    good = f"{outcome.target:17} {numbers}"
    bad = [f"  found: {path}" for path in outcome.found] + ([outcome.said] if outcome.said else [])
    return "\n".join([good, *bad])


if __name__ == "__main__":
    sys.exit(main())
