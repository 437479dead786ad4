"""Armor's SQR: one ring of packet bytes per protected port, written for each packet and read only after a failure.

A steady port only writes: the oldest slot is overwritten when the ring is full. At a failure it is read backwards by
delta, and the window is sent by the backup port in the order of the slots; packets that arrive meanwhile queue behind
it, so nothing overtakes. Times are nanoseconds of a clock that does not wrap.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum

from dataplane.model.values import Packet, Transmission
from mininet_topos.errors import BadInputError

SLOT_DATA_BYTES = 2024


class Mode(Enum):
    """What a protected port does: send and cache; hold new packets behind the replay; send by the backup."""

    UP = 0
    HOLD = 1
    BACKUP = 2


@dataclass(frozen=True)
class RingLimits:
    """What a ring holds at most; `frame_bytes` is the longest frame that fits a slot."""

    packets: int
    size_bytes: int
    frame_bytes: int = SLOT_DATA_BYTES

    def __post_init__(self) -> None:
        """Refuse a ring that holds nothing."""
        for name, value in (("packets", self.packets), ("bytes", self.size_bytes), ("frame bytes", self.frame_bytes)):
            if value < 1:
                raise BadInputError(f"a ring of {value} {name} holds nothing: give at least 1")


@dataclass(frozen=True)
class Slot:
    """A packet in the ring; `tag` counts cached packets (PktTag)."""

    tag: int
    sent_ns: int
    packet: Packet


@dataclass(frozen=True)
class Counters:
    """What happened to packets of one port.

    `young` were overwritten before delta had passed (the ring is too small), `pending` were overwritten before they
    were replayed (lost), `unprotected` were sent without a copy while caching was paused, `too_big` did not fit a slot.
    """

    cached: int = 0
    young: int = 0
    pending: int = 0
    unprotected: int = 0
    too_big: int = 0
    replayed: int = 0


@dataclass(frozen=True)
class ByteRing:
    """A protected port: its settings, its slots (oldest first), and where it stands.

    `head` is the tag that the next cached packet gets, `tail` the next tag to replay (NextPktTag), `ready_ns` the time
    from which the backup can be used.
    """

    primary: int
    backup: int
    limits: RingLimits
    delta_ns: int
    reconfiguration_ns: int = 0
    mode: Mode = Mode.UP
    slots: tuple[Slot, ...] = ()
    head: int = 0
    tail: int = 0
    ready_ns: int = 0
    counters: Counters = Counters()


def send(
    ring: ByteRing, packet: Packet, now_ns: int, caching: bool = True
) -> tuple[ByteRing, tuple[Transmission, ...]]:
    """Take a packet whose primary port is this ring's.

    Parameters
    ----------
    ring
        The port before.
    packet
        The packet.
    now_ns
        Its time, not before that of any earlier call.
    caching
        False while the backstop pauses caching. It counts for a port that is up; behind a replay packets are held
        all the same, or they would overtake it.

    Returns
    -------
    ring : ByteRing
        The port after.
    transmissions : tuple of Transmission
        What leaves now: the packet, or nothing while it is held. A frame longer than a slot is always sent at once,
        in HOLD past the replay.
    """
    port = ring.primary if ring.mode is Mode.UP else ring.backup
    sent = (Transmission(now_ns, port, packet),)
    if ring.mode is Mode.BACKUP:
        return ring, sent
    if packet.size_bytes > min(ring.limits.frame_bytes, ring.limits.size_bytes):
        return replace(ring, counters=replace(ring.counters, too_big=ring.counters.too_big + 1)), sent
    if ring.mode is Mode.UP:
        if caching:
            return _append(ring, packet, now_ns), sent
        unprotected = ring.counters.unprotected + 1
        return replace(ring, counters=replace(ring.counters, unprotected=unprotected)), sent
    if ring.tail == ring.head and now_ns >= ring.ready_ns:
        return ring, sent
    return _append(ring, packet, now_ns), ()


def _append(ring: ByteRing, packet: Packet, now_ns: int) -> ByteRing:
    """Write a slot over the oldest ones, and count what was overwritten too early."""
    slots = (*ring.slots, Slot(ring.head, now_ns, packet))
    size, dropped = sum(slot.packet.size_bytes for slot in slots), 0
    while len(slots) - dropped > ring.limits.packets or size > ring.limits.size_bytes:
        size -= slots[dropped].packet.size_bytes
        dropped += 1
    gone, slots = slots[:dropped], slots[dropped:]
    counters = replace(ring.counters, cached=ring.counters.cached + 1)
    tail = ring.tail
    if ring.mode is Mode.UP:
        early = sum(slot.sent_ns >= now_ns - ring.delta_ns for slot in gone)
        counters = replace(counters, young=counters.young + early)
    else:
        lost = sum(slot.tag >= tail for slot in gone)
        counters = replace(counters, pending=counters.pending + lost)
        tail = max(tail, slots[0].tag)
    return replace(ring, slots=slots, head=ring.head + 1, tail=tail, counters=counters)


def detect(ring: ByteRing, now_ns: int) -> ByteRing:
    """Begin to hold: the window is what was sent within delta before now; it may leave after the reconfiguration."""
    first = next((slot.tag for slot in ring.slots if slot.sent_ns >= now_ns - ring.delta_ns), ring.head)
    return _hold(ring, first, now_ns)


def detect_in_send(ring: ByteRing, now_ns: int, margin: int) -> ByteRing:
    """Begin to hold where a send fails: the window is the packet that failed, sent last, and `margin` before it.

    Raises
    ------
    BadInputError
        `margin` is negative.
    """
    if margin < 0:
        raise BadInputError(f"a margin of {margin} packets is negative: give 0 or more")
    oldest = ring.slots[0].tag if ring.slots else ring.head
    return _hold(ring, max(oldest, ring.head - 1 - margin), now_ns)


def _hold(ring: ByteRing, first: int, now_ns: int) -> ByteRing:
    if ring.mode is not Mode.UP:
        return ring
    return replace(ring, mode=Mode.HOLD, tail=first, ready_ns=now_ns + ring.reconfiguration_ns)


def replay(ring: ByteRing, now_ns: int, budget: int | None = None) -> tuple[ByteRing, tuple[Transmission, ...]]:
    """Send pending packets by the backup, oldest first; when none is left the port sends by the backup directly.

    Parameters
    ----------
    ring
        The port before; nothing happens unless it holds and the backup is ready.
    now_ns
        The time.
    budget
        Packets sent at most in this call; None: all.

    Returns
    -------
    ring : ByteRing
        The port after.
    transmissions : tuple of Transmission
        What leaves now.
    """
    if ring.mode is not Mode.HOLD or now_ns < ring.ready_ns:
        return ring, ()
    pending = [slot for slot in ring.slots if slot.tag >= ring.tail]
    batch = pending[: len(pending) if budget is None else budget]
    tail = batch[-1].tag + 1 if batch else ring.tail
    counters = replace(ring.counters, replayed=ring.counters.replayed + len(batch))
    mode = Mode.BACKUP if tail == ring.head else Mode.HOLD
    sent = tuple(Transmission(now_ns, ring.backup, slot.packet) for slot in batch)
    return replace(ring, mode=mode, tail=tail, counters=counters), sent


def restore(ring: ByteRing) -> ByteRing:
    """Return to the primary port with an empty ring: what it held has left by the backup.

    Raises
    ------
    BadInputError
        Packets still wait: newer ones would overtake them by the primary.
    """
    if ring.mode is Mode.HOLD:
        waiting = ring.head - ring.tail
        raise BadInputError(f"port {ring.primary} holds {waiting} packets: let the replay end before it returns")
    return replace(ring, mode=Mode.UP, slots=(), tail=ring.head)


def needed_bytes(ring: ByteRing, now_ns: int) -> int:
    """Return the bytes that the ring must keep now: those within delta when up, those still pending when it holds."""
    if ring.mode is Mode.UP:
        return sum(slot.packet.size_bytes for slot in ring.slots if slot.sent_ns >= now_ns - ring.delta_ns)
    return sum(slot.packet.size_bytes for slot in ring.slots if slot.tag >= ring.tail)
