"""Numbered UDP packets from h1 to h3 of an emulated network."""

from __future__ import annotations

import socket
import time
from typing import Any

from emulation.network import EmulatedNetwork
from machine.places import call_inside

PORT, RATE_PPS = 7100, 400
SO_RCVBUFFORCE = 33  # Linux, where the socket module lacks it
BUFFER_BYTES = (
    16 << 20
)  # for all of a stream, which is read at its end; the system's bound may be a few hundred packets


def received(network: EmulatedNetwork, count: int, actions: Any = (), dscp: int = 0) -> tuple[list[int], int]:
    """Numbers of UDP packets that reached h3 of those that h1 sent, and how many were sent; actions at fractions."""

    def bound() -> socket.socket:
        made = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        made.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, BUFFER_BYTES)
        made.bind((network.hosts["s3"].address, PORT))
        made.settimeout(1.0)
        return made

    todo = {round(count * share): act for share, act in actions}
    numbers = []
    with (
        call_inside(network.shell_pid("h3"), bound) as receiver,
        call_inside(network.shell_pid("h1"), lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM)) as sender,
    ):
        sender.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, dscp << 2)
        for number in range(count):
            if number in todo:
                todo[number]()
            sender.sendto(number.to_bytes(4, "big"), (network.hosts["s3"].address, PORT))
            time.sleep(1 / RATE_PPS)
        while (number := next_number(receiver)) is not None:
            numbers.append(number)
    return numbers, count


def next_number(receiver: socket.socket) -> int | None:
    """Number of the next packet; None after a second without."""
    try:
        return int.from_bytes(receiver.recv(64), "big")
    except TimeoutError:
        return None
