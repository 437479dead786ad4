"""Kuijia's Figure 8: memory of flow entries against the number of priorities, for three shapes of the tables.

Its network is the example of Figure 7, as `ryu_apps.plan.decompose.figure8` reads it. The numbers are computed: they
depend neither on a seed nor on the machine. The paper does not say which tables its curve counts, so the label tables
(as its Figure 6) and all tables (with the ingress, as its Figure 7) are judged alike.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from experiments.campaign.statistics import Estimate
from experiments.campaign.values import CampaignPlan, Json, Trial
from experiments.campaign.verdicts import AtLeast, AtMost, Claim, ClaimResult, judge
from experiments.papers.figure import Table
from experiments.papers.kuijia.trials import computed_trial, own_rows
from ryu_apps.plan.decompose.count import memory_bits
from ryu_apps.plan.decompose.figure8 import MAX_PRIORITIES, Point, figure8, slope
from ryu_apps.plan.ids import Table as FlowTable

ID = "kuijia-fig8"
SCOPES: Mapping[str, tuple[FlowTable, ...]] = {"labels": (FlowTable.TE_TRANSIT,), "all": tuple(FlowTable)}
TITLES = {"labels": "label tables", "all": "all tables, ingress too"}
PAPER_SLOPE, HALF_PERCENT = 0.36, 50.0
HEADER = ("tables", "priorities", "replicated", "two-table", "decomposed", "saved %")
RESULT_VERSION = 1


def trials(plan: CampaignPlan) -> tuple[Trial, ...]:
    """One trial for the label tables and one for all tables; quick is the same."""
    return tuple(
        computed_trial(ID, scope, "kuijia-figure7", plan, {"version": RESULT_VERSION, "scope": scope})
        for scope in SCOPES
    )


def run_trial(trial: Trial) -> Json:
    """Row of a trial: fields of every shape, for 1 to 8 priorities."""
    points = figure8(SCOPES[trial.parameters["scope"]])
    return {"parameters": dict(trial.parameters), "points": [point._asdict() for point in points]}


def points_of(rows: Sequence[Json]) -> dict[str, list[Point]]:
    """Points by scope, in the order of the scopes, as far as they are there."""
    found = {row["parameters"]["scope"]: [Point(**point) for point in row["points"]] for row in own_rows(rows, ID)}
    return {scope: found[scope] for scope in SCOPES if scope in found}


def relative_slope(points: Sequence[Point], shape: str) -> float:
    """Slope of a shape's curve relative to that of replicated rows."""
    return slope([getattr(point, shape) for point in points]) / slope([point.replicated for point in points])


def saved_percent(point: Point) -> float:
    """What decomposition saves (%)."""
    return 100.0 * (1 - point.decomposed / point.replicated)


def claims(rows: Sequence[Json]) -> list[ClaimResult]:
    """Slope of decomposed tables at most 0.36 of replicated ones, and over half saved with 8 priorities."""
    found, results = points_of(rows), []
    for scope, title in TITLES.items():
        points = found.get(scope)
        steepness = Claim(
            f"slope of decomposed against replicated, {title}", "ratio", PAPER_SLOPE, AtMost(PAPER_SLOPE), neutral=1.0
        )
        half = Claim(
            f"memory saved with {MAX_PRIORITIES} priorities, {title}", "%", "more than half", AtLeast(HALF_PERCENT)
        )
        greedy = Claim(f"slope of two-table (greedy) against replicated, {title}", "ratio", neutral=1.0)
        values = (
            (None, None, None)
            if points is None
            else (
                _exact(relative_slope(points, "decomposed")),
                _exact(saved_percent(points[-1])),
                _exact(relative_slope(points, "two_table")),
            )
        )
        results += [judge(claim, value) for claim, value in zip((steepness, half, greedy), values, strict=True)]
    return results


def table(rows: Sequence[Json]) -> Table:
    """Fields for every number of priorities."""
    return Table(
        HEADER,
        tuple(
            (TITLES[scope], *(f"{number:,}" for number in point), f"{saved_percent(point):.1f}")
            for scope, points in points_of(rows).items()
            for point in points
        ),
    )


def kilobits(n_fields: int) -> float:
    """Memory of fields (kbit)."""
    return memory_bits(n_fields) / 1000


def _exact(value: float) -> Estimate:
    return Estimate(value, None, None)
