"""What a reader must know to repeat a measurement: code, machine, versions."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import time
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).resolve().parents[1]
RYU_MANAGER = Path(sys.executable).with_name("ryu-manager")
NETWORK_PACKAGES = ("armor-sdn", "ryu", "eventlet", "ovs", "networkx", "numpy", "scipy", "matplotlib")
SOLVER_PACKAGES = ("armor-sdn", "numpy", "scipy", "cvxpy", "clarabel", "highspy", "numba", "joblib", "distributed")


def app_file(name: str) -> Path:
    """Ryu app of a scheme or service; a scheme of an installed package has none of its own."""
    own = REPOSITORY / "ryu_apps" / f"{name}.py"
    return own if own.exists() else REPOSITORY / "ryu_apps" / "scheme.py"


def environment_facts(seed: int, packages: Sequence[str] = NETWORK_PACKAGES) -> dict[str, Any]:
    """Facts about now and here: a JSON object.

    Parameters
    ----------
    seed
        Seed of whatever is drawn at random.
    packages
        Whose versions matter; one that is not installed has None.
    """
    return {
        "command": _command(),
        "commit": commit(),
        "at": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
        "kernel": platform.release(),
        "machine": platform.machine(),
        "processor": _processor(),
        "python": platform.python_version(),
        "open_vswitch": open_vswitch_version(),
        "cores": os.cpu_count(),
        "load": list(os.getloadavg()),
        "seed": seed,
        "packages": {name: package_version(name) for name in packages},
    }


def load_per_core() -> float:
    """Runnable tasks a core, over the last minute."""
    return os.getloadavg()[0] / (os.cpu_count() or 1)


def _command() -> list[str]:
    """The command line; of a program or notebook that imports Armor only its name."""
    program = Path(sys.argv[0]).name
    return ["armor", *sys.argv[1:]] if program in ("armor", "__main__.py") else ["python", program]


def commit() -> str | None:
    """Commit of the working tree, with "+" when its files are changed; None outside a repository.

    As in `git describe --dirty`, new files do not count: among them is the output folder of the run itself.
    """
    if not (REPOSITORY / ".git").exists():
        return None  # an installed wheel may lie in a repository of somebody else
    words = ["git", "-C", str(REPOSITORY)]
    try:
        head = subprocess.run([*words, "rev-parse", "HEAD"], capture_output=True, text=True, check=True)
        status = [*words, "status", "--porcelain", "--untracked-files=no"]
        changed = subprocess.run(status, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return head.stdout.strip() + ("+" if changed.stdout.strip() else "")


def open_vswitch_version() -> str | None:
    """Version of the installed Open vSwitch; None without one."""
    try:
        said = subprocess.run(["ovs-vswitchd", "--version"], capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return None
    return said.splitlines()[0].rpartition(" ")[2]


def package_version(package: str) -> str | None:
    """Version of an installed Python package; None when it is not there."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _processor() -> str | None:
    """Name of the processor, where the kernel tells it."""
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return None
    names = (line.partition(":")[2].strip() for line in text.splitlines() if line.startswith("model name"))
    return next(names, None)
