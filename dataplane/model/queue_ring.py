"""The paper's switch: a Multi-Queue Ring of FIFO queues, a copy of each protected packet going round for delta.

Several ports can be protected at once. PktTag and NextPktTag are kept by primary port: with the one counter that the
paper speaks of, packets of one port would wait for those of another.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from dataplane.model.algorithms import Choice, PortLoad, account, choose, delay_enough, order
from dataplane.model.values import Arrival, Failure, Packet, Transmission
from mininet_topos.errors import BadInputError


@dataclass(frozen=True)
class QueueRingOptions:
    """How the paper's switch is built.

    `delta` bounds the detection delay, `reconfiguration` is added once a failure is seen (section III-C); `ports` have
    a caching queue each; `examined` packets a queue and tick are looked at (None: all); `restore_early` puts the status
    register up as soon as the way is ready, while copies still wait; `hold_originals` keeps original packets in the
    backup's caching queue until the reconfiguration is over, as the text has it. Line 17 of Algorithm 2 alone sends one
    at once if its tag is next: into a way that is not ready, which for SB' is the failed port itself.
    """

    delta: int
    reconfiguration: int = 0
    ports: tuple[int, ...] = (0,)
    examined: int | None = None
    clock_bits: int = 48
    window: int = 150
    monotone: bool = True
    restore_early: bool = False
    hold_originals: bool = True


@dataclass(frozen=True)
class PortState:
    """The registers of one protected port."""

    up: bool = True
    backup: int = 0
    delta: int = 0
    packets: int = 0
    next_tag: int = 0
    ready: int = 0


@dataclass(frozen=True)
class Entry:
    """A packet in a caching queue with SQR's metadata; an original one waits there for its turn only."""

    packet: Packet
    tag: int
    start: int = 0
    cached: bool = True
    enough: bool = False


@dataclass(frozen=True)
class RingRun:
    """What a run gave: all transmissions in order, and the packets that were still waiting at the end."""

    transmissions: tuple[Transmission, ...]
    stuck: tuple[Packet, ...]


@dataclass
class _Switch:
    """The registers and queues while a run lasts."""

    options: QueueRingOptions
    load: PortLoad
    ports: dict[int, PortState]
    queues: dict[int, list[Entry]]
    out: list[Transmission] = field(default_factory=list)


def run_queue_ring(
    arrivals: Sequence[Arrival], failures: Sequence[Failure], options: QueueRingOptions, end: int
) -> RingRun:
    """Run the paper's switch tick by tick.

    Within a tick: failures are seen, queues are looked at in the order of `ports`, packets arrive.

    Parameters
    ----------
    arrivals
        Not falling in time, which starts at 0 or later.
    failures
        At most one a port.
    options
        The switch.
    end
        The last tick, included.

    Returns
    -------
    Copies of ports that are up are not counted as stuck.

    Raises
    ------
    BadInputError
        The clock register cannot tell the longest stay of a copy from a short one, or a port has no caching queue.
    """
    _check(arrivals, failures, options)
    switch = _Switch(options, PortLoad(options.window, options.ports[0]), {}, {port: [] for port in options.ports})
    by_time: dict[int, list[Packet]] = {}
    for arrival in arrivals:
        by_time.setdefault(arrival.at, []).append(arrival.packet)
        switch.ports.setdefault(arrival.packet.port, PortState(delta=options.delta))
    for now in range(end + 1):
        _see_failures(switch, failures, now)
        _look_at_queues(switch, now)
        for packet in by_time.get(now, ()):
            _arrive(switch, packet, now)
    return RingRun(tuple(switch.out), _stuck(switch.queues, switch.ports))


def _check(arrivals: Sequence[Arrival], failures: Sequence[Failure], options: QueueRingOptions) -> None:
    longest = options.delta + options.reconfiguration
    if longest + 1 >= 1 << options.clock_bits:
        raise BadInputError(
            f"a clock of {options.clock_bits} bits cannot time a delay of {longest} ticks: take a wider clock"
        )
    used = {arrival.packet.port for arrival in arrivals} | {failure.backup for failure in failures}
    missing = sorted(used - set(options.ports))
    if missing:
        raise BadInputError(f"port {missing[0]} has no caching queue: name it in ports")


def _see_failures(switch: _Switch, failures: Sequence[Failure], now: int) -> None:
    for failure in failures:
        state = switch.ports.get(failure.port)
        if state is None:
            continue
        if failure.detected_at == now:
            extra = switch.options.reconfiguration
            state = replace(state, up=False, backup=failure.backup, delta=state.delta + extra, ready=now + extra)
            switch.ports[failure.port] = state
        elif switch.options.restore_early and failure.usable_at == now:
            switch.ports[failure.port] = replace(state, up=True, delta=switch.options.delta)


def _look_at_queues(switch: _Switch, now: int) -> None:
    """Take from each caching queue what it sends in this tick; what goes back in is seen in a later tick."""
    taken = []
    for port in switch.options.ports:
        queue = switch.queues[port]
        count = len(queue) if switch.options.examined is None else min(switch.options.examined, len(queue))
        taken += queue[:count]
        del queue[:count]
    for entry in taken:
        _process(switch, entry, now)


def _arrive(switch: _Switch, packet: Packet, now: int) -> None:
    state = switch.ports[packet.port]
    switch.ports[packet.port] = replace(state, packets=state.packets + 1)
    _process(switch, Entry(packet, state.packets, cached=False), now)


def _process(switch: _Switch, entry: Entry, now: int) -> None:
    """Run a marked packet through the egress pipeline."""
    port, bits = entry.packet.port, switch.options.clock_bits
    state, clock = switch.ports[port], now % (1 << bits)
    if entry.cached and not entry.enough:
        entry = replace(entry, enough=delay_enough(clock, entry.start, state.delta, bits))
    choice = choose(state.up, entry.cached, entry.enough)
    if choice is Choice.SEND_AND_CACHE:
        switch.load = account(switch.load, now, port, entry.packet.size_bytes)
        switch.out.append(Transmission(now, port, entry.packet))
        entry = replace(entry, cached=True, start=clock)
    if choice in (Choice.SEND_AND_CACHE, Choice.RECIRCULATE):
        switch.queues[switch.load.least_port].append(entry)
        return
    if not state.up and now < state.ready and switch.options.hold_originals:
        switch.queues[state.backup].append(entry)
        return
    turn = order(state.up, entry.tag, state.next_tag, switch.options.monotone)
    switch.ports[port] = replace(state, next_tag=turn.next_tag)
    if turn.wait:
        switch.queues[state.backup].append(entry)
    elif choice is Choice.BACKUP:
        switch.out.append(Transmission(now, state.backup, entry.packet))


def _stuck(queues: Mapping[int, Sequence[Entry]], ports: Mapping[int, PortState]) -> tuple[Packet, ...]:
    waiting = (entry.packet for queue in queues.values() for entry in queue if not ports[entry.packet.port].up)
    return tuple(sorted(waiting, key=lambda packet: packet.number))
