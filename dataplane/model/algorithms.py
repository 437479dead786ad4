"""Algorithms 1 to 3 of SQR as the paper writes them, one decision a call (section III).

Time is a clock register of n bits; ticks are whatever the clock counts. Where the paper's lines and its text differ,
the function says what was taken.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum


class Choice(Enum):
    """What Algorithm 2 does with a marked packet in the egress pipeline."""

    SEND_AND_CACHE = "send by the primary port, a copy to the least loaded port"
    RECIRCULATE = "to the caching queue of the least loaded port"
    DROP = "drop the cached copy"
    BACKUP = "to the backup port"


def delay_enough(now: int, start: int, delta: int, clock_bits: int) -> bool:
    """Algorithm 1: tell whether a copy has waited long enough.

    As written, a difference of 0 counts as a full turn of the clock: a copy that is seen again within the tick of its
    birth is let go at once. The egress pipeline must take at least a tick; the models keep to that.

    Parameters
    ----------
    now, start
        CurrentEgressTstamp and StartEgressTstamp, in [0, 2**clock_bits).
    delta
        The delay time, in ticks.
    clock_bits
        The width n of the clock register.

    Returns
    -------
    The field DelayEnough.
    """
    difference = now - start
    elapsed = difference if difference > 0 else (1 << clock_bits) + difference
    return elapsed >= delta


def choose(primary_up: bool, cached: bool, enough: bool) -> Choice:
    """Algorithm 2: decide where a marked packet goes; `cached` marks a copy, `enough` is its DelayEnough."""
    if cached and not enough:
        return Choice.RECIRCULATE
    if primary_up:
        return Choice.DROP if cached else Choice.SEND_AND_CACHE
    return Choice.BACKUP


@dataclass(frozen=True)
class Turn:
    """What Algorithm 3 says: the new NextPktTag, and whether the packet must wait in the backup's caching queue."""

    next_tag: int
    wait: bool


def order(primary_up: bool, tag: int, next_tag: int, monotone: bool = False) -> Turn:
    """Algorithm 3: keep the order of packets that leave the ring.

    The lines run for each marked packet; the text (section III-E) speaks of packets that leave, dropped or sent. The
    latter is taken: a copy that only recirculates once more must not move NextPktTag on. A tag below NextPktTag is sent
    at once, as no line stops it.

    Parameters
    ----------
    primary_up
        The status register of the packet's primary port.
    tag, next_tag
        PktTag of the packet, NextPktTag of its primary port.
    monotone
        False: line 4 as written, NextPktTag = PktTag + 1. Copies leave a ring of several queues out of order, so
        NextPktTag can then fall back to a packet that is gone, and after a failure all others wait for it for ever.
        True: NextPktTag never falls.

    Returns
    -------
    With `wait` the packet is not sent now.
    """
    if primary_up:
        return Turn(max(next_tag, tag + 1) if monotone else tag + 1, False)
    if tag == next_tag:
        return Turn(next_tag + 1, False)
    return Turn(next_tag, tag > next_tag)


@dataclass(frozen=True)
class PortLoad:
    """The registers of the least loaded port (section III-D), and the window of bytes sent by each port.

    `sent` holds (time, port, bytes) of original packets, oldest first; the window is exact, where hardware rounds.
    """

    window: int
    least_port: int
    least_bytes: int = 0
    sent: tuple[tuple[int, int, int], ...] = ()


def utilization_bytes(load: PortLoad, now: int, port: int) -> int:
    """Return the bytes of original packets that a port sent within (now - window, now]."""
    return sum(size for at, by, size in load.sent if by == port and at > now - load.window)


def account(load: PortLoad, now: int, port: int, size_bytes: int) -> PortLoad:
    """Note an original packet and move the least loaded port, as written.

    Only the port of a packet that is just sent is compared. So a port that sends nothing is never chosen, and
    LeastUtilization is not lowered as the window of the least loaded port empties.

    Parameters
    ----------
    load
        The registers before.
    now
        Unwrapped time of the packet, in ticks; not before that of any other packet noted.
    port
        The egress port of the packet.
    size_bytes
        Its length.

    Returns
    -------
    The registers after; packets that left the window are forgotten.
    """
    kept = tuple(one for one in load.sent if one[0] > now - load.window)
    load = replace(load, sent=(*kept, (now, port, size_bytes)))
    used = utilization_bytes(load, now, port)
    if port == load.least_port or used < load.least_bytes:
        return replace(load, least_port=port, least_bytes=used)
    return load
