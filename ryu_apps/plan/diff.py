"""From the state that a switch has to the state it should have, in an order that never breaks a packet's way.

`diff` says what changes; `INSTALL_ORDER` says in which order, as a table, with a barrier after each phase.
Make before break: at every barrier each group that a row names exists, and each flow key that both plans
hold is present.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from enum import Enum
from itertools import groupby

from mininet_topos.errors import PlanError
from ryu_apps.plan.order import flow_order, group_order
from ryu_apps.plan.rows import Action, FlowRow, Group, GroupRow, Match, RulePlan


class Operation(Enum):
    """What is done with a row on the switch (OFPFC_* and OFPGC_*)."""

    ADD = "add"
    MODIFY = "modify"
    DELETE = "delete"


@dataclass(frozen=True, slots=True)
class Command:
    """One flow or group message. Adding a flow whose key exists replaces it in one step, cookie included."""

    operation: Operation
    row: FlowRow | GroupRow


@dataclass(frozen=True, slots=True)
class Phase:
    """Commands that the switch may carry out in any order; a barrier follows."""

    purpose: str
    commands: tuple[Command, ...]


@dataclass(frozen=True)
class PlanDelta:
    """What takes one plan of a switch to another; rows in canonical order.

    Attributes
    ----------
    add_flows
        New keys, and known keys whose cookie, timeout or flags change: a cookie cannot be modified, and an
        OFPFC_ADD of a known key replaces the entry (OpenFlow 1.3.5 section 6.4).
    modify_flows
        Known keys whose instructions alone change; counters survive.
    """

    dpid: int
    add_flows: tuple[FlowRow, ...] = ()
    modify_flows: tuple[FlowRow, ...] = ()
    delete_flows: tuple[FlowRow, ...] = ()
    add_groups: tuple[GroupRow, ...] = ()
    modify_groups: tuple[GroupRow, ...] = ()
    delete_groups: tuple[GroupRow, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether nothing changes."""
        return self == PlanDelta(self.dpid)


def diff(old: RulePlan, new: RulePlan) -> PlanDelta:
    """What must change on a switch that holds `old` so that it holds `new`.

    Raises
    ------
    PlanError
        The plans are for different switches, or one of them holds two rows with one key.
    """
    if old.dpid != new.dpid:
        raise PlanError(f"switch {old.dpid} cannot take the plan of switch {new.dpid}; compare plans of one dpid")
    old_flows, new_flows = flows_by_key(old), flows_by_key(new)
    old_groups, new_groups = groups_by_id(old), groups_by_id(new)
    modified = {
        key for key, row in new_flows.items() if key in old_flows and _same_but_instructions(old_flows[key], row)
    }
    changed = {key for key, row in new_flows.items() if old_flows.get(key) != row}
    return PlanDelta(
        new.dpid,
        add_flows=_in_order(new_flows[key] for key in changed - modified),
        modify_flows=_in_order(new_flows[key] for key in changed & modified),
        delete_flows=_in_order(row for key, row in old_flows.items() if key not in new_flows),
        add_groups=_by_id(row for group_id, row in new_groups.items() if group_id not in old_groups),
        modify_groups=_by_id(row for group_id, row in new_groups.items() if old_groups.get(group_id, row) != row),
        delete_groups=_by_id(row for group_id, row in old_groups.items() if group_id not in new_groups),
    )


def install_phases(delta: PlanDelta) -> tuple[Phase, ...]:
    """The messages of a delta, in phases to be sent with a barrier after each; phases without work are left out.

    Raises
    ------
    PlanError
        Groups refer to each other in a circle, so that no order installs them.
    """
    return tuple(
        Phase(purpose, tuple(Command(operation, row) for operation, row in step))
        for purpose, steps in INSTALL_ORDER
        for step in steps(delta)
    )


def flows_by_key(plan: RulePlan) -> dict[tuple[int, int, Match], FlowRow]:
    """Flows by (table, priority, match).

    Raises
    ------
    PlanError
        Two flows have one key.
    """
    flows = {row.key: row for row in plan.flows}
    if len(flows) < len(plan.flows):
        raise PlanError(f"the plan of {plan.node} holds two flows with one (table, priority, match); check it first")
    return flows


def groups_by_id(plan: RulePlan) -> dict[int, GroupRow]:
    """Groups by id.

    Raises
    ------
    PlanError
        Two groups have one id.
    """
    groups = {row.group_id: row for row in plan.groups}
    if len(groups) < len(plan.groups):
        raise PlanError(f"the plan of {plan.node} holds two groups with one id; check it first")
    return groups


def groups_named_by(actions: Iterable[Action]) -> frozenset[int]:
    """Ids of the groups that actions send a packet to."""
    return frozenset(action.group_id for action in actions if isinstance(action, Group))


def groups_used_by(group: GroupRow) -> frozenset[int]:
    """Ids of the groups that a group chains to or watches."""
    named = (groups_named_by(bucket.actions) for bucket in group.buckets)
    watched = frozenset(bucket.watch_group for bucket in group.buckets if bucket.watch_group is not None)
    return watched.union(*named)


def dependency_levels(groups: Iterable[GroupRow]) -> tuple[tuple[GroupRow, ...], ...]:
    """Groups in levels: a group uses only groups of earlier levels, and groups that are not among those given.

    Raises
    ------
    PlanError
        Groups use each other in a circle.
    """
    waiting = {row.group_id: row for row in groups}
    levels: list[tuple[GroupRow, ...]] = []
    while waiting:
        ready = [row for row in waiting.values() if not groups_used_by(row) & waiting.keys()]
        if not ready:
            raise PlanError(f"groups {sorted(waiting)} use each other in a circle; break the chain")
        levels.append(_by_id(ready))
        for row in ready:
            del waiting[row.group_id]
    return tuple(levels)


_Step = Iterable[tuple[Operation, FlowRow | GroupRow]]


def _add_groups(delta: PlanDelta) -> Iterator[_Step]:
    """What a group uses comes first."""
    for level in dependency_levels(delta.add_groups):
        yield [(Operation.ADD, row) for row in level]


def _add_and_modify_flows(delta: PlanDelta) -> Iterator[_Step]:
    """Last table first: no row leads to a table whose rows are still missing."""
    steps = [
        *((Operation.ADD, row) for row in delta.add_flows),
        *((Operation.MODIFY, row) for row in delta.modify_flows),
    ]
    steps.sort(key=lambda step: -step[1].table_id)
    for _, table in groupby(steps, key=lambda step: step[1].table_id):
        yield list(table)


def _modify_groups(delta: PlanDelta) -> Iterator[_Step]:
    """What a group uses comes first: then an old chain and a new one never close a circle on the way."""
    for level in dependency_levels(delta.modify_groups):
        yield [(Operation.MODIFY, row) for row in level]


def _delete_flows(delta: PlanDelta) -> Iterator[_Step]:
    """First table first: a row goes only when nothing leads to it any more."""
    for _, table in groupby(delta.delete_flows, key=lambda row: row.table_id):
        yield [(Operation.DELETE, row) for row in table]


def _delete_groups(delta: PlanDelta) -> Iterator[_Step]:
    """Users before what they use."""
    for level in reversed(dependency_levels(delta.delete_groups)):
        yield [(Operation.DELETE, row) for row in level]


INSTALL_ORDER: tuple[tuple[str, Callable[[PlanDelta], Iterator[_Step]]], ...] = (
    ("add groups", _add_groups),
    ("add and modify flows", _add_and_modify_flows),
    ("modify groups", _modify_groups),
    ("delete stale flows", _delete_flows),
    ("delete stale groups", _delete_groups),
)


def _same_but_instructions(old: FlowRow, new: FlowRow) -> bool:
    return replace(old, apply_actions=(), write_actions=(), goto_table=None) == replace(
        new, apply_actions=(), write_actions=(), goto_table=None
    )


def _in_order(rows: Iterable[FlowRow]) -> tuple[FlowRow, ...]:
    return tuple(sorted(rows, key=flow_order))


def _by_id(rows: Iterable[GroupRow]) -> tuple[GroupRow, ...]:
    return tuple(sorted(rows, key=group_order))
