"""CB and CBC: packets that meet a failure backtrack one by one, for as long as the failure lasts.

The rows are those of SD-FAST's learned mode without their memory: nobody is notified of a failure, so every regular
packet of an affected flow meets it anew. Each regular packet crosses the state table (CLASSIFY), the route table and a
fast-failover group, as crankback's do in the papers (docs/decisions/crankback-baselines.md). In CBC a controller
rewrites the regular routes besides (restoration.py).
"""

from __future__ import annotations

from dataclasses import replace

from mininet_topos.topology import Topology
from ryu_apps.plan.choices import LEARNED, OFF
from ryu_apps.plan.ids import Table, cookie_of_scheme
from ryu_apps.plan.options import PlanOptions
from ryu_apps.plan.rows import FlowRow, Learn, Resubmit, RulePlan
from ryu_apps.plan.sdfast import plan_sdfast

_ASK_MEMORY = Resubmit(Table.LEARNED)


def plan_crankback(topology: Topology, options: PlanOptions, owner: int) -> dict[int, RulePlan]:
    """Rule plans of CB and CBC, by datapath id (raises `PlanLimitError` like `plan_sdfast`); cookies name `owner`."""
    plans = plan_sdfast(topology, replace(options, mode=LEARNED.name, notification=OFF))
    return {
        dpid: replace(
            plan,
            flows=tuple([_without_memory(row, owner) for row in plan.flows]),
            backups=(),  # for agents that change rows when a port fails; here the groups alone act
            extensions=(),
        )
        for dpid, plan in plans.items()
    }


def _without_memory(row: FlowRow, owner: int) -> FlowRow:
    actions = tuple([action for action in row.apply_actions if not isinstance(action, Learn) and action != _ASK_MEMORY])
    return replace(row, apply_actions=actions, cookie=cookie_of_scheme(row.cookie, owner))
