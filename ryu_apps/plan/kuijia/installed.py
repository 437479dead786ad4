"""Tunnel plans as switches hold them: in one of the shapes of Kuijia section 4.3 (docs/decisions/decomposition.md)."""

from __future__ import annotations

from collections.abc import Mapping

from ryu_apps.plan.choices import REPLICATED
from ryu_apps.plan.decompose.shapes import decompose_plan
from ryu_apps.plan.ids import SPARE_TABLES, Table
from ryu_apps.plan.kuijia.figure8 import CLASS_PARTS
from ryu_apps.plan.rows import RulePlan

# Rows about failures are added to the table of hash ranges while the network runs, so that one stays as planned.
TABLES = (int(Table.TE_INGRESS), int(Table.TE_TRANSIT))


def installed_plans(plans: Mapping[int, RulePlan], shape: str) -> dict[int, RulePlan]:
    """The plans with the tables that nobody adds rows to in a shape.

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
        return dict(plans)
    return {
        dpid: decompose_plan(plan, shape, SPARE_TABLES, only=TABLES, parts=CLASS_PARTS)[0]
        for dpid, plan in plans.items()
    }
