"""The result file of a benchmark: what its numbers depend on in the first line, then a JSON line for each trial."""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TypeVar

RESULTS = Path(__file__).parent / "results"
Row = TypeVar("Row")


def parser_of(name: str, about: str | None) -> argparse.ArgumentParser:
    """The parser of a benchmark's command line, with the option for its result file."""
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--out", type=Path, default=RESULTS / f"{name}.jsonl", help="result file (default: %(default)s)"
    )
    return parser


def record(
    name: str,
    out: Path,
    rows: Iterable[Row],
    summary: Callable[[list[Row]], Iterable[str]],
    plain: Callable[[Row], object] = lambda row: row,
) -> int:
    """Write each row as soon as it is measured, then print the summary; returns the exit code 0.

    `plain` turns a row into what JSON can hold.
    """
    out.parent.mkdir(parents=True, exist_ok=True)
    done: list[Row] = []
    with out.open("w", encoding="utf-8") as lines:
        first = {"command": [f"benchmarks.{name}", *sys.argv[1:]], "environment": environment()}
        print(json.dumps(first), file=lines, flush=True)
        for row in rows:
            done.append(row)
            print(json.dumps(plain(row)), file=lines, flush=True)
    print("\n".join(summary(done)))
    return 0


def environment() -> dict[str, object]:
    """Python, kernel, cores, load, scheduling priority, Open vSwitch and commit."""
    ovs = subprocess.run(["ovs-ofctl", "--version"], capture_output=True, text=True, check=True).stdout.split("\n")[0]
    commit = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True, check=True).stdout.strip()
    return {
        "python": platform.python_version(),
        "kernel": platform.release(),
        "cores": os.cpu_count(),
        "load": os.getloadavg()[0],
        "nice": os.nice(0),
        "ovs": ovs,
        "commit": commit,
    }


def memory_mb(process_id: int) -> dict[str, float]:
    """Resident memory of a process, now and at its peak, in megabytes of 10^6 bytes."""
    status = Path(f"/proc/{process_id}/status").read_text(encoding="utf-8")
    found = dict(re.findall(r"(VmRSS|VmHWM):\s+(\d+) kB", status))
    return {"rss_mb": int(found["VmRSS"]) * 1024 / 1e6, "peak_rss_mb": int(found["VmHWM"]) * 1024 / 1e6}
