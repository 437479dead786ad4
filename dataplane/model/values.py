"""What the SQR models speak of: packets, sendings, failures and the result of a run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Packet:
    """A protected packet; `number` tells it from all others, `port` is the primary port that routing chose."""

    number: int
    port: int
    size_bytes: int = 64
    flow: int = 0


@dataclass(frozen=True)
class Transmission:
    """A packet that leaves by a port."""

    at: int
    port: int
    packet: Packet


@dataclass(frozen=True)
class Failure:
    """A primary port fails at `failed_at`; the switch knows at `detected_at`; `backup` is ready at `usable_at`.

    `backup == port` is the paper's SB' (the same port comes back), another port is LRR (local rerouting).
    """

    port: int
    backup: int
    failed_at: int
    detected_at: int
    usable_at: int


@dataclass(frozen=True)
class Arrival:
    """A packet that comes to its egress at a time."""

    at: int
    packet: Packet


def delivered(transmissions: Iterable[Transmission], failures: Sequence[Failure]) -> tuple[Transmission, ...]:
    """Return the transmissions that reach the other end.

    Lost is what leaves by the failed port while its link is down (for SB': until `usable_at`), and what leaves by the
    backup of a failure before that is ready.

    Parameters
    ----------
    transmissions
        In the order of sending.
    failures
        At most one a port.

    Returns
    -------
    The survivors, in the same order.
    """
    return tuple(one for one in transmissions if not any(_loses(failure, one) for failure in failures))


def _loses(failure: Failure, one: Transmission) -> bool:
    if one.port == failure.port and one.at >= failure.failed_at:
        return failure.backup != failure.port or one.at < failure.usable_at
    diverted = one.packet.port == failure.port and one.port == failure.backup
    return diverted and failure.detected_at <= one.at < failure.usable_at


def first_copies(transmissions: Iterable[Transmission]) -> tuple[Packet, ...]:
    """Return each packet once, where it came first: what is left when a receiver ignores duplicates."""
    return tuple(dict.fromkeys(one.packet for one in transmissions))


def duplicates(transmissions: Iterable[Transmission]) -> tuple[Packet, ...]:
    """Return the packets that came again, once for each time that they did."""
    seen: set[Packet] = set()
    again = []
    for one in transmissions:
        if one.packet in seen:
            again.append(one.packet)
        seen.add(one.packet)
    return tuple(again)
