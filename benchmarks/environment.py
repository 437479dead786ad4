"""What numbers of a benchmark depend on, for the first line of its result file."""

from __future__ import annotations

import os
import platform
import re
import subprocess
from pathlib import Path


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
