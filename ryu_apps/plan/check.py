"""Refuse a plan that a switch would accept and that would then not do what it says.

Open vSwitch and the wire format accept most of what is refused here: a match on `ipv4_dst` without its
`eth_type`, a bucket that chains to a missing group, two overlapping rows of one priority (all tried).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import TypeVar

from mininet_topos.errors import PlanError
from mininet_topos.ports import MAX_PORT_NO
from ryu_apps.plan.check_actions import (
    TABLE_IDS,
    TRUSTING,
    action_faults,
    action_set_faults,
    header_of,
    match_faults,
)
from ryu_apps.plan.check_overlap import overlaps
from ryu_apps.plan.check_ranges import range_gaps
from ryu_apps.plan.diff import dependency_levels, groups_named_by, groups_used_by
from ryu_apps.plan.failure_sets import MAX_TAG_ID, NO_TAG, sets_up_to
from ryu_apps.plan.fields import FIELDS
from ryu_apps.plan.ids import Kind, Status, split_cookie
from ryu_apps.plan.row_text import match_texts
from ryu_apps.plan.rows import GROUP_TYPES, BackupRow, FlowRow, GroupRow, RulePlan

MAX_GROUP_ID = 0xFFFFFF00  # OFPG_MAX
_Row = TypeVar("_Row")
_PortNos = frozenset[int] | None


def check_plan(plan: RulePlan, port_nos: Iterable[int] | None = None) -> None:
    """Refuse a plan that breaks a rule.

    Parameters
    ----------
    port_nos
        Ports of the switch; outputs and watches are held to them when they are given.

    Raises
    ------
    PlanError
        Names the switch, the first fault, and how many there are.
    """
    found = violations(plan, port_nos)
    if found:
        more = f" (and {len(found) - 1} more faults)" if len(found) > 1 else ""
        raise PlanError(f"the plan of {plan.node} cannot be installed: {found[0]}{more}")


def violations(plan: RulePlan, port_nos: Iterable[int] | None = None) -> tuple[str, ...]:
    """Every fault of a plan, one sentence each; empty when the plan is sound.

    Parameters
    ----------
    port_nos
        Ports of the switch; outputs and watches are held to them when they are given.
    """
    known = None if port_nos is None else frozenset(port_nos)
    return tuple(fault for check in CHECKS for fault in check(plan, known))


def _switch(plan: RulePlan, _: _PortNos) -> Iterator[str]:
    if not 1 <= plan.dpid < 1 << 64:
        yield f"datapath id {plan.dpid} is not in 1..2^64-1"
    yield from (f"local address {ipv4} has no 32 bits" for ipv4 in plan.local_ipv4 if not 0 < ipv4 < 1 << 32)


def _flow_numbers(plan: RulePlan, _: _PortNos) -> Iterator[str]:
    for row in plan.flows:
        if row.table_id not in TABLE_IDS:
            yield f"{_name(row)}: no such table; ids.Table lists them"
        if not 0 <= row.priority <= 0xFFFF:
            yield f"{_name(row)}: a priority is 0..65535"
        if not 0 <= row.hard_timeout_s <= 0xFFFF:
            yield f"{_name(row)}: a timeout of {row.hard_timeout_s} s does not fit 16 bits"
        if row.goto_table is not None and row.goto_table not in TABLE_IDS:
            yield f"{_name(row)}: goto to unknown table {row.goto_table}"
        elif row.goto_table is not None and row.goto_table <= row.table_id:
            yield f"{_name(row)}: goto {row.goto_table} does not lead forward"


def _flow_contents(plan: RulePlan, port_nos: _PortNos) -> Iterator[str]:
    for row in plan.flows:
        header = header_of(row.match)
        yield from _in_row(row, match_faults(row.match))
        yield from _in_row(row, action_faults((*row.apply_actions, *row.write_actions), header, port_nos))
        yield from _in_row(row, action_set_faults(row.write_actions))


def _in_row(row: FlowRow, faults: Iterable[str]) -> Iterator[str]:
    return (f"{_name(row)}: {fault}" for fault in faults)


def _cookies(plan: RulePlan, _: _PortNos) -> Iterator[str]:
    """Each row has an owner, and each (table, priority) has one owner."""
    owners: dict[tuple[int, int], int] = {}
    for row in plan.flows:
        parts = split_cookie(row.cookie)
        if not 0 <= row.cookie < 1 << 64 or not parts.scheme or parts.kind != Kind.PLANNED:
            yield f"{_name(row)}: cookie {row.cookie:#x} does not say who planned it"
            continue
        owner = owners.setdefault((row.table_id, row.priority), parts.scheme)
        if owner != parts.scheme:
            yield f"{_name(row)}: owners {owner} and {parts.scheme} both claim this table and priority"


def _duplicates(plan: RulePlan, _: _PortNos) -> Iterator[str]:
    for table_id, priority, fields in _repeated(plan.flows, lambda row: row.key):
        yield f"table {table_id}, priority {priority} holds the match {fields} twice"
    yield from (f"group {group_id} stands twice" for group_id in _repeated(plan.groups, lambda row: row.group_id))
    yield from (f"backup row {key} stands twice" for key in _repeated(plan.backups, lambda row: row.key))
    for tag_and_port in _repeated(plan.extensions, lambda row: (row.tag_id, row.port_no)):
        yield f"failed-set extension of (tag, port) {tag_and_port} stands twice"
    for port_and_id in _repeated(plan.queues, lambda row: (row.port_no, row.queue_id)):
        yield f"queue of (port, id) {port_and_id} stands twice"


_Key = TypeVar("_Key", bound=Hashable)


def _repeated(rows: Iterable[_Row], key: Callable[[_Row], _Key]) -> list[_Key]:
    return [value for value, count in Counter(map(key, rows)).items() if count > 1]


def _overlapping(plan: RulePlan, _: _PortNos) -> Iterator[str]:
    readable = (row for row in plan.flows if all(name in FIELDS for name, _, _ in row.match))
    for first, second in overlaps(readable):
        yield f"{_name(first)} and {_name(second)} match some packets alike, with different instructions"


def _hash_ranges(plan: RulePlan, _: _PortNos) -> Iterator[str]:
    for fields, taken, n_slots in range_gaps(plan.flows):
        words = ",".join(match_texts(fields)) if all(name in FIELDS for name, _, _ in fields) else str(fields)
        yield f"the hash ranges of {words or 'any packet'} take {taken} of {n_slots} slots; they have to tile"


def _group_shapes(plan: RulePlan, port_nos: _PortNos) -> Iterator[str]:
    for row in plan.groups:
        if not 0 <= row.group_id <= MAX_GROUP_ID:
            yield f"group {row.group_id}: an id is 0..{MAX_GROUP_ID:#x}"
        if row.group_type not in GROUP_TYPES:
            yield f"group {row.group_id} has type {row.group_type!r}; use one of {', '.join(GROUP_TYPES)}"
        if row.group_type == "indirect" and len(row.buckets) != 1:
            yield f"group {row.group_id} is indirect and has {len(row.buckets)} buckets; give it one"
        for number, bucket in enumerate(row.buckets):
            where = f"group {row.group_id}, bucket {number}"
            yield from (f"{where}: {fault}" for fault in action_faults(bucket.actions, TRUSTING, port_nos))
            yield from (f"{where}: {fault}" for fault in action_set_faults(bucket.actions))
        yield from _bucket_rules(row, port_nos)


def _bucket_rules(row: GroupRow, port_nos: _PortNos) -> Iterator[str]:
    """Weights belong to select groups, watches to fast failover (OpenFlow 1.3.5 section 7.3.4.3)."""
    for number, bucket in enumerate(row.buckets):
        where = f"group {row.group_id}, bucket {number}"
        watching = bucket.watch_port is not None or bucket.watch_group is not None
        if row.group_type == "ff" and not watching:
            yield f"{where}: a fast-failover bucket needs a watch_port or a watch_group"
        if row.group_type in ("all", "indirect") and watching:
            yield f"{where}: nothing watches ports in a group of type {row.group_type}"
        if row.group_type == "select" and not 1 <= bucket.weight <= 0xFFFF:
            yield f"{where}: weight {bucket.weight}; a select bucket needs 1..65535"
        if row.group_type != "select" and bucket.weight:
            yield f"{where}: weight {bucket.weight} in a group of type {row.group_type}; weights belong to select"
        if bucket.watch_port is not None:
            known = range(1, MAX_PORT_NO + 1) if port_nos is None else port_nos
            if bucket.watch_port not in known:
                yield f"{where}: watches port {bucket.watch_port}, which the switch does not have"


def _group_references(plan: RulePlan, _: _PortNos) -> Iterator[str]:
    known = {row.group_id for row in plan.groups}
    for row in plan.flows:
        for group_id in sorted(groups_named_by((*row.apply_actions, *row.write_actions)) - known):
            yield f"{_name(row)}: sends to group {group_id}, which the plan does not hold"
    for group in plan.groups:
        for group_id in sorted(groups_used_by(group) - known):
            yield f"group {group.group_id} uses group {group_id}, which the plan does not hold"
    try:
        dependency_levels(plan.groups)
    except PlanError as error:
        yield str(error)


def _backups(plan: RulePlan, port_nos: _PortNos) -> Iterator[str]:
    for row in plan.backups:
        yield from (f"backup row {row.key}: {fault}" for fault in _backup_faults(plan, row, port_nos))
    for extension in plan.extensions:
        tags = (extension.tag_id, extension.new_tag_id)
        if not all(0 <= tag_id <= _last_tag(plan) for tag_id in tags) or extension.new_tag_id in (NO_TAG, tags[0]):
            yield f"{extension}: a failed-set extension leads to another tag of 1..{_last_tag(plan)}"
        if not _is_port(extension.port_no, port_nos):
            yield f"{extension}: the switch has no such port"


def _backup_faults(plan: RulePlan, row: BackupRow, port_nos: _PortNos) -> Iterator[str]:
    if not 0 <= row.tag_id <= _last_tag(plan):
        yield f"tag ids are 0..{_last_tag(plan)}"
    if row.tag_id == NO_TAG and (row.status or row.crosses or row.replaces):
        yield "a primary (tag 0) has no status, crosses no failed link and replaces nothing"
    if row.tag_id != NO_TAG and row.status not in tuple(Status):
        yield f"status {row.status} is none of {', '.join(status.name for status in Status)}"
    if not _is_port(row.out_port, port_nos):
        yield f"out_port {row.out_port} is no port of the switch"
    if NO_TAG in row.replaces or row.tag_id in row.replaces or len(set(row.replaces)) < len(row.replaces):
        yield f"replaces {row.replaces}; name other tags, each once"


def _last_tag(plan: RulePlan) -> int:
    """Largest id that has a meaning; a plan without a tag space may use all that fit 802.1Q."""
    return sets_up_to(*plan.tag_space) if any(plan.tag_space) else MAX_TAG_ID


def _is_port(port_no: int, port_nos: _PortNos) -> bool:
    return 1 <= port_no <= MAX_PORT_NO if port_nos is None else port_no in port_nos


def _name(row: FlowRow) -> str:
    known = all(name in FIELDS and 0 <= value <= FIELDS[name].full_mask for name, value, _ in row.match)
    fields = ",".join(match_texts(row.match)) if known else str(row.match)
    return f"table {row.table_id}, priority {row.priority}, {fields or 'any packet'}"


CHECKS: tuple[Callable[[RulePlan, _PortNos], Iterator[str]], ...] = (
    _switch,
    _flow_numbers,
    _flow_contents,
    _cookies,
    _duplicates,
    _overlapping,
    _hash_ranges,
    _group_shapes,
    _group_references,
    _backups,
)
