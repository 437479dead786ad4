"""Takes TCP flows and notes when each came, its longest silence, and its last byte.

    python flow_receiver.py ADDRESS PORT

Prints "ready", and at the end {"flows": [[source_port, accepted_ns, last_ns, bytes, silence_ns] a flow]}: stamps of
CLOCK_MONOTONIC when the connection and the last data were taken, and the longest time between two takings of the flow.
It closes a connection when it has everything, and ends with one that brings nothing. It is run as a file, by its path,
so it imports nothing but the standard library.
"""

from __future__ import annotations

import json
import select
import socket
import sys
import time

_CHUNK_BYTES = 1 << 17
_BACKLOG = 512


class Incoming:
    """A flow that comes in."""

    def __init__(self, link: socket.socket, source_port: int) -> None:
        self.link, self.source_port = link, source_port
        self.accepted_ns = self.last_ns = time.monotonic_ns()
        self.received_bytes = self.silence_ns = 0
        self.is_whole = True
        link.setblocking(False)

    def take(self) -> bool:
        """Take what has come; tell whether that was the end."""
        try:
            data = self.link.recv(_CHUNK_BYTES)
        except ConnectionError:  # the sender has given it up
            self.is_whole, data = False, b""
        if not data:
            self.link.close()
            return True
        now_ns = time.monotonic_ns()
        self.silence_ns = max(self.silence_ns, now_ns - self.last_ns)
        self.last_ns = now_ns
        self.received_bytes += len(data)
        return False


def receive(listening: socket.socket) -> list[Incoming]:
    """Take flows until one brings nothing."""
    done: list[Incoming] = []
    coming: dict[socket.socket, Incoming] = {}
    while True:
        readable, _, _ = select.select([listening, *coming], [], [])
        for link in readable:
            if link is listening:
                taken, (_, source_port) = listening.accept()
                coming[taken] = Incoming(taken, source_port)
            elif coming[link].take():
                flow = coming.pop(link)
                if flow.is_whole and not flow.received_bytes:
                    return done
                done.append(flow)


def main(argv: list[str]) -> int:
    """Entry point of the process."""
    with socket.create_server((argv[0], int(argv[1])), backlog=_BACKLOG) as listening:
        print("ready", flush=True)
        flows = receive(listening)
    rows = [[each.source_port, each.accepted_ns, each.last_ns, each.received_bytes, each.silence_ns] for each in flows]
    print(json.dumps({"flows": rows}))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
