"""What a switch holds against what it should hold: what is ours, what is stale, what is somebody else's.

Ownership is the cookie's scheme byte. Groups have no cookie: a group is somebody else's when a foreign row
leads to it, and ours when a row of ours does, or when it has the id and shape that Armor gives its groups.
Recovery rows (learned, or put there by an agent) stay when the wanted plan could have made them: whether
their link is back is the business of the return (decide/returning.py).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cache

from ryu_apps.openflow.messages import FlowStat, GroupStat
from ryu_apps.plan.diff import PlanDelta, diff, groups_named_by, groups_used_by
from ryu_apps.plan.edge_rows import rewritten_mac
from ryu_apps.plan.ids import (
    AGENT_CONTROLLER_ID,
    ALWAYS_LIVE_GROUP,
    Kind,
    Owner,
    Table,
    is_protect_group,
    pair_group,
    port_group,
    split_cookie,
)
from ryu_apps.plan.order import canonical
from ryu_apps.plan.rows import Controller, FlowRow, GroupRow, Learn, Load, Output, RulePlan
from ryu_apps.schemes import all_schemes

_RECOVERY_KINDS = frozenset({Kind.LEARNED, Kind.AGENT})


@dataclass(frozen=True)
class SwitchState:
    """A dump of one switch."""

    flows: tuple[FlowStat, ...] = ()
    groups: tuple[GroupStat, ...] = ()


@dataclass(frozen=True)
class Reconciliation:
    """What to do with a switch, and what was found.

    Attributes
    ----------
    delta
        Changes of the rows that are ours.
    unreadable
        Rows with our cookie in words that we do not speak (another version's): to be deleted by their bytes.
    recovery
        Learned and agent rows that stay.
    foreign
        Rows and groups that belong to somebody else, one phrase each; they are left alone.
    conflicts
        Foreign rows and groups that ours replace, since a switch holds one row of a (table, priority, match) and
        one group of an id.
    """

    delta: PlanDelta
    unreadable: tuple[FlowStat, ...] = ()
    recovery: tuple[FlowRow, ...] = ()
    foreign: tuple[str, ...] = ()
    conflicts: tuple[str, ...] = ()

    @property
    def recovery_tag_ids(self) -> frozenset[int]:
        """Failed sets that rows on this switch still act on."""
        return frozenset(split_cookie(row.cookie).tag_id for row in self.recovery)

    @property
    def is_clean(self) -> bool:
        """Whether the switch holds exactly what it should, recovery rows apart."""
        return self.delta.is_empty and not self.unreadable


def is_ours(cookie: int) -> bool:
    """Whether a row with this cookie belongs to the app itself or to a scheme: a switch has one of them at a time."""
    return split_cookie(cookie).scheme in _owners()


@cache
def _owners() -> frozenset[int]:
    return frozenset({int(Owner.EDGE), *(each.number for each in all_schemes().values() if each.number is not None)})


def foreign_macs(state: SwitchState) -> dict[int, int]:
    """MAC addresses, by IPv4 address, of the hosts for which the switch rewrites (learned before a restart)."""
    macs: dict[int, int] = {}
    for stat in state.flows:
        parts = split_cookie(stat.cookie)
        if (parts.scheme, parts.kind) == (Owner.EDGE, Kind.FOREIGN) and stat.row is not None:
            mac = rewritten_mac(stat.row)
            if mac is not None:
                macs[parts.destination] = mac
    return macs


def reconcile(state: SwitchState, wanted: RulePlan) -> Reconciliation:
    """Compare a dump with the wanted plan.

    Parameters
    ----------
    wanted
        Everything the switch should hold, the app's own rows included.
    """
    ours = [stat for stat in state.flows if is_ours(stat.cookie)]
    foreign = [stat for stat in state.flows if not is_ours(stat.cookie)]
    readable = [stat.row for stat in ours if stat.row is not None]
    recovery = tuple(sorted(recovery_rows(readable, wanted), key=lambda row: row.cookie))
    kept = set(recovery)
    unknown_groups = _foreign_groups(state.groups, foreign, readable)
    taken = unknown_groups & {row.group_id for row in wanted.groups}
    foreign_groups = unknown_groups - taken
    present = replace(
        wanted,
        flows=tuple(row for row in readable if row not in kept),
        # A group whose id is taken in words that we do not speak stands for "to be replaced".
        groups=tuple(
            stat.row or GroupRow(stat.group_id, "all", ())
            for stat in state.groups
            if stat.group_id not in foreign_groups
        ),
    )
    wanted_keys = {row.key for row in wanted.flows}
    return Reconciliation(
        diff(canonical(present), canonical(wanted)),
        tuple(stat for stat in ours if stat.row is None),
        recovery,
        (*map(_flow_phrase, foreign), *map(_group_phrase, sorted(foreign_groups))),
        (
            *(_flow_phrase(stat) for stat in foreign if stat.row is not None and stat.row.key in wanted_keys),
            *map(_group_phrase, sorted(taken)),
        ),
    )


def recovery_rows(rows: Iterable[FlowRow], wanted: RulePlan) -> list[FlowRow]:
    """The learned and agent rows among those given that the wanted plan could have made.

    Rows of another scheme, of another numbering of the failed sets, or for another way out, are left out.
    """
    rows = [row for row in rows if split_cookie(row.cookie).kind in _RECOVERY_KINDS]
    if not rows:
        return []
    learnable = {
        (action.cookie, tuple(Load(load.field, load.first_bit, load.n_bits, load.value) for load in action.loads))
        for flow in wanted.flows
        for action in flow.apply_actions
        if isinstance(action, Learn)
    }
    ways_out = {(backup.destination, backup.tag_id, backup.out_port) for backup in wanted.backups}
    schemes = _left_to_agents(wanted)
    return [
        row
        for row in rows
        if (row.table_id == Table.TE_HASH and split_cookie(row.cookie).scheme in schemes)
        or _could_be_made(row, wanted, learnable, ways_out)
    ]


def _left_to_agents(wanted: RulePlan) -> frozenset[int]:
    """Schemes whose failed tunnels are an agent's business; what of its rows is stale, the agent takes away."""
    punts = (action for flow in wanted.flows for action in flow.apply_actions if isinstance(action, Controller))
    if all(action.controller_id != AGENT_CONTROLLER_ID for action in punts):
        return frozenset()
    return frozenset(split_cookie(flow.cookie).scheme for flow in wanted.flows if flow.table_id == Table.TE_HASH)


def _could_be_made(
    row: FlowRow,
    wanted: RulePlan,
    learnable: set[tuple[int, tuple[Load, ...]]],
    ways_out: set[tuple[int, int, int]],
) -> bool:
    parts = split_cookie(row.cookie)
    if parts.kind == Kind.LEARNED:
        return (row.cookie, row.apply_actions) in learnable
    if parts.destination in wanted.local_ipv4:
        return bool(wanted.backups)
    return any(
        (parts.destination, parts.tag_id, action.port_no) in ways_out
        for action in row.apply_actions
        if isinstance(action, Output)
    )


def _foreign_groups(groups: Iterable[GroupStat], foreign: list[FlowStat], ours: list[FlowRow]) -> frozenset[int]:
    """Ids of the groups that belong to somebody else."""
    rows = {stat.group_id: stat.row for stat in groups if stat.row is not None}
    unreadable = {stat.group_id for stat in groups if stat.row is None}
    led_to_by_foreign = _reachable(_named([stat.row for stat in foreign if stat.row is not None]), rows)
    led_to_by_us = _reachable(_named(ours), rows)
    unknown_groups = {
        group_id for group_id, row in rows.items() if group_id not in led_to_by_us and not _has_our_shape(row)
    }
    return frozenset((led_to_by_foreign & rows.keys()) | unknown_groups | unreadable)


def _named(rows: Iterable[FlowRow]) -> set[int]:
    return {group_id for row in rows for group_id in groups_named_by((*row.apply_actions, *row.write_actions))}


def _reachable(start: set[int], rows: dict[int, GroupRow]) -> set[int]:
    reached, waiting = set(start), list(start)
    while waiting:
        row = rows.get(waiting.pop())
        new = (groups_used_by(row) if row is not None else frozenset()) - reached
        reached |= new
        waiting += new
    return reached


def _has_our_shape(row: GroupRow) -> bool:
    """Whether a group has the id that `ids.py` gives to a group that watches these ports."""
    watched = [bucket.watch_port for bucket in row.buckets if bucket.watch_port is not None]
    if row.group_id == ALWAYS_LIVE_GROUP or is_protect_group(row.group_id):
        return row.group_type == "all"
    if row.group_type != "ff" or not watched:
        return False
    return row.group_id in (port_group(watched[0]), *(pair_group(watched[0], port_no) for port_no in watched))


def _group_phrase(group_id: int) -> str:
    return f"group {group_id}"


def _flow_phrase(stat: FlowStat) -> str:
    phrase = f"flow of table {stat.table_id}, priority {stat.priority}, cookie {stat.cookie:#x}"
    return f"{phrase} ({stat.reason})" if stat.reason else phrase
