"""Frames that a busy machine lost: they came to a switch of the userspace datapath, which did not read them in time.

Open vSwitch reads each port from a packet socket; where the socket's buffer is full, the kernel drops the frame. No
counter of the interface or of the switch shows it, only the socket's own (`ss --memory` shows it behind the letter d).
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

from emulation.decide.switch import VSWITCHD
from emulation.network import EmulatedNetwork
from emulation.supervisor import ProcessError
from machine.places import inside, run_program
from mininet_topos.errors import ArmorError

_PARALLEL = 4
_SHOW_PACKET_SOCKETS = ("ss", "--packet", "--numeric", "--extended", "--memory", "--oneline")
_SOCKET = re.compile(r"\*:(?P<interface>\S+)\s.*\bino:(?P<inode>\d+)\b.*,d(?P<dropped>\d+)\)")


class UnreadFrames:
    """Counts from its making on."""

    def __init__(self, network: EmulatedNetwork) -> None:
        self._network = network
        self._before = _counted(network)

    def so_far(self) -> dict[str, int]:
        """By the switch's interface; a count that fell belongs to a daemon that was restarted."""
        found = {}
        for interface, count in _counted(self._network).items():
            before = self._before.get(interface, 0)
            found[interface] = count - before if count >= before else count
        return {interface: count for interface, count in found.items() if count}


def _counted(network: EmulatedNetwork) -> dict[str, int]:
    daemons = set()
    for node in network.sites:
        with suppress(ProcessError):  # it is being restarted, and its sockets are new
            daemons.add(network.pid_of(VSWITCHD, node))
    with ThreadPoolExecutor(_PARALLEL) as pool:
        parts = pool.map(_counted_at, sorted(daemons))
    return {interface: count for part in parts for interface, count in part.items()}


def _counted_at(pid: int) -> dict[str, int]:
    try:
        return dropped_frames(run_program(inside(pid, _SHOW_PACKET_SOCKETS)), _sockets_of(pid))
    except (ArmorError, OSError):
        return {}  # it has ended since


def _sockets_of(pid: int) -> set[str]:
    """Inodes of the sockets of a process."""
    folder, found = f"/proc/{pid}/fd", set()
    for descriptor in os.listdir(folder):
        with suppress(OSError):  # it has been closed since
            found.add(os.readlink(f"{folder}/{descriptor}").removeprefix("socket:[").removesuffix("]"))
    return found


def dropped_frames(shown: str, inodes: Collection[str]) -> dict[str, int]:
    """Dropped frames by interface, from what `ss` shows of packet sockets; taps have sockets as well, and do not count.

    Examples
    --------
    >>> line = "p_raw 0 0 *:s1-eth2 * ino:7 sk:1 skmem:(r0,rb212992,t0,tb212992,f0,w0,o176,bl0,d88)"
    >>> dropped_frames(line, {"7"}), dropped_frames(line, {"8"})
    ({'s1-eth2': 88}, {})
    """
    found = (_SOCKET.search(line) for line in shown.splitlines())
    return {match["interface"]: int(match["dropped"]) for match in found if match and match["inode"] in inodes}
