"""UDP flows by our own sender and receiver: a receiver for each destination, a sender for each source."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import IO, TYPE_CHECKING, Any

from experiments.scenario.flow_values import BIN_S, FlowSeen, Placed
from experiments.testbed.instruments.processes import end_all
from experiments.testbed.instruments.streams import StreamError

if TYPE_CHECKING:
    from emulation.network import EmulatedNetwork

SENDER, RECEIVER = (Path(__file__).with_name(name) for name in ("udp_sender.py", "udp_receiver.py"))
_STOP_S = 1.0
_LAST_S = 1.0  # the receivers listen so much longer
_PATIENCE_S = 20.0
_BITS = 8e-6  # Mbit in a byte


class UdpFlows:
    """Receivers while the context lasts; senders from `start` on.

    Raises
    ------
    StreamError
        A program does not start, or ends without its counts.
    """

    def __init__(self, network: EmulatedNetwork, flows: Sequence[Placed]) -> None:
        self._network, self._flows = network, tuple(flows)
        self._of_source: dict[str, list[Placed]] = defaultdict(list)
        self._of_destination: dict[str, list[Placed]] = defaultdict(list)
        for placed in self._flows:
            self._of_source[placed.flow.source].append(placed)
            self._of_destination[placed.flow.destination].append(placed)
        self._receivers: dict[str, subprocess.Popen[bytes]] = {}
        self._senders: dict[str, subprocess.Popen[bytes]] = {}
        self._start_s = self._stop_s = 0.0

    def __enter__(self) -> UdpFlows:
        """Start the receivers and wait until all ports are bound."""
        try:
            for node, flows in self._of_destination.items():
                host = self._network.hosts[node]
                words = [sys.executable, "-I", "-S", str(RECEIVER), host.address]
                words += [str(placed.flow.port) for placed in flows]
                self._receivers[node] = self._popen(host.name, words, stdin=subprocess.PIPE)
            for node, process in self._receivers.items():
                if _pipe(process.stdout).readline().strip() != b"ready":
                    raise StreamError(f"the receiver at {node} does not start; it says: {_said(process)}")
        except BaseException:
            self._stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop everything."""
        self._stop()

    def start(self, start_s: float, stop_s: float) -> None:
        """Count, and send, from one moment to another (CLOCK_MONOTONIC)."""
        self._start_s, self._stop_s = start_s, stop_s
        for process in self._receivers.values():
            with suppress(BrokenPipeError):  # it was killed, which `seen` tells
                os.write(_pipe(process.stdin).fileno(), f"{start_s!r} {stop_s + _LAST_S!r}\n".encode())
        for node, flows in self._of_source.items():
            plan = {"start_s": start_s, "stop_s": stop_s, "flows": [self._to_send(placed) for placed in flows]}
            words = [sys.executable, "-I", "-S", str(SENDER), json.dumps(plan)]
            self._senders[node] = self._popen(self._network.hosts[node].name, words)

    def seen(self) -> dict[str, FlowSeen]:
        """What was sent and what came, by name, once the end has come.

        Raises
        ------
        StreamError
            A program ended without its counts.
        """
        sent = {
            placed.flow.name: bins
            for node, process in self._senders.items()
            for placed, bins in zip(self._of_source[node], self._answer(node, process)["sent"], strict=True)
        }
        count = int((self._stop_s - self._start_s) / BIN_S + 1e-6)
        found = {}
        for node, process in self._receivers.items():
            for placed, got in zip(self._of_destination[node], self._answer(node, process)["flows"], strict=True):
                found[placed.flow.name] = FlowSeen(
                    tuple(_BITS * volume / BIN_S for volume in got["received"][:count]),
                    self._start_s,
                    None,
                    tuple(sent[placed.flow.name]),
                    tuple(got["arrived"][: len(sent[placed.flow.name])]),
                    got["duplicated"],
                    tuple(got["reordered_s"]),
                )
        return found

    def _to_send(self, placed: Placed) -> dict[str, object]:
        rate_mbps = placed.flow.offered_mbps
        if rate_mbps is None:
            raise StreamError(f"flow {placed.flow.name!r} is UDP and has no rate; say how much it sends")
        return {
            "address": self._network.hosts[placed.flow.destination].address,
            "port": placed.flow.port,
            "source_port": placed.source_port,
            "dscp": placed.dscp,
            "interval_s": placed.flow.datagram_bytes * _BITS / rate_mbps,
            "interval_seed": placed.flow.interval_seed,
            "size_bytes": placed.flow.datagram_bytes,
            "start_s": self._start_s + placed.flow.start_s,
        }

    def _answer(self, node: str, process: subprocess.Popen[bytes]) -> dict[str, list[Any]]:
        try:
            out, _ = process.communicate(timeout=_PATIENCE_S + max(0.0, self._stop_s - time.monotonic()))
        except subprocess.TimeoutExpired as error:
            raise StreamError(f"the UDP program at {node} does not end; the machine is too busy") from error
        try:
            return dict(json.loads(out))
        except ValueError as error:
            raise StreamError(
                f"the UDP program at {node} failed; it says: {out.decode()[-300:] or 'nothing'}"
            ) from error

    def _popen(self, where: str, words: Sequence[str], **more: int) -> subprocess.Popen[bytes]:
        return self._network.popen(where, words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **more)

    def _stop(self) -> None:
        processes = [*self._senders.values(), *self._receivers.values()]
        end_all(processes, signal.SIGTERM, _STOP_S)
        for pipe in (pipe for process in processes for pipe in (process.stdin, process.stdout)):
            if pipe is not None:
                pipe.close()


def _pipe(pipe: IO[bytes] | None) -> IO[bytes]:
    if pipe is None:
        raise StreamError("a program was started without the pipe that it is asked through")
    return pipe


def _said(process: subprocess.Popen[bytes]) -> str:
    process.terminate()
    return " ".join(_pipe(process.stdout).read().decode("utf-8", "replace").split())[-300:] or "nothing"
