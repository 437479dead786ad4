"""Every plan that a scheme makes passes `check`, held to the ports that the switches really have."""

from __future__ import annotations

from functools import cache

import pytest

from mininet_topos.catalogue import load_topology
from mininet_topos.ports import HOST_PORT, assign_ports
from mininet_topos.topology import Topology
from mininet_topos.toy import TOYS
from ryu_apps.plan.check import violations
from ryu_apps.plan.diff import diff, install_phases
from ryu_apps.plan.options import PlanOptions
from ryu_apps.plan.order import canonical
from ryu_apps.plan.rows import RulePlan
from ryu_apps.schemes import plan_network, route_schemes
from tests.plan.deltas import apply_delta
from tests.schemes import modes_of

MODES = [(scheme.name, mode) for scheme in route_schemes().values() for mode in modes_of(scheme)]
# Without a virtual port to take packets back from, lossless is SD-FAST, row by row.
SAME_PLANS = {("lossless", mode): ("sdfast", mode) for mode in ("learned", "agent")}


def ports_of(topology: Topology) -> dict[str, set[int]]:
    ports = {node: {HOST_PORT} for node in topology.node_names}
    for node, port_no in assign_ports(topology).direction_at:
        ports[node].add(port_no)
    return ports


@pytest.mark.slow
@pytest.mark.parametrize("name", [*TOYS, "darkstrand", "usnet", "gscale", "waxman:14:3"])
@pytest.mark.parametrize(("scheme", "mode"), MODES)
@pytest.mark.parametrize("routes", ["spt", "mst"])
def test_a_scheme_plans_nothing_that_check_refuses(name: str, scheme: str, mode: str, routes: str) -> None:
    topology = load_topology(name)
    ports = ports_of(topology)
    for planner in ("tree", "pair") if name in TOYS else ("tree",):
        options = PlanOptions(mode=mode, planner=planner, routes=routes, max_failures=None if name in TOYS else 1)
        for plan in plan_network(scheme, topology, options).values():
            assert violations(plan, ports[plan.node]) == ()
            assert canonical(plan) == plan


@cache
def theta_plans(scheme: str, mode: str) -> dict[int, RulePlan]:
    return plan_network(scheme, load_topology("theta"), PlanOptions(mode=mode))


@pytest.mark.parametrize("first", MODES)
@pytest.mark.parametrize("second", MODES)
def test_a_switch_can_be_led_from_any_scheme_to_any_other(first: tuple[str, str], second: tuple[str, str]) -> None:
    old, new = theta_plans(*first), theta_plans(*second)
    for dpid, plan in new.items():
        delta = diff(old[dpid], plan)
        assert apply_delta(delta, old[dpid], plan) == plan
        assert bool(install_phases(delta)) == (SAME_PLANS.get(first, first) != SAME_PLANS.get(second, second))


def test_schemes_compose_by_union_only_where_their_bands_are_their_own() -> None:
    topology = load_topology("theta")
    agent, ffg = (plan_network(name, topology, PlanOptions(mode="agent"))[1] for name in ("sdfast", "ffg"))
    both = RulePlan(1, "s1", agent.flows + ffg.flows, agent.groups + ffg.groups)
    assert any("both claim this table and priority" in fault for fault in violations(both))
