"""Whether the parts of an experiment are ready: switches hold their plans, and programs answer."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping
from typing import TypeVar

from emulation.decide.switch import SwitchSite
from emulation.network import EmulatedNetwork
from experiments.analysis.dumps import compare_dump
from experiments.scenario.values import Variation
from experiments.testbed.instruments.dump import DumpError, read_switch
from experiments.testbed.runs.hairpins import wait_attached
from mininet_topos.errors import ArmorError
from ryu_apps.backup_database.store import BackupStore
from ryu_apps.plan.protection import ends_of
from ryu_apps.plan.rows import RulePlan

INSTALL_S = 60.0
_POLL_S = 0.2

MissingT = TypeVar("MissingT", bound=Collection[str])


class NotReadyError(ArmorError):
    """A part of the experiment did not become ready in time; the message names what is missing."""


def missing_after(missing: Callable[[], MissingT], timeout_s: float, poll_s: float = 0.05) -> MissingT:
    """Ask what is missing until nothing is, or the time is over; what is missing then."""
    deadline = time.monotonic() + timeout_s
    while (found := missing()) and time.monotonic() < deadline:
        time.sleep(poll_s)
    return found


def unlike_plan(site: SwitchSite, plan: RulePlan) -> str:
    """How a switch differs from its plan, also by rows that a failure put there; empty: it does not.

    Raises
    ------
    DumpError
    """
    held = read_switch(site.mgmt_socket)
    return compare_dump(plan, held.flows, held.groups, lambda _tag_id: False).difference


def wait_plans_held(
    network: EmulatedNetwork, plans: Callable[[], Mapping[int, RulePlan]], timeout_s: float, poll_s: float = 0.05
) -> list[str]:
    """Wait until every switch holds its plan and nothing else of ours; how those differ that do not in the end.

    Parameters
    ----------
    plans
        What switches should hold, by datapath id; asked for again at every look, since failures may change it.
    """

    def unlike() -> list[str]:
        wanted = plans()
        return [unlike for site in network.sites.values() if (unlike := unlike_plan(site, wanted[site.dpid]))]

    return missing_after(unlike, timeout_s, poll_s)


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
    lacks: dict[str, str] = {}

    def unready() -> list[str]:
        for node in lacks or network.sites:
            site = network.sites[node]
            lacks[node] = what_lacks(site, plans[site.dpid], needs_backup=variation.uses_agent)
        for node in [node for node, what in lacks.items() if not what]:
            del lacks[node]
        return list(lacks)

    if waiting := missing_after(unready, timeout_s, _POLL_S):
        raise NotReadyError(
            f"after {timeout_s:g} s {len(waiting)} of {len(network.sites)} switches are not ready; "
            f"{waiting[0]}: {lacks[waiting[0]]}{controller_state(network)}"
        )
    if variation.protection is not None:
        wait_attached(network, ends_of(variation.protection))
    return time.monotonic() - began_s


def wait_returned_to_all(network: EmulatedNetwork, plans: Mapping[int, RulePlan]) -> None:
    """Wait until no switch holds anything for a failure any more: a controller returns to a link some time after it.

    Raises
    ------
    NotReadyError
        Not in time; the message says how the first switch differs from its plan.
    """
    if unlike := wait_plans_held(network, lambda: plans, INSTALL_S, _POLL_S):
        raise NotReadyError(
            f"after {INSTALL_S:g} s {len(unlike)} of {len(network.sites)} switches do not hold what is planned while "
            f"nothing has failed: {unlike[0]}{controller_state(network)}"
        )


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
