"""What the agent makes of a switch that it has just read: its own rows are believed as far as they still hold."""

from __future__ import annotations

from collections.abc import Iterable

from ovsdb_backup.decide.agent_rules import HEARD, rule_grabber
from ovsdb_backup.decide.agent_types import AgentAction, AgentState, Log, PortHealth, Refill, Rules, SwitchRead
from ovsdb_backup.decide.backup_index import BackupIndex
from ryu_apps.plan.failure_sets import NO_TAG
from ryu_apps.plan.ids import VLAN_PRESENT, Kind, Table, split_cookie
from ryu_apps.plan.recovery_rows import OWNER
from ryu_apps.plan.rows import FlowRow, Output
from te_solver.commodity import Commodity


def rule_of(row: FlowRow) -> tuple[Commodity, int] | None:
    """Commodity and tag id that a row of the agent matches; None for any other row."""
    parts = split_cookie(row.cookie)
    values = {name: value for name, value, mask in row.match if mask is None}
    if (parts.scheme, parts.kind) != (OWNER, Kind.AGENT):
        return None
    if row.table_id == Table.NOTIFY and "vlan_vid" in values:
        return HEARD, values["vlan_vid"] & ~VLAN_PRESENT
    if not {"vlan_vid", "ipv4_dst"} <= values.keys():
        return None
    return Commodity(values["ipv4_dst"], values.get("ipv4_src")), values["vlan_vid"] & ~VLAN_PRESENT


def rules_in(flows: Iterable[FlowRow]) -> Rules:
    """The agent's rows among those found in the switch."""
    rules: dict[Commodity, dict[int, FlowRow]] = {}
    for row in flows:
        found = rule_of(row)
        if found is not None:
            rules.setdefault(found[0], {})[found[1]] = row
    return rules


def avoided_ports(state: AgentState) -> dict[int, PortHealth]:
    """Ports whose links rows of the agent avoid: one that is live has just returned, and waits like any other."""
    avoided = {
        split_cookie(row.cookie).tag_id
        for rows in state.rules.values()
        for row in rows.values()
        if row.hard_timeout_s == state.hard_timeout_s  # rows for tags out of date have a time-out of their own
    }
    return state.ports_of(avoided)


def known_from(state: AgentState) -> dict[Commodity, frozenset[int]]:
    """S, rebuilt from the rows in the switch. Untagged rows that no local failure explains speak for themselves.

    What notifications named is not believed again: another plan may have numbered its sets differently.
    """
    known: dict[Commodity, frozenset[int]] = {}
    down = state.unused_ports
    for commodity, found in state.rules.items():
        rows = {tag_id: row for tag_id, row in found.items() if _is_planned(state.index, commodity, row)}
        tags = {tag_id for tag_id in rows if tag_id != NO_TAG}
        if NO_TAG in rows:
            local = rule_grabber(state.index, commodity, NO_TAG, state.down_ports, state.held_ports)
            pushed = split_cookie(rows[NO_TAG].cookie).tag_id
            tags |= {pushed} if local is None or local.tag_id != pushed else set()
        true = frozenset(tag_id for tag_id in tags if not state.index.holds_live_link(tag_id, down))
        is_ours = commodity.destination in state.index.local_ipv4 or commodity in state.index.commodities
        if true and is_ours:
            known[commodity] = true
    return known


def _is_planned(index: BackupIndex, commodity: Commodity, row: FlowRow) -> bool:
    """Whether the plan could have led to a row; a row of an older plan may name another set by the same tag id."""
    ports = {action.port_no for action in row.apply_actions if isinstance(action, Output)}
    if not ports or commodity.destination in index.local_ipv4:
        return True
    planned = index.row(commodity, split_cookie(row.cookie).tag_id)
    return planned is not None and planned.out_port in ports


def refill(index: BackupIndex, event: SwitchRead) -> tuple[AgentAction, ...]:
    """All planned rows, if the switch has none of them: it was restarted. A part of them is somebody's work in hand."""
    owners = {_owner(row) for row in index.flows}
    if not index.flows or any(_owner(row) in owners for row in event.flows):
        return ()
    groups = tuple(group for group in index.groups if group.group_id not in event.group_ids)
    refilled = Log("refilled", {"flows": len(index.flows), "groups": len(groups)})
    return Refill(groups, index.flows), refilled


def _owner(row: FlowRow) -> tuple[int, int]:
    parts = split_cookie(row.cookie)
    return parts.scheme, parts.kind
