"""Watches a table of switches and writes every change of its rows to the event log.

    ARMOR_EVENTS=events.jsonl python -m experiments.probes.row_watch 5 s1=/run/s1/s1.mgmt s7=/run/s7/s7.mgmt

It follows Open vSwitch's flow monitor (ONFST_FLOW_MONITOR), so it sees a row when it is in force, whoever sent it. A
process of its own, as the port watcher is, and with real-time priority where the system permits it.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
import sys
import time
from dataclasses import dataclass

from experiments.probes.processes import end_all
from mininet_topos.errors import BadInputError
from mininet_topos.event_log import EventLog
from ovsdb_backup.urgency import Urgency

_RECEIVE_BYTES = 1 << 16
_STOP_S = 2.0
_ANSWER = b"FLOW_MONITOR reply"
_ADDED, _DELETED = b"event=ADDED", b"event=DELETED"


@dataclass
class Watched:
    """One switch, the program that follows it, and what it has said since the last newline."""

    node: str
    program: subprocess.Popen[bytes]
    rest: bytes = b""
    is_heard: bool = False


def watch(table_id: int, sockets: dict[str, str], log: EventLog) -> None:
    """Watch until the process is told to end, or a switch goes away."""
    watched = [Watched(node, follow(table_id, path)) for node, path in sockets.items()]
    selector = selectors.DefaultSelector()
    try:
        for switch in watched:
            selector.register(stream_of(switch), selectors.EVENT_READ, switch)
        while True:
            for key, _ in selector.select():
                t_s = time.monotonic()
                if not note(key.data, os.read(key.fd, _RECEIVE_BYTES), t_s, log):
                    return
    finally:
        end_all([switch.program for switch in watched], signal.SIGTERM, _STOP_S)


def follow(table_id: int, path: str) -> subprocess.Popen[bytes]:
    """Start the monitor of a switch; its first answer goes to standard output, changes go to standard error."""
    argv = [
        "stdbuf",
        "-oL",
        "ovs-ofctl",
        "-O",
        "OpenFlow13",
        "monitor",
        f"unix:{path}",
        f"watch:!initial,table={table_id}",
    ]
    return subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


def stream_of(switch: Watched) -> int:
    """What the program of a switch prints to."""
    if switch.program.stdout is None:
        raise BadInputError(f"the monitor of {switch.node} has no output; start it with a pipe")
    return switch.program.stdout.fileno()


def note(switch: Watched, data: bytes, t_s: float, log: EventLog) -> bool:
    """Log the changes that lie in some output; False when there is no more."""
    *lines, switch.rest = (switch.rest + data).split(b"\n")
    if not switch.is_heard and any(_ANSWER in line for line in [*lines, switch.rest]):
        switch.is_heard = True
        log.write("rows_watched", t_s, node=switch.node)
    added, deleted = (sum(word in line for line in lines) for word in (_ADDED, _DELETED))
    if added or deleted:
        log.write("rows_changed", t_s, node=switch.node, added=added, deleted=deleted)
    return bool(data)


def main(argv: list[str]) -> int:
    """Entry point of the process."""
    sockets = {}
    for entry in argv[1:]:
        node, separator, path = entry.partition("=")
        if not separator:
            raise BadInputError(f"{entry!r} names no socket; write NODE=PATH")
        sockets[node] = path
    Urgency(wanted=True).set(urgent=True)  # the monitors inherit it
    with contextlib.suppress(KeyboardInterrupt):
        watch(int(argv[0]), sockets, EventLog("row-watcher"))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
