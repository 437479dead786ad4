"""Plans that are wrong in known ways: what `verify` must see."""

from __future__ import annotations

from dataclasses import replace

from ryu_apps.plan.failure_sets import FailureSets
from ryu_apps.plan.ids import VLAN_PRESENT, Priority, Table, port_group
from ryu_apps.plan.notification import is_for_notifications
from ryu_apps.plan.recovery_rows import UNTAGGED, split_tci, tag_tci
from ryu_apps.plan.rows import FlowRow, Group, Learn, LearnLoad, Load, Output, Resubmit, RulePlan, match

_LEARNED_PORT = "reg3"


def retag_with_the_last_link_only(plan: RulePlan) -> RulePlan:
    """Failed-set extension forgets what the packet knew: the new tag names only the link that has just been met."""
    sets = FailureSets(*plan.tag_space)

    def forgetful(row: FlowRow) -> FlowRow:
        known = {name: value for name, value, _ in row.match}["vlan_vid"] & ~VLAN_PRESENT
        new_tag, _ = split_tci(row.apply_actions[0].value)
        last = sets.tag_id_of[sets.masks[new_tag] & ~sets.masks[known]]
        return replace(row, apply_actions=(Load("vlan_tci", 0, 16, tag_tci(last, 0)), Resubmit(Table.ROUTE)))

    flows = [forgetful(row) if row.table_id == Table.EXTEND and _extends(row) else row for row in plan.flows]
    return replace(plan, flows=tuple(flows))


def _extends(row: FlowRow) -> bool:
    return split_tci(row.apply_actions[0].value)[0] != 0  # not one that starts afresh


def learn_without_tag(plan: RulePlan) -> RulePlan:
    """Learned rules send untagged packets on by the backup port and leave them untagged."""
    ports = sorted(group.group_id for group in plan.groups if group.group_id < 0xFFFF)
    flows = [row if is_for_notifications(row) else _corrupted(row) for row in plan.flows]
    flows += [
        FlowRow(
            Table.ROUTE,
            Priority.RECOVERY,
            match(vlan_vid=UNTAGGED, **{_LEARNED_PORT: port}),
            (Group(port_group(port)),),
        )
        for port in ports
    ]
    return replace(plan, flows=tuple(flows))


def _corrupted(row: FlowRow) -> FlowRow:
    return replace(row, apply_actions=_learning_ports(row))


def _learning_ports(row: FlowRow) -> tuple:
    """Actions whose `learn`s note the port of the row instead of its tag."""
    groups = [action.group_id for action in row.apply_actions if isinstance(action, Group)]
    return tuple(
        replace(action, loads=(LearnLoad(_LEARNED_PORT, 0, 32, groups[0]),)) if isinstance(action, Learn) else action
        for action in row.apply_actions
    )


def never_learn(plan: RulePlan) -> RulePlan:
    """Packets find their way, and backtrack at the failure for ever."""
    flows = [
        row
        if is_for_notifications(row)
        else replace(row, apply_actions=tuple(action for action in row.apply_actions if not isinstance(action, Learn)))
        for row in plan.flows
    ]
    return replace(plan, flows=tuple(flows))


def send_elsewhere(plan: RulePlan, number: int, port_no: int) -> RulePlan:
    """One row leads to another port."""
    flows = list(plan.flows)
    leading = [place for place, row in enumerate(flows) if _leads(row)]
    if not leading:
        return plan
    place = leading[number % len(leading)]
    actions = tuple(_elsewhere(action, port_no) for action in flows[place].apply_actions)
    flows[place] = replace(flows[place], apply_actions=actions)
    return replace(plan, flows=tuple(flows))


def _leads(row: FlowRow) -> bool:
    return row.table_id != Table.NOTIFY and any(isinstance(action, (Group, Output)) for action in row.apply_actions)


def _elsewhere(action, port_no):
    if isinstance(action, Output):
        return Output(port_no)
    if isinstance(action, Group):
        return Group(port_group(port_no)) if action.group_id < 0xFFFF else action
    return action


class CorruptedRestoration:
    """A restoration whose answers are changed: `corrupt` gets the honest one and the failed links, and returns rows."""

    def __init__(self, honest, corrupt):
        self._honest, self._corrupt = honest, corrupt

    def rows(self, failed):
        return self._corrupt(self._honest, failed)


def hear_of_nothing(_honest, _failed):
    """The controller writes nothing."""
    return {}


def forget_one_switch(honest, failed):
    """The switch with the most rows to rewrite is left out."""
    rows = honest.rows(failed)
    return {dpid: rows[dpid] for dpid in sorted(rows, key=lambda dpid: (len(rows[dpid]), dpid))[:-1]}


def miss_a_link(honest, failed):
    """The controller heard of all failures but one."""
    return honest.rows(failed - {min(failed)})


def lead_one_row_elsewhere(honest, failed):
    """One row of one switch sends by its first link port, or drops what leaves by that port."""
    rows = {dpid: list(each) for dpid, each in honest.rows(failed).items()}
    dpid = max(rows, key=lambda dpid: len(rows[dpid]))
    actions = tuple(_elsewhere(action, 2) for action in rows[dpid][0].apply_actions)
    changed = actions if actions != rows[dpid][0].apply_actions else ()
    rows[dpid][0] = replace(rows[dpid][0], apply_actions=changed)
    return rows


def go_on_tagging(honest, failed):
    """One switch's rows send by a bypass that tags: every rewritten row is resubmitted as a tagged packet."""
    sent = (Load("vlan_tci", 0, 16, tag_tci(1, 2)), Resubmit(Table.ROUTE))
    return {
        dpid: tuple(replace(row, apply_actions=sent) if row.apply_actions else row for row in rows)
        for dpid, rows in honest.rows(failed).items()
    }
