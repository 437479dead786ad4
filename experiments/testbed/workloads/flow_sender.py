"""Sends short TCP flows one after another, each on a connection of its own.

    python flow_sender.py PLAN

PLAN is a file, JSON: {"source", "address", "port", "first_port", "seconds", "patience_s", "give_up_s", "pace_mbps",
"congestion_control", "sizes_bytes", "pauses_s"}. The next flow begins a pause after the one before has ended, or has
taken `patience_s`: one that waits for a time-out does not keep the others. After `seconds` no flow begins. Flow n sends
from port `first_port` + n.

Prints {"flows": [[started_ns, retransmits, ended] a flow]}: CLOCK_MONOTONIC of the call of connect(), what the kernel
retransmitted, and whether the receiver had everything in time. A last connection that brings nothing ends the receiver.
It is run as a file, by its path, so it imports nothing but the standard library.
"""

from __future__ import annotations

import errno
import json
import select
import socket
import struct
import sys
import time
from typing import Any

_SO_MAX_PACING_RATE = 47  # Linux, where the socket module lacks it
_TOTAL_RETRANS = struct.Struct("=I")  # at byte 100 of struct tcp_info of <linux/tcp.h>
_TOTAL_RETRANS_AT = 100
_ANYTHING = memoryview(bytes(1 << 17))
_FAREWELL_S = 20.0


class Flow:
    """A flow that is under way."""

    def __init__(self, plan: dict[str, Any], number: int) -> None:
        self.rest_bytes: int = plan["sizes_bytes"][number]
        self.ended, self.retransmits = False, 0
        self.link = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        self.link.setblocking(False)
        self.link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.link.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, plan["congestion_control"].encode())
        if plan["pace_mbps"]:
            self.link.setsockopt(socket.SOL_SOCKET, _SO_MAX_PACING_RATE, int(plan["pace_mbps"] * 125_000))
        self.link.bind((plan["source"], plan["first_port"] + number))
        self.started_ns = time.monotonic_ns()
        code = self.link.connect_ex((plan["address"], plan["port"]))
        if code not in (0, errno.EINPROGRESS):
            raise OSError(code, f"flow {number} cannot connect")

    @property
    def is_sending(self) -> bool:
        """Whether there is something left to send."""
        return self.rest_bytes > 0

    def send(self) -> None:
        """Send what the socket takes now; the end of the flow goes after the last of it."""
        self.rest_bytes -= self.link.send(_ANYTHING[: self.rest_bytes])
        if not self.rest_bytes:
            self.link.shutdown(socket.SHUT_WR)

    def finish(self) -> None:
        """Read what the kernel knows of the flow, and close it."""
        info = self.link.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _TOTAL_RETRANS_AT + _TOTAL_RETRANS.size)
        (self.retransmits,) = _TOTAL_RETRANS.unpack_from(info, _TOTAL_RETRANS_AT)
        self.link.close()


class Sender:
    """The flows of a plan."""

    def __init__(self, plan: dict[str, Any]) -> None:
        self._plan = plan
        self._flows: list[Flow] = []
        self._open: dict[socket.socket, Flow] = {}
        self._newest: Flow | None = None

    def run(self) -> list[Flow]:
        """Send all flows; those that do not end in time are given up."""
        plan, began_s = self._plan, time.monotonic()
        stop_s, next_s = began_s + plan["seconds"], began_s
        while (now_s := time.monotonic()) < stop_s + plan["give_up_s"] and (now_s < stop_s or self._open):
            if self._newest is not None and self._is_over(self._newest, now_s):
                next_s = now_s + plan["pauses_s"][len(self._flows) - 1]
                self._newest = None
            may_begin = self._newest is None and now_s < stop_s and len(self._flows) < len(plan["sizes_bytes"])
            if may_begin and now_s >= next_s:
                self._newest = Flow(plan, len(self._flows))
                self._flows.append(self._newest)
                self._open[self._newest.link] = self._newest
                continue
            self._serve(min(next_s - now_s, plan["patience_s"]) if may_begin else plan["patience_s"])
        for flow in self._open.values():
            flow.finish()
        return self._flows

    def _is_over(self, flow: Flow, now_s: float) -> bool:
        return flow.ended or now_s - flow.started_ns / 1e9 >= self._plan["patience_s"]

    def _serve(self, wait_s: float) -> None:
        # select() waits for microseconds, epoll rounds up to milliseconds.
        sending = [link for link, flow in self._open.items() if flow.is_sending]
        waiting = [link for link, flow in self._open.items() if not flow.is_sending]
        readable, writable, _ = select.select(waiting, sending, [], max(0.0, wait_s))
        for link in writable:
            self._open[link].send()
        for link in readable:
            # The receiver closes when it has everything; a connection that was refused ends with the error of recv().
            flow = self._open[link]
            flow.ended = link.recv(1) == b""
            flow.finish()
            del self._open[link]


def say_farewell(plan: dict[str, Any]) -> None:
    """Open a connection that brings nothing, which ends the receiver."""
    with socket.create_connection((plan["address"], plan["port"]), _FAREWELL_S) as last:
        last.shutdown(socket.SHUT_WR)
        last.recv(1)


def main(argv: list[str]) -> int:
    """Entry point of the process."""
    with open(argv[0], encoding="ascii") as file:
        plan = json.load(file)
    try:
        flows = Sender(plan).run()
        say_farewell(plan)
    except OSError as error:
        print(json.dumps({"error": str(error)}))
        return 1
    print(json.dumps({"flows": [[flow.started_ns, flow.retransmits, flow.ended] for flow in flows]}))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
