"""Which TCP ports of an address answer, by asking each: `python -I -S scan.py ADDRESS`, a port a line.

A port answers when its connection is accepted. Ports that say nothing within `PATIENCE_S` count as closed: what is
looked for is what somebody could use.
"""

from __future__ import annotations

import select
import socket
import sys
from collections.abc import Iterator, Sequence
from errno import EINPROGRESS

AT_ONCE = 512
PATIENCE_S = 5.0


def answering(address: str, ports: Sequence[int]) -> Iterator[int]:
    """Those of the ports on which a connection is accepted."""
    asked: dict[int, tuple[int, socket.socket]] = {}
    with select.epoll() as poll:
        for port in ports:
            ours = socket.socket(socket.AF_INET, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
            said = ours.connect_ex((address, port))
            if said == EINPROGRESS:
                asked[ours.fileno()] = port, ours
                poll.register(ours, select.EPOLLOUT)
                continue
            ours.close()
            if not said:
                yield port
        while asked and (events := poll.poll(PATIENCE_S)):
            for number, _event in events:
                port, ours = asked.pop(number)
                if not ours.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR):
                    yield port
                ours.close()
        for _port, ours in asked.values():
            ours.close()


if __name__ == "__main__":
    for first in range(1, 65536, AT_ONCE):
        for found in answering(sys.argv[1], range(first, min(first + AT_ONCE, 65536))):
            print(found)
