"""From the tunnel plans in force to new ones without losing a packet: make before break, over the whole network.

1. Every switch learns the new tunnels, beside the old.
2. Ingress switches send by the new plan; flows that need not move stay where they are (`Held`).
3. Once no packet of the old tunnels is under way, they are taken away.

Each step is installed by `diff`, on the switches in any order; the next begins once all of them have done it.
"""

from __future__ import annotations

from dataclasses import replace

from mininet_topos.errors import PlanError
from ryu_apps.plan.diff import flows_by_key, groups_by_id
from ryu_apps.plan.ids import Table
from ryu_apps.plan.order import canonical
from ryu_apps.plan.rows import RulePlan


def replacement_steps(old: dict[int, RulePlan], new: dict[int, RulePlan]) -> tuple[dict[int, RulePlan], ...]:
    """Plans to install one after another, the last being `new`.

    Parameters
    ----------
    old, new
        Tunnel plans by datapath id. `new` comes from a planner that was given the old one's `held`, so that a label
        means the same in both.

    Raises
    ------
    PlanError
        The plans are not for the same switches.
    """
    if old.keys() != new.keys():
        raise PlanError(
            f"plans of switches {sorted(old)} cannot be replaced by plans of {sorted(new)}; plan one network"
        )
    both = {dpid: _tunnels_of_both(old[dpid], new[dpid]) for dpid in new}
    entering_old = {dpid: _with_tunnels(plan, both[dpid]) for dpid, plan in old.items()}
    entering_new = {dpid: _with_tunnels(plan, both[dpid]) for dpid, plan in new.items()}
    return entering_old, entering_new, new


def _tunnels_of_both(old: RulePlan, new: RulePlan) -> RulePlan:
    """Rows by label of both plans; where they differ (another set-up of priorities) the new one's."""
    rows = {
        key: row for plan in (old, new) for key, row in flows_by_key(plan).items() if row.table_id == Table.TE_TRANSIT
    }
    return replace(new, flows=tuple(rows.values()))


def _with_tunnels(plan: RulePlan, tunnels: RulePlan) -> RulePlan:
    entering = [row for row in plan.flows if row.table_id != Table.TE_TRANSIT]
    groups = tuple(groups_by_id(plan).values())
    return canonical(replace(plan, flows=(*entering, *tunnels.flows), groups=groups))
