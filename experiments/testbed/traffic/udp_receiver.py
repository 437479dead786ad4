"""Counts numbered datagrams of several flows (udp_sender.py).

    python udp_receiver.py ADDRESS PORT...

Prints "ready" once all ports are bound. A line on standard input, CLOCK_MONOTONIC "START STOP", begins the count; at
STOP it prints {"flows": [{"received": [...], "arrived": [...], "duplicated", "reordered_s": [...]}]}: bytes of payload
by the tenth of a second in which they came, datagrams (each once) by the tenth in which they were sent, and when the
reordered ones came, all counted from START. It is run as a file, by its path, so it imports nothing but the standard
library.
"""

from __future__ import annotations

import json
import selectors
import socket
import struct
import sys
import time
from contextlib import suppress

HEADER = struct.Struct(">QI")
BINS_A_SECOND = 10
_BUFFER_BYTES = 1 << 21
_LARGEST_BYTES = 2048


class Count:
    """What one flow's datagrams came to."""

    def __init__(self, bins: int) -> None:
        self.received, self.arrived = [0] * bins, [0] * bins
        self.duplicated = 0
        self.reordered_s: list[float] = []
        self._known: set[int] = set()
        self._highest = -1

    def add(self, data: bytes, came_s: float) -> None:
        """One datagram, and when it came."""
        number, sent_in = HEADER.unpack_from(data)
        place = int(came_s * BINS_A_SECOND)
        if place < len(self.received):
            self.received[place] += len(data)
        if number in self._known:
            self.duplicated += 1
            return
        self._known.add(number)
        if number < self._highest:
            self.reordered_s.append(came_s)
        self._highest = max(self._highest, number)
        if sent_in < len(self.arrived):
            self.arrived[sent_in] += 1

    def to_json(self) -> dict[str, object]:
        """Plain data."""
        return {
            "received": self.received,
            "arrived": self.arrived,
            "duplicated": self.duplicated,
            "reordered_s": self.reordered_s,
        }


def main(argv: list[str]) -> int:
    """Entry point of the process."""
    address, ports = argv[0], [int(port) for port in argv[1:]]
    waiting = selectors.DefaultSelector()
    for number, port in enumerate(ports):
        link = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        link.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _BUFFER_BYTES)
        link.setblocking(False)
        link.bind((address, port))
        waiting.register(link, selectors.EVENT_READ, number)
    print("ready", flush=True)
    start_s, stop_s = (float(word) for word in sys.stdin.readline().split())
    counts = [Count(int((stop_s - start_s) * BINS_A_SECOND) + 1) for _ in ports]
    while (left_s := stop_s - time.monotonic()) > 0:
        for key, _ in waiting.select(left_s):
            drain(key.fileobj, counts[key.data], time.monotonic() - start_s)
    print(json.dumps({"flows": [count.to_json() for count in counts]}), flush=True)
    return 0


def drain(link: object, count: Count, came_s: float) -> None:
    """Count what waits in a socket."""
    assert isinstance(link, socket.socket)
    with suppress(BlockingIOError):
        while True:
            count.add(link.recv(_LARGEST_BYTES), came_s)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
