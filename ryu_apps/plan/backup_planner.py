"""Backup rows of SD-FAST: per commodity, every (switch, failed set) that a packet can reach.

A tagged packet names the set of failed links that it knows of. The row for (commodity, set) leads
along the tree without those links; a switch whose next link is down adds it to the set and goes on
by that row. The set only grows and every set has a tree, so no packet loops, whatever part of the
network already knows of the failure (docs/decisions/failed-set-tags.md).
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

from mininet_topos.ports import assign_ports
from mininet_topos.topology import Topology
from ryu_apps.plan.addressing import hosts_of
from ryu_apps.plan.failure_sets import NO_TAG, FailureSets, default_max_failures
from ryu_apps.plan.ids import Status
from ryu_apps.plan.options import PlanOptions
from ryu_apps.plan.rows import BackupRow, ExtensionRow
from te_solver.commodity_routes import Commodity, Router
from te_solver.routers import make_router
from te_solver.routes import NO_LINK, ResidualRoutes

State = tuple[int, int]
"""(node position, tag id) of a packet of one commodity."""


@dataclass
class SwitchRows:
    """Backup and failed-set extension rows of one switch, while they are collected."""

    backups: list[BackupRow] = field(default_factory=list)
    extensions: set[ExtensionRow] = field(default_factory=set)


class BackupPlanner:
    """Finds the rows of all switches.

    Parameters
    ----------
    options
        Planner, routes, metric, `max_failures` (None: 2 if the tag ids suffice, else 1).

    Raises
    ------
    PlanLimitError
        More failed sets than tag ids.
    """

    def __init__(self, topology: Topology, options: PlanOptions) -> None:
        n_links = len(topology.link_ids)
        size = default_max_failures(n_links) if options.max_failures is None else options.max_failures
        self.topology = topology
        self.sets = FailureSets(n_links, size)
        self.router: Router = make_router(options.planner, ResidualRoutes(topology, options.routes, options.metric))
        residual = self.router.residual
        ports = assign_ports(topology)
        # In agent mode the destination turns replies round, so switches upstream need the single-link rows too.
        self._switches_replies = options.uses_agent
        self._end = [topology.index_of[link.dst] for link in residual.links]
        self._number: list[int] = residual.link_number.tolist()
        self._port = [ports.port_of[link.direction] for link in residual.links]
        self._ipv4 = [host.ipv4 for host in hosts_of(topology).values()]

    def rows(self) -> dict[int, SwitchRows]:
        """Backup and failed-set extension rows of every switch, by node position."""
        found = {node: SwitchRows() for node in range(len(self.topology.nodes))}
        for commodity in self.router.commodities:
            states = self._reachable(commodity, found)
            crossed = self._crossed_links(states)
            for state, link in states.items():
                found[state[0]].backups.append(self._backup(commodity, state, link, crossed))
        return found

    def _reachable(self, commodity: Commodity, found: dict[int, SwitchRows]) -> dict[State, int]:
        """Next link of every (switch, tag id) that some packet of the commodity can be in."""
        states: dict[State, int] = {}
        upstream = self._upstream(commodity) if self._switches_replies else {}
        waiting = [(node, NO_TAG) for node in self.router.start_nodes(commodity)]
        while waiting:
            node, tag_id = state = waiting.pop()
            if state in states:
                continue
            link = self.router.next_link(commodity, self.sets.masks[tag_id], node)
            if link == NO_LINK:
                continue
            states[state] = link
            if self._end[link] != commodity.destination:
                waiting.append((self._end[link], tag_id))
            larger = self.sets.with_link(tag_id, self._number[link])
            if larger is not None:
                found[node].extensions.add(ExtensionRow(tag_id, self._port[link], larger))
                waiting.append((node, larger))
                if tag_id == NO_TAG:
                    waiting.extend((start, larger) for start in upstream.get(node, ()))
        return states

    def _upstream(self, commodity: Commodity) -> dict[int, list[int]]:
        """Entry nodes whose primary path passes each node."""
        passing: dict[int, list[int]] = defaultdict(list)
        for start in self.router.start_nodes(commodity):
            node = start
            while (link := self.router.next_link(commodity, 0, node)) != NO_LINK:
                passing[node].append(start)
                node = self._end[link]
        return passing

    def _crossed_links(self, states: dict[State, int]) -> dict[State, int]:
        """Mask of the links on the path of every state."""
        crossed: dict[State, int] = {}
        for start in states:
            chain: list[State] = []
            state = start
            while state not in crossed and state in states:
                chain.append(state)
                state = self._end[states[state]], state[1]
            mask = crossed.get(state, 0)
            for passed in reversed(chain):
                mask |= 1 << self._number[states[passed]]
                crossed[passed] = mask
        return crossed

    def _backup(self, commodity: Commodity, state: State, link: int, crossed: dict[State, int]) -> BackupRow:
        node, tag_id = state
        source = None if commodity.source is None else self._ipv4[commodity.source]
        destination = self._ipv4[commodity.destination]
        if tag_id == NO_TAG:
            return BackupRow(destination, source, NO_TAG, self._port[link], 0, False)
        masks = self.sets.masks
        reordered = tuple(
            smaller
            for smaller in self.sets.subsets(tag_id)
            if crossed.get((node, smaller), 0) & masks[tag_id] & ~masks[smaller]
        )
        status = self._status(commodity, link)
        replaces = tuple(smaller for smaller in reordered if smaller != NO_TAG)
        return BackupRow(destination, source, tag_id, self._port[link], status, NO_TAG in reordered, replaces)

    def _status(self, commodity: Commodity, link: int) -> Status:
        """Crankback while the row leads against the primary: the next switch's primary comes back by this link."""
        onward = self.router.next_link(commodity, 0, self._end[link])
        against = onward != NO_LINK and self._number[onward] == self._number[link]
        return Status.CRANKBACK if against else Status.RECOVERED
