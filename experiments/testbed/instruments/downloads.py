"""Downloads over HTTP: busybox's web server in the hosts' namespaces, wget at the other end."""

from __future__ import annotations

import random
import signal
import subprocess
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from emulation.requirements import missing_programs
from experiments.testbed.instruments.processes import end_all, require_running, require_unkilled
from experiments.testbed.instruments.streams import StreamError
from mininet_topos.errors import MissingRequirementError

if TYPE_CHECKING:
    from emulation.network import EmulatedNetwork

HTTP_PORT = 80
PROGRAMS = ("busybox", "wget")  # in Debian packages of these names
_FILE = "file.bin"
_SERVER_START_S, _STOP_S = 10.0, 2.0


@dataclass(frozen=True)
class Download:
    """One download: who fetched from whom, when it began and ended (None: given up), and the bytes that came.

    Stamps are CLOCK_MONOTONIC, seconds.
    """

    source: str
    destination: str
    start_s: float
    end_s: float | None
    received_bytes: int


class Downloads:
    """Web servers at the destinations while the context lasts; `start` begins all downloads at once.

    Parameters
    ----------
    pairs : sequence of (str, str)
        Who fetches, and from whom; node names.
    size_bytes
        Length of the file.
    folder
        Where the file, what arrives of it, and the programs' words go.
    seed
        Of the file's content.

    Raises
    ------
    MissingRequirementError
        wget or busybox is not installed.
    StreamError
        A server does not start.
    """

    def __init__(
        self, network: EmulatedNetwork, pairs: Sequence[tuple[str, str]], size_bytes: int, folder: Path, seed: int
    ) -> None:
        self._network, self._pairs, self._folder = network, tuple(pairs), folder
        self._size_bytes, self._seed = size_bytes, seed
        self._servers: dict[str, subprocess.Popen[bytes]] = {}
        self._clients: list[subprocess.Popen[bytes]] = []
        self._ends_s: dict[int, float] = {}
        self._threads: list[threading.Thread] = []
        self._start_s = 0.0

    def __enter__(self) -> Downloads:
        """Write the file, start a server at every destination, and wait until all listen."""
        lacking = missing_programs(PROGRAMS)
        if lacking:
            raise MissingRequirementError(
                f"{', '.join(lacking)} not found; install it with: apt-get install {' '.join(lacking)}"
            )
        root = self._folder / "www"
        root.mkdir(parents=True)
        (root / _FILE).write_bytes(random.Random(self._seed).randbytes(self._size_bytes))
        try:
            for node in dict.fromkeys(destination for _, destination in self._pairs):
                host = self._network.hosts[node]
                argv = ["busybox", "httpd", "-f", "-p", f"{host.address}:{HTTP_PORT}", "-h", str(root)]
                with (self._folder / f"httpd-{node}.log").open("wb") as log:
                    self._servers[node] = self._network.popen(host.name, argv, stdout=log, stderr=log)
            self._wait_listening()
        except BaseException:
            self._stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop servers, and downloads that still run."""
        self._stop()

    def start(self) -> None:
        """Begin all downloads."""
        self._start_s = time.monotonic()
        for number, (source, destination) in enumerate(self._pairs):
            url = f"http://{self._network.hosts[destination].address}:{HTTP_PORT}/{_FILE}"
            argv = ["wget", "-q", "-O", str(self._path(number)), url]
            with (self._folder / f"wget-{number}.log").open("wb") as log:
                client = self._network.popen(self._network.hosts[source].name, argv, stdout=log, stderr=log)
            self._clients.append(client)
            thread = threading.Thread(target=self._note_end, args=(number, client), daemon=True)
            self._threads.append(thread)
            thread.start()

    def wait(self, until_s: float) -> tuple[Download, ...]:
        """Wait for all downloads to end, or give up at a CLOCK_MONOTONIC second; what became of each.

        Raises
        ------
        ProgramEndedError
            One was killed, or its server was.
        """
        for thread in self._threads:
            thread.join(max(0.0, until_s - time.monotonic()))
        require_running((f"the web server at {node}", process) for node, process in self._servers.items())
        require_unkilled((f"download {number}", process) for number, process in enumerate(self._clients))
        return tuple(self._download(number, *pair) for number, pair in enumerate(self._pairs))

    def _download(self, number: int, source: str, destination: str) -> Download:
        path = self._path(number)
        received = path.stat().st_size if path.exists() else 0
        end_s = self._ends_s.get(number) if received == self._size_bytes else None
        return Download(source, destination, self._start_s, end_s, received)

    def _note_end(self, number: int, client: subprocess.Popen[bytes]) -> None:
        client.wait()
        self._ends_s[number] = time.monotonic()

    def _path(self, number: int) -> Path:
        return self._folder / f"fetched-{number}.bin"

    def _wait_listening(self) -> None:
        deadline = time.monotonic() + _SERVER_START_S
        for node, server in self._servers.items():
            words = ["ss", "-Hltn", "sport", "=", f":{HTTP_PORT}"]
            while not self._network.run(self._network.hosts[node].name, words).stdout.strip():
                if server.poll() is not None or time.monotonic() > deadline:
                    said = " ".join((self._folder / f"httpd-{node}.log").read_text(encoding="utf-8").split())
                    raise StreamError(f"the web server at {node} does not start; it says: {said or 'nothing'}")
                time.sleep(0.02)

    def _stop(self) -> None:
        end_all([*self._clients, *self._servers.values()], signal.SIGTERM, _STOP_S)
        for thread in self._threads:
            thread.join(_STOP_S)
