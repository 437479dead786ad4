"""What switches should hold where agents answer failed tunnels: each counts them in the order in which it heard.

Ends of a link notice by themselves and LDIs travel, so two agents may disagree on what came first, and both be right.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import combinations

from mininet_topos.topology import LinkId
from ryu_apps.plan.ids import Kind, Table, split_cookie
from ryu_apps.plan.kuijia.history import FailedTunnels
from ryu_apps.plan.kuijia.ingress import IngressEntry
from ryu_apps.plan.kuijia.plan import TunnelPlanner
from ryu_apps.plan.rows import FlowRow, RulePlan, sorted_flows

# Five failed tunnels have 541 orders already; then the rows of the commodity are taken as they are.
MOST_ORDERED = 4


def orders_of(failed: frozenset[int]) -> Iterator[FailedTunnels]:
    """Every order in which tunnels can have failed, those that failed at once together; all at once comes first.

    Examples
    --------
    >>> [[sorted(event) for event in order] for order in orders_of(frozenset({0, 1}))]
    [[[0, 1]], [[0], [1]], [[1], [0]]]
    """
    if not failed:
        yield ()
        return
    for size in range(len(failed), 0, -1):
        for first in combinations(sorted(failed), size):
            for rest in orders_of(failed - frozenset(first)):
                yield frozenset(first), *rest


def notified_nodes(planner: TunnelPlanner, down: Collection[LinkId]) -> frozenset[str]:
    """Switches where a commodity with a tunnel over one of the links begins."""
    return frozenset(
        node
        for node, ingress_entries in planner.ingress_entries.items()
        for ingress_entry in ingress_entries
        if ingress_entry.commodity.down(planner.topology, down)
    )


def plans_by_agents(
    planner: TunnelPlanner, down: Collection[LinkId], held: Mapping[str, Iterable[FlowRow]]
) -> dict[int, RulePlan]:
    """Plans by datapath id, with the failover rows that agents have to add to them while links are down.

    Parameters
    ----------
    planner
        Notified by agents.
    held
        What the switches of `notified_nodes` hold. It says in which order an agent heard of the failed tunnels, nothing
        else: with rows of no order, those of all failed tunnels at once are wanted.
    """
    plans = planner.plans()
    for dpid, plan in plans.items():
        rows = frozenset(held.get(plan.node, ()))
        failover_rows = [
            row
            for ingress_entry in planner.ingress_entries[plan.node]
            for row in _failover_rows(planner, ingress_entry, down, rows)
        ]
        plans[dpid] = replace(plan, flows=sorted_flows((*plan.flows, *failover_rows)))
    return plans


def _failover_rows(
    planner: TunnelPlanner, ingress_entry: IngressEntry, down: Collection[LinkId], held: frozenset[FlowRow]
) -> tuple[FlowRow, ...]:
    """Rows of one commodity."""
    failed = ingress_entry.commodity.down(planner.topology, down)
    if len(failed) > MOST_ORDERED:
        return tuple(row for row in held if _is_failover_row(row, ingress_entry))
    wanted = [planner.ingress_entry_rows(ingress_entry, order, Kind.AGENT) for order in orders_of(failed)]
    return max((rows for rows in wanted if held.issuperset(rows)), key=len, default=wanted[0])


def _is_failover_row(row: FlowRow, ingress_entry: IngressEntry) -> bool:
    """Whether an agent's row is about this commodity."""
    number = next((value for name, value, _ in row.match if name == "reg1"), None)
    failover_rows = row.table_id == Table.TE_HASH and split_cookie(row.cookie).kind == Kind.AGENT
    return failover_rows and number == ingress_entry.number
