"""Flow entries of tunnels on Gscale (kuijia-fields): rows and fields of all switches in every shape of the tables."""

from __future__ import annotations

from dataclasses import dataclass

from experiments.campaign.parameters import Parameters
from experiments.campaign.rows import RowType
from mininet_topos.catalogue import load_topology
from ryu_apps.plan.choices import SHAPES
from ryu_apps.plan.ids import Table
from ryu_apps.plan.kuijia.commodities import TunnelCommodity
from ryu_apps.plan.kuijia.installed import installed_plan
from ryu_apps.plan.kuijia.options import TunnelOptions
from ryu_apps.schemes import plan_tunnels
from te_solver.demands import random_pairs, with_classes
from te_solver.network import to_network
from te_solver.solve import SolveOptions, solve
from te_solver.tunnels import to_problem

TOPOLOGY = "gscale"
_DRAWINGS_A_SEED = 1000


@dataclass(frozen=True, slots=True)
class FieldsParameters(Parameters):
    """A drawing of pairs by a seed, demand of a pair, set-up of queues, and how pairs are served."""

    drawing: int
    seed: int
    demand_mbps: int
    setup: str
    pairs: int
    tunnels: int
    low_to_high: float


@dataclass(frozen=True, slots=True)
class Count:
    """Rows, and their match fields and actions."""

    rows: int
    fields: int


@dataclass(frozen=True, slots=True)
class Counts:
    """By shape: of all tables, and of the label tables."""

    counts: dict[str, dict[str, Count]]


ROWS = RowType("sweep", FieldsParameters, Counts, "kuijia-fields/")


def count_fields(own: FieldsParameters) -> Counts:
    """Rows and fields of all switches."""
    plans = plan_tunnels("kuijia", load_topology(TOPOLOGY), commodities(own), TunnelOptions(priorities=own.setup), ())
    counts = {}
    for shape in SHAPES:
        outcomes = [each for plan in plans.values() for each in installed_plan(plan, shape)[1]]
        labels = [each for each in outcomes if each.table_id == Table.TE_TRANSIT]
        counts[shape] = {
            scope: Count(sum(each.rows for each in chosen), sum(each.fields for each in chosen))
            for scope, chosen in (("all", outcomes), ("labels", labels))
        }
    return Counts(counts)


def commodities(own: FieldsParameters) -> tuple[TunnelCommodity, ...]:
    """The drawing's pairs, with the weights that traffic engineering gives their tunnels."""
    from ryu_apps.plan.kuijia.sources import allocated_commodities

    network = to_network(load_topology(TOPOLOGY))
    seed = _DRAWINGS_A_SEED * own.seed + own.drawing
    demands = random_pairs(network.topology, own.pairs, own.demand_mbps, seed)
    if own.setup != "single":
        demands = with_classes(demands, own.low_to_high)
    return allocated_commodities(solve(to_problem(network, demands, own.tunnels), SolveOptions(te_solver="fast")))
