"""A throw-away ovsdb-server in a temporary directory, started and ended by its process id."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

WAIT_S = 20.0


class OvsdbServer:
    """ovsdb-server with files of its own; it survives `kill_hard` in so far as its files do."""

    def __init__(self, folder: Path, schemas: Mapping[str, Path]) -> None:
        self.folder = folder
        self.databases = [folder / f"{name}.db" for name in schemas]
        for file, schema in zip(self.databases, schemas.values(), strict=True):
            subprocess.run(["ovsdb-tool", "create", file, schema], check=True)
        self.socket = folder / "db.sock"
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def remote(self) -> str:
        """Address for clients."""
        return f"unix:{self.socket}"

    def start(self) -> None:
        """Start, and wait until clients can connect."""
        self.socket.unlink(missing_ok=True)
        with open(self.folder / "ovsdb-server.log", "ab") as log:
            self.process = subprocess.Popen(
                [
                    "ovsdb-server",
                    *map(str, self.databases),
                    f"--remote=punix:{self.socket}",
                    f"--unixctl={self.folder}/ovsdb.ctl",
                    "--no-chdir",
                    "-vconsole:warn",
                ],
                stdout=log,
                stderr=log,
                cwd=self.folder,
            )
        wait_until(self._accepts, "ovsdb-server listens")

    def _accepts(self) -> bool:
        """Whether a client can connect: the socket file is there a moment before anybody listens."""
        with socket.socket(socket.AF_UNIX) as client:
            return client.connect_ex(str(self.socket)) == 0

    def kill_hard(self) -> None:
        """SIGKILL: no good-bye, nothing flushed."""
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        """Ask it to end."""
        self._end(signal.SIGTERM)

    def _end(self, number: int) -> None:
        if self.process is not None:
            os.kill(self.process.pid, number)
            self.process.wait(WAIT_S)
            self.process = None


@contextmanager
def ovsdb_server(schemas: Mapping[str, Path]) -> Iterator[OvsdbServer]:
    """A running server; everything is gone at the end. Socket paths must be short, hence no tmp_path."""
    with tempfile.TemporaryDirectory(prefix="armor-") as folder:
        server = OvsdbServer(Path(folder), schemas)
        server.start()
        try:
            yield server
        finally:
            server.stop()


def wait_until(condition, what: str, timeout_s: float = WAIT_S) -> None:
    """Poll until the condition holds; the time limit is for a broken test, not a claim about speed."""
    deadline_s = time.monotonic() + timeout_s
    while not condition():
        if time.monotonic() > deadline_s:
            raise AssertionError(f"waited {timeout_s:g} s in vain until {what}")
        time.sleep(0.005)
