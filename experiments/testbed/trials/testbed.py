"""A network that is up and watched: plan installed, BFD up, taps and port watcher running, ready for trials."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

from emulation.failure_injection import FailureInjection
from emulation.network import EmulatedNetwork
from emulation.unread_frames import UnreadFrames
from experiments.analysis.injected import InjectedEvent
from experiments.campaign.kinds.probed import DownloadParameters
from experiments.campaign.values import Trial, parameters_of
from experiments.scenario.iperf3 import FIRST_PORT
from experiments.scenario.stream import ProbedTraffic
from experiments.scenario.values import Scenario, Variation
from experiments.testbed.instruments.capture import DRAIN_S, LABELLED_PING, Captures, Tap
from experiments.testbed.instruments.clock import RunClock
from experiments.testbed.instruments.downloads import Download, Downloads
from experiments.testbed.instruments.streams import Streams
from experiments.testbed.runs.folder import Work
from experiments.testbed.runs.inject import Injector
from experiments.testbed.runs.measure import Flaps, Measured, PortKey, unasked_restarts
from experiments.testbed.runs.parts import emulated_network, options_of
from experiments.testbed.runs.run import make_ready
from experiments.testbed.runs.watching import PortWatch
from experiments.testbed.trials.decide.scenario import load_of
from experiments.testbed.trials.returning import Return, Returning
from machine.environment import load_per_core
from mininet_topos.topology import Topology
from ryu_apps.plan.ids import Status
from ryu_apps.plan.rows import RulePlan
from ryu_apps.schemes import plan_network

# Tagged load would flood the taps of switches, but notifications, which may be copies of it, are few: the lower bits of
# their PCP say that they are some. `vlan` shifts the offsets of what follows it (not of ether[]), so it stands last.
_NOTIFIES = f"ether[14] & {Status.NOTIFICATION << 5:#x} = {Status.NOTIFICATION << 5:#x}"
SWITCH_FILTER = f"icmp or {LABELLED_PING} or (vlan and (icmp or {_NOTIFIES}))"
HOST_FILTER = f"icmp or (udp dst portrange {FIRST_PORT}-{FIRST_PORT + 999})"
_LEAD_S = 0.3  # from the start of the clients to their first packets
_LAST_ANSWERS_S = 0.2
_LOAD_EXTRA_S = 3.0  # load is ended, it does not end by itself

Say = Callable[[str], None]
Plans = dict[int, RulePlan]


@dataclass(frozen=True)
class Fetched:
    """Raw outcome of a trial of kind "download"."""

    downloads: tuple[Download, ...]
    injected: tuple[InjectedEvent, ...]
    flaps: dict[PortKey, int]
    restarts: tuple[str, ...]
    load_per_core: float


class Testbed:
    """A network that is up and watched.

    Parameters
    ----------
    network, injection, captures : EmulatedNetwork, FailureInjection, Captures
        All of them entered.
    work
        Event log and raw files.
    plans : dict
        What the switches hold while nothing is broken.
    """

    def __init__(
        self, network: EmulatedNetwork, injection: FailureInjection, captures: Captures, work: Work, plans: Plans
    ) -> None:
        self.network, self.injection, self.captures, self.work, self.plans = network, injection, captures, work, plans
        self._returning = Returning(network, plans)

    def events_since(self, offset: int) -> str:
        """What processes have written to the event log since its length was `offset` bytes."""
        return self.work.events.read_bytes()[offset:].decode()

    def observe(self, scenario: Scenario, folder: Path) -> tuple[Measured, Return]:
        """Send the traffic, fail its links, keep what the instruments see, repair, and wait for the return.

        `folder` receives captures and the streams' output.
        """
        network, marks = self.network, self.captures.marks()
        injector = Injector(network, self.injection, scenario)
        load = load_per_core()
        flaps, unread = Flaps(network, scenario, may_raise=False), UnreadFrames(network)
        with Streams(network, scenario.traffic, folder / "streams") as streams:
            injector.prepare()
            clock = RunClock()
            zero_s = time.monotonic() + _LEAD_S + scenario.settle_s
            for number, stream in enumerate(scenario.traffic):
                extra_s = 0.0 if isinstance(stream, ProbedTraffic) else _LOAD_EXTRA_S
                streams.start(number, zero_s - time.monotonic() + scenario.duration_s + extra_s)
            injected = injector.run(zero_s, scenario.duration_s, lambda: None)
            end_s = time.monotonic()
            flapped = flaps.check()
            # Where answers are missing a sender would wait for them; stopped, it counts none that is under way.
            stopped = streams.interrupt()
            self.injection.restore_all()
            streams.finish(ProbedTraffic)
            unread_frames = unread.so_far()
            run_clock = clock.so_far()
            own = tuple(
                None if number in stopped else streams.own_counts(number) for number in range(len(scenario.traffic))
            )
        measured = Measured(
            zero_s=zero_s,
            end_s=end_s,
            injected=tuple(injected),
            clock=run_clock,
            captures={},
            missed={},
            own_counts=own,
            flaps=flapped,
            restarts=unasked_restarts(network, scenario),
            faults=network.faults,
            unread_frames=unread_frames,
            load_per_core=load,
        )
        restored = self.wait_returned()
        time.sleep(max(0.0, end_s + DRAIN_S + _LAST_ANSWERS_S - time.monotonic()))
        captured = self.captures.slices(marks, folder / "captures")
        return replace(measured, captures=captured, missed=self.captures.missed_since(marks)), restored

    def fetch(self, scenario: Scenario, trial: Trial, folder: Path) -> tuple[Fetched, Return]:
        """Let every pair fetch its file while the scenario's links fail; repair, and wait for the return."""
        network, size_bytes = self.network, load_of(trial).download_bytes or 0
        own = parameters_of(trial, DownloadParameters)
        injector = Injector(network, self.injection, scenario)
        load = load_per_core()
        flaps = Flaps(network, scenario, may_raise=False)
        with Downloads(network, trial.pairs, size_bytes, folder, trial.seed) as downloads:
            injector.prepare()
            zero_s = time.monotonic()
            downloads.start()
            injected = injector.run(zero_s, own.head_start_s, lambda: None)
            fetched = downloads.wait(zero_s + own.give_up_s)
            flapped = flaps.check()
        self.injection.restore_all()
        seen = Fetched(fetched, tuple(injected), flapped, unasked_restarts(network, scenario), load)
        return seen, self.wait_returned()

    def wait_returned(self) -> Return:
        """Wait until BFD is up and every switch holds its plan again, after a repair."""
        return self._returning.wait()


@contextmanager
def open_testbed(scenario: Scenario, folder: Path, say: Say) -> Iterator[Testbed]:
    """Build the network of a scenario's only variation and watch it; everything is undone at the end.

    Raises
    ------
    ArmorError
        Something is not ready in time; the message names what.
    """
    (variation,) = scenario.variations
    plans = plans_of(scenario.topology, variation)
    work = Work(folder)
    folder.mkdir(parents=True)
    work.events.touch()
    network = emulated_network(scenario, variation, work, scenario.bfd_interval_ms)
    say("building the network")
    with network, FailureInjection(network) as injection:
        make_ready(network, plans, variation, say)
        watch = PortWatch(network, tuple(network.sites), work)
        captures = Captures(network, testbed_taps(network), folder / "captures", drains=False)
        with watch, captures:
            yield Testbed(network, injection, captures, work, plans)


def testbed_taps(network: EmulatedNetwork) -> list[Tap]:
    """Taps on all hosts and on what every switch sends on its links."""
    hosts = [Tap(host.name, f"{host.name}-eth0", wanted=HOST_FILTER) for host in network.hosts.values()]
    return hosts + [
        Tap(node, network.interface(node, port), "out", SWITCH_FILTER) for node, port in network.ports.direction_at
    ]


@lru_cache(maxsize=2)
def _plans(topology: Topology, variation: Variation) -> Plans:
    return plan_network(variation.scheme, topology, options_of(variation))


def plans_of(topology: Topology, variation: Variation) -> Plans:
    """Plans of a variation; those of the last two are kept, since rounds ask for the same again."""
    return _plans(topology, variation)
