"""What the machine must have before an emulated network can start, one sentence for each lack."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
from collections.abc import Iterable

from emulation.daemons import OPEN_VSWITCH_SCHEMA
from mininet_topos.errors import MissingRequirementError

# program -> Debian package that brings it
PROGRAMS = {
    "ovs-vswitchd": "openvswitch-switch",
    "ovsdb-server": "openvswitch-switch",
    "ovs-vsctl": "openvswitch-switch",
    "ovs-ofctl": "openvswitch-common",
    "ovsdb-tool": "openvswitch-common",
    "mnexec": "mininet",
    "ip": "iproute2",
    "tc": "iproute2",
    "nft": "nftables",
    "ethtool": "ethtool",
    "ping": "iputils-ping",
}
PROBE_PROGRAMS = {"irtt": "irtt", "iperf3": "iperf3", "tcpdump": "tcpdump"}


def missing_programs(programs: Iterable[str]) -> list[str]:
    """Programs that are not on the search path."""
    return [program for program in programs if shutil.which(program) is None]


def require_emulation() -> None:
    """Refuse to go on unless an emulated network can be started here.

    Raises
    ------
    MissingRequirementError
        Not root, a program or Mininet is missing, or namespaces cannot be made; the message says how to repair it.
    """
    if os.geteuid() != 0:
        raise MissingRequirementError("an emulated network needs root (namespaces); run the command with sudo")
    lacking = missing_programs(PROGRAMS)
    if lacking:
        packages = " ".join(sorted({PROGRAMS[program] for program in lacking}))
        raise MissingRequirementError(f"{', '.join(lacking)} not found; install it with: apt-get install {packages}")
    if importlib.util.find_spec("mininet") is None:
        raise MissingRequirementError("Mininet is not importable from this Python; run make setup, which installs it")
    if not OPEN_VSWITCH_SCHEMA.exists():
        raise MissingRequirementError(
            f"{OPEN_VSWITCH_SCHEMA} not found; reinstall it: apt-get install openvswitch-switch"
        )
    _require_namespaces()


def _require_namespaces() -> None:
    """Refuse where mnexec cannot make a network namespace: Mininet would wait for its shell for ever."""
    done = subprocess.run(["mnexec", "-n", "true"], capture_output=True, text=True, check=False, timeout=30)
    if done.returncode != 0:
        raise MissingRequirementError(
            f"mnexec cannot make a network namespace here ({done.stderr.strip()}); give a container the right to "
            "(docs/containers.md), and use a container instead of a chroot"
        )
