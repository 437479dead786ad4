"""Trials of kind "ingress": a link of a network with tunnels fails, and ingress switches repartition their slots."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from emulation.decide.options import EmulationOptions
from emulation.decide.switch import SwitchSite
from emulation.failure_injection import FailureInjection
from emulation.network import EmulatedNetwork
from experiments.analysis.events import Event, read_events
from experiments.analysis.trust import assess
from experiments.campaign.draws.tunnel_traffic import TE_SOLVER, Traffic
from experiments.campaign.kinds.ingress import IngressParameters
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
from experiments.testbed.runs.parts import BFD_S, controller_command
from experiments.testbed.runs.readiness import NotReadyError, wait_plans_held
from experiments.testbed.runs.tunnel_agents import tunnel_agent_command
from experiments.testbed.runs.watching import PortWatch, watched_rows
from experiments.testbed.trials.decide.ingress import ingress_row, updates_of
from experiments.testbed.trials.returning import Return, Returning
from experiments.testbed.trials.reused import ReusedRunner, ReusedSession
from machine.environment import load_per_core
from machine.places import run_program
from mininet_topos.topology import LinkId
from ryu_apps.plan.ids import Table
from ryu_apps.plan.kuijia.agent_configuration import configuration_text
from ryu_apps.plan.kuijia.options import TunnelOptions
from ryu_apps.plan.kuijia.plan import TunnelPlanner
from ryu_apps.plan.row_text import flow_text
from ryu_apps.plan.rows import RulePlan

_READY_S = 60.0
_POLL_S, _ROWS_POLL_S, _LINGER_S = 0.05, 0.1, 0.1


@dataclass(frozen=True)
class IngressTestbed:
    """A network that is up and watched, with its plans installed."""

    network: EmulatedNetwork
    injection: FailureInjection
    work: Work
    planner: TunnelPlanner
    returning: Returning


class IngressSession(ReusedSession[IngressTestbed]):
    """Failures of one drawing of pairs and one notifier, one after another."""

    def _build(self, trial: Trial, folder: Path) -> AbstractContextManager[IngressTestbed]:
        return open_ingress_testbed(trial, folder, self._settings)

    def _measure(self, testbed: IngressTestbed, trial: Trial, _folder: Path) -> tuple[Json, Return]:
        return observe(testbed, trial)


def observe(testbed: IngressTestbed, trial: Trial) -> tuple[Json, Return]:
    """Fail the trial's link, wait for the ingress switches, repair, and wait for the return."""
    network, planner, own = testbed.network, testbed.planner, parameters_of(trial, IngressParameters)
    link = planner.topology.parse_link(trial.links[0])
    expected = ingresses_of(planner, link)
    failure = Silent(0.0, link)
    scenario = Scenario(trial.topology, planner.topology, (), (), (failure,), duration_s=own.update_s, seed=trial.seed)
    flaps, load = Flaps(network, scenario, may_raise=False), load_per_core()
    log_bytes = testbed.work.events.stat().st_size

    def events() -> list[Event]:
        return read_events(testbed.work.events.read_bytes()[log_bytes:].decode())

    testbed.injection.prepare([link])
    failure_s = testbed.injection.silent(link).before_s
    while time.monotonic() < failure_s + own.update_s and not expected <= updates_of(events(), failure_s).keys():
        time.sleep(_POLL_S)
    time.sleep(_LINGER_S)  # an update may take several reports of the monitor
    row = ingress_row(events(), expected, (link.a, link.b), failure_s)
    health = network_health(network, flaps.check(), unasked_restarts(network, scenario), load)
    testbed.injection.restore_all()
    warnings, trustworthy = assess(health)
    row = replace(row, warnings=warnings, trustworthy=trustworthy, load_per_core=round(load, 2))
    return plain(row), testbed.returning.wait()


def ingresses_of(planner: TunnelPlanner, link: LinkId) -> set[str]:
    """Switches where traffic with a tunnel over a link begins."""
    return {
        node
        for node, ingress_entries in planner.ingress_entries.items()
        for ingress_entry in ingress_entries
        if ingress_entry.commodity.down(planner.topology, [link])
    }


@contextmanager
def open_ingress_testbed(trial: Trial, folder: Path, settings: TestbedSettings) -> Iterator[IngressTestbed]:
    """Build the network of a trial, what tells its ingress switches, and its watchers; undone at the end.

    Raises
    ------
    ArmorError
        Something is not ready in time; the message names what.
    """
    traffic, work = Traffic(trial), Work(folder)
    work.events.touch()
    notified_by = parameters_of(trial, IngressParameters).notified_by
    options = TunnelOptions(traffic.queues, notified_by=notified_by)
    planner = TunnelPlanner(traffic.planner.scheme, traffic.topology, traffic.commodities, options)
    plans = planner.plans()
    settings.say(f"building the network, notified by {notified_by}")
    network = ingress_network(traffic, planner, work, settings.bfd_interval_ms)
    with network, FailureInjection(network) as injection:
        if notified_by == "agent":
            for plan in plans.values():
                install(network.sites[plan.node], plan)
        else:
            network.wait_connected(_READY_S)
        network.wait_bfd_up(BFD_S)
        # To agents every tunnel had failed until BFD was up.
        if wrong := wait_plans_held(network, lambda: plans, _READY_S, _ROWS_POLL_S):
            raise NotReadyError(f"not the plan after {_READY_S:g} s: {wrong[0]}")
        with PortWatch(network, planner.topology.node_names, work), watched_rows(network, Table.TE_HASH, work):
            yield IngressTestbed(network, injection, work, planner, Returning(network, plans))


def ingress_network(traffic: Traffic, planner: TunnelPlanner, work: Work, bfd_interval_ms: int) -> EmulatedNetwork:
    """The network of a trial; enter it to build it. With agents it has no controller at all."""
    own, folder = parameters_of(traffic.trial, IngressParameters), work.path.resolve()
    agents = own.notified_by == "agent"
    for node in planner.topology.node_names if agents else ():
        (folder / f"{node}.json").write_text(configuration_text(planner, node), encoding="utf-8")
    return EmulatedNetwork(
        planner.topology,
        EmulationOptions(bfd_interval_ms=bfd_interval_ms, shape=False, control_delay_ms=own.control_delay_ms or None),
        agent_command=tunnel_agent_command(folder, own.wait_to_restore_s) if agents else None,
        controller_command=None if agents else controller_command(planner.scheme.name),
        environment={} if agents else ingress_environment(traffic, folder),
        events=work.events,
        command=f"armor reproduce: {traffic.trial.trial_id}",
    )


def ingress_environment(traffic: Traffic, folder: Path) -> dict[str, str]:
    """Environment of the controller; its topology and demands go into the folder."""
    own = parameters_of(traffic.trial, IngressParameters)
    return controller_environment(
        {
            "topology": write_topology(folder, traffic.topology),
            "demands": write_demands(folder, traffic.demands),
            "te_solver": TE_SOLVER,
            "tunnels": own.tunnels,
            "queue_db": SWITCH_DATABASE,
            "wait_to_restore_s": own.wait_to_restore_s,
        }
    )


def install(site: SwitchSite, plan: RulePlan) -> None:
    """Give a switch its flows without a controller."""
    argv = ["ovs-ofctl", "-O", "OpenFlow13", "--no-names", "--bundle", "add-flows", f"unix:{site.mgmt_socket}", "-"]
    run_program(argv, stdin="".join(f"{flow_text(row)}\n" for row in plan.flows))


def ingress_runner(settings: TestbedSettings) -> ReusedRunner:
    """What runs such trials."""
    return ReusedRunner(IngressSession, settings)
