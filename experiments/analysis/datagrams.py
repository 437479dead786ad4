"""What became of iperf3's UDP datagrams, from the taps at both hosts; iperf3's own loss count drops by itself.

An iperf3 datagram begins with its sending time (8 bytes) and its number (4 bytes, big endian; iperf3 3.x without
--udp-counters-64bit).
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from dataclasses import dataclass

from experiments.analysis.frames import UDP, Frame
from experiments.analysis.packet_counts import Clock
from experiments.analysis.timeline import Window

_UDP_HEADER_BYTES, _NUMBER_AT, _NUMBERED_BYTES = 8, 8, 12


@dataclass(frozen=True, slots=True)
class Datagram:
    """One datagram: number, when it left (CLOCK_MONOTONIC), when it arrived (None: never), bytes of UDP payload."""

    number: int
    sent_s: float
    arrived_s: float | None
    size_bytes: int


def datagrams(
    departures: Iterable[Frame], arrivals: Iterable[Frame], source: int, destination: int, port: int, *, clock: Clock
) -> list[Datagram]:
    """Join what two hosts' taps saw of one stream, by time of departure.

    Parameters
    ----------
    departures, arrivals
        All frames at the source's device and at the destination's.
    source, destination
        IPv4 addresses.
    port
        UDP port of the server.
    clock
        Of the captures.
    """
    arrived: dict[int, float] = {}
    for number, t_s, _ in _numbered(arrivals, source, destination, port, clock):
        arrived.setdefault(number, t_s)
    sent: dict[int, Datagram] = {}
    for number, t_s, size in _numbered(departures, source, destination, port, clock):
        sent.setdefault(number, Datagram(number, t_s, arrived.get(number), size))
    return sorted(sent.values(), key=lambda datagram: datagram.sent_s)


def goodput_mbps(found: Iterable[Datagram], window: Window) -> float:
    """UDP payload that arrived within a window, over its length."""
    bits = sum(
        8 * datagram.size_bytes
        for datagram in found
        if datagram.arrived_s is not None and window.holds(datagram.arrived_s)
    )
    return bits / (window.end_s - window.start_s) / 1e6


def _numbered(
    frames: Iterable[Frame], source: int, destination: int, port: int, clock: Clock
) -> Iterable[tuple[int, float, int]]:
    """(number, seconds, payload bytes) of a stream's datagrams; the handshake, which has no number, is left out."""
    for frame in frames:
        if frame.protocol != UDP or (frame.source, frame.destination) != (source, destination):
            continue
        if len(frame.payload) < _UDP_HEADER_BYTES + _NUMBERED_BYTES:
            continue
        _, to_port, length, _ = struct.unpack_from(">HHHH", frame.payload)
        if to_port == port:
            (number,) = struct.unpack_from(">I", frame.payload, _UDP_HEADER_BYTES + _NUMBER_AT)
            yield number, clock.to_s(frame.t_ns), length - _UDP_HEADER_BYTES
