"""Trials of kind "flows": TCP or UDP over chosen tunnels of a network that stays up, and a link that fails."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

from emulation.decide.options import EmulationOptions
from emulation.decide.queues import QUEUE_SETUPS
from emulation.failure_injection import FailureInjection
from emulation.network import EmulatedNetwork
from experiments.analysis.events import read_events
from experiments.analysis.flows.classes import flow_classes, fluid_rates
from experiments.campaign.draws.tunnel_traffic import TE_SOLVER, Traffic
from experiments.campaign.kinds.flows import FlowsParameters
from experiments.campaign.parameters import plain
from experiments.campaign.values import Json, TestbedSettings, Trial, parameters_of
from experiments.scenario.failures.silent import Silent
from experiments.scenario.values import Scenario
from experiments.testbed.runs.controller_environment import (
    SWITCH_DATABASE,
    controller_environment,
    write_demands,
    write_topology,
)
from experiments.testbed.runs.folder import Work
from experiments.testbed.runs.measure import Flaps, network_health, unasked_restarts
from experiments.testbed.runs.parts import controller_command
from experiments.testbed.runs.run import make_ready
from experiments.testbed.traffic.measure import measure_flows
from experiments.testbed.traffic.ports import place_flows
from experiments.testbed.trials.decide.flow_row import SeenFlows, flow_row, flow_timing
from experiments.testbed.trials.decide.scenario import timing_of, variant_of, variation_of
from experiments.testbed.trials.returning import Return, Returning
from experiments.testbed.trials.reused import ReusedRunner, ReusedSession


@dataclass(frozen=True)
class FlowTestbed:
    """A network that is up, with its plans installed."""

    network: EmulatedNetwork
    injection: FailureInjection
    work: Work
    returning: Returning


class FlowSession(ReusedSession[FlowTestbed]):
    """The trials with one scheme, demands and set-up of queues on one network."""

    def _build(self, trial: Trial, folder: Path) -> AbstractContextManager[FlowTestbed]:
        return open_flow_testbed(trial, folder, self._settings)

    def _measure(self, testbed: FlowTestbed, trial: Trial, _folder: Path) -> tuple[Json, Return]:
        return observe(testbed, trial)


def observe(testbed: FlowTestbed, trial: Trial) -> tuple[Json, Return]:
    """Send a trial's flows, fail its link, repair it, and wait for the return; the row, and how it returned."""
    traffic, network = Traffic(trial), testbed.network
    (failed,) = traffic.failures
    timing = flow_timing(timing_of(trial), parameters_of(trial, FlowsParameters).settle_s)
    placed = place_flows(network, traffic.planner, traffic.flows, traffic.failures, trial.seed)
    flaps = Flaps(network, scenario_of(trial, traffic), may_raise=False)
    log_bytes = testbed.work.events.stat().st_size
    testbed.injection.prepare(sorted(failed))

    def fail() -> None:
        for link in sorted(failed):
            testbed.injection.silent(link)

    measured = measure_flows(network, placed, fail, timing, flow_classes(traffic.topology, placed, failed))
    health = network_health(
        network, flaps.check(), unasked_restarts(network, scenario_of(trial, traffic)), measured.load_per_core
    )
    testbed.injection.restore_all()
    events = read_events(testbed.work.events.read_bytes()[log_bytes:].decode())
    fluid = fluid_rates(traffic.network, placed, failed)
    seen = SeenFlows(
        trial,
        placed,
        measured.records,
        measured.links,
        fluid,
        measured.failure_s,
        events,
        health,
        measured.load_per_core,
    )
    return plain(flow_row(seen, timing)), testbed.returning.wait()


def scenario_of(trial: Trial, traffic: Traffic) -> Scenario:
    """What is broken, in the words of a scenario, which distinguishes it from what nobody broke."""
    timing = timing_of(trial)
    return Scenario(
        topology_name=trial.topology,
        topology=traffic.topology,
        variations=(variation_of(variant_of(trial)),),
        traffic=(),
        failures=tuple(Silent(timing.before_s, link) for link in sorted(traffic.failures[0])),
        duration_s=timing.total_s,
        seed=trial.seed,
    )


@contextmanager
def open_flow_testbed(trial: Trial, folder: Path, settings: TestbedSettings) -> Iterator[FlowTestbed]:
    """Build the network of a trial, its controller and its plans; everything is undone at the end.

    Raises
    ------
    ArmorError
        Something is not ready in time; the message names what.
    """
    traffic, work = Traffic(trial), Work(folder)
    work.events.touch()
    plans = traffic.planner.plans()
    variation = variation_of(variant_of(trial))
    settings.say("building the network")
    network = flow_network(
        traffic, work, max(settings.bfd_interval_ms, parameters_of(trial, FlowsParameters).least_bfd_ms)
    )
    with network, FailureInjection(network) as injection:
        make_ready(network, plans, variation, settings.say)
        yield FlowTestbed(network, injection, work, Returning(network, plans))


def flow_network(traffic: Traffic, work: Work, bfd_interval_ms: int) -> EmulatedNetwork:
    """The network of a trial with its priority queues and the controller of its scheme; enter it to build it."""
    own = parameters_of(traffic.trial, FlowsParameters)
    settings = {
        "topology": write_topology(work.path, traffic.topology),
        "demands": write_demands(work.path, traffic.demands),
        "te_solver": TE_SOLVER,
        "tunnels": own.tunnels,
        "priorities": traffic.queues,
        "queue_db": SWITCH_DATABASE,
        "wait_to_restore_s": own.wait_to_restore_s,
    }
    return EmulatedNetwork(
        traffic.topology,
        EmulationOptions(
            bfd_interval_ms=bfd_interval_ms,
            capacity_scale=traffic.capacity_scale,
            queues=QUEUE_SETUPS[traffic.queues],
        ),
        controller_command=controller_command(variant_of(traffic.trial).scheme),
        environment=controller_environment(settings),
        events=work.events,
        command=f"armor reproduce: {traffic.trial.trial_id}",
    )


def flow_runner(settings: TestbedSettings) -> ReusedRunner:
    """What runs such trials."""
    return ReusedRunner(FlowSession, settings)
