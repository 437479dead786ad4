"""Backup rows of SD-FAST: per commodity, every (switch, failed set) that a packet can reach.

A tagged packet names the set of failed links that it knows of. The row for (commodity, set) leads
along the tree without those links; a switch whose next link is down adds it to the set and goes on
by that row. The set only grows and every set has a tree, so no packet loops, whatever part of the
network already knows of the failure (docs/decisions/failed-set-tags.md).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from mininet_topos.ports import assign_ports
from mininet_topos.topology import Topology
from ryu_apps.plan.addressing import hosts_of
from ryu_apps.plan.failure_sets import NO_TAG, FailureSets, default_max_failures
from ryu_apps.plan.ids import Status
from ryu_apps.plan.notification import Path, Teaching
from ryu_apps.plan.options import PlanOptions
from ryu_apps.plan.recovery_rows import LearnedTag
from ryu_apps.plan.rows import BackupRow, ExtensionRow
from te_solver.commodity import Commodity
from te_solver.commodity_routes import Router
from te_solver.routers import make_router
from te_solver.routes import NO_LINK, ResidualRoutes

State = tuple[int, int]
"""(node position, tag id) of a packet of one commodity."""


@dataclass
class SwitchRows:
    """Backup and failed-set extension rows of one switch, while they are collected.

    Attributes
    ----------
    learned
        Learned mode with notifications: key of a backup row to what a packet that takes it teaches the switch.
    notified
        There too: failed set to what a notification of it teaches.
    """

    backups: list[BackupRow] = field(default_factory=list)
    extensions: set[ExtensionRow] = field(default_factory=set)
    learned: dict[tuple[int, int | None, int], tuple[LearnedTag, ...]] = field(default_factory=dict)
    notified: dict[int, list[LearnedTag]] = field(default_factory=lambda: defaultdict(list))


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
        self._floods, self._notifies_agents = options.floods, options.floods and options.uses_agent
        self._end = [topology.index_of[link.dst] for link in residual.links]
        self._number: list[int] = residual.link_number.tolist()
        self._port = [ports.port_of[link.direction] for link in residual.links]
        self._ipv4 = [host.ipv4 for host in hosts_of(topology).values()]

    def rows(self) -> dict[int, SwitchRows]:
        """Backup and failed-set extension rows of every switch, by node position."""
        found = {node: SwitchRows() for node in range(len(self.topology.nodes))}
        for commodity in self.router.commodities:
            states = self._reachable(commodity, found)
            paths = self._paths(states)
            crossed = {state: sum(1 << number for number in path) for state, path in paths.items()}
            rows: dict[int, dict[int, BackupRow]] = defaultdict(dict)
            for (node, tag_id), link in states.items():
                row = self._backup(commodity, (node, tag_id), link, crossed)
                if self._notifies_agents:
                    row = replace(row, path=paths[node, tag_id])
                rows[node][tag_id] = row
                found[node].backups.append(row)
            if self._floods and not self._notifies_agents:
                for node in self.router.start_nodes(commodity):
                    self._teach(node, rows[node], paths, found[node])
        return found

    def _reachable(self, commodity: Commodity, found: dict[int, SwitchRows]) -> dict[State, int]:
        """Next link of every (switch, tag id) that some packet of the commodity can be in."""
        states: dict[State, int] = {}
        upstream = self._upstream(commodity) if self._switches_replies else {}
        notified = frozenset(self.router.start_nodes(commodity) if self._floods else ())
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
            if node in notified:
                waiting.extend((node, larger) for larger in self._sets_met_further_on(commodity, node, tag_id))
        return states

    def _sets_met_further_on(self, commodity: Commodity, node: int, tag_id: int) -> Iterator[int]:
        """Sets that a packet from here collects when one link of its path has failed."""
        while node != commodity.destination:
            link = self.router.next_link(commodity, self.sets.masks[tag_id], node)
            larger = self.sets.with_link(tag_id, self._number[link])
            if larger is not None:
                yield larger
            node = self._end[link]

    def _upstream(self, commodity: Commodity) -> dict[int, list[int]]:
        """Entry nodes whose primary path passes each node."""
        passing: dict[int, list[int]] = defaultdict(list)
        for start in self.router.start_nodes(commodity):
            node = start
            while (link := self.router.next_link(commodity, 0, node)) != NO_LINK:
                passing[node].append(start)
                node = self._end[link]
        return passing

    def _paths(self, states: dict[State, int]) -> dict[State, Path]:
        """Links on the way of every state."""
        paths: dict[State, Path] = {}
        for start in states:
            chain: list[State] = []
            state = start
            while state not in paths and state in states:
                chain.append(state)
                state = self._end[states[state]], state[1]
            path = paths.get(state, ())
            for passed in reversed(chain):
                path = (self._number[states[passed]], *path)
                paths[passed] = path
        return paths

    def _teach(self, node: int, rows: dict[int, BackupRow], paths: dict[State, Path], found: SwitchRows) -> None:
        """What packets and notifications teach a switch about a commodity that enters there (its rows by tag id)."""
        teaching = Teaching(self.sets, len(self._ipv4), {tag_id: paths[node, tag_id] for tag_id in rows})

        def learned(tag_in: int, tag_id: int, rank: int) -> LearnedTag:
            row = rows[tag_id]
            return LearnedTag(row.destination, row.source, tag_in, tag_id, row.status, rank)

        for tag_id, row in rows.items():
            tags_in = (0,) * row.crosses + row.replaces
            taught = ((tag_in, teaching.learned(tag_in, tag_id)) for tag_in in tags_in)
            found.learned[row.key] = tuple([learned(tag_in, *each) for tag_in, each in taught if each is not None])
        for failed_set, tag_id, rank in teaching.notified():
            found.notified[failed_set].append(learned(0, tag_id, rank))

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
