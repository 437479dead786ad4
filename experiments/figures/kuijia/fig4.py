"""Kuijia's Figure 4: original against precomputed weights on random graphs, every link failed in turn.

Set-up (section 4.2): 10 random graphs of 100 nodes and 200 links, 10 runs of 40 random pairs on each, 3 tunnels a pair,
demand 0.8 to 3.0 Gbit/s a pair. The paper does not give link capacities (here 1 Gbit/s), the number of demand levels
(here 12, step 0.2), nor which of the best base allocations it used (here both; an interior point method, as CVX has,
ends at the centre). Proportional rescaling in the victims' own queue stands beside.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from operator import attrgetter
from statistics import fmean
from typing import TYPE_CHECKING

import numpy as np

from experiments.campaign.computed.ladder import ROWS, Ladder, LadderParameters, Level
from experiments.campaign.figure import PaperFigure, Table
from experiments.campaign.rows import Row
from experiments.campaign.statistics import Estimate, mean_interval
from experiments.campaign.values import CampaignPlan, Trial
from experiments.campaign.verdicts import MARGIN, AtLeast, AtMost, Band, Claim, ClaimResult, judge
from experiments.charts.canvas import INK, PALETTE, new_figure
from te_solver.choices import BASE_POINTS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ID = "kuijia-fig4"
NODES, LINKS, PAIRS, CAPACITY_MBPS = 100, 200, 40, 1000.0
GRAPHS = RUNS = 10
QUICK = 2
DEMANDS_MBPS = tuple(800.0 + 200.0 * step for step in range(12))
SCHEMES = ("rescaling", "kuijia", "precomputed")
LABELS = ("proportional rescaling", "Kuijia, original weights", "Kuijia, precomputed weights")
# PAPERS: original weights close to precomputed ones, by points of throughput loss.
CLOSE_POINTS = 0.1
# Programs are proven to 1e-9 of what they place, and leave out tunnels with less room: 1e-5 points for 100 of these.
NUMERIC_POINTS = 1e-5
UNIT = "points of throughput loss"
OPTIMAL = "no weights lose less than those computed for the failure"
LadderRow = Row[LadderParameters, Ladder]
UnitLevel = tuple[LadderParameters, Level]
HEADER = ("Gbit/s", "centre: carried %", *SCHEMES, "vertex: carried %", *SCHEMES)


def units(seed: int, graphs: int = GRAPHS, runs: int = RUNS) -> Iterator[tuple[str, LadderParameters]]:
    """Name and parameters of each unit: a base point, graph and run, with all demand levels and all failures."""
    for base_point in BASE_POINTS:
        for graph in range(graphs):
            for run in range(runs):
                sizes = (NODES, LINKS, PAIRS, CAPACITY_MBPS, DEMANDS_MBPS)
                yield (
                    f"{base_point}-graph{graph:02d}-run{run:02d}",
                    LadderParameters(base_point, graph, run, seed, *sizes),
                )


def trials(plan: CampaignPlan) -> tuple[Trial, ...]:
    """One trial a base point, graph and run; a round is a run."""
    sizes = (QUICK, QUICK) if plan.quick else (GRAPHS, RUNS)
    return tuple(
        Trial(
            trial_id=f"{ID}/{name}",
            kind="sweep",
            topology=f"random:{NODES}:{LINKS}",
            variant=None,
            round=parameters.run + 1,
            failures=1,
            links=(),
            pairs=(),
            load=None,
            timing=None,
            seed=plan.seed,
            parameters=parameters,
        )
        for name, parameters in units(plan.seed, sizes[0], plan.rounds or sizes[1])
    )


def claims(rows: Sequence[LadderRow]) -> list[ClaimResult]:
    """Original weights are close to precomputed ones; judged for the centre, the vertex stands beside."""
    return [_largest(rows, "centre", AtMost(CLOSE_POINTS)), _smallest(rows), _largest(rows, "vertex", None)]


def _largest(rows: Sequence[LadderRow], base_point: str, band: Band | None) -> ClaimResult:
    name = f"largest distance between original and precomputed weights, {base_point}"
    claim = Claim(name, UNIT, "highly comparable", band, asks=MARGIN)
    return judge(claim, max(_distances(rows, base_point), key=lambda distance: distance.value, default=None))


def _smallest(rows: Sequence[LadderRow]) -> ClaimResult:
    """A solver that finds worse weights for one failure than those of no failure shows here."""
    name = "smallest distance between original and precomputed weights, one failure, centre"
    claim = Claim(name, UNIT, None, AtLeast(-NUMERIC_POINTS), by_construction=OPTIMAL)
    found = [100 * level.least_distance for own, level in _levels(rows) if own.base_point == "centre"]
    return judge(claim, Estimate(min(found), None, None) if found else None)


def _distances(rows: Sequence[LadderRow], base_point: str) -> list[Estimate]:
    """Per demand level the mean distance (points) over graphs."""
    levels = [(own, level) for own, level in _levels(rows) if own.base_point == base_point]
    demands = sorted({level.demand_mbps for _, level in levels})
    return [_over_graphs(levels, demand, lambda level: level.kuijia - level.precomputed) for demand in demands]


def _over_graphs(levels: Sequence[UnitLevel], demand_mbps: float, share: Callable[[Level], float]) -> Estimate:
    """Mean (%) over graphs of the mean over runs; runs of a graph share its links, and are one observation."""
    graphs: dict[int, list[float]] = {}
    for own, level in levels:
        if level.demand_mbps == demand_mbps:
            graphs.setdefault(own.graph, []).append(100 * share(level))
    return mean_interval([fmean(runs) for runs in graphs.values()])


def _levels(rows: Sequence[LadderRow]) -> list[UnitLevel]:
    return [(row.parameters, level) for row in rows for level in row.measured.levels]


def _levels_of_both(rows: Sequence[LadderRow]) -> list[UnitLevel]:
    """Demand levels of the graphs and runs that are there for both base points, which stand side by side."""
    units = {(own.base_point, own.graph, own.run) for own in (row.parameters for row in rows)}
    return [
        (own, level)
        for own, level in _levels(rows)
        if all((base_point, own.graph, own.run) in units for base_point in BASE_POINTS)
    ]


def means(levels: Sequence[UnitLevel], base_point: str) -> dict[float, dict[str, tuple[float, float]]]:
    """Per demand level and scheme: mean loss in per cent over graphs, and half its 95 % interval."""
    found: dict[float, dict[str, tuple[float, float]]] = {}
    own_levels = [(own, level) for own, level in levels if own.base_point == base_point]
    for demand_mbps in sorted({level.demand_mbps for _, level in levels}):
        found[demand_mbps] = {}
        for name in (*SCHEMES, "satisfied"):
            mean, _low, high = _over_graphs(own_levels, demand_mbps, attrgetter(name))
            found[demand_mbps][name] = mean, 0.0 if high is None else high - mean
    return found


def draw(rows: Sequence[LadderRow], caption: str) -> Figure:
    """The picture of the sweep, with the caption under it."""
    figure = draw_levels(_levels_of_both(rows))
    if caption:
        figure.supxlabel(caption, fontsize=8, x=0.01, ha="left", parse_math=False)
    return figure


def draw_levels(levels: Sequence[UnitLevel]) -> Figure:
    """Mean loss over demand, one panel a base point."""
    figure, panels = new_figure(11.5, 4.4, len(BASE_POINTS))
    graphs, runs = (len({getattr(own, key) for own, _ in levels}) for key in ("graph", "run"))
    highest = 0.0
    for axes, base_point in zip(panels, BASE_POINTS, strict=True):
        by_demand = means(levels, base_point)
        gbps = [demand_mbps / 1000 for demand_mbps in by_demand]
        for name, label, colour, mark in zip(SCHEMES, LABELS, PALETTE, "sox", strict=False):
            mean = np.array([values[name][0] for values in by_demand.values()])
            half = np.array([values[name][1] for values in by_demand.values()])
            axes.plot(gbps, mean, marker=mark, markersize=5, color=colour, label=label, linewidth=1.6)
            axes.fill_between(gbps, mean - half, mean + half, color=colour, alpha=0.15, linewidth=0)
            highest = max(highest, float((mean + half).max(initial=0.0)))
        axes.set_title(f"base allocation: {base_point}", color=INK, fontsize=10, loc="left")
        axes.set_xlabel("demand of a pair (Gbit/s)", color=INK)
        axes.set_ylabel("throughput lost, mean over failures (%)", color=INK)
        axes.legend(frameon=False, fontsize=9, loc="lower right")
    for axes in panels:
        axes.set_ylim(0, 1.1 * highest or 1.0)
    title = (
        f"Figure 4: {graphs} random graphs of {NODES} nodes and {LINKS} links, {runs} runs, every link failed in turn"
    )
    figure.suptitle(title, color=INK, fontsize=11, x=0.01, ha="left")
    return figure


def table(rows: Sequence[LadderRow]) -> Table:
    """Losses at every demand level."""
    return Table(HEADER, tuple(table_rows(_levels_of_both(rows))))


def table_rows(levels: Sequence[UnitLevel]) -> list[tuple[str, ...]]:
    """For people: demand, share satisfied, and the three losses from both base points."""
    both = [means(levels, base_point) for base_point in BASE_POINTS]
    return [
        (
            f"{demand_mbps / 1000:.1f}",
            *(
                cell
                for by_demand in both
                for cell in (
                    f"{by_demand[demand_mbps]['satisfied'][0]:.1f}",
                    *(f"{by_demand[demand_mbps][name][0]:.3f}" for name in SCHEMES),
                )
            ),
        )
        for demand_mbps in both[0]
    ]


FIGURE = PaperFigure(
    ID,
    "kuijia",
    "Loss of original weights against precomputed ones (one link fails, 40 pairs, random graphs)",
    trials,
    ROWS.on(claims),
    ROWS.on(draw),
    ROWS.on(table),
)
