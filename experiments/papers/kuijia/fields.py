"""Kuijia's count of fields (section 5.4): all flow entries of the experiment, replicated against decomposed.

Set-up: Gscale, 5 random pairs, 3 tunnels a pair, 0.8 to 1.6 Gbit/s a pair, 4 queues, low:high = 10 : 1; weights are
those of the allocation. The paper gives an average and neither its pairs nor which tables it counted: here pairs are
drawn, and all tables are judged. Beside it stand the label tables alone, and the experiment of section 5.1 (one class).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from experiments.campaign.statistics import Estimate, mean_interval
from experiments.campaign.values import CampaignPlan, Json, Trial
from experiments.campaign.verdicts import AtMost, Claim, ClaimResult, judge
from experiments.papers.figure import Table
from experiments.papers.kuijia.trials import computed_trial, own_rows
from mininet_topos.catalogue import load_topology
from ryu_apps.plan.choices import REPLICATED, SHAPES
from ryu_apps.plan.decompose.figure8 import CLASS_PARTS
from ryu_apps.plan.decompose.shapes import decompose_plan
from ryu_apps.plan.ids import SPARE_TABLES
from ryu_apps.plan.ids import Table as FlowTable
from ryu_apps.plan.kuijia.commodities import Commodity
from ryu_apps.plan.kuijia.options import TunnelOptions
from ryu_apps.plan.kuijia.plan import plan_tunnels
from te_solver.demands import random_pairs, with_classes
from te_solver.network import to_network
from te_solver.solve import SolveOptions, solve
from te_solver.tunnels import to_problem

ID = "kuijia-fields"
TOPOLOGY, PAIRS, TUNNELS, LOW_TO_HIGH = "gscale", 5, 3, 10.0
DEMANDS_MBPS, QUICK_DEMANDS_MBPS = (800, 1200, 1600), (1200,)
DRAWINGS, QUICK_DRAWINGS = 10, 3
SETUPS = {"four": "4 queues", "single": "one class"}
SCOPES = {"all": "all tables", "labels": "label tables"}
JUDGED = ("four", "all")
PAPER_FIELDS = {"replicated": 2552, "decomposed": 1580}
PAPER_PERCENT = 100.0 * (PAPER_FIELDS["decomposed"] / PAPER_FIELDS["replicated"] - 1)
HEADER = ("set-up", *SHAPES, "change %, two-table", "change %, decomposed", "drawings")
RESULT_VERSION = 1
_DRAWINGS_A_SEED = 1000

Case = tuple[str, str]


def trials(plan: CampaignPlan) -> tuple[Trial, ...]:
    """One trial a drawing of pairs, demand and set-up of queues; a round is a drawing."""
    drawings = plan.rounds or (QUICK_DRAWINGS if plan.quick else DRAWINGS)
    demands = QUICK_DEMANDS_MBPS if plan.quick else DEMANDS_MBPS
    return tuple(
        computed_trial(
            ID,
            f"drawing{drawing:02d}-{demand_mbps}-{setup}",
            TOPOLOGY,
            plan,
            {
                "version": RESULT_VERSION,
                "drawing": drawing,
                "seed": plan.seed,
                "demand_mbps": demand_mbps,
                "setup": setup,
            },
        )
        for drawing in range(drawings)
        for demand_mbps in demands
        for setup in SETUPS
    )


def run_trial(trial: Trial) -> Json:
    """Row of a trial: rows and fields of all switches in every shape, of all tables and of the label tables."""
    setup = trial.parameters["setup"]
    plans = plan_tunnels(
        "kuijia", load_topology(TOPOLOGY), commodities(trial.parameters), TunnelOptions(priorities=setup), ()
    )
    counts = {}
    for shape in SHAPES:
        outcomes = [
            each for plan in plans.values() for each in decompose_plan(plan, shape, SPARE_TABLES, parts=CLASS_PARTS)[1]
        ]
        labels = [each for each in outcomes if each.table_id == FlowTable.TE_TRANSIT]
        counts[shape] = {
            scope: {"rows": sum(each.rows for each in chosen), "fields": sum(each.fields for each in chosen)}
            for scope, chosen in (("all", outcomes), ("labels", labels))
        }
    return {"parameters": dict(trial.parameters), "counts": counts}


def commodities(parameters: Mapping[str, Any]) -> tuple[Commodity, ...]:
    """The drawing's pairs, with the weights that traffic engineering gives their tunnels."""
    from ryu_apps.plan.kuijia.sources import allocated_commodities

    network = to_network(load_topology(TOPOLOGY))
    seed = _DRAWINGS_A_SEED * parameters["seed"] + parameters["drawing"]
    demands = random_pairs(network.topology, PAIRS, parameters["demand_mbps"], seed)
    if parameters["setup"] != "single":
        demands = with_classes(demands, LOW_TO_HIGH)
    return allocated_commodities(solve(to_problem(network, demands, TUNNELS), SolveOptions(method="fast")))


def fields_of(rows: Sequence[Json], case: Case) -> dict[str, dict[int, float]]:
    """Fields by shape and drawing, mean over demands.

    Parameters
    ----------
    rows : sequence of dict
    case : (str, str)
        A key of `SETUPS` and one of `SCOPES`.
    """
    setup, scope = case
    found: dict[str, dict[int, list[int]]] = {shape: defaultdict(list) for shape in SHAPES}
    for row in own_rows(rows, ID):
        if row["parameters"]["setup"] == setup:
            for shape in SHAPES:
                found[shape][row["parameters"]["drawing"]].append(row["counts"][shape][scope]["fields"])
    return {
        shape: {drawing: sum(values) / len(values) for drawing, values in sorted(by_drawing.items())}
        for shape, by_drawing in found.items()
    }


def changes_percent(rows: Sequence[Json], case: Case, shape: str) -> list[float]:
    """Change of fields from replicated to a shape, drawing by drawing (%)."""
    fields = fields_of(rows, case)
    return [100.0 * (fields[shape][drawing] / before - 1) for drawing, before in fields[REPLICATED].items()]


def every_case() -> Iterator[Case]:
    """All set-ups, with all tables and with the label tables alone; that which is judged first."""
    return ((setup, scope) for setup in SETUPS for scope in SCOPES)


def title_of(case: Case) -> str:
    """A case in words."""
    return f"{SETUPS[case[0]]}, {SCOPES[case[1]]}"


def claims(rows: Sequence[Json]) -> list[ClaimResult]:
    """At least 38 % fewer fields, on average over drawings; the paper's numbers and other cases stand beside."""
    results = []
    for case in every_case():
        is_judged = case == JUDGED
        for shape in SHAPES[:0:-1]:
            judged = is_judged and shape == "decomposed"
            claim = Claim(
                f"change of fields, {shape}, {title_of(case)}",
                "%",
                round(PAPER_PERCENT, 1) if judged else None,
                AtMost(-38.0) if judged else None,
            )
            results.append(judge(claim, estimate_of(changes_percent(rows, case, shape))))
    fields = fields_of(rows, JUDGED)
    for shape, paper in PAPER_FIELDS.items():
        claim = Claim(f"fields of all entries, {shape}, {title_of(JUDGED)}", "fields", paper)
        results.append(judge(claim, estimate_of(list(fields[shape].values()))))
    return results


def estimate_of(values: Sequence[float]) -> Estimate | None:
    """Mean over drawings with its interval; None without any."""
    return mean_interval(values) if values else None


def table(rows: Sequence[Json]) -> Table:
    """Mean fields and changes of every case."""
    found = []
    for case in every_case():
        fields = {shape: list(values.values()) for shape, values in fields_of(rows, case).items()}
        n_drawings = len(fields[REPLICATED])
        if n_drawings:
            means = (f"{sum(values) / n_drawings:,.0f}" for values in fields.values())
            changes = (f"{sum(changes_percent(rows, case, shape)) / n_drawings:.1f}" for shape in SHAPES[1:])
            found.append((title_of(case), *means, *changes, str(n_drawings)))
    return Table(HEADER, tuple(found))
