"""The canonical order of rows, so that equal plans are equal values whatever order they were made in."""

from __future__ import annotations

from dataclasses import replace

from ryu_apps.plan.rows import BackupRow, FlowRow, GroupRow, Match, RulePlan

_NO_MASK = -1


def match_order(match: Match) -> tuple[tuple[str, int, int], ...]:
    """Sort key of a match: exact before masked, then by field and value."""
    return tuple((name, value, _NO_MASK if mask is None else mask) for name, value, mask in match)


def flow_order(row: FlowRow) -> tuple[int, int, tuple[tuple[str, int, int], ...]]:
    """Sort key of a flow: table, then highest priority first (as a switch looks them up), then match."""
    return row.table_id, -row.priority, match_order(row.match)


def group_order(row: GroupRow) -> int:
    """Sort key of a group: its id."""
    return row.group_id


def backup_order(row: BackupRow) -> tuple[int, int, int]:
    """Sort key of a backup row: destination, source (rows for every source first), tag id."""
    return row.destination, _NO_MASK if row.source is None else row.source, row.tag_id


def canonical(plan: RulePlan) -> RulePlan:
    """The same plan with every collection in canonical order."""
    return replace(
        plan,
        flows=tuple(sorted(plan.flows, key=flow_order)),
        groups=tuple(sorted(plan.groups, key=group_order)),
        queues=tuple(sorted(plan.queues, key=lambda row: (row.port_no, row.queue_id))),
        backups=tuple(sorted(plan.backups, key=backup_order)),
        extensions=tuple(sorted(plan.extensions, key=lambda row: (row.tag_id, row.port_no))),
        local_ipv4=tuple(sorted(plan.local_ipv4)),
    )
