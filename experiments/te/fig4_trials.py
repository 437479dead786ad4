"""Kuijia's Figure 4 as an id of `armor reproduce`: each unit of its sweep is a trial."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from experiments.campaign.statistics import mean_interval
from experiments.campaign.values import CampaignPlan, Json, Trial
from experiments.campaign.verdicts import Claim, ClaimResult, Within, judge
from experiments.papers.figure import PaperFigure, Table
from experiments.te import fig4
from te_solver.choices import BASE_POINTS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

QUICK = 2
ID = "kuijia-fig4"
HEADER = ("Gbit/s", "centre: carried %", *fig4.SCHEMES, "vertex: carried %", *fig4.SCHEMES)


def trials(plan: CampaignPlan) -> tuple[Trial, ...]:
    """One trial a base point, graph and run; a round is a run."""
    sizes = (QUICK, QUICK) if plan.quick else (fig4.GRAPHS, fig4.RUNS)
    return tuple(
        Trial(
            trial_id=f"{ID}/{unit.name}",
            kind="sweep",
            topology=f"random:{fig4.NODES}:{fig4.LINKS}",
            arm=None,
            round=unit.parameters["run"] + 1,
            failures=1,
            links=(),
            pairs=(),
            load=None,
            timing=None,
            seed=plan.seed,
            parameters=unit.parameters,
        )
        for unit in fig4.units(plan.seed, sizes[0], plan.rounds or sizes[1])
    )


def run_unit(trial: Trial) -> Json:
    """Row of a trial: its parameters, and the losses at every demand level."""
    return {"parameters": dict(trial.parameters), "levels": fig4.compute(trial.parameters)["rows"]}


def claims(rows: Sequence[Json]) -> list[ClaimResult]:
    """Original weights are close to precomputed ones; judged for the centre, the vertex stands beside."""
    found = []
    for base_point in BASE_POINTS:
        worst = max(_distances(rows, base_point), key=lambda values: sum(values) / len(values), default=None)
        judged = base_point == "centre"
        claim = Claim(
            f"largest distance between original and precomputed weights, {base_point}",
            "points of throughput loss",
            "highly comparable",
            Within(0.0, fig4.CLOSE_POINTS) if judged else None,
        )
        found.append(judge(claim, None if worst is None else mean_interval(worst)))
    return found


def draw(rows: Sequence[Json], caption: str) -> Figure:
    """The picture of the sweep, with the caption under it."""
    figure = fig4.draw(_levels_of_both(rows))
    if caption:
        figure.supxlabel(caption, fontsize=8, x=0.01, ha="left", parse_math=False)
    return figure


def table(rows: Sequence[Json]) -> Table:
    """Losses at every demand level."""
    return Table(HEADER, tuple(fig4.table_rows(_levels_of_both(rows))))


def _levels_of_both(rows: Sequence[Json]) -> list[Json]:
    """Demand levels of the graphs and runs that are there for both base points, which stand side by side."""
    units = {(each["base_point"], each["graph"], each["run"]) for each in (row["parameters"] for row in rows)}
    return [
        level
        for level in _levels(rows)
        if all((base_point, level["graph"], level["run"]) in units for base_point in BASE_POINTS)
    ]


def _levels(rows: Sequence[Json]) -> list[Json]:
    return [{**row["parameters"], **level} for row in rows for level in row["levels"]]


def _distances(rows: Sequence[Json], base_point: str) -> list[list[float]]:
    """Per demand level the distance (points) of every graph and run."""
    found: dict[float, list[float]] = {}
    for level in _levels(rows):
        if level["base_point"] == base_point:
            found.setdefault(level["demand_mbps"], []).append(100 * (level["kuijia"] - level["precomputed"]))
    return list(found.values())


KUIJIA_FIG4 = PaperFigure(
    ID,
    "kuijia",
    "Loss of original weights against precomputed ones (one link fails, 40 pairs, random graphs)",
    trials,
    claims,
    draw,
    table,
)
