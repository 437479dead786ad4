"""Plans of whole networks in every shape."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import permutations
from random import Random

from mininet_topos.catalogue import load_topology
from ryu_apps.plan.decompose.shapes import TableOutcome, decompose_plan
from ryu_apps.plan.ids import SPARE_TABLES
from ryu_apps.plan.kuijia.commodities import TunnelCommodity
from ryu_apps.plan.kuijia.figure8 import CLASS_PARTS
from ryu_apps.plan.kuijia.options import TunnelOptions
from ryu_apps.plan.kuijia.plan import Failures
from ryu_apps.plan.kuijia.sources import equal_commodities
from ryu_apps.plan.rows import RulePlan
from ryu_apps.schemes import plan_tunnels

GSCALE = load_topology("gscale")


def commodities(n_pairs: int, priorities: Iterable[int], seed: int) -> tuple[TunnelCommodity, ...]:
    """Random pairs of Gscale, each with a demand of every priority, over three tunnels of equal weight."""
    pairs = Random(seed).sample(list(permutations(GSCALE.node_names, 2)), n_pairs)
    wanted = tuple(priorities)
    return tuple(replace(each, priority=one) for each in equal_commodities(GSCALE, pairs) for one in wanted)


def gscale_plans(
    traffic: tuple[TunnelCommodity, ...], priorities: str, failures: Failures = (), scheme: str = "kuijia"
) -> dict[int, RulePlan]:
    return plan_tunnels(scheme, GSCALE, traffic, TunnelOptions(priorities=priorities), failures)


def in_shape(
    plans: dict[int, RulePlan], shape: str, *, strict: bool = True, only: tuple[int, ...] | None = None
) -> tuple[dict[int, RulePlan], list[TableOutcome]]:
    """All plans in a shape, and what became of all tables."""
    made, outcomes = {}, []
    for dpid, plan in plans.items():
        made[dpid], found = decompose_plan(plan, shape, SPARE_TABLES, strict=strict, parts=CLASS_PARTS, only=only)
        outcomes += found
    return made, outcomes
