"""Tunnel plans as switches hold them: in one of the shapes of Kuijia section 4.3 (docs/decisions/decomposition.md).

Rows of failures stay as they are planned, in the table of hash ranges, over the first table that this one becomes. They
match slot and commodity by themselves and send at once, so a packet that meets one sees no further table; they come and
go one by one, whatever the shape.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ryu_apps.plan.choices import REPLICATED
from ryu_apps.plan.decompose.shapes import TableOutcome, decompose_plan
from ryu_apps.plan.ids import SPARE_TABLES, Priority, Table
from ryu_apps.plan.kuijia.figure8 import CLASS_PARTS
from ryu_apps.plan.rows import FlowRow, RulePlan, sorted_flows

# The app adds rows of its own to the first table of all, so that one stays as planned.
TABLES = (int(Table.TE_INGRESS), int(Table.TE_HASH), int(Table.TE_TRANSIT))


def installed_plans(plans: Mapping[int, RulePlan], shape: str) -> dict[int, RulePlan]:
    """The plans with their tables in a shape.

    Parameters
    ----------
    plans
        By datapath id; rows of failures may be among them.

    Raises
    ------
    BadInputError
        An unknown shape.
    """
    if shape == REPLICATED:
        return dict(plans)  # as they are planned; to find that out anew takes longer than to plan them
    return {dpid: installed_plan(plan, shape)[0] for dpid, plan in plans.items()}


def installed_plan(plan: RulePlan, shape: str) -> tuple[RulePlan, tuple[TableOutcome, ...]]:
    """A plan in a shape, and what became of each table; rows of failures are in none of these counts.

    Of plans without tunnels, which are counted and never installed in a shape, all tables are taken apart.

    Raises
    ------
    BadInputError
        An unknown shape.
    """
    failover_rows = tuple(row for row in plan.flows if _is_failover_row(row))
    base = replace(plan, flows=tuple(row for row in plan.flows if not _is_failover_row(row)))
    only = TABLES if any(row.table_id in TABLES for row in plan.flows) else None
    made, outcomes = decompose_plan(base, shape, SPARE_TABLES, only=only, parts=CLASS_PARTS)
    return replace(made, flows=sorted_flows((*made.flows, *failover_rows))), outcomes


def _is_failover_row(row: FlowRow) -> bool:
    return row.table_id == Table.TE_HASH and row.priority > Priority.RECOVERY
