"""TCP flows by iperf3: a server and a client for each, rates from what the server prints ten times a second."""

from __future__ import annotations

import signal
import subprocess
import time
from collections.abc import Sequence
from types import TracebackType
from typing import TYPE_CHECKING

from experiments.analysis.flows.iperf import client_words, parse_line, server_words, to_bins, zero_of
from experiments.scenario.flow_values import BIN_S, FlowSeen, Placed
from experiments.testbed.instruments.processes import end_all, require_running, require_unkilled
from experiments.testbed.instruments.streams import StreamError
from experiments.testbed.traffic.lines import LineReader

if TYPE_CHECKING:
    from emulation.network import EmulatedNetwork

_LISTENING = "Server listening"
_START_S, _STOP_S = 20.0, 1.0
_LOOK_S = 0.02
_EXTRA_S = 5.0  # clients are ended, they do not end by themselves


class TcpFlows:
    """Servers while the context lasts; clients from `start` on.

    Raises
    ------
    StreamError
        A server does not start, or a client never came through to its server.
    """

    def __init__(self, network: EmulatedNetwork, flows: Sequence[Placed]) -> None:
        self._network, self._flows = network, tuple(flows)
        self._reader = LineReader()
        self._servers: dict[str, subprocess.Popen[bytes]] = {}
        self._clients: dict[str, subprocess.Popen[bytes]] = {}

    def __enter__(self) -> TcpFlows:
        """Start the servers and wait until all listen."""
        try:
            for placed in self._flows:
                host = self._network.hosts[placed.flow.destination]
                words = server_words(placed.flow, host.address)
                self._servers[placed.flow.name] = self._popen(f"server {placed.flow.name}", host.name, words)
            self._wait_listening()
        except BaseException:
            self._stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop everything."""
        self._stop()

    def start(self, seconds: float, name: str) -> None:
        """Start the client of a flow."""
        placed = next(each for each in self._flows if each.flow.name == name)
        host = self._network.hosts[placed.flow.source]
        address = self._network.hosts[placed.flow.destination].address
        words = client_words(placed.flow, address, placed.source_port, placed.dscp, seconds + _EXTRA_S)
        self._clients[name] = self._popen(f"client {name}", host.name, words)

    def seen(self, start_s: float, stop_s: float) -> dict[str, FlowSeen]:
        """What the receivers saw between two moments (CLOCK_MONOTONIC), by name; ends the clients.

        Raises
        ------
        StreamError
            A client never came through to its server, or ended before these moments had passed.
        ProgramEndedError
            A client or a server was killed.
        """
        require_unkilled((f"iperf3 of flow {name!r}", process) for name, process in self._clients.items())
        require_running((f"the iperf3 server of flow {name!r}", process) for name, process in self._servers.items())
        ended = [name for name, process in self._clients.items() if process.poll() is not None]
        end_all(self._clients.values(), signal.SIGTERM, _STOP_S)
        count = int((stop_s - start_s) / BIN_S + 1e-6)
        found = {placed.flow.name: self._flow_seen(placed.flow.name, start_s, count) for placed in self._flows}
        if ended:
            raise StreamError(f"iperf3 of flow {ended[0]!r} ended before its time; it says: {self._said_by(ended[0])}")
        return found

    def _said_by(self, name: str) -> str:
        return " ".join(line for _, line in self._reader.lines(f"client {name}")) or "nothing"

    def _flow_seen(self, name: str, start_s: float, count: int) -> FlowSeen:
        stamped = [(read_s, parse_line(line)) for read_s, line in self._reader.lines(f"server {name}")]
        lines = [(read_s, interval) for read_s, interval in stamped if interval and interval.end_s > interval.start_s]
        zero_s = zero_of(lines)
        if zero_s is None:
            raise StreamError(f"iperf3 of flow {name!r} never came through; it says: {self._said_by(name)}")
        # The sums at the end, which are as long as the run, are not what happened when.
        intervals = [interval for _, interval in lines if interval.end_s - interval.start_s < 1.0]
        again = [parse_line(line) for _, line in self._reader.lines(f"client {name}")]
        counts = [interval.retransmits for interval in again if interval and interval.retransmits is not None]
        return FlowSeen(to_bins(intervals, zero_s, start_s, count), start_s, sum(counts) if counts else None)

    def _popen(self, name: str, where: str, words: Sequence[str]) -> subprocess.Popen[bytes]:
        process = self._network.popen(where, words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        assert process.stdout is not None
        self._reader.add(name, process.stdout)
        return process

    def _wait_listening(self) -> None:
        deadline = time.monotonic() + _START_S
        for name, process in self._servers.items():
            while not any(_LISTENING in line for _, line in self._reader.lines(f"server {name}")):
                if process.poll() is not None or time.monotonic() > deadline:
                    said = " ".join(line for _, line in self._reader.lines(f"server {name}"))
                    raise StreamError(
                        f"the iperf3 server of flow {name!r} does not start; it says: {said or 'nothing'}"
                    )
                time.sleep(_LOOK_S)

    def _stop(self) -> None:
        processes = [*self._clients.values(), *self._servers.values()]
        end_all(processes, signal.SIGTERM, _STOP_S)
        self._reader.close()
        for process in processes:
            if process.stdout is not None:
                process.stdout.close()
