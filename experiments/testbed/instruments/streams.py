"""Probe and load streams: irtt, pings and iperf3 in the hosts' namespaces."""

from __future__ import annotations

import signal
import subprocess
import time
from pathlib import Path
from types import TracebackType
from typing import IO, TYPE_CHECKING

from experiments.scenario.stream import ProbedTraffic, Traffic
from experiments.testbed.instruments.processes import end_all, require_running, require_unkilled
from mininet_topos.errors import ArmorError

if TYPE_CHECKING:
    from emulation.network import EmulatedNetwork

_SERVER_START_S = 10.0
_END_S = 15.0
_STOP_S = 2.0


class StreamError(ArmorError):
    """A probe or load stream does not run."""


class Streams:
    """The streams of a scenario that have programs; servers run while the context lasts, clients from `start` on.

    Raises
    ------
    StreamError
        A program ends before it should.
    """

    def __init__(self, network: EmulatedNetwork, traffic: tuple[Traffic, ...], folder: Path) -> None:
        self._network, self._traffic, self._folder = network, traffic, folder
        self._servers: dict[tuple[str, tuple[str, ...]], subprocess.Popen[bytes]] = {}
        self._ports: dict[tuple[str, ...], int] = {}
        self._clients: list[tuple[int, subprocess.Popen[bytes]]] = []
        self._stopped: set[int] = set()
        self._unreported: set[int] = set()
        self._open: list[IO[bytes]] = []

    def __enter__(self) -> Streams:
        """Start the servers; two streams to one host share an irtt server."""
        self._folder.mkdir(parents=True, exist_ok=True)
        try:
            for number, stream in enumerate(self._traffic):
                made = stream.programs(self._address(stream), 1, number)
                if made is None or made.server is None:
                    continue
                server = made.server
                self._ports[server] = made.server_port
                if (stream.destination, server) not in self._servers:
                    log = self._file(f"{server[0]}-{stream.destination}-{number}.log")
                    where = self._host(stream.destination)
                    process = self._network.popen(where, server, stdout=log, stderr=subprocess.STDOUT)
                    self._servers[stream.destination, server] = process
            self._wait_servers()
        except BaseException:
            self._stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop whatever still runs."""
        self._stop()

    def start(self, number: int, seconds: float) -> None:
        """Start the client of one stream, if it has one."""
        stream = self._traffic[number]
        made = stream.programs(self._address(stream), seconds, number)
        if made is None:
            return
        out, log = self._file(self.output_of(number).name), self._file(f"client-{number}.log")
        process = self._network.popen(self._host(stream.source), made.client, stdout=out, stderr=log)
        self._clients.append((number, process))

    def finish(self, kinds: type[Traffic] = Traffic) -> None:
        """Wait for all clients of some kinds to end; the others end with the context.

        A load that does not end is ended, and gives no report: iperf3 fetches that from its server, over what may be
        broken for good.

        Raises
        ------
        StreamError
            A probe does not end, or never got an answer from its server.
        ProgramEndedError
            One was killed, or its server was.
        """
        require_running((f"the {server[0]} server at {node}", each) for (node, server), each in self._servers.items())
        deadline = time.monotonic() + _END_S
        for number, process in self._clients:
            stream = self._traffic[number]
            if not isinstance(stream, kinds):
                continue
            name = _name(stream)
            try:
                process.wait(timeout=max(0.1, deadline - time.monotonic()))
            except subprocess.TimeoutExpired as error:
                if isinstance(stream, ProbedTraffic):
                    raise StreamError(f"{name} does not end; it says: {self._said(number)}") from error
                end_all([process], signal.SIGINT, _STOP_S)
                self._unreported.add(number)
                continue
            if number not in self._stopped:
                require_unkilled([(name, process)])
            if isinstance(stream, ProbedTraffic) and not self.output_of(number).stat().st_size:
                raise StreamError(f"{name} gave up before its end; it says: {self._said(number)}")
        self._clients = [(number, process) for number, process in self._clients if process.poll() is None]

    def interrupt(self) -> set[int]:
        """Stop clients that still wait for answers, as Ctrl-C does: they say what they counted. Returns which."""
        stopped = {
            number for number, process in self._clients if self._awaits_answers(number) and process.poll() is None
        }
        for number, process in self._clients:
            if number in stopped:
                process.send_signal(signal.SIGINT)
        self._stopped |= stopped
        return stopped

    def has_report(self, number: int) -> bool:
        """Whether a stream's client ended by itself; one that `finish` had to end says too little to be counted."""
        return number not in self._unreported

    @property
    def remarks(self) -> tuple[str, ...]:
        """Which loads gave no report."""
        names = [_name(self._traffic[number]) for number in sorted(self._unreported)]
        return tuple(f"{name} gave no report: it still waited for its server and was ended" for name in names)

    def output_of(self, number: int) -> Path:
        """File with what a client printed: JSON of irtt and iperf3, text of ping."""
        stream = self._traffic[number]
        return self._folder / f"{stream.kind}-{stream.source}-{stream.destination}.{stream.output}"

    def own_counts(self, number: int) -> tuple[int, int] | None:
        """Packets sent and answered by the stream's own account; None when it gives none.

        The captures are the record; these counts check them.
        """
        stream = self._traffic[number]
        if not isinstance(stream, ProbedTraffic):
            return None
        return stream.own_counts(self.output_of(number).read_text(encoding="utf-8", errors="replace"))

    def _awaits_answers(self, number: int) -> bool:
        stream = self._traffic[number]
        return isinstance(stream, ProbedTraffic) and stream.awaits_answers

    def _said(self, number: int) -> str:
        said = (self._folder / f"client-{number}.log").read_text(encoding="utf-8", errors="replace")
        return " ".join(said.split()) or "nothing"

    def _address(self, stream: Traffic) -> str:
        return self._network.hosts[stream.destination].address

    def _host(self, node: str) -> str:
        return self._network.hosts[node].name

    def _file(self, name: str) -> IO[bytes]:
        self._open.append((self._folder / name).open("wb"))
        return self._open[-1]

    def _wait_servers(self) -> None:
        """A server is ready when its port is bound."""
        deadline = time.monotonic() + _SERVER_START_S
        for (node, server), process in self._servers.items():
            while not self._is_bound(node, self._ports[server]):
                if process.poll() is not None or time.monotonic() > deadline:
                    raise StreamError(
                        f"the {server[0]} server at {node} does not start; its output is in {self._folder}"
                    )
                time.sleep(0.02)

    def _is_bound(self, node: str, port: int) -> bool:
        said = self._network.run(self._host(node), ["ss", "-Hln", "sport", "=", f":{port}"]).stdout
        return bool(said.strip())

    def _stop(self) -> None:
        processes = [process for _, process in self._clients] + list(self._servers.values())
        end_all(processes, signal.SIGTERM, _STOP_S)
        for file in self._open:
            file.close()
        self._clients.clear()
        self._servers.clear()
        self._open.clear()


def _name(stream: Traffic) -> str:
    return f"{stream.kind} from {stream.source} to {stream.destination}"
