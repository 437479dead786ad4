"""The backup table of one switch, indexed for the look-ups that a failure asks for."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from ryu_apps.plan.failure_sets import NO_TAG, FailureSets
from ryu_apps.plan.ids import AGENT_CONTROLLER_ID
from ryu_apps.plan.notification import Path, collected
from ryu_apps.plan.rows import BackupRow, Controller, ExtensionRow, FlowRow, GroupRow, RulePlan
from te_solver.commodity import Commodity


@dataclass(frozen=True)
class BackupIndex:
    """Rows of the backup table by what is asked for; every look-up is a dictionary access.

    Attributes
    ----------
    backups, failed_set_extensions : tuple
        The rows of the plan.
    local_ipv4
        Addresses of the hosts behind this switch.
    tag_space : tuple of int
        (links, max_failures) of the plan: what each tag id means.
    flows, groups
        Planned rows, which a restarted switch is refilled with.
    ports
        Link behind each port, for the log.
    """

    backups: tuple[BackupRow, ...] = ()
    extensions: tuple[ExtensionRow, ...] = ()
    local_ipv4: frozenset[int] = frozenset()
    tag_space: tuple[int, int] = (0, 0)
    flows: tuple[FlowRow, ...] = ()
    groups: tuple[GroupRow, ...] = ()
    ports: Mapping[int, str] = field(default_factory=dict)

    @classmethod
    def from_plan(cls, plan: RulePlan, ports: Mapping[int, str] | None = None) -> BackupIndex:
        """Index of a plan. A plan that punts nothing to the agent (learned mode) is only kept for refilling."""
        punts = any(
            isinstance(action, Controller) and action.controller_id == AGENT_CONTROLLER_ID
            for row in plan.flows
            for action in row.apply_actions
        )
        return cls(
            plan.backups if punts else (),
            plan.extensions if punts else (),
            frozenset(plan.local_ipv4),
            plan.tag_space,
            plan.flows,
            plan.groups,
            dict(ports or {}),
        )

    @cached_property
    def _row_of(self) -> dict[tuple[int, int | None, int], BackupRow]:
        return {row.key: row for row in self.backups}

    @cached_property
    def _larger_tag(self) -> dict[tuple[int, int], int]:
        return {(row.tag_id, row.port_no): row.new_tag_id for row in self.extensions}

    @cached_property
    def primaries(self) -> dict[int, tuple[Commodity, ...]]:
        """Commodities by the port that their primary leaves by."""
        found: dict[int, list[Commodity]] = defaultdict(list)
        for row in self.backups:
            if row.tag_id == NO_TAG:
                found[row.out_port].append(Commodity(row.destination, row.source))
        return {port_no: tuple(commodities) for port_no, commodities in found.items()}

    @cached_property
    def sets(self) -> FailureSets:
        """What each tag id means."""
        return FailureSets(*self.tag_space)

    @cached_property
    def link_of_port(self) -> dict[int, int]:
        """Number of the link behind each port.

        It is the one by which a failed-set extension over that port makes the set larger; a port that no row leaves by
        has none.
        """
        masks = self.sets.masks if self.extensions else ()
        return {
            row.port_no: (masks[row.new_tag_id] & ~masks[row.tag_id]).bit_length() - 1
            for row in self.extensions
            if max(row.tag_id, row.new_tag_id) < len(masks)
        }

    @cached_property
    def tags_of_port(self) -> dict[int, frozenset[int]]:
        """Ids of the failed sets that hold the link behind each port, as far as it has a number."""
        return {port_no: frozenset(self.sets.containing(number)) for port_no, number in self.link_of_port.items()}

    @cached_property
    def crossing(self) -> dict[int, tuple[Commodity, ...]]:
        """Commodities by the links that their primary crosses from here on; none where agents are not notified."""
        found: dict[int, list[Commodity]] = defaultdict(list)
        for row in self.backups:
            for number in row.path if row.tag_id == NO_TAG else ():
                found[number].append(Commodity(row.destination, row.source))
        return {number: tuple(commodities) for number, commodities in found.items()}

    def collected(self, commodity: Commodity, failed: int) -> int:
        """The failed set that untagged packets collect of the failed links (a mask) if they come back here at each."""

        def path_of(tag_id: int) -> Path | None:
            row = self.row(commodity, tag_id)
            return None if row is None else row.path

        return collected(self.sets, path_of, failed)[0]

    def commodity_of(self, destination: int, source: int | None) -> Commodity | None:
        """The commodity that packets from `source` to `destination` belong to here; None: no row serves them.

        Rows for the pair come before rows for every source.
        """
        for commodity in (Commodity(destination, source), Commodity(destination)):
            if commodity in self.commodities:
                return commodity
        return None

    @cached_property
    def commodities(self) -> frozenset[Commodity]:
        """Commodities that some row serves."""
        return frozenset(Commodity(row.destination, row.source) for row in self.backups)

    @cached_property
    def destinations(self) -> frozenset[int]:
        """Addresses that some row serves."""
        return frozenset(row.destination for row in self.backups)

    def row(self, commodity: Commodity, tag_id: int) -> BackupRow | None:
        """The backup row for a commodity and a failed set; None when none is planned."""
        return self._row_of.get((*commodity, tag_id))

    def larger_tag(self, tag_id: int, port_no: int) -> int | None:
        """The failed set with the link behind `port_no` added; None when that set has no id."""
        return self._larger_tag.get((tag_id, port_no))

    def holds_live_link(self, tag_id: int, down: Iterable[int]) -> bool:
        """Whether a failed set names a link of this switch whose port is not down: such a tag is out of date."""
        gone = frozenset(down)
        return any(tag_id in tags for port_no, tags in self.tags_of_port.items() if port_no not in gone)
