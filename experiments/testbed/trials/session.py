"""A session: the trials of one variant, round and capacity, one after another on a network that is built once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from experiments.analysis.backtracking import first_detections
from experiments.analysis.crankback import hops_back_of
from experiments.analysis.datagrams import Datagram, datagrams
from experiments.analysis.events import Event, read_events
from experiments.analysis.frames import Frame, parse_pcap
from experiments.analysis.packet_counts import Clock
from experiments.analysis.timeline import Window
from experiments.analysis.trust import assess
from experiments.campaign.values import Json, TestbedSettings, Trial
from experiments.scenario.iperf3 import FIRST_PORT
from experiments.scenario.values import Scenario
from experiments.testbed.instruments.capture import Tap
from experiments.testbed.runs.measure import network_health
from experiments.testbed.runs.promise import primary_path
from experiments.testbed.runs.record import make_record
from experiments.testbed.trials.decide.download import download_row
from experiments.testbed.trials.decide.row import Pair, PairFacts, Seen, network_row
from experiments.testbed.trials.decide.scenario import links_of, scenario_of
from experiments.testbed.trials.returning import Return
from experiments.testbed.trials.reused import ReusedRunner, ReusedSession
from experiments.testbed.trials.testbed import Testbed, open_testbed
from mininet_topos.catalogue import load_topology
from mininet_topos.topology import LinkId, Topology
from ryu_apps.plan.addressing import hosts_of
from ryu_apps.plan.rows import RulePlan
from ryu_apps.plan.walk import Learning, Network


@dataclass(frozen=True)
class Observed:
    """What became of a trial with pings.

    Attributes
    ----------
    window
        From the failure to the repair.
    detected
        As `first_detections` has it.
    load
        Columns about the machine.
    """

    seen: Seen
    events: Sequence[Event]
    window: Window
    detected: Mapping[LinkId, float]
    load: Json
    restored: Return


class Session(ReusedSession[Testbed]):
    """The trials of one variant, round and capacity on one network."""

    def __init__(self, trial: Trial, settings: TestbedSettings) -> None:
        super().__init__(trial, settings)
        self._topology = load_topology(trial.topology)

    def _build(self, trial: Trial, folder: Path) -> AbstractContextManager[Testbed]:
        return open_testbed(self._scenario(trial), folder / "network", self._settings.say)

    def _measure(self, testbed: Testbed, trial: Trial, _folder: Path) -> tuple[Json, Return]:
        measure = self._download if trial.kind == "download" else self._mixed
        return measure(testbed, trial, self._scenario(trial), _folder)

    def _mixed(self, testbed: Testbed, trial: Trial, scenario: Scenario, folder: Path) -> tuple[Json, Return]:
        observed = self.observed(testbed, trial, scenario, folder)
        return {**network_row(observed.seen, observed.detected), **observed.load}, observed.restored

    def observed(self, testbed: Testbed, trial: Trial, scenario: Scenario, folder: Path) -> Observed:
        """Run a trial with pings, and read what the instruments saw."""
        log_bytes, before_s = testbed.work.events.stat().st_size, testbed.network.processor_seconds()
        measured, restored = testbed.observe(scenario, folder)
        after_s = testbed.network.processor_seconds()
        text = testbed.events_since(log_bytes)
        record = make_record(scenario, scenario.variations[0], measured, text, (), notes=testbed.network.warnings)
        found = udp_of(trial, scenario.topology, measured.captures, measured.clock)
        seen = Seen(trial, record, found, pair_facts(scenario.topology, testbed.plans, trial))
        window, events = Window(seen.failure_s, measured.end_s), read_events(text)
        detected = first_detections(events, scenario.topology, window)
        used_s = {name: round(after_s[name] - seconds, 2) for name, seconds in before_s.items() if name in after_s}
        load = {"load_per_core": round(measured.load_per_core, 2), "processor_s": used_s}
        return Observed(seen, events, window, detected, load, restored)

    def _download(self, testbed: Testbed, trial: Trial, scenario: Scenario, folder: Path) -> tuple[Json, Return]:
        fetched, restored = testbed.fetch(scenario, trial, folder)
        health = network_health(testbed.network, fetched.flaps, fetched.restarts, fetched.load_per_core)
        row = download_row(
            trial, fetched.downloads, fetched.injected, pair_facts(scenario.topology, testbed.plans, trial)
        )
        warnings, trustworthy = assess(health)
        quality = {"warnings": list(warnings), "trustworthy": trustworthy}
        return {**row, **quality, "load_per_core": round(fetched.load_per_core, 2)}, restored

    def _scenario(self, trial: Trial) -> Scenario:
        return scenario_of(trial, self._topology, self._settings.bfd_interval_ms)


def pair_facts(topology: Topology, plans: dict[int, RulePlan], trial: Trial) -> dict[Pair, PairFacts]:
    """What is known of the pairs of a trial before it runs."""
    network = Network(topology, plans, Learning())
    failed = links_of(trial, topology)
    parts = topology.components(frozenset(failed))
    hops_back = hops_back_of(topology)

    def facts(source: str, destination: str) -> PairFacts:
        primary, back = (
            tuple(topology.link_id(direction) for direction in primary_path(network, *ends))
            for ends in ((source, destination), (destination, source))
        )
        first = next((link for link in primary if link in failed), None)
        return PairFacts(
            primary=primary,
            primary_back=back,
            joined=parts[source] == parts[destination],
            hops_back=None if first is None else hops_back.get((source, destination, first)),
        )

    return {pair: facts(*pair) for pair in trial.pairs}


def udp_of(trial: Trial, topology: Topology, captures: Mapping[Tap, Path], clock: Clock) -> dict[Pair, list[Datagram]]:
    """UDP datagrams of every pair, from the taps at the hosts; empty without UDP."""
    if trial.load is None or trial.load.udp_mbps is None:
        return {}
    first = len(trial.pairs) if trial.load.pings else 0
    return datagrams_of(topology, captures, clock, {pair: first + number for number, pair in enumerate(trial.pairs)})


def datagrams_of(
    topology: Topology, captures: Mapping[Tap, Path], clock: Clock, numbers: Mapping[Pair, int]
) -> dict[Pair, list[Datagram]]:
    """UDP datagrams of pairs, whose streams have these numbers in their scenario."""
    hosts = hosts_of(topology)
    paths = {tap.place: path for tap, path in captures.items()}
    frames: dict[str, list[Frame]] = {}
    for node in {node for pair in numbers for node in pair}:
        frames[node] = list(parse_pcap(paths[hosts[node].name].read_bytes()))
    return {
        (source, destination): datagrams(
            frames[source],
            frames[destination],
            hosts[source].ipv4,
            hosts[destination].ipv4,
            FIRST_PORT + number,
            clock=clock,
        )
        for (source, destination), number in numbers.items()
    }


def probed_runner(settings: TestbedSettings) -> ReusedRunner:
    """What runs such trials."""
    return ReusedRunner(Session, settings)
