"""A plan whose hash ranges leave slots to nobody is refused."""

from __future__ import annotations

from dataclasses import replace

import pytest

from mininet_topos.errors import PlanError
from mininet_topos.topology import LinkId
from ryu_apps.plan.check import check_plan, violations
from ryu_apps.plan.check_ranges import range_gaps
from ryu_apps.plan.ids import Priority, Table
from ryu_apps.plan.rows import FlowRow, Multipath, RulePlan, match
from ryu_apps.schemes import plan_tunnels
from tests.plan.kuijia.networks import figure1, figure1_traffic

PLAN = plan_tunnels(
    "kuijia", figure1(), (figure1_traffic((0.5, 0.3, 0.2)),), failures=[frozenset({LinkId("s2", "s4")})]
)[1]
BASE = [row for row in PLAN.flows if row.table_id == Table.TE_HASH and row.priority == Priority.PRIMARY]


@pytest.mark.parametrize("lost", BASE, ids=lambda row: str(row.match[0][1:]))
def test_each_base_row_is_missed_with_the_slots_that_it_takes(lost: FlowRow) -> None:
    plan = replace(PLAN, flows=tuple(row for row in PLAN.flows if row != lost))
    _, _, mask = next(part for part in lost.match if part[0] == "reg0")
    assert mask is not None
    slots = 1024 >> mask.bit_count()
    assert violations(plan) == (f"the hash ranges of reg1=0x20 take {1024 - slots} of 1024 slots; they have to tile",)
    with pytest.raises(PlanError, match="the plan of s1 cannot be installed: the hash ranges"):
        check_plan(plan)


def test_rows_of_failures_need_not_tile() -> None:
    above = [row for row in PLAN.flows if row.priority > Priority.RECOVERY and row.table_id == Table.TE_HASH]
    assert above
    assert violations(PLAN) == ()
    assert violations(replace(PLAN, flows=tuple(row for row in PLAN.flows if row not in above[1:]))) == ()


def test_slots_are_those_that_the_multipath_gives() -> None:
    spread = FlowRow(4, 1, match(), (Multipath("symmetric_l4", 0, "modulo_n", 3, "reg0"),), goto_table=5)
    rows = [FlowRow(5, Priority.PRIMARY, match(reg0=slot)) for slot in range(3)]
    assert list(range_gaps([spread, *rows])) == []
    assert list(range_gaps([spread, *rows[:2]])) == [((), 2, 3)]
    assert list(range_gaps(rows[:1])) == []
    assert list(range_gaps([spread, FlowRow(5, Priority.PRIMARY, match())])) == []
    assert violations(RulePlan(1, "s1", (replace(spread, cookie=9 << 56), replace(rows[0], cookie=9 << 56))))
