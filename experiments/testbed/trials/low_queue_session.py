"""Trials of kind "low-queue": flows of SD-FAST on a network with or without a queue for packets that met a failure."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from emulation.failure_injection import FailureInjection
from emulation.network import EmulatedNetwork
from experiments.analysis.events import read_events
from experiments.campaign.draws.filled_links import VICTIM, case_of, flows_of
from experiments.campaign.kinds.low_queue import LowQueueParameters
from experiments.campaign.parameters import plain
from experiments.campaign.values import Json, TestbedSettings, Trial, parameters_of
from experiments.scenario.values import Scenario
from experiments.testbed.runs.folder import Work
from experiments.testbed.runs.measure import Flaps, network_health, unasked_restarts
from experiments.testbed.runs.parts import emulated_network
from experiments.testbed.runs.run import make_ready
from experiments.testbed.traffic.measure import measure_flows
from experiments.testbed.trials.decide.flow_row import SeenFlows, flow_row, flow_timing
from experiments.testbed.trials.decide.scenario import scenario_of, timing_of
from experiments.testbed.trials.returning import Return, Returning
from experiments.testbed.trials.reused import ReusedRunner, ReusedSession
from experiments.testbed.trials.testbed import plans_of
from mininet_topos.catalogue import load_topology


@dataclass(frozen=True)
class LowQueueTestbed:
    """A network that is up, with its plans installed."""

    network: EmulatedNetwork
    injection: FailureInjection
    work: Work
    scenario: Scenario
    returning: Returning


class LowQueueSession(ReusedSession[LowQueueTestbed]):
    """Cases with one set-up of queues, one after another."""

    def _build(self, trial: Trial, folder: Path) -> AbstractContextManager[LowQueueTestbed]:
        return open_low_queue_testbed(trial, folder, self._settings)

    def _measure(self, testbed: LowQueueTestbed, trial: Trial, _folder: Path) -> tuple[Json, Return]:
        return observe(testbed, trial)


@contextmanager
def open_low_queue_testbed(trial: Trial, folder: Path, settings: TestbedSettings) -> Iterator[LowQueueTestbed]:
    """Build the network of a trial and its plans; everything is undone at the end.

    Raises
    ------
    ArmorError
        Something is not ready in time; the message names what.
    """
    own = parameters_of(trial, LowQueueParameters)
    interval_ms = max(settings.bfd_interval_ms, own.least_bfd_ms)
    scenario = scenario_of(trial, load_topology(trial.topology), interval_ms)
    scenario = replace(scenario, queues=own.queues or None)
    (variation,) = scenario.variations
    plans, work = plans_of(scenario.topology, variation), Work(folder)
    work.events.touch()
    network = emulated_network(scenario, variation, work, scenario.bfd_interval_ms)
    settings.say("building the network")
    with network, FailureInjection(network) as injection:
        make_ready(network, plans, variation, settings.say)
        yield LowQueueTestbed(network, injection, work, scenario, Returning(network, plans))


def observe(testbed: LowQueueTestbed, trial: Trial) -> tuple[Json, Return]:
    """Send a case's flows, fail its link, repair it, and wait for the return; the row, and how it returned."""
    own, case, network = parameters_of(trial, LowQueueParameters), case_of(trial), testbed.network
    placed, timing = flows_of(case, own), flow_timing(timing_of(trial), own.settle_s)
    scenario = scenario_of(trial, load_topology(trial.topology), network.bfd_interval_ms)
    flaps = Flaps(network, scenario, may_raise=False)
    log_bytes = testbed.work.events.stat().st_size
    testbed.injection.prepare([case.failed])
    classes = {each.flow.name: "victim" if each.flow.name == VICTIM else "direct" for each in placed}
    measured = measure_flows(network, placed, lambda: testbed.injection.silent(case.failed), timing, classes)
    health = network_health(network, flaps.check(), unasked_restarts(network, scenario), measured.load_per_core)
    testbed.injection.restore_all()
    events = read_events(testbed.work.events.read_bytes()[log_bytes:].decode())
    seen = SeenFlows(
        *(trial, placed, measured.records, measured.links, {}, measured.failure_s),
        *(events, health, measured.load_per_core),
    )
    return plain(flow_row(seen, timing)), testbed.returning.wait()


def low_queue_runner(settings: TestbedSettings) -> ReusedRunner:
    """What runs such trials."""
    return ReusedRunner(LowQueueSession, settings)
