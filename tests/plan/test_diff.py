"""A delta leads from one plan to the other, and its phases never leave a switch with something dangling."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given

from mininet_topos.errors import PlanError
from ryu_apps.plan.diff import (
    INSTALL_ORDER,
    Command,
    Operation,
    Phase,
    diff,
    groups_named_by,
    groups_used_by,
    install_phases,
)
from ryu_apps.plan.rows import Bucket, FlowRow, Group, GroupRow, Match, Output, Resubmit, RulePlan, match
from tests.plan.deltas import apply_delta
from tests.plan.strategies import plan_pairs, plans

Flows = dict[tuple[int, int, Match], FlowRow]
TO_5 = match(eth_type=0x800, ipv4_dst=5)


class StrictSwitch:
    """A switch that refuses what OpenFlow 1.3 calls an error, and checks itself at every barrier."""

    def __init__(self, plan: RulePlan) -> None:
        self.flows: Flows = {row.key: row for row in plan.flows}
        self.groups = {row.group_id: row for row in plan.groups}

    def obey(self, command: Command) -> None:
        if isinstance(command.row, FlowRow):
            self._flow(command.operation, command.row)
        else:
            self._group(command.operation, command.row)

    def _flow(self, operation: Operation, row: FlowRow) -> None:
        if operation is Operation.MODIFY:
            held = self.flows[row.key]  # OpenFlow would ignore a modification of nothing; we want to know
            kept = (held.cookie, held.hard_timeout_s, held.send_flow_removed)
            assert kept == (row.cookie, row.hard_timeout_s, row.send_flow_removed), "a modification cannot change these"
        if operation is Operation.DELETE:
            del self.flows[row.key]
        else:
            self.flows[row.key] = row

    def _group(self, operation: Operation, row: GroupRow) -> None:
        assert (row.group_id in self.groups) == (operation is not Operation.ADD), f"{operation} of {row}"
        if operation is Operation.DELETE:
            del self.groups[row.group_id]
        else:
            self.groups[row.group_id] = row

    def check(self) -> None:
        for row in self.flows.values():
            assert groups_named_by((*row.apply_actions, *row.write_actions)) <= self.groups.keys(), row
        for group in self.groups.values():
            assert groups_used_by(group) <= self.groups.keys(), group
        assert not self._circles(), "groups chain in a circle"

    def _circles(self) -> bool:
        left = dict(self.groups)
        while True:
            free = [group_id for group_id, row in left.items() if not groups_used_by(row) & left.keys()]
            if not free:
                return bool(left)
            for group_id in free:
                del left[group_id]


def run(old: RulePlan, new: RulePlan, phases: tuple[Phase, ...]) -> StrictSwitch:
    """Carry the phases out backwards as well as forwards inside each phase: a switch may reorder up to a barrier."""
    shared = {row.key for row in old.flows} & {row.key for row in new.flows}
    switch = StrictSwitch(old)
    for phase in phases:
        other_way = StrictSwitch(
            RulePlan(new.dpid, new.node, tuple(switch.flows.values()), tuple(switch.groups.values()))
        )
        for command in reversed(phase.commands):
            other_way.obey(command)
            other_way.check()
        for command in phase.commands:
            switch.obey(command)
            switch.check()
            assert shared <= switch.flows.keys(), "a row that both plans hold was gone for a moment"
        assert (switch.flows, switch.groups) == (other_way.flows, other_way.groups)
    return switch


@given(plan_pairs())
def test_a_delta_leads_from_the_old_plan_to_the_new_one_and_says_nothing_about_rows_that_stay(
    pair: tuple[RulePlan, RulePlan],
) -> None:
    old, new = pair
    delta = diff(old, new)
    assert apply_delta(delta, old, new) == new
    assert not {*delta.add_flows, *delta.modify_flows} & set(old.flows)
    assert not {*delta.delete_flows} & set(new.flows)
    assert not {*delta.add_groups, *delta.modify_groups} & set(old.groups)


@given(plans())
def test_a_plan_does_not_differ_from_itself(plan: RulePlan) -> None:
    assert diff(plan, plan).is_empty
    assert install_phases(diff(plan, plan)) == ()


@given(plan_pairs())
def test_no_phase_leaves_anything_dangling_and_the_last_leaves_the_new_plan(pair: tuple[RulePlan, RulePlan]) -> None:
    old, new = pair
    switch = run(old, new, install_phases(diff(old, new)))
    assert switch.flows == {row.key: row for row in new.flows}
    assert switch.groups == {row.group_id: row for row in new.groups}


def plan_of(*flows: FlowRow, groups: tuple[GroupRow, ...] = ()) -> RulePlan:
    return RulePlan(4, "s4", flows, groups)


def test_a_changed_action_is_modified_and_a_changed_cookie_replaces_the_row() -> None:
    row = FlowRow(0, 1, TO_5, (Output(2),), cookie=7)
    moved, renamed = replace(row, apply_actions=(Output(3),)), replace(row, cookie=8)
    assert diff(plan_of(row), plan_of(moved)).modify_flows == (moved,)
    assert diff(plan_of(row), plan_of(renamed)).add_flows == (renamed,)
    assert diff(plan_of(row), plan_of(renamed)).delete_flows == ()


def test_the_last_table_is_filled_first_and_the_first_is_emptied_first() -> None:
    rows = tuple(FlowRow(table, 1, TO_5, (), goto_table=table + 1) for table in (0, 1, 2))
    filled = [phase.commands[0].row for phase in install_phases(diff(plan_of(), plan_of(*rows)))]
    emptied = [phase.commands[0].row for phase in install_phases(diff(plan_of(*rows), plan_of()))]
    assert filled == list(reversed(rows))
    assert emptied == list(rows)


def test_a_row_of_another_priority_is_there_before_the_old_one_goes() -> None:
    phases = install_phases(diff(plan_of(FlowRow(0, 1, TO_5)), plan_of(FlowRow(0, 2, TO_5))))
    assert [command.operation for phase in phases for command in phase.commands] == [Operation.ADD, Operation.DELETE]


def test_a_chain_of_groups_that_turns_round_never_closes_a_circle() -> None:
    def chained(first: int, second: int) -> RulePlan:
        return plan_of(
            groups=(
                GroupRow(first, "all", (Bucket((Group(second),)),)),
                GroupRow(second, "all", (Bucket((Output(1),)),)),
            )
        )

    old, new = chained(1, 2), chained(2, 1)
    assert len(install_phases(diff(old, new))) == 2
    run(old, new, install_phases(diff(old, new)))


def test_a_simulated_switch_notices_an_order_that_breaks_before_it_makes() -> None:
    old = plan_of(FlowRow(0, 1, TO_5, (Group(1),)), groups=(GroupRow(1, "all", ()),))
    new = plan_of(FlowRow(0, 1, TO_5, (Group(2),)), groups=(GroupRow(2, "all", ()),))
    phases = install_phases(diff(old, new))
    run(old, new, phases)
    with pytest.raises(AssertionError):
        run(old, new, tuple(reversed(phases)))


def test_phases_come_in_the_order_of_the_table() -> None:
    old = plan_of(
        FlowRow(0, 1, TO_5, (Group(1),)), FlowRow(1, 1, TO_5), groups=(GroupRow(1, "all", ()), GroupRow(3, "all", ()))
    )
    new = plan_of(
        FlowRow(0, 1, TO_5, (Resubmit(2),)),
        FlowRow(2, 1, TO_5, (Group(2),)),
        groups=(GroupRow(2, "all", ()), GroupRow(3, "all", (Bucket(()),))),
    )
    purposes = [phase.purpose for phase in install_phases(diff(old, new))]
    assert list(dict.fromkeys(purposes)) == [purpose for purpose, _ in INSTALL_ORDER]


def test_plans_of_two_switches_have_no_difference() -> None:
    with pytest.raises(PlanError, match="switch 5"):
        diff(plan_of(), RulePlan(5, "s5"))


def test_a_plan_with_two_rows_of_one_key_is_refused() -> None:
    row = FlowRow(0, 1, TO_5)
    with pytest.raises(PlanError, match="two flows"):
        diff(plan_of(), plan_of(row, replace(row, cookie=3)))
    with pytest.raises(PlanError, match="two groups"):
        diff(plan_of(), plan_of(groups=(GroupRow(1, "all", ()), GroupRow(1, "ff", ()))))


def test_groups_in_a_circle_have_no_install_order() -> None:
    circle = (GroupRow(1, "all", (Bucket((Group(2),)),)), GroupRow(2, "ff", (Bucket((), watch_group=1),)))
    with pytest.raises(PlanError, match=r"\[1, 2\]"):
        install_phases(diff(plan_of(), plan_of(groups=circle)))
