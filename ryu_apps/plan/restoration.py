"""Restoration: the rows that a controller rewrites when it hears which links have failed.

Every regular route that the failure changes is led along the shortest path that is left; a destination that nothing
joins any more is dropped where its packets start. Tagged rows, failed-set extensions and groups stay as planned. A
`Restoration` is prepared once; a call then takes milliseconds, since it neither plans anew nor looks at rows that stay.

While switches take up new rows one after another, regular packets can loop between them (a micro-loop), as with
every controller that rewrites routes at once.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import cache

import numpy as np

from mininet_topos.ports import assign_ports
from mininet_topos.topology import LinkId, Topology
from ryu_apps.plan.addressing import dpid_of, hosts_of
from ryu_apps.plan.ids import Kind, Priority, Table, cookie, port_group
from ryu_apps.plan.options import PlanOptions
from ryu_apps.plan.recovery_rows import commodity_match
from ryu_apps.plan.rows import Action, FlowRow, Group, Output, RulePlan, sorted_flows
from ryu_apps.plan.shortest import destination_match
from te_solver.routers import make_router
from te_solver.routes import NO_LINK, IntArray, ResidualRoutes

Route = tuple[int, int | None, int, int]
"""(node position, source position or None for every source, destination position, index of the next link)."""

RowMaker = Callable[[int | None, int, int | None], FlowRow]
"""(source address or None, destination address, port or None to drop) -> the row of a regular route."""


class Restoration:
    """Rows that replace rows of a plan while links are failed.

    Parameters
    ----------
    options
        Those of the plan.
    row_of : callable
        Makes the row of a route; its table, priority and match are those of the plan's row.
    by_pair
        Whether the plan has a row for each pair of hosts rather than for each destination.
    """

    def __init__(self, topology: Topology, options: PlanOptions, row_of: RowMaker, *, by_pair: bool) -> None:
        self._residual = ResidualRoutes(topology, options.routes, options.metric)
        self._base = self._residual.next_links()
        self._by_pair = by_pair
        self._end = [topology.index_of[link.dst] for link in self._residual.links]
        self._link_ids = [topology.link_id(link.direction) for link in self._residual.links]
        ports = assign_ports(topology)
        self._port = [ports.port_of[link.direction] for link in self._residual.links]
        self._ipv4 = [host.ipv4 for host in hosts_of(topology).values()]
        self._dpid = [dpid_of(topology, node) for node in topology.node_names]
        self._row_of = cache(row_of)
        self._planned = self._planned_paths(options.planner) if by_pair else {}

    def rows(self, failed: frozenset[LinkId]) -> dict[int, tuple[FlowRow, ...]]:
        """Rows that replace those of the plan with the same table, priority and match.

        Parameters
        ----------
        failed
            Links that carry nothing.

        Returns
        -------
        By datapath id; only switches with a row that differs from the plan, and only such rows.
        """
        now = self._residual.next_links(failed)
        changed = self._changed_pair_routes(now, failed) if self._by_pair else self._changed_routes(now)
        found: dict[int, list[FlowRow]] = defaultdict(list)
        for node, source, target, link in changed:
            port_no = None if link == NO_LINK else self._port[link]
            address = None if source is None else self._ipv4[source]
            found[self._dpid[node]].append(self._row_of(address, self._ipv4[target], port_no))
        return {dpid: tuple(rows) for dpid, rows in found.items()}

    def _changed_routes(self, now: IntArray) -> Iterator[Route]:
        nodes, targets = np.nonzero(now != self._base)
        links = now[nodes, targets]
        for node, target, link in zip(nodes.tolist(), targets.tolist(), links.tolist(), strict=True):
            yield node, None, target, link

    def _changed_pair_routes(self, now: IntArray, failed: frozenset[LinkId]) -> Iterator[Route]:
        """Pairs whose planned path is whole keep it; the others go by the new tree from their source."""
        table = now.tolist()
        for (source, target), planned in self._planned.items():
            if failed.isdisjoint(self._link_ids[link] for link in planned.values()):
                continue
            onward = dict(self._path(table, source, target)) or {source: NO_LINK}
            for node, link in onward.items():
                if planned.get(node) != link:
                    yield node, source, target, link

    def _planned_paths(self, planner: str) -> dict[tuple[int, int], dict[int, int]]:
        """Next link by node of the planned path of every pair, as the planner of the plan chose it."""
        router = make_router(planner, self._residual)
        found = {}
        for commodity in router.commodities:
            (source,) = router.start_nodes(commodity)
            path, node = {}, source
            while (link := router.next_link(commodity, 0, node)) != NO_LINK:
                path[node], node = link, self._end[link]
            found[source, commodity.destination] = path
        return found

    def _path(self, table: list[list[int]], node: int, target: int) -> Iterator[tuple[int, int]]:
        while (link := table[node][target]) != NO_LINK:
            yield node, link
            node = self._end[link]


def replanned(plans: Mapping[int, RulePlan], rows: Mapping[int, tuple[FlowRow, ...]]) -> dict[int, RulePlan]:
    """Plans with the rows of a restoration in place of their own."""
    return {dpid: with_rows(plan, rows.get(dpid, ())) for dpid, plan in plans.items()}


def with_rows(plan: RulePlan, rows: tuple[FlowRow, ...]) -> RulePlan:
    """One plan with rows in place of those of the same table, priority and match."""
    if not rows:
        return plan
    flows = {row.key: row for row in plan.flows}
    flows.update({row.key: row for row in rows})
    return replace(plan, flows=sorted_flows(flows.values()))


def restore_groups(topology: Topology, options: PlanOptions, owner: int) -> Restoration:
    """Restoration of CBC's regular routes; they go through the port groups, as before."""

    def row(source: int | None, destination: int, port_no: int | None) -> FlowRow:
        actions: tuple[Action, ...] = () if port_no is None else (Group(port_group(port_no)),)
        planned = cookie(owner, Kind.PLANNED, 0, destination)
        return FlowRow(Table.ROUTE, Priority.PRIMARY, commodity_match(destination, source, 0), actions, cookie=planned)

    return Restoration(topology, options, row, by_pair=options.planner != "tree")


def restore_outputs(topology: Topology, options: PlanOptions, owner: int) -> Restoration:
    """Restoration of plain routes, and of FFG's: a rewritten route has no alternate until it is back."""

    def row(_source: int | None, destination: int, port_no: int | None) -> FlowRow:
        actions: tuple[Action, ...] = () if port_no is None else (Output(port_no),)
        planned = cookie(owner, Kind.PLANNED, 0, destination)
        return FlowRow(Table.CLASSIFY, Priority.PRIMARY, destination_match(destination), actions, cookie=planned)

    return Restoration(topology, options, row, by_pair=False)
