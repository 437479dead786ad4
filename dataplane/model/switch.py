"""Several protected ports of one switch, and the backstop that pauses caching while their shared buffer is short."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from dataplane.model.byte_ring import ByteRing, Mode, detect, needed_bytes, replay, send
from dataplane.model.values import Arrival, Failure, Packet, Transmission
from mininet_topos.errors import BadInputError


@dataclass(frozen=True)
class Backstop:
    """Caching pauses above one mark and goes on below the other (section VI, "Handling Traffic Surges")."""

    pause_above_bytes: int
    resume_below_bytes: int

    def __post_init__(self) -> None:
        """Refuse marks that would make caching flutter."""
        if not 0 < self.resume_below_bytes <= self.pause_above_bytes:
            raise BadInputError(
                f"caching pauses above {self.pause_above_bytes} bytes and resumes below {self.resume_below_bytes}: "
                "resume must be above 0 and not above pause"
            )


def is_paused(paused: bool, used_bytes: int, backstop: Backstop) -> bool:
    """Whether caching is paused now, given whether it was; between the marks it stays as it was."""
    if used_bytes > backstop.pause_above_bytes:
        return True
    return paused and used_bytes >= backstop.resume_below_bytes


@dataclass(frozen=True)
class SqrSwitch:
    """The rings of a switch, one per protected port, and its backstop (None: caching never pauses)."""

    rings: tuple[ByteRing, ...]
    backstop: Backstop | None = None
    paused: bool = False


def used_bytes(switch: SqrSwitch, now_ns: int) -> int:
    """Return the bytes that all rings must keep now."""
    return sum(needed_bytes(ring, now_ns) for ring in switch.rings)


def forward(switch: SqrSwitch, packet: Packet, now_ns: int) -> tuple[SqrSwitch, tuple[Transmission, ...]]:
    """Take a packet: by the ring of its port, or straight through if the port is not protected."""
    paused = switch.backstop is not None and is_paused(switch.paused, used_bytes(switch, now_ns), switch.backstop)
    switch = replace(switch, paused=paused)
    for ring in switch.rings:
        if ring.primary == packet.port:
            after, sent = send(ring, packet, now_ns, caching=not paused)
            return _with(switch, after), sent
    return switch, (Transmission(now_ns, packet.port, packet),)


def _with(switch: SqrSwitch, ring: ByteRing) -> SqrSwitch:
    return replace(switch, rings=tuple(ring if one.primary == ring.primary else one for one in switch.rings))


def see_failures(switch: SqrSwitch, failures: Iterable[Failure], now_ns: int) -> SqrSwitch:
    """Let each ring whose port is seen to have failed just now begin to hold."""
    found = {failure.port for failure in failures if failure.detected_at == now_ns}
    return replace(switch, rings=tuple(detect(r, now_ns) if r.primary in found else r for r in switch.rings))


def replay_all(switch: SqrSwitch, now_ns: int, budget: int | None = None) -> tuple[SqrSwitch, tuple[Transmission, ...]]:
    """Give each ring that holds a turn of replay, `budget` packets each."""
    sent: list[Transmission] = []
    for ring in switch.rings:
        if ring.mode is Mode.HOLD:
            after, batch = replay(ring, now_ns, budget)
            switch = _with(switch, after)
            sent += batch
    return switch, tuple(sent)


def run_byte_rings(
    switch: SqrSwitch, arrivals: Sequence[Arrival], failures: Sequence[Failure], end_ns: int, budget: int | None = None
) -> tuple[SqrSwitch, tuple[Transmission, ...]]:
    """Run the rings nanosecond by nanosecond; within one: failures are seen, the replay runs, packets arrive.

    Parameters
    ----------
    switch
        The switch before.
    arrivals
        In any order of time; those of one time in the order given.
    failures
        At most one a port.
    end_ns
        The last time, included.
    budget
        Packets replayed per ring and nanosecond; None: all.

    Returns
    -------
    switch : SqrSwitch
        The switch after.
    transmissions : tuple of Transmission
        All of them, in order.
    """
    by_time: dict[int, list[Packet]] = {}
    for arrival in arrivals:
        by_time.setdefault(arrival.at, []).append(arrival.packet)
    out: list[Transmission] = []
    for now_ns in range(end_ns + 1):
        switch = see_failures(switch, failures, now_ns)
        switch, sent = replay_all(switch, now_ns, budget)
        out += sent
        for packet in by_time.get(now_ns, ()):
            switch, sent = forward(switch, packet, now_ns)
            out += sent
    return switch, tuple(out)
