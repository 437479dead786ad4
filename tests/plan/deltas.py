"""What a switch holds once the messages of a delta have reached it: the oracle of the tests about `diff`."""

from __future__ import annotations

from dataclasses import replace

from ryu_apps.plan.diff import PlanDelta, flows_by_key, groups_by_id
from ryu_apps.plan.order import canonical
from ryu_apps.plan.rows import RulePlan


def apply_delta(delta: PlanDelta, old: RulePlan, wanted: RulePlan | None = None) -> RulePlan:
    """The plan after `delta`, in canonical order; what no message carries, as backup rows, is taken from `wanted`."""
    flows, groups = flows_by_key(old), groups_by_id(old)
    for row in delta.delete_flows:
        del flows[row.key]
    for group in delta.delete_groups:
        del groups[group.group_id]
    flows.update({row.key: row for row in (*delta.add_flows, *delta.modify_flows)})
    groups.update({row.group_id: row for row in (*delta.add_groups, *delta.modify_groups)})
    return canonical(replace(wanted or old, flows=tuple(flows.values()), groups=tuple(groups.values())))
