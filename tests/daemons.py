"""A daemon of Open vSwitch in a folder of its own.

`emulation.private_switch` keeps its daemons until its block ends; tests kill single ones, stop and restart them.
"""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path

from emulation.private_switch import find_program
from machine.json_rpc import listens
from tests.patience import patient_s, wait_until


def environment(folder: Path) -> dict[str, str]:
    """Variables that keep programs of Open vSwitch from the machine's own."""
    return {**os.environ, **dict.fromkeys(("OVS_RUNDIR", "OVS_DBDIR", "OVS_LOGDIR"), str(folder))}


class Daemon:
    """One running daemon; made, it answers at `ready`, a Unix socket."""

    def __init__(self, folder: Path, program: str, options: Sequence[str], ready: Path) -> None:
        ready.unlink(missing_ok=True)
        self._log = folder / f"{program}.log"
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                [find_program(program), "-vconsole:off", *options],
                cwd=folder,
                env=environment(folder),
                stdout=log,
                stderr=log,
            )
        try:
            wait_until(lambda: self._answers(ready), f"{program} is up", 60)
        except BaseException:
            self.end()
            raise

    def send_signal(self, number: int) -> None:
        """Send a signal, such as SIGSTOP."""
        self._process.send_signal(number)

    def end(self, number: int = signal.SIGKILL) -> None:
        """End it by a signal, and wait until it is gone."""
        self._process.send_signal(number)
        self._process.wait(patient_s(20))

    def _answers(self, ready: Path) -> bool:
        assert self._process.poll() is None, self._log.read_text(encoding="utf-8", errors="replace")
        return listens(ready)
