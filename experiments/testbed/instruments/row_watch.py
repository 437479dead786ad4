"""Watches a table of switches and writes every change of its rows to the event log.

    ARMOR_EVENTS=events.jsonl python -m experiments.testbed.instruments.row_watch 5 s1=/run/s1.mgmt s7=/run/s7.mgmt

It follows Open vSwitch's flow monitor (ONFST_FLOW_MONITOR), so it sees a row when it is in force, from any sender. A
process of its own, as the port watcher is, and with real-time priority where the system permits it.
"""

from __future__ import annotations

import os
import re
import selectors
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from typing import NoReturn

from experiments.testbed.instruments.processes import ProgramEndedError, end_all
from machine.event_log import EventLog
from mininet_topos.errors import BadInputError
from ovsdb_backup.urgency import Urgency

_RECEIVE_BYTES = 1 << 16
_STOP_S = 2.0
_ANSWER = b"FLOW_MONITOR reply"
_ADDED, _DELETED = b"event=ADDED", b"event=DELETED"
_COOKIE = re.compile(rb"cookie=(0x[0-9a-f]+|0)")


@dataclass
class Watched:
    """One switch, the program that follows it, and what it has said since the last newline."""

    node: str
    program: subprocess.Popen[bytes]
    rest: bytes = b""
    last_line: bytes = b""
    is_heard: bool = False


def watch(table_id: int, sockets: dict[str, str], log: EventLog) -> NoReturn:
    """Watch until a signal ends the process.

    Raises
    ------
    ProgramEndedError
        A monitor has ended; the message has its last line.
    """
    watched = [Watched(node, follow(table_id, path)) for node, path in sockets.items()]
    selector = selectors.DefaultSelector()
    try:
        for switch in watched:
            selector.register(stream_of(switch), selectors.EVENT_READ, switch)
        while True:
            for key, _ in selector.select():
                t_s = time.monotonic()
                note(key.data, os.read(key.fd, _RECEIVE_BYTES), t_s, log)
    finally:
        end_all([switch.program for switch in watched], signal.SIGTERM, _STOP_S)


def follow(table_id: int, path: str) -> subprocess.Popen[bytes]:
    """Start the monitor of a switch; its first answer goes to standard output, changes go to standard error.

    It opens no control socket: the folder for those exists only where the system's own Open vSwitch has been started.
    """
    argv = [
        "stdbuf",
        "-oL",
        "ovs-ofctl",
        "--unixctl=none",
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


def note(switch: Watched, data: bytes, t_s: float, log: EventLog) -> None:
    """Log the changes that lie in some output, with the cookies of the rows that came.

    Raises
    ------
    ProgramEndedError
        There is no more output.
    """
    *lines, switch.rest = (switch.rest + data).split(b"\n")
    if not switch.is_heard and any(_ANSWER in line for line in [*lines, switch.rest]):
        switch.is_heard = True
        log.write("rows_watched", t_s, node=switch.node)
    added, deleted = (sum(word in line for line in lines) for word in (_ADDED, _DELETED))
    if added or deleted:
        cookies = [found.group(1).decode() for line in lines if _ADDED in line and (found := _COOKIE.search(line))]
        log.write("rows_changed", t_s, node=switch.node, added=added, deleted=deleted, cookies=cookies)
    switch.last_line = next((line for line in reversed(lines) if line), switch.last_line)
    if not data:
        last = (switch.rest or switch.last_line).decode(errors="replace")
        raise ProgramEndedError(f"the flow monitor of {switch.node} has ended; its last line: {last!r}")


def main(argv: list[str]) -> int:
    """Entry point of the process."""
    sockets = {}
    for entry in argv[1:]:
        node, separator, path = entry.partition("=")
        if not separator:
            raise BadInputError(f"{entry!r} names no socket; write NODE=PATH")
        sockets[node] = path
    Urgency(wanted=True).set(urgent=True)  # the monitors inherit it
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # the monitors end with this process
    try:
        watch(int(argv[0]), sockets, EventLog("row-watcher"))
    except KeyboardInterrupt:
        return 0
    except ProgramEndedError as error:
        print(f"row watcher: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
