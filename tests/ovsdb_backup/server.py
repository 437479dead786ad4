"""A throw-away ovsdb-server in a temporary directory, started and ended by its process id."""

from __future__ import annotations

import signal
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from experiments.loadgen.ports import free_port
from machine.tls import TlsFiles
from tests.daemons import Daemon


class OvsdbServer:
    """ovsdb-server with files of its own; it survives `kill_hard` in so far as its files do."""

    def __init__(self, folder: Path, schemas: Mapping[str, Path]) -> None:
        self.folder = folder
        self.databases = [folder / f"{name}.db" for name in schemas]
        for file, schema in zip(self.databases, schemas.values(), strict=True):
            subprocess.run(["ovsdb-tool", "create", file, schema], check=True)
        self.socket = folder / "db.sock"
        self._daemon: Daemon | None = None
        self._tls: tuple[str, ...] = ()

    @property
    def remote(self) -> str:
        """Address for clients."""
        return f"unix:{self.socket}"

    def start(self) -> None:
        """Start, and wait until clients can connect."""
        options = (f"--remote=punix:{self.socket}", *self._tls, f"--unixctl={self.folder}/ovsdb.ctl")
        self._daemon = Daemon(self.folder, "ovsdb-server", (*map(str, self.databases), *options), self.socket)

    def restart_with_tls(self, files: TlsFiles) -> str:
        """Start anew, and listen on loopback with TLS too; the address for clients there."""
        port = free_port()
        keys = (f"--private-key={files.private_key}", f"--certificate={files.certificate}")
        self._tls = (f"--remote=pssl:{port}:127.0.0.1", *keys, f"--ca-cert={files.ca_certificate}")
        self.stop()
        self.start()
        return f"ssl:127.0.0.1:{port}"

    def kill_hard(self) -> None:
        """SIGKILL: no good-bye, nothing flushed."""
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        """Ask it to end."""
        self._end(signal.SIGTERM)

    def send_signal(self, number: int) -> None:
        """Send a signal to the running server, such as SIGSTOP."""
        assert self._daemon is not None, "the server does not run"
        self._daemon.send_signal(number)

    def _end(self, number: int) -> None:
        if self._daemon is not None:
            self._daemon.end(number)
            self._daemon = None


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
