"""Command lines of iperf3 that several kinds of traffic share."""

from __future__ import annotations

from collections.abc import Sequence

from experiments.scenario.stream import Programs

FIRST_PORT = 5201


def programs(address: str, seconds: float, number: int, options: Sequence[str]) -> Programs:
    """Server and client of a stream, on a port of its own."""
    port = FIRST_PORT + number
    client = ("iperf3", "-c", address, "-p", str(port), "-t", f"{max(1, round(seconds))}", "-J", *options)
    return Programs(("iperf3", "-s", "-p", str(port)), client, port)


def pacing_words(rate_mbps: float) -> list[str]:
    """Options that keep a TCP client's rate by pacing of the socket.

    iperf3's own limit (-b) is one on the mean since the start: a client that was held back would send more than it
    offers as soon as it can.
    """
    return ["--fq-rate", f"{rate_mbps * 1e6:.0f}"]
