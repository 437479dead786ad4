"""Probe and load streams: irtt, pings and iperf3 in the hosts' namespaces."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import IO, TYPE_CHECKING

from experiments.analysis.flows.iperf import pacing_words
from experiments.analysis.probes import IRTT_PORT
from experiments.scenario.values import PROBE_KINDS, PROGRAM_KINDS, Traffic
from experiments.testbed.instruments.processes import end_all, require_running, require_unkilled
from mininet_topos.errors import ArmorError

if TYPE_CHECKING:
    from emulation.network import EmulatedNetwork

IPERF3_PORT = 5201
DEFAULT_PROBE_BYTES = 64
PACED_PING = Path(__file__).with_name("paced_ping.py")
_ICMP_HEADER_BYTES = 8
_LAST_ANSWER_S = 1
_SERVER_START_S = 10.0
_END_S = 15.0
_STOP_S = 2.0


class StreamError(ArmorError):
    """A probe or load stream does not run."""


@dataclass(frozen=True)
class Programs:
    """The programs of one stream: a server at the destination (None: not needed), a client at the source."""

    server: tuple[str, ...] | None
    client: tuple[str, ...]


def programs(stream: Traffic, address: str, seconds: float, number: int) -> Programs:
    """Command lines of a stream.

    Parameters
    ----------
    stream : Traffic
        What to send.
    address : str
        IPv4 address of the destination.
    seconds : float
        How long.
    number : int
        Number of the stream in the scenario; gives iperf3 a port of its own.
    """
    interval_s = stream.interval_ms / 1000
    if stream.kind == "probe":
        # The server's own lower limit on intervals is 10 ms; `-i 0` lifts it.
        server = ("irtt", "server", "-i", "0", "-b", f"{address}:{IRTT_PORT}")
        size = str(stream.size_bytes or DEFAULT_PROBE_BYTES)
        words = ["irtt", "client", "-i", f"{interval_s * 1e6:.0f}us", "-d", f"{seconds * 1000:.0f}ms", "-l", size]
        words += ["-Q", f"--wait={_LAST_ANSWER_S}s", "-o", "-", f"{address}:{IRTT_PORT}"]
        return Programs(server, tuple(words))
    if stream.kind == "ping":
        count = max(1, round(seconds / interval_s))
        payload_bytes = (stream.size_bytes or DEFAULT_PROBE_BYTES) - _ICMP_HEADER_BYTES
        words = [sys.executable, "-I", "-S", str(PACED_PING), address, f"{interval_s:g}", str(count)]
        words += [str(_LAST_ANSWER_S), str(payload_bytes)]
        return Programs(None, tuple(words))
    port = str(IPERF3_PORT + number)
    words = ["iperf3", "-c", address, "-p", port, "-t", f"{max(1, round(seconds))}", "-J"]
    if stream.kind == "iperf3-udp":
        words += ["-u", "-b", f"{stream.rate_mbps}M"]
    elif stream.rate_mbps is not None:
        words += pacing_words(stream.rate_mbps)
    return Programs(("iperf3", "-s", "-p", port), tuple(words))


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
        self._clients: list[tuple[int, subprocess.Popen[bytes]]] = []
        self._stopped: set[int] = set()
        self._open: list[IO[bytes]] = []

    def __enter__(self) -> Streams:
        """Start the servers; two streams to one host share an irtt server."""
        self._folder.mkdir(parents=True, exist_ok=True)
        try:
            for number, stream in enumerate(self._traffic):
                if stream.kind not in PROGRAM_KINDS:
                    continue
                server = programs(stream, self._address(stream), 1, number).server
                if server is not None and (stream.destination, server) not in self._servers:
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
        """Start the client of one stream."""
        stream = self._traffic[number]
        client = programs(stream, self._address(stream), seconds, number).client
        out, log = self._file(self.output_of(number).name), self._file(f"client-{number}.log")
        process = self._network.popen(self._host(stream.source), client, stdout=out, stderr=log)
        self._clients.append((number, process))

    def finish(self, kinds: tuple[str, ...] = PROGRAM_KINDS) -> None:
        """Wait for all clients of some kinds to end; the others end with the context.

        Raises
        ------
        StreamError
            One does not end, or never got an answer from its server.
        ProgramEndedError
            One was killed, or its server was.
        """
        require_running((f"the {server[0]} server at {node}", each) for (node, server), each in self._servers.items())
        deadline = time.monotonic() + _END_S
        for number, process in self._clients:
            stream = self._traffic[number]
            if stream.kind not in kinds:
                continue
            name = f"{stream.kind} from {stream.source} to {stream.destination}"
            try:
                process.wait(timeout=max(0.1, deadline - time.monotonic()))
            except subprocess.TimeoutExpired as error:
                raise StreamError(f"{name} does not end; it says: {self._said(number)}") from error
            if number not in self._stopped:
                require_unkilled([(name, process)])
            if stream.kind == "probe" and not self.output_of(number).stat().st_size:
                raise StreamError(f"{name} gave up before its end; it says: {self._said(number)}")
        self._clients = [(number, process) for number, process in self._clients if process.poll() is None]

    def interrupt(self, kind: str) -> set[int]:
        """Stop the clients of a kind that still run, as Ctrl-C does: they say what they counted. Returns which."""
        stopped = {
            number for number, process in self._clients if self._traffic[number].kind == kind and process.poll() is None
        }
        for number, process in self._clients:
            if number in stopped:
                process.send_signal(signal.SIGINT)
        self._stopped |= stopped
        return stopped

    def output_of(self, number: int) -> Path:
        """File with what a client printed: JSON of irtt and iperf3, text of ping."""
        stream = self._traffic[number]
        suffix = "txt" if stream.kind == "ping" else "json"
        return self._folder / f"{stream.kind}-{stream.source}-{stream.destination}.{suffix}"

    def own_counts(self, number: int) -> tuple[int, int] | None:
        """Packets sent and answered by the stream's own account; None when it gives none.

        The captures are the record; this is the second liveness source.
        """
        kind = self._traffic[number].kind
        if kind not in PROBE_KINDS:
            return None
        text = self.output_of(number).read_text(encoding="utf-8", errors="replace")
        if kind == "ping":
            words = next((line.split() for line in text.splitlines() if "packets transmitted" in line), None)
            return None if words is None else (int(words[0]), int(words[3]))
        if not text.startswith("{"):
            return None
        stats = json.loads(text)["stats"]
        return int(stats["packets_sent"]), int(stats["packets_received"])

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
            port = str(IRTT_PORT) if server[0] == "irtt" else server[server.index("-p") + 1]
            while not self._is_bound(node, port):
                if process.poll() is not None or time.monotonic() > deadline:
                    raise StreamError(
                        f"the {server[0]} server at {node} does not start; its output is in {self._folder}"
                    )
                time.sleep(0.02)

    def _is_bound(self, node: str, port: str) -> bool:
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
