"""What a sweep leaves in its folder: rows, environment, verdict, pictures."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Iterable, Sequence
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

from experiments.te.pictures import save
from experiments.te.sweep import Json

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PACKAGES = ("armor-sdn", "numpy", "scipy", "cvxpy", "clarabel", "highspy", "numba", "joblib", "distributed")
REPOSITORY = Path(__file__).resolve().parents[2]


def write_rows(folder: Path, rows: Iterable[Json]) -> None:
    """rows.jsonl: everything that the pictures and claims are made of."""
    text = "".join(json.dumps(row) + "\n" for row in rows)
    (folder / "rows.jsonl").write_text(text, encoding="utf-8")


def write_value(folder: Path, name: str, value: object) -> None:
    """One JSON file."""
    (folder / name).write_text(json.dumps(value, indent=2) + "\n", encoding="utf-8")


def write_pictures(folder: Path, figure: Figure) -> None:
    """figure.png and figure.svg."""
    for ending in (".png", ".svg"):
        save(figure, folder / f"figure{ending}")


def environment(seed: int) -> Json:
    """Code, machine and versions that a sweep ran with."""
    return {
        "command": ["armor", *sys.argv[1:]],
        "commit": _commit(),
        "finished": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
        "machine": platform.machine(),
        "python": platform.python_version(),
        "cores": os.cpu_count(),
        "load": list(os.getloadavg()),
        "seed": seed,
        "packages": {name: _version(name) for name in PACKAGES},
    }


def verdict(claims: Sequence[Json]) -> str:
    """ "failed" as soon as one judged claim failed."""
    return "failed" if any(claim["verdict"] == "failed" for claim in claims) else "held"


def _commit() -> str | None:
    command = ["git", "-C", str(REPOSITORY), "describe", "--always", "--dirty=+", "--abbrev=40", "--exclude=*"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return None


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None
