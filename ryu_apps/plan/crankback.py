"""CB and CBC: packets that meet a failure walk back one by one, for as long as the failure lasts.

The rows are those of SD-FAST's learned mode without their memory: nobody is told of a failure, so every regular packet
of an affected flow meets it anew. Each regular packet crosses the state table (CLASSIFY), the route table and a
fast-failover group, as crankback's do in the papers (docs/decisions/crankback-baselines.md). In CBC a controller
rewrites the regular routes besides (restoration.py).
"""

from __future__ import annotations

from dataclasses import replace

from mininet_topos.topology import Topology
from ryu_apps.plan.ids import SchemeId, Table, cookie_of_scheme
from ryu_apps.plan.options import PlanOptions
from ryu_apps.plan.rows import FlowRow, Learn, Resubmit, RulePlan
from ryu_apps.plan.sdfast import plan_sdfast

_ASK_MEMORY = Resubmit(Table.LEARNED)


def plan_cb(topology: Topology, options: PlanOptions) -> dict[int, RulePlan]:
    """Rule plans of CB, by datapath id (raises `PlanLimitError` like `plan_sdfast`)."""
    return _plan(topology, options, SchemeId.CB)


def plan_cbc(topology: Topology, options: PlanOptions) -> dict[int, RulePlan]:
    """Rule plans of CBC, by datapath id: those of CB (raises `PlanLimitError` like `plan_sdfast`)."""
    return _plan(topology, options, SchemeId.CBC)


def _plan(topology: Topology, options: PlanOptions, scheme: SchemeId) -> dict[int, RulePlan]:
    plans = plan_sdfast(topology, replace(options, mode="learned"))
    return {
        dpid: replace(
            plan,
            flows=tuple([_without_memory(row, scheme) for row in plan.flows]),
            backups=(),  # for whoever changes rows when a port dies; here the groups alone act
            escalations=(),
        )
        for dpid, plan in plans.items()
    }


def _without_memory(row: FlowRow, scheme: SchemeId) -> FlowRow:
    actions = tuple([action for action in row.apply_actions if not isinstance(action, Learn) and action != _ASK_MEMORY])
    return replace(row, apply_actions=actions, cookie=cookie_of_scheme(row.cookie, scheme))
