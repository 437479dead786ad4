"""Run the switch-local agent of bridges of this machine's Open vSwitch, until Ctrl-C (needs root).

  sudo .venv/bin/armor agent s1                       # the agent of one bridge
  sudo .venv/bin/armor agent --all                    # one agent for each bridge: plain mn, or a switch with several
  sudo .venv/bin/armor agent s1 -- --realtime         # what follows -- goes to the agent (docs/agent.md)
  sudo .venv/bin/armor agent --prepare                # only the backup database

The backup database is made, and served by this machine's ovsdb-server, where it is not yet. The controller fills it:
mode = agent, backup_db = unix:/var/run/openvswitch/db.sock (on other machines tcp: or ssl:, docs/controller.md). An
agent that ends is started again, and finds its rows in the switch.
"""

from __future__ import annotations

import argparse
import itertools
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from experiments.terminal.output import note, release_notes
from machine.ending import ending_waits
from mininet_topos.errors import ArmorError, BadInputError
from mininet_topos.wording import counted

if TYPE_CHECKING:
    from ovsdb_backup.local_switch import LocalSwitch

_AGAIN_S = 1.0
_POLL_S = 0.2
_SERVE_EVERY = 25  # polls: every five seconds
_BAD_OPTIONS = 2


class AgentError(ArmorError):
    """An agent does not run."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of `armor agent`."""
    from ovsdb_backup.local_switch import BACKUP_FILE, RUN_DIR

    parser.add_argument("bridge", metavar="BRIDGE", nargs="?", help="bridge, called as its switch in the topology")
    parser.add_argument("options", metavar="OPTION", nargs="*", default=[], help="of the agent, after --")
    parser.add_argument("--all", action="store_true", help="an agent for each bridge")
    parser.add_argument("--prepare", action="store_true", help="make and serve the backup database, and end")
    parser.add_argument(
        "--run-dir", metavar="DIR", default=str(RUN_DIR), help=f"folder of Open vSwitch's sockets (default: {RUN_DIR})"
    )
    parser.add_argument(
        "--backup-file", metavar="FILE", default=str(BACKUP_FILE), help=f"backup database (default: {BACKUP_FILE})"
    )


def run(arguments: argparse.Namespace) -> int:
    """Run `armor agent`."""
    from ovsdb_backup.local_switch import LocalSwitch

    if arguments.bridge is not None and arguments.bridge.startswith("-"):  # --all -- OPTION
        arguments.bridge, arguments.options = None, [arguments.bridge, *arguments.options]
    if (arguments.bridge is not None) + arguments.all + arguments.prepare != 1:
        raise BadInputError("armor agent takes one of BRIDGE, --all and --prepare")
    switch = LocalSwitch(Path(arguments.run_dir).absolute())
    bridges = switch.bridges() if arguments.all else [arguments.bridge] if arguments.bridge else []
    for name in bridges:
        switch.require_bridge(name)
    release_notes()
    file = Path(arguments.backup_file).absolute()
    if switch.serve_backup_database(file):
        note(f"ovsdb-server serves {arguments.backup_file}")
    commands = {
        name: [
            *(sys.executable, "-m", "ovsdb_backup.agent", "--bridge", name),
            *("--database", f"unix:{switch.database_socket}", "--management", f"unix:{switch.management(name)}"),
            *arguments.options,
        ]
        for name in bridges
    }
    if arguments.prepare:
        return 0
    if not commands:
        raise BadInputError("Open vSwitch has no bridge; add one, or start mn first")
    note(f"{counted(len(commands), 'agent')}; Ctrl-C ends them")
    _keep_running(commands, _serving(switch, file))
    return 0


def _serving(switch: LocalSwitch, file: Path) -> Callable[[], None]:
    """Has the backup database served again where an ovsdb-server that was started again has forgotten it."""
    said = ""

    def serve() -> None:
        nonlocal said
        try:
            if switch.serve_backup_database(file):
                note(f"ovsdb-server serves {file} again")
            said = ""
        except ArmorError as error:
            if str(error) != said:
                note(f"the backup database: {error}")
            said = str(error)

    return serve


def _keep_running(commands: dict[str, list[str]], serve: Callable[[], None]) -> None:
    """Run all, and start again what ends, until Ctrl-C; `serve` is called every few seconds.

    Raises
    ------
    AgentError
        One refuses its options.
    """
    processes: dict[str, subprocess.Popen[bytes]] = {}

    def start(name: str) -> None:
        with ending_waits():  # an agent that an interrupt leaves unknown would run on
            processes[name] = subprocess.Popen(commands[name])

    try:
        for name in commands:
            start(name)
        for number in itertools.count(1):
            time.sleep(_POLL_S)
            if number % _SERVE_EVERY == 0:
                serve()
            for name, process in processes.items():
                code = process.poll()
                if code == _BAD_OPTIONS:
                    raise AgentError(f"the agent of {name} cannot run; its reason stands above")
                if code is not None:
                    note(f"the agent of {name} ended with {code}; it is started again")
                    time.sleep(_AGAIN_S)
                    start(name)
    finally:
        _end(list(processes.values()))


def _end(processes: Sequence[subprocess.Popen[bytes]]) -> None:
    for process in processes:
        process.terminate()
    for process in processes:
        process.wait()
