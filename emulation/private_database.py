"""One private ovsdb-server with the backup database: it can be killed at any moment and started again on its file."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from emulation.private_switch import find_program, start_daemon
from emulation.scratch import Scratch, scratch
from machine.places import run_program
from machine.unixctl import UnixCtl


class PrivateDatabase:
    """Made by `private_database`, and running; `start` and `kill` in turn."""

    def __init__(self, place: Scratch, schema: Path) -> None:
        self._place, self._stack = place, ExitStack()
        self._file, self._socket = place.folder / "backup.db", place.folder / "db.sock"
        self._control = place.folder / "db.ctl"
        run_program([find_program("ovsdb-tool"), "create", str(self._file), str(schema)])

    @property
    def remote(self) -> str:
        """Address for clients."""
        return f"unix:{self._socket}"

    def start(self) -> None:
        """Start the server, and wait until it listens (raises as `private_switch`)."""
        words = [find_program("ovsdb-server"), str(self._file), f"--remote=p{self.remote}"]
        words += [f"--unixctl={self._control}", f"--log-file={self._place.folder / 'daemons.log'}"]
        words += ["--no-chdir", "-vconsole:off", "-vsyslog:off"]
        start_daemon(self._stack, self._place, words, "ovsdb-server", self._socket)

    def compact(self) -> None:
        """Let the server write its file anew; by itself it does so only after ten minutes without a restart."""
        with UnixCtl(self._control) as control:
            control.run("ovsdb-server/compact")

    def kill(self) -> None:
        """SIGKILL, and wait until the process is gone."""
        self._stack.close()


@contextmanager
def private_database(what: str, schema: Path) -> Iterator[PrivateDatabase]:
    """Start one; the server and its file are gone at the end.

    Parameters
    ----------
    what
        What it is for, as `armor clean` shows it.
    schema
        Of its one database.

    Raises
    ------
    MissingRequirementError
        Open vSwitch is not installed.
    ArmorError
        The server did not start.
    """
    with scratch(what) as place:
        database = PrivateDatabase(place, schema)
        database.start()
        try:
            yield database
        finally:
            database.kill()
