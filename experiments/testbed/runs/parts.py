"""The parts of a running experiment: emulated network, controller app, agents, and how to tell that all are ready."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path

from dataplane.model.marking import EVERY_PACKET
from emulation.decide.options import EmulationOptions
from emulation.decide.switch import SwitchSite
from emulation.network import EmulatedNetwork
from emulation.requirements import PROBE_PROGRAMS, missing_programs, require_emulation
from emulation.running import NetworkPart
from experiments.analysis.dumps import DumpReport, compare_dump
from experiments.scenario.protection import protection_to_document
from experiments.scenario.values import Scenario, Variation
from experiments.testbed.instruments.dump import read_switch
from experiments.testbed.runs.controller_environment import (
    SWITCH_DATABASE,
    TLS_SWITCH_DATABASE,
    controller_environment,
    write_topology,
)
from experiments.testbed.runs.folder import Work
from experiments.testbed.runs.hairpins import NODES_SETTING, TLS_NODES_SETTING, hairpins
from experiments.testbed.runs.tunnels import is_tunnel_scheme, queues_of, traffic_settings
from experiments.testbed.runs.virtual_ports import sqr_ports
from machine.environment import RYU_MANAGER, app_file
from mininet_topos.errors import MissingRequirementError
from mininet_topos.topology import LinkId, Topology
from ryu_apps.backup_database.schema import DATABASE, SCHEMA_PATH
from ryu_apps.plan.choices import DEFAULT_MODE, NO_MODE
from ryu_apps.plan.failure_sets import FailureSets
from ryu_apps.plan.options import PlanOptions
from ryu_apps.plan.restoration import replanned
from ryu_apps.plan.rows import RulePlan
from ryu_apps.pmt.serial import to_json as to_pmt_json
from ryu_apps.schemes import find_scheme

BFD_S = 40.0


def require_programs() -> None:
    """Refuse to go on unless networks can be emulated and measured here.

    Raises
    ------
    MissingRequirementError
        Not root, or a program is missing.
    """
    require_emulation()
    lacking = missing_programs(PROBE_PROGRAMS)
    if lacking:
        packages = " ".join(sorted(PROBE_PROGRAMS[program] for program in lacking))
        raise MissingRequirementError(f"{', '.join(lacking)} not found; install it with: apt-get install {packages}")
    if not RYU_MANAGER.exists():
        raise MissingRequirementError(f"there is no ryu-manager beside {sys.executable}; run 'make setup'")


def options_of(variation: Variation) -> PlanOptions:
    """Plan options of a variation."""
    return PlanOptions(
        mode=DEFAULT_MODE if variation.mode == NO_MODE else variation.mode,
        planner=variation.planner,
        routes=variation.routes,
        metric=variation.metric,
        max_failures=variation.max_failures,
        notification=variation.notification,
        protection=variation.protection,
        replayed=variation.replay.links if variation.replay else (),
        marked=variation.replay.marked if variation.replay else EVERY_PACKET,
    )


def emulated_network(
    scenario: Scenario,
    variation: Variation,
    work: Work,
    bfd_interval_ms: int | None,
    around: NetworkPart = nullcontext,
    *,
    disk_mb: int | None = None,
) -> EmulatedNetwork:
    """The network of a run with its controller, and with agents in agent mode; enter it to build it.

    Parameters
    ----------
    scenario, variation : Scenario, Variation
        What runs.
    work
        Where its event log and the controller's topology file go.
    bfd_interval_ms
        None: the shortest that this machine holds while the network is idle.
    around
        Entered before any program starts, and left when all have ended but their logs are still there.
    disk_mb
        Size of a disk of its own, which can be filled up.
    """
    settings = controller_settings(scenario, variation, write_topology(work.path, scenario.topology))
    settings |= tunnel_settings(scenario, work) if is_tunnel_scheme(variation) else {}
    return EmulatedNetwork(
        scenario.topology,
        EmulationOptions(
            bfd_interval_ms=bfd_interval_ms,
            default_capacity_mbps=scenario.default_capacity_mbps,
            control_delay_ms=scenario.control_delay_ms,
            link_delays=scenario.link_delays,
            seed=scenario.seed,
            queues=queues_of(scenario, variation),
            pmt=scenario.pmt,
            in_band_at=scenario.control_at,
            tls=scenario.tls,
            disk_mb=disk_mb,
        ),
        databases={DATABASE: SCHEMA_PATH} if variation.uses_agent else {},
        agent_command=agent_command(scenario.wait_to_restore_s) if variation.uses_agent else None,
        controller_command=controller_command(variation.scheme, with_pso=scenario.pmt is not None),
        environment={
            **controller_environment(settings),
            **protect_environment(scenario, variation, work),
            **pso_environment(scenario, work),
        },
        events=work.events,
        around=around,
        parts=parts_of(scenario, variation),
        command="armor " + " ".join(sys.argv[1:]),
    )


def parts_of(scenario: Scenario, variation: Variation) -> tuple[NetworkPart, ...]:
    """Packet programs beside the switches, for the schemes that have them."""
    found: tuple[NetworkPart, ...] = (hairpins(),) if variation.protection is not None else ()
    return (
        found
        if variation.replay is None
        else (*found, sqr_ports(variation.replay, scenario.wait_to_restore_s, variation.mode))
    )


def controller_command(scheme: str, *, with_pso: bool = False) -> tuple[str, ...]:
    """Command line of a scheme's Ryu app, under the PSO service when messages have classes."""
    apps = ("pso", scheme) if with_pso else (scheme,)
    return str(RYU_MANAGER), *(str(app_file(app)) for app in apps)


def controller_settings(scenario: Scenario, variation: Variation, topology_file: Path) -> dict[str, object]:
    """Settings that tell the app what to plan."""
    options = options_of(variation)
    return {
        "scheme": variation.scheme,
        "topology": topology_file,
        "mode": options.mode,
        "planner": options.planner,
        "routes": options.routes,
        "metric": options.metric,
        "max_failures": options.max_failures,
        "notification": options.notification,
        "replayed": options.replayed,
        "marked": str(options.marked),
        "wait_to_restore_s": scenario.wait_to_restore_s,
        "backup_db": switch_database(scenario) if variation.uses_agent else None,
    }


def switch_database(scenario: Scenario) -> str:
    """Address at which the controller finds a switch's databases."""
    return TLS_SWITCH_DATABASE if scenario.tls else SWITCH_DATABASE


def pso_environment(scenario: Scenario, work: Work) -> Mapping[str, str]:
    """Environment that tells the PSO service its table; nothing without one."""
    if scenario.pmt is None:
        return {}
    file = (work.path / "pmt.json").resolve()
    file.write_text(to_pmt_json(scenario.pmt), encoding="utf-8")
    return {"ARMOR_PSO_PMT": str(file), "ARMOR_PSO_SWITCH_DB": switch_database(scenario)}


def protect_environment(scenario: Scenario, variation: Variation, work: Work) -> Mapping[str, str]:
    """Environment that tells the app of 1+1 protection what to protect; nothing for the others."""
    if variation.protection is None:
        return {}
    file = (work.path / "protected_flows.json").resolve()
    flows = protection_to_document(variation.protection, scenario.topology)
    file.write_text(json.dumps(flows, indent=1), encoding="utf-8")
    return {"ARMOR_PROTECT": str(file), "ARMOR_PROTECT_NODES": TLS_NODES_SETTING if scenario.tls else NODES_SETTING}


def tunnel_settings(scenario: Scenario, work: Work) -> dict[str, object]:
    """Settings that tell the app of a scheme of tunnels what to plan; demands of the scenario go into a file."""
    settings = traffic_settings(scenario)
    demands = settings.demands
    if scenario.tunnels.given:
        file = (work.path / "demands.json").resolve()
        file.write_text(scenario.tunnels.given, encoding="utf-8")
        demands = str(file)
    return {
        "demands": demands,
        "tunnels": settings.tunnels,
        "tunnel_kind": settings.tunnel_kind,
        "objective": settings.objective,
        "te_solver": settings.te_solver,
        "default_capacity_mbps": settings.default_capacity_mbps,
        "low_to_high": settings.low_to_high,
        "seed": settings.seed,
        "priorities": settings.options.priorities,
        "queue_db": switch_database(scenario),
        "shape": settings.shape,
        "notified_by": settings.options.notified_by,
        "tunnel_field": settings.options.tunnel_field,
        "agent_configurations": configurations_of(work) if settings.by_agents else None,
    }


def configurations_of(work: Work) -> Path:
    """Folder for the configurations of agents that answer failed tunnels."""
    return work.path.resolve() / "agent_configurations"


def agent_command(wait_to_restore_s: float) -> Callable[[SwitchSite], Sequence[str]]:
    """Command line of each switch's agent."""

    def command(site: SwitchSite) -> Sequence[str]:
        return (
            *(sys.executable, "-m", "ovsdb_backup.agent", "--node", site.name, "--bridge", site.name),
            *("--database", f"unix:{site.db_socket}", "--management", f"unix:{site.mgmt_socket}"),
            *("--wait-to-restore-s", f"{wait_to_restore_s:g}", "--realtime"),
        )

    return command


def plans_while(
    down: frozenset[LinkId], topology: Topology, variation: Variation, plans: Mapping[int, RulePlan]
) -> Mapping[int, RulePlan]:
    """What switches should hold while links are down: their plans, and in them what a controller has rewritten."""
    prepare = find_scheme(variation.scheme).restoration
    if prepare is None:
        return plans
    return replanned(plans, prepare(topology, options_of(variation)).rows(down))


def dump_reports(
    network: EmulatedNetwork, plans: Mapping[int, RulePlan], down: frozenset[LinkId]
) -> tuple[DumpReport, ...]:
    """Every switch's rows against its plan; rows of links that are still `down` are no fault."""
    numbers = {number for number, link in enumerate(network.topology.link_ids) if link in down}
    reports = []
    for site in network.sites.values():
        plan = plans[site.dpid]
        held = read_switch(site.mgmt_socket)
        sets = FailureSets(*plan.tag_space)

        def is_down(tag_id: int, sets: FailureSets = sets) -> bool:
            return tag_id < len(sets.masks) and not numbers.isdisjoint(sets.numbers(tag_id))

        reports.append(compare_dump(plan, held.flows, held.groups, is_down))
    return tuple(reports)
