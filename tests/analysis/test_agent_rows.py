"""What agents should have added to plans: any order of failed tunnels that they may have heard, and nothing else."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.analysis.agent_rows import MOST_ORDERED, notified_nodes, orders_of, plans_by_agents
from experiments.analysis.dumps import compare_dump
from mininet_topos.catalogue import load_topology
from ryu_apps.plan.ids import Kind
from ryu_apps.plan.kuijia.options import TunnelOptions
from ryu_apps.plan.kuijia.plan import TunnelPlanner
from ryu_apps.plan.kuijia.sources import equal_commodities
from ryu_apps.schemes import tunnel_schemes

FIGURE2 = load_topology("figure2")
KUIJIA = TunnelPlanner(
    tunnel_schemes()["kuijia"], FIGURE2, equal_commodities(FIGURE2), TunnelOptions(notified_by="agent")
)


@given(st.frozensets(st.integers(0, 15), max_size=MOST_ORDERED))
def test_orders_are_all_ways_in_which_tunnels_can_have_failed(down):
    orders = list(orders_of(down))
    assert len(set(orders)) == len(orders) == {0: 1, 1: 1, 2: 3, 3: 13, 4: 75}[len(down)]
    for order in orders:
        assert frozenset().union(*order) == down
        assert sum(map(len, order)) == len(down)
        assert all(order)


def judged(links, history):
    """Whether switches are clean with the rows of agents after failures in this order, while `links` are down."""
    down = [FIGURE2.parse_link(name) for name in links]
    plans = KUIJIA.plans([frozenset(map(FIGURE2.parse_link, event)) for event in history])
    held = {plan.node: plan.flows for plan in plans.values()}
    wanted = plans_by_agents(KUIJIA, down, {node: held[node] for node in notified_nodes(KUIJIA, down)})
    return all(compare_dump(plan, held[plan.node], (), lambda _tag: False).is_clean for plan in wanted.values())


FIRST, SECOND = map(str, FIGURE2.link_ids[:2])


@pytest.mark.parametrize("history", [[[FIRST, SECOND]], [[FIRST], [SECOND]], [[SECOND], [FIRST]]])
def test_every_order_in_which_agents_may_have_heard_is_right(history):
    assert judged([FIRST, SECOND], history)


@pytest.mark.parametrize("history", [[], [[FIRST]], [[SECOND]]])
def test_rows_of_other_failures_are_not(history):
    assert not judged([FIRST, SECOND], history)
    assert judged([name for event in history for name in event], history)


def test_a_planner_with_agents_that_notify_plans_rows_of_agents():
    failed = [frozenset({FIGURE2.link_ids[0]})]
    rows = KUIJIA.failure_rows(failed, Kind.AGENT)
    plans, base = KUIJIA.plans(failed), KUIJIA.plans()
    assert rows
    assert {dpid: set(plan.flows) - set(base[dpid].flows) for dpid, plan in plans.items() if dpid in rows} == {
        dpid: set(each) for dpid, each in rows.items()
    }
