"""One measured run on a network that is ready: probes, failures, taps; and what the instruments saw."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from emulation.bfd_probe import BfdUnstableError
from emulation.network import EmulatedNetwork
from emulation.unread_frames import UnreadFrames
from experiments.analysis.counted import DatagramCount, TcpCount
from experiments.analysis.injected import InjectedEvent
from experiments.analysis.packet_counts import Clock
from experiments.analysis.trust import Health
from experiments.scenario.stream import ProbedTraffic, Traffic
from experiments.scenario.values import Scenario
from experiments.testbed.instruments.capture import Captures, Tap
from experiments.testbed.instruments.clock import RunClock
from experiments.testbed.instruments.streams import StreamError, Streams
from experiments.testbed.runs.folder import Work
from experiments.testbed.runs.inject import Injector, sleep_until
from experiments.testbed.runs.loads import Counters, tcp_counts
from experiments.testbed.runs.watching import PortWatch, watched_switches
from machine.environment import load_per_core

PortKey = tuple[str, int]
_CHECK_S = 0.6  # before the zero, time to ask all switches for their BFD sessions
_LEAD_S = 0.3  # from the start of the clients to the first packets


@dataclass(frozen=True)
class Measured:
    """Raw outcome of a run.

    `captures` maps taps to files, `own_counts` follows the scenario's traffic, `unread_frames` has interfaces of
    switches (`emulation.unread_frames`), `remarks` are what the streams say of themselves.
    """

    zero_s: float
    end_s: float
    injected: tuple[InjectedEvent, ...]
    clock: Clock
    captures: dict[Tap, Path]
    missed: dict[Tap, int]
    own_counts: tuple[tuple[int, int] | None, ...]
    flaps: dict[PortKey, int]
    restarts: tuple[str, ...]
    load_per_core: float
    faults: tuple[str, ...] = ()
    unread_frames: Mapping[str, int] = field(default_factory=dict)
    datagrams: tuple[DatagramCount, ...] = ()
    tcp: tuple[TcpCount, ...] = ()
    remarks: tuple[str, ...] = ()


def measure(
    network: EmulatedNetwork, injector: Injector, work: Work, may_raise: bool, say: Callable[[str], None]
) -> Measured:
    """Run a scenario's traffic and failures.

    Parameters
    ----------
    network
        Built, with its plan installed and its BFD sessions up.
    injector
        Breaks and repairs by the scenario; what it leaves broken stays so afterwards.
    work
        Where captures and the streams' output go.
    may_raise
        Whether a longer BFD interval can be tried when this one does not hold.
    say
        Called with what is going on.

    Raises
    ------
    BfdUnstableError
        BFD sessions went down that nobody broke, and `may_raise` is given.
    """
    scenario, load = injector.scenario, load_per_core()
    with _recording(network, injector, work, say) as instruments:
        happened = _send(injector, instruments, Flaps(network, scenario, may_raise=may_raise), work, say)
    captures, streams = instruments.captures, instruments.streams
    return Measured(
        zero_s=happened.zero_s,
        end_s=happened.end_s,
        injected=happened.injected,
        clock=happened.clock,
        captures=captures.files,
        missed=captures.missed(),
        own_counts=tuple(map(streams.own_counts, range(len(scenario.traffic)))),
        flaps=happened.flaps,
        restarts=unasked_restarts(network, scenario),
        faults=network.faults,
        unread_frames=happened.unread_frames,
        load_per_core=load,
        datagrams=happened.datagrams,
        tcp=tcp_counts(scenario, streams),
        remarks=streams.remarks,
    )


@dataclass(frozen=True)
class _Instruments:
    """What records a run, and can be asked what it has seen."""

    streams: Streams
    datagrams: Counters
    captures: Captures
    unread: UnreadFrames


@contextmanager
def _recording(
    network: EmulatedNetwork, injector: Injector, work: Work, say: Callable[[str], None]
) -> Iterator[_Instruments]:
    """Have all instruments record while the block runs; the injector is prepared before the taps begin."""
    scenario = injector.scenario
    watch = PortWatch(network, watched_switches(scenario.failures, scenario.topology), work)
    captures = Captures(network, taps_of(network, scenario), work.path / "captures")
    unread = UnreadFrames(network)
    with Streams(network, scenario.traffic, work.path / "streams") as streams, watch:
        injector.prepare()
        with Counters(network, scenario, say) as datagrams, captures:
            yield _Instruments(streams, datagrams, captures, unread)


@dataclass(frozen=True)
class _Happened:
    """What was sent and broken, as `Measured` says it, with what only instruments that still record can say."""

    zero_s: float
    end_s: float
    injected: tuple[InjectedEvent, ...]
    clock: Clock
    flaps: dict[PortKey, int]
    unread_frames: Mapping[str, int]
    datagrams: tuple[DatagramCount, ...]


def _send(
    injector: Injector, instruments: _Instruments, flaps: Flaps, work: Work, say: Callable[[str], None]
) -> _Happened:
    """Send the traffic while the scenario's failures come, until its last packets are there."""
    scenario, clock = injector.scenario, RunClock()
    zero_s = time.monotonic() + _LEAD_S + scenario.settle_s
    work.note_zero(zero_s)
    clients = Clients(instruments.streams, scenario, zero_s)
    instruments.datagrams.start(zero_s, zero_s + scenario.duration_s)
    injected, end_s = _break(injector, clients, flaps, zero_s, say)
    flapped = flaps.check()
    say("last packets")
    instruments.streams.finish()
    datagrams, unread_frames = instruments.datagrams.counts(), instruments.unread.so_far()
    return _Happened(zero_s, end_s, injected, clock.so_far(), flapped, unread_frames, datagrams)


def _break(
    injector: Injector, clients: Clients, flaps: Flaps, zero_s: float, say: Callable[[str], None]
) -> tuple[tuple[InjectedEvent, ...], float]:
    """Run the scenario's failures while clients probe: what was injected, and when it ended."""
    between = partial(_between, clients, say, zero_s)
    say("warming up")
    clients.start_due()
    sleep_until(zero_s - _CHECK_S, between)
    flaps.check()
    injected = tuple(injector.run(zero_s, injector.scenario.duration_s, between))
    clients.require_started()
    return injected, time.monotonic()


def taps_of(network: EmulatedNetwork, scenario: Scenario) -> list[Tap]:
    """Taps on the hosts that are probed, and on what every switch sends on its links."""
    probes = [stream for stream in scenario.traffic if isinstance(stream, ProbedTraffic)]
    nodes = dict.fromkeys(node for stream in probes for node in (stream.source, stream.destination))
    hosts = [Tap(network.hosts[node].name, f"{network.hosts[node].name}-eth0") for node in nodes]
    return hosts + [Tap(node, network.interface(node, port), "out") for node, port in network.ports.direction_at]


class Flaps:
    """Changes of BFD's verdict on links that no failure of the scenario touches, since the start of the run."""

    def __init__(self, network: EmulatedNetwork, scenario: Scenario, *, may_raise: bool) -> None:
        self._network, self._may_raise = network, may_raise
        self._broken = {link for failure in scenario.failures for link in failure.disturbed_links(scenario.topology)}
        self._before = network.flap_counts()

    def unexplained(self) -> dict[PortKey, int]:
        """By (switch, port); counts that fell belong to a daemon that was restarted."""
        topology, direction_at = self._network.topology, self._network.ports.direction_at
        return {
            port: count - self._before.get(port, 0)
            for port, count in self._network.flap_counts().items()
            if count > self._before.get(port, 0) and topology.link_id(direction_at[port]) not in self._broken
        }

    def check(self) -> dict[PortKey, int]:
        """Those until now; raises when there are any and a longer interval can be tried."""
        flaps = self.unexplained()
        if flaps and self._may_raise:
            interval_ms, count = self._network.bfd_interval_ms, sum(flaps.values())
            message = f"BFD flapped {count} times at an interval of {interval_ms} ms on links that nobody broke"
            raise BfdUnstableError(interval_ms, message)
        return flaps


class Clients:
    """Starts each stream's client when its time has come."""

    def __init__(self, streams: Streams, scenario: Scenario, zero_s: float) -> None:
        self._streams, self._zero_s = streams, zero_s
        self._end_s = scenario.duration_s
        self._waiting = list(enumerate(scenario.traffic))

    def start_due(self) -> None:
        """Start what is due; streams from second 0 on begin in the warm-up."""
        second = time.monotonic() - self._zero_s
        due = [(number, stream) for number, stream in self._waiting if stream.start_s <= max(second, 0.0)]
        for number, stream in due:
            length_s = self._length_s(stream, second)
            if length_s <= 0:
                raise self._too_late(stream)
            self._streams.start(number, length_s)
            self._waiting.remove((number, stream))

    def require_started(self) -> None:
        """Raise when a stream has not been started."""
        for _, stream in self._waiting:
            raise self._too_late(stream)

    @staticmethod
    def _too_late(stream: Traffic) -> StreamError:
        return StreamError(
            f"{stream.kind} from {stream.source} to {stream.destination} was to start at second {stream.start_s:g}, "
            "and could not before it was to stop; let it run longer, or leave 0.2 s between changes of the network"
        )

    def _length_s(self, stream: Traffic, second: float) -> float:
        return (stream.stop_s if stream.stop_s is not None else self._end_s) - second


def _between(clients: Clients, say: Callable[[str], None], zero_s: float) -> None:
    clients.start_due()
    second = time.monotonic() - zero_s
    say(f"second {second:.0f}" if second >= 0 else "warming up")


def network_health(
    network: EmulatedNetwork, flaps: Mapping[PortKey, int], restarts: Sequence[str], load_per_core: float
) -> Health:
    """What tells whether a run on a network is to be trusted, apart from its probes."""
    return Health(
        flaps={f"{node}:{port}": count for (node, port), count in flaps.items()},
        restarts=restarts,
        faults=network.faults,
        load_per_core=load_per_core,
        notes=network.warnings,
    )


def unasked_restarts(network: EmulatedNetwork, scenario: Scenario) -> tuple[str, ...]:
    """Processes that ended though the scenario kills none of their kind there."""
    killed = {failure.kills for failure in scenario.failures if failure.kills is not None}
    places = {name: site.place for name, site in network.sites.items()}
    asked = {(process, "controller" if node is None else places[node]) for process, node in killed}
    return tuple(
        f"{restart.process} in {restart.place}"
        for restart in network.restarts
        if (restart.process, restart.place) not in asked
    )
