"""Agents that have heard of failed links: rows of the walkers against agents that get the notifications."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.verify.verify import coverage
from experiments.verify.walk.dynamics import AgentDynamics
from mininet_topos.toy import TOYS, figure2
from ryu_apps.plan.options import PlanOptions
from ryu_apps.plan.recovery_rows import untagged_row
from tests.examples import examples
from tests.verify.brute_force import agent_after
from tests.verify.networks import case_of, connected, numbers_of


@st.composite
def heard_cases(draw):
    """A case in agent mode with notifications, and an order in which an agent hears of some of its failed links."""
    topology = draw(connected())
    failed = draw(st.sets(st.sampled_from(topology.link_ids), min_size=1, max_size=3))
    options = PlanOptions(
        mode="agent",
        notification="flood",
        planner=draw(st.sampled_from(["tree", "pair"])),
        max_failures=draw(st.integers(1, 2)),
    )
    order = draw(st.permutations(numbers_of(topology, frozenset(failed))))
    return case_of("sdfast", topology, options, failed), order[: draw(st.integers(1, len(order)))]


@examples(80)
@given(heard_cases())
def test_an_agent_that_gets_the_notifications_has_the_rows_of_the_walkers_in_whatever_order(case_and_order):
    case, order = case_and_order
    dynamics, network = AgentDynamics(case.plans), case.network()
    links = sum(1 << number for number in order)
    for dpid, plan in case.plans.items():
        down = network.failed_ports(plan.node)
        rules = agent_after(plan, down, order).rules
        untagged = {rows[0] for commodity, rows in rules.items() if commodity.destination and 0 in rows}
        assert untagged == {untagged_row(row) for row in dynamics.heard_rows(dpid, down, links)}


def test_where_nobody_is_notified_agents_hear_nothing():
    plans = case_of("sdfast", TOYS["square"](), PlanOptions(mode="agent", notification="off"), ()).plans
    assert AgentDynamics(plans).heard_rows(1, frozenset({2}), 1) == ()


@pytest.mark.parametrize("planner", ["tree", "pair"])
@pytest.mark.parametrize("failures", [1, 2])
def test_agents_that_hear_of_failures_lose_nothing_up_to_k_and_never_loop(planner, failures):
    options = PlanOptions(mode="agent", planner=planner, max_failures=2)
    found = coverage(figure2(), "sdfast", options, failures)
    assert (found["broken"], found["dropped"], found["looped"]) == (0, 0, 0)
    assert found["backtracking_after_convergence"] == 0


@pytest.mark.parametrize("planner", ["tree", "pair"])
def test_agents_that_hear_of_more_failures_than_a_tag_names_never_loop(planner):
    found = coverage(figure2(), "sdfast", PlanOptions(mode="agent", planner=planner, max_failures=1), 3)
    assert (found["broken"], found["looped"]) == (0, 0)
