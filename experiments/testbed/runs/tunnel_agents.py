"""Runs in which agents of the switches answer failed tunnels: their start, and what the switches should hold then."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Sequence
from pathlib import Path

from emulation.decide.switch import CONTROLLER_APP, SwitchSite
from emulation.network import EmulatedNetwork
from experiments.analysis.agent_rows import notified_nodes, plans_by_agents
from experiments.analysis.events import read_events
from experiments.scenario.values import Scenario
from experiments.testbed.instruments.dump import read_switch
from experiments.testbed.runs.folder import Work
from experiments.testbed.runs.parts import configurations_of
from experiments.testbed.runs.readiness import NotReadyError, missing_after
from mininet_topos.topology import LinkId
from ryu_apps.plan.kuijia.history import History, next_history
from ryu_apps.plan.kuijia.installed import installed_plans
from ryu_apps.plan.kuijia.plan import TunnelPlanner
from ryu_apps.plan.rows import RulePlan

_START_S, _POLL_S = 60.0, 0.05


def tunnel_agent_command(folder: Path, wait_to_restore_s: float) -> Callable[[SwitchSite], Sequence[str]]:
    """Command line of each switch's agent for tunnels; its agent configuration lies in the folder."""

    def command(site: SwitchSite) -> Sequence[str]:
        return (
            *(sys.executable, "-m", "ovsdb_backup.tunnel_agent", "--configuration", str(folder / f"{site.name}.json")),
            *("--management", f"unix:{site.mgmt_socket}"),
            *("--wait-to-restore-s", f"{wait_to_restore_s:g}", "--realtime"),
        )

    return command


def start_tunnel_agents(network: EmulatedNetwork, scenario: Scenario, work: Work) -> None:
    """Start the agents, whose agent configurations the controller has written, and wait until each knows its switch.

    Parameters
    ----------
    network
        With its plans installed and its BFD sessions up, so that no agent begins with failed tunnels.

    Raises
    ------
    NotReadyError
        An agent does not read its switch in time.
    """
    network.start_agents(tunnel_agent_command(configurations_of(work), scenario.wait_to_restore_s))
    agents = {f"agent:{node}" for node in network.sites}
    if missing := missing_after(lambda: agents - _sources(work), _START_S, _POLL_S):
        raise NotReadyError(f"after {_START_S:g} s {min(missing)} has not read its switch")


def _sources(work: Work) -> set[str]:
    events = read_events(work.events.read_text(encoding="utf-8"))
    return {event.source for event in events if event.name == "reconnect"}


def wanted_plans(
    network: EmulatedNetwork, planner: TunnelPlanner, scenario: Scenario, work: Work, down: Collection[LinkId]
) -> dict[int, RulePlan]:
    """What the switches should hold now that these links are down, by datapath id."""
    if planner.options.by_agents:
        held = {node: read_switch(network.sites[node].mgmt_socket).flows for node in notified_nodes(planner, down)}
        plans = plans_by_agents(planner, down, held)
    else:
        plans = planner.plans(history_of(work.events.read_text(encoding="utf-8"), scenario))
    return installed_plans(plans, scenario.tunnels.shape)


def history_of(events_text: str, scenario: Scenario) -> History:
    """Links that the controller avoids at the end, in the order in which it heard of their failures.

    One that was started again remembers none.
    """
    history: History = ()
    for event in read_events(events_text):
        if event.name == "restart" and event.fields["process"] == CONTROLLER_APP:
            history = ()
        elif event.name == "restoration_begin":
            links = frozenset(scenario.topology.parse_link(name) for name in event.fields["links"])
            history = next_history(history, links)
    return history
