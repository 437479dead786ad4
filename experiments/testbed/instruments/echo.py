"""UDP packets between two hosts with the time of their sending in them: one-way delays, and round trips by an echo.

Sending is stamped by this program, arrival by the kernel, both by one machine's clock.
"""

from __future__ import annotations

import select
import socket
import struct
import time
from dataclasses import dataclass, field

from machine.places import call_inside

PORT = 7007
_STAMP, _TIMESPEC = struct.Struct("!Q"), struct.Struct("@qq")
_SO_TIMESTAMPNS, _SO_RCVBUFFORCE = 35, 33  # Linux, where the socket module lacks them
_RECEIVE_BUFFER_BYTES = 1 << 24


@dataclass
class Delays:
    """Milliseconds to the far host, and there and back; when each packet was sent (CLOCK_MONOTONIC)."""

    one_way_ms: list[float] = field(default_factory=list)
    round_trip_ms: list[float] = field(default_factory=list)
    sent_ns: list[int] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Arrival:
    """A packet that came in: what it holds, from where, and how long after its sending."""

    data: bytes
    sender: tuple[str, int]
    delay_ms: float


def stamping_socket(address: str = "", port: int = 0) -> socket.socket:
    """A UDP socket in the caller's namespace whose arrivals the kernel stamps; nothing waits in it."""
    made = socket.socket(socket.AF_INET, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK)
    made.bind((address, port))
    made.setsockopt(socket.SOL_SOCKET, _SO_RCVBUFFORCE, _RECEIVE_BUFFER_BYTES)
    made.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)
    return made


def send_stamped(sender: socket.socket, address: str) -> None:
    """Send a packet that holds the time."""
    sender.sendto(_STAMP.pack(time.time_ns()), (address, PORT))


def next_arrival(receiver: socket.socket) -> Arrival | None:
    """The next packet that has come in; None when there is none."""
    try:
        data, ancillary, _, sender = receiver.recvmsg(64, 64)
    except BlockingIOError:
        return None
    seconds, nanoseconds = _TIMESPEC.unpack_from(ancillary[0][2])
    return Arrival(data, sender, float(seconds * 10**9 + nanoseconds - _STAMP.unpack(data)[0]) / 1e6)


def echoed(places: tuple[int, int], address: str, packets: int, interval_ms: float, settle_s: float) -> Delays:
    """Send packets from one host to another, which returns them.

    Parameters
    ----------
    places : (int, int)
        Processes in the namespaces of the sending and the returning host.
    address
        Of the returning host.
    interval_ms
        Between two packets.
    settle_s
        How long to wait for the last.
    """
    seen = Delays()
    with (
        call_inside(places[1], lambda: stamping_socket(address, PORT)) as far,
        call_inside(places[0], stamping_socket) as near,
    ):
        due_s = time.monotonic()
        for _ in range(packets):
            seen.sent_ns.append(time.monotonic_ns())
            send_stamped(near, address)
            due_s += interval_ms / 1000
            _serve(far, near, seen, due_s)
        _serve(far, near, seen, time.monotonic() + settle_s)
    return seen


def _serve(far: socket.socket, near: socket.socket, seen: Delays, until_s: float) -> None:
    """Return what arrives at the far host, and note both delays, until a time."""
    while (left_s := until_s - time.monotonic()) > 0:
        ready, _, _ = select.select([far, near], [], [], left_s)
        for each in ready:
            arrival = next_arrival(each)
            if arrival is None:
                continue
            if each is far:
                far.sendto(arrival.data, arrival.sender)
            (seen.one_way_ms if each is far else seen.round_trip_ms).append(arrival.delay_ms)
