"""Dumps against plans: what is missing, what is stale, what belongs to a failure that still lasts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.analysis.dumps import compare_dump
from mininet_topos.catalogue import load_topology
from ryu_apps.plan.ids import Kind, Owner, Priority, Table, cookie
from ryu_apps.plan.in_band.plan import plan_in_band
from ryu_apps.plan.in_band.values import Channel, Service
from ryu_apps.plan.options import PlanOptions
from ryu_apps.plan.row_text import flow_text, group_text
from ryu_apps.plan.rows import FlowRow, GroupRow, Load, Output, RulePlan, match
from ryu_apps.schemes import plan_network
from tests import schemes

PLAN: RulePlan = plan_network("sdfast", load_topology("figure2"), PlanOptions())[2]
TAG_ID = 4


def learned_row(tag_id: int = TAG_ID, kind: Kind = Kind.LEARNED) -> FlowRow:
    return FlowRow(
        Table.LEARNED,
        Priority.RECOVERY,
        match(eth_type=0x800, ipv4_dst=0x0A000005),
        (Load("vlan_tci", 0, 16, 0x3000 | tag_id),),
        cookie=cookie(schemes.SDFAST, kind, tag_id, 0x0A000005),
    )


def never(_tag_id: int) -> bool:
    return False


def test_a_switch_that_holds_its_plan_is_clean() -> None:
    report = compare_dump(PLAN, PLAN.flows, PLAN.groups, never)
    assert report.is_clean
    assert report.temporary == ()
    assert report.difference == ""


def test_rows_of_in_band_control_are_nobodys_fault() -> None:
    control = plan_in_band(load_topology("figure2"), Channel("s1", (Service(6653),))).plans[2]
    assert control.groups
    report = compare_dump(PLAN, (*PLAN.flows, *control.flows), (*PLAN.groups, *control.groups), never)
    assert report.is_clean
    assert report.temporary == ()


@given(st.sets(st.sampled_from(range(len(PLAN.flows)))))
def test_every_row_that_is_gone_is_missing(gone: set[int]) -> None:
    held = [row for number, row in enumerate(PLAN.flows) if number not in gone]
    report = compare_dump(PLAN, held, PLAN.groups, never)
    assert set(report.missing) == {PLAN.flows[number] for number in gone}
    assert report.stale == ()


def test_a_row_with_other_actions_is_missing_and_stale() -> None:
    first = PLAN.flows[0]
    changed = FlowRow(first.table_id, first.priority, first.match, (Output(77),), cookie=first.cookie)
    report = compare_dump(PLAN, (changed, *PLAN.flows[1:]), PLAN.groups, never)
    assert report.missing == (first,)
    assert report.stale == (changed,)
    counts = "1 planned rows are missing, 1 are not planned"
    assert report.difference == f"{PLAN.node} ({counts}, such as {flow_text(first)})"


def test_missing_and_surplus_groups_are_reported() -> None:
    surplus = GroupRow(4711, "all", ())
    report = compare_dump(PLAN, PLAN.flows, (*PLAN.groups[1:], surplus), never)
    assert report.missing == (PLAN.groups[0],)
    assert report.stale == (surplus,)
    assert group_text(PLAN.groups[0]) in report.difference


@pytest.mark.parametrize("kind", [Kind.LEARNED, Kind.AGENT])
def test_a_recovery_row_belongs_while_its_link_is_down_and_is_stale_afterwards(kind: Kind) -> None:
    row = learned_row(kind=kind)
    during = compare_dump(PLAN, (*PLAN.flows, row), PLAN.groups, lambda tag_id: tag_id == TAG_ID)
    assert during.is_clean
    assert during.temporary == (row,)
    assert compare_dump(PLAN, (*PLAN.flows, row), PLAN.groups, never).stale == (row,)


def test_rows_of_the_edge_and_foreign_ones_are_left_alone() -> None:
    edge = FlowRow(0, Priority.EDGE, match(eth_type=0x806), (), cookie=cookie(Owner.EDGE, Kind.PLANNED))
    unexpected = FlowRow(0, 1, match(eth_type=0x88CC), (), cookie=0)
    assert compare_dump(PLAN, (*PLAN.flows, edge, unexpected), PLAN.groups, never).is_clean


def test_a_planned_row_of_another_plan_is_stale() -> None:
    other = FlowRow(0, 5, match(in_port=9), (), cookie=cookie(schemes.FFG, Kind.PLANNED))
    assert compare_dump(PLAN, (*PLAN.flows, other), PLAN.groups, never).stale == (other,)
