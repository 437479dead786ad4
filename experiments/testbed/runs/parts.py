"""The parts of a running experiment: emulated network, controller app, agents, and how to tell that all are ready."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from emulation.decide.options import EmulationOptions
from emulation.decide.switch import SwitchSite
from emulation.network import EmulatedNetwork
from emulation.requirements import PROBE_PROGRAMS, missing_programs, require_emulation
from emulation.running import NetworkPart
from experiments.analysis.dumps import DumpReport, compare_dump
from experiments.scenario.protection import protection_to_document
from experiments.scenario.values import Scenario, Variation
from experiments.testbed.instruments.dump import DumpError, read_switch
from experiments.testbed.runs.folder import Work
from experiments.testbed.runs.hairpins import NODES_SETTING, hairpins, wait_attached
from experiments.testbed.runs.tunnels import is_tunnel_scheme, queues_of, traffic_settings
from experiments.testbed.runs.virtual_ports import sqr_ports
from machine.environment import RYU_MANAGER, app_file
from mininet_topos.errors import ArmorError, MissingRequirementError
from mininet_topos.importers.json_file import to_json
from mininet_topos.topology import LinkId, Topology
from ryu_apps.backup_database.schema import DATABASE, SCHEMA_PATH
from ryu_apps.backup_database.store import BackupStore
from ryu_apps.plan.choices import DEFAULT_MODE, NO_MODE
from ryu_apps.plan.failure_sets import FailureSets
from ryu_apps.plan.options import PlanOptions
from ryu_apps.plan.protection import ends_of
from ryu_apps.plan.restoration import replanned
from ryu_apps.plan.rows import RulePlan
from ryu_apps.pmt.serial import to_json as to_pmt_json
from ryu_apps.schemes import find_scheme

INSTALL_S = 60.0
BFD_S = 40.0
_POLL_S = 0.2


class NotReadyError(ArmorError):
    """A part of the experiment did not become ready in time; the message names what is missing."""


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
        protection=variation.protection,
        replayed=variation.replay.links if variation.replay else (),
    )


def emulated_network(
    scenario: Scenario,
    variation: Variation,
    work: Work,
    bfd_interval_ms: int | None,
    around: Sequence[NetworkPart] = (),
) -> EmulatedNetwork:
    """The network of a run with its controller, and with agents in agent mode; enter it to build it.

    Parameters
    ----------
    scenario, variation : Scenario, Variation
        What runs.
    work : Work
        Where its event log and the controller's topology file go.
    bfd_interval_ms : int or None
        None: the shortest that this machine holds while the network is idle.
    around : sequence of NetworkPart
        What is left only when the packet programs have ended.
    """
    topology_file = work.path / "topology.json"
    topology_file = topology_file.resolve()
    topology_file.write_text(to_json(scenario.topology), encoding="utf-8")
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
        ),
        databases={DATABASE: SCHEMA_PATH} if variation.uses_agent else {},
        agent_command=agent_command(scenario.wait_to_restore_s) if variation.uses_agent else None,
        controller_command=controller_command(variation.scheme, with_pso=scenario.pmt is not None),
        environment={
            **controller_settings(scenario, variation, topology_file, fills_backup=variation.uses_agent),
            **(tunnel_environment(scenario, work) if is_tunnel_scheme(variation) else {}),
            **protect_environment(scenario, variation, work),
            **pso_environment(scenario, work),
        },
        events=work.events,
        parts=(*around, *parts_of(scenario, variation)),
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


def controller_settings(
    scenario: Scenario, variation: Variation, topology_file: Path, *, fills_backup: bool
) -> Mapping[str, str]:
    """Environment that tells the app what to plan (docs/controller.md)."""
    options = options_of(variation)
    return {
        "ARMOR_SCHEME": variation.scheme,
        "ARMOR_TOPOLOGY": str(topology_file),
        "ARMOR_MODE": options.mode,
        "ARMOR_PLANNER": options.planner,
        "ARMOR_ROUTES": options.routes,
        "ARMOR_METRIC": options.metric,
        "ARMOR_MAX_FAILURES": "" if options.max_failures is None else str(options.max_failures),
        "ARMOR_REPLAYED": ",".join(options.replayed),
        "ARMOR_WAIT_TO_RESTORE_S": f"{scenario.wait_to_restore_s:g}",
        "ARMOR_BACKUP_DB": "tcp:{control_ip}:6641" if fills_backup else "",
        # Hosts of the emulation know each other, and nobody asks for counters during a measurement.
        "ARMOR_STATS_INTERVAL_S": "0",
        "ARMOR_DISCOVERY_INTERVAL_S": "0",
    }


def pso_environment(scenario: Scenario, work: Work) -> Mapping[str, str]:
    """Environment that tells the PSO service its table; nothing without one."""
    if scenario.pmt is None:
        return {}
    file = (work.path / "pmt.json").resolve()
    file.write_text(to_pmt_json(scenario.pmt), encoding="utf-8")
    return {"ARMOR_PSO_PMT": str(file), "ARMOR_PSO_SWITCH_DB": "tcp:{control_ip}:6641"}


def protect_environment(scenario: Scenario, variation: Variation, work: Work) -> Mapping[str, str]:
    """Environment that tells the app of 1+1 protection what to protect; nothing for the others."""
    if variation.protection is None:
        return {}
    file = (work.path / "protected_flows.json").resolve()
    flows = protection_to_document(variation.protection, scenario.topology)
    file.write_text(json.dumps(flows, indent=1), encoding="utf-8")
    return {"ARMOR_PROTECT": str(file), "ARMOR_PROTECT_NODES": NODES_SETTING}


def tunnel_environment(scenario: Scenario, work: Work) -> Mapping[str, str]:
    """Environment that tells the app of a scheme of tunnels what to plan; demands of the scenario go into a file."""
    settings = traffic_settings(scenario)
    demands = settings.demands
    if scenario.tunnels.given:
        file = (work.path / "demands.json").resolve()
        file.write_text(scenario.tunnels.given, encoding="utf-8")
        demands = str(file)
    return {
        "ARMOR_DEMANDS": demands,
        "ARMOR_TUNNELS": str(settings.tunnels),
        "ARMOR_TUNNEL_KIND": settings.tunnel_kind,
        "ARMOR_OBJECTIVE": settings.objective,
        "ARMOR_DEFAULT_CAPACITY_MBPS": _given(settings.default_capacity_mbps),
        "ARMOR_LOW_TO_HIGH": _given(settings.low_to_high),
        "ARMOR_SEED": str(settings.seed),
        "ARMOR_PRIORITIES": settings.options.priorities,
        "ARMOR_QUEUE_DB": "tcp:{control_ip}:6641",
        "ARMOR_SHAPE": settings.shape,
        "ARMOR_NOTIFIED_BY": settings.options.notified_by,
        "ARMOR_AGENT_CONFIGURATIONS": str(configurations_of(work)) if settings.by_agents else "",
    }


def configurations_of(work: Work) -> Path:
    """Folder for the configurations of agents that answer failed tunnels."""
    return work.path.resolve() / "agent_configurations"


def _given(value: float | None) -> str:
    return "" if value is None else repr(value)


def agent_command(wait_to_restore_s: float) -> Callable[[SwitchSite], Sequence[str]]:
    """Command line of each switch's agent."""

    def command(site: SwitchSite) -> Sequence[str]:
        return (
            *(sys.executable, "-m", "ovsdb_backup.agent", "--node", site.name, "--bridge", site.name),
            *("--database", f"unix:{site.db_socket}", "--management", f"unix:{site.mgmt_socket}"),
            *("--wait-to-restore-s", f"{wait_to_restore_s:g}", "--realtime"),
        )

    return command


def wait_installed(
    network: EmulatedNetwork, plans: Mapping[int, RulePlan], variation: Variation, timeout_s: float = INSTALL_S
) -> float:
    """Wait until every switch holds its plan, and in agent mode its backup rows; seconds taken.

    Raises
    ------
    NotReadyError
        Not in time; the message names the first switch and what it lacks.
    """
    began_s = time.monotonic()
    needs_backup = variation.uses_agent
    waiting = list(network.sites.values())
    while True:
        lacks = {site.name: what_lacks(site, plans[site.dpid], needs_backup=needs_backup) for site in waiting}
        waiting = [site for site in waiting if lacks[site.name]]
        if not waiting:
            if variation.protection is not None:
                wait_attached(network, ends_of(variation.protection))
            return time.monotonic() - began_s
        if time.monotonic() - began_s > timeout_s:
            first = waiting[0].name
            raise NotReadyError(
                f"after {timeout_s:g} s {len(waiting)} of {len(network.sites)} switches are not ready; "
                f"{first}: {lacks[first]}{controller_state(network)}"
            )
        time.sleep(_POLL_S)


def controller_state(network: EmulatedNetwork) -> str:
    """Last words of the controller when it is not running; nothing while it runs."""
    if network.is_running("controller"):
        return ""
    log = network.run_dir / "controller.log"
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines() if log.exists() else []
    return "; the controller has ended" + (f": {lines[-1]}" if lines else "")


def what_lacks(site: SwitchSite, plan: RulePlan, *, needs_backup: bool) -> str:
    """What a switch still lacks; empty when it is ready."""
    try:
        held = read_switch(site.mgmt_socket)
    except DumpError as error:
        return str(error)
    missing = compare_dump(plan, held.flows, held.groups, lambda _tag_id: True).missing
    if missing:
        return f"{len(missing)} of {len(plan.flows) + len(plan.groups)} planned rows are missing"
    if needs_backup and BackupStore(f"unix:{site.db_socket}").generation(site.name) == 0:
        return "its backup database is empty"
    return ""


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
