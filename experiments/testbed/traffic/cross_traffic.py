"""Data packets that share a control link: UDP at a given rate, Poisson or in bursts, from a process of its own.

`python -m experiments.testbed.traffic.cross_traffic ADDR PORT RATE_PPS PAYLOAD_BYTES BURST_PKTS SEED` sends until it
is ended.
"""

from __future__ import annotations

import os
import socket
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

import numpy as np

from machine.places import call_inside, child, inside

SINK_PORT = 9000
_SEND_BUFFER_BYTES = 4 << 20  # the link's queue drops, not the sender's socket
_GAPS_AT_ONCE = 1000


def gaps_s(rate_pps: float, burst_pkts: int, seed: int) -> Iterator[float]:
    """Gaps between bursts for ever: exponential, so that bursts are a Poisson process."""
    lot = np.random.default_rng(seed)
    while True:
        yield from lot.exponential(burst_pkts / rate_pps, _GAPS_AT_ONCE).tolist()


def send_for_ever(address: str, port: int, rate_pps: float, payload_bytes: int, burst_pkts: int, *, seed: int) -> None:
    """Send; what is late is sent at once, so that the rate holds."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as link:
        link.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _SEND_BUFFER_BYTES)
        payload, due = bytes(payload_bytes), time.monotonic()
        for gap_s in gaps_s(rate_pps, burst_pkts, seed):
            due += gap_s
            wait_s = due - time.monotonic()
            if wait_s > 0:
                time.sleep(wait_s)
            for _ in range(burst_pkts):
                link.sendto(payload, (address, port))


@contextmanager
def cross_traffic(
    switch_pid: int,
    controller_pid: int,
    address: str,
    rate_pps: float,
    payload_bytes: int,
    *,
    burst_pkts: int,
    seed: int,
    urgent: bool = False,
) -> Iterator[None]:
    """Data from a switch's end of a control link to the other end while the block runs; nothing at rate 0.

    An urgent sender has real-time priority where the system allows it: one that a busy machine holds up sends a burst
    afterwards, and what reads its packets loses some.
    """
    if rate_pps <= 0:
        yield
        return
    words = (address, SINK_PORT, rate_pps, payload_bytes, burst_pkts, seed)
    command = [sys.executable, "-m", "experiments.testbed.traffic.cross_traffic", *map(str, words)]
    with call_inside(controller_pid, _sink), child(inside(switch_pid, command)) as sender:
        if urgent:
            with suppress(PermissionError):
                os.sched_setscheduler(sender.pid, os.SCHED_RR, os.sched_param(1))
        yield


def _sink() -> socket.socket:
    """A socket that takes packets and drops them, so that nobody answers that the port is closed."""
    made = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    made.bind(("0.0.0.0", SINK_PORT))
    return made


def main(arguments: Sequence[str]) -> None:
    """Run as a process."""
    address, port, rate_pps, payload_bytes, burst_pkts, seed = arguments
    send_for_ever(address, int(port), float(rate_pps), int(payload_bytes), int(burst_pkts), seed=int(seed))


if __name__ == "__main__":
    main(sys.argv[1:])
