"""Kuijia's Figure 4: original against precomputed weights on random graphs, every link failed in turn.

Set-up (section 4.2): 10 random graphs of 100 nodes and 200 links, 10 runs of 40 random pairs on each, 3 tunnels a pair,
demand 0.8 to 3.0 Gbit/s a pair. The paper does not give link capacities (here 1 Gbit/s), the number of demand levels
(here 12, step 0.2), nor which of the best base allocations it used (here both; an interior point method, as CVX has,
ends at the centre). Proportional rescaling in the victims' own queue stands beside.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from experiments.te.pictures import INK, PALETTE, new_figure
from experiments.te.sweep import Json, Unit
from te_solver import all_failures as effect
from te_solver.all_failures import Paths, fail_every_link, to_paths
from te_solver.choices import BASE_POINTS
from te_solver.demands import random_pairs
from te_solver.network import Network, to_network
from te_solver.solve import SolveOptions
from te_solver.tunnels import to_problem
from te_solver.values import Problem

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NODES, LINKS, PAIRS, CAPACITY_MBPS = 100, 200, 40, 1000.0
GRAPHS = RUNS = 10
DEMANDS_MBPS = tuple(800.0 + 200.0 * step for step in range(12))
SCHEMES = ("rescaling", "kuijia", "precomputed")
LABELS = ("proportional rescaling", "Kuijia, original weights", "Kuijia, precomputed weights")
# PAPERS: original weights close to precomputed ones, by points of throughput loss.
CLOSE_POINTS = 0.1
RESULT_VERSION = 1


def units(seed: int, graphs: int = GRAPHS, runs: int = RUNS) -> list[Unit]:
    """One unit a base point, graph and run: all demand levels, all failures."""
    return [
        Unit(
            f"{base_point}-graph{graph:02d}-run{run:02d}",
            {"version": RESULT_VERSION, "base_point": base_point, "graph": graph, "run": run, "seed": seed},
        )
        for base_point in BASE_POINTS
        for graph in range(graphs)
        for run in range(runs)
    ]


def compute(parameters: Mapping[str, Any]) -> Json:
    """Mean loss over all failures, for every demand level and scheme (shares of the throughput before)."""
    from te_solver.ladder import solve_ladder

    graph, run, seed = parameters["graph"], parameters["run"], parameters["seed"]
    problem, paths = _problem(graph, run, seed)
    options = SolveOptions(base_point=parameters["base_point"], method="fast")
    rows = []
    for demand_mbps, allocation in zip(DEMANDS_MBPS, solve_ladder(problem, DEMANDS_MBPS, options), strict=True):
        effects = fail_every_link(problem, allocation.tunnel_mbps, paths)
        sent, victim = effects[:, effect.SENT], effects[:, effect.VICTIM]
        delivered = (
            effects[:, effect.RESCALING],
            sent - victim + effects[:, effect.KUIJIA],
            sent - victim + effects[:, effect.PRECOMPUTED],
        )
        rows.append(
            {
                "demand_mbps": demand_mbps,
                "satisfied": allocation.value / (demand_mbps * len(problem.demands)),
                "gap": allocation.gap,
                **{name: float(np.mean(1 - mbps / sent)) for name, mbps in zip(SCHEMES, delivered, strict=True)},
                "failures": len(effects),
                "programs": int((effects[:, effect.PIVOTS] != effect.NO_PROGRAM).sum()),
                "largest_program_gap": float(effects[:, effect.GAP].max()),
            }
        )
    return {"rows": rows}


def to_rows(sweep: Sequence[Unit], results: Sequence[Json]) -> list[Json]:
    """One row a unit and demand level, with the unit's parameters."""
    return [{**unit.parameters, **row} for unit, result in zip(sweep, results, strict=True) for row in result["rows"]]


def means(rows: Sequence[Json], base_point: str) -> dict[float, dict[str, tuple[float, float]]]:
    """Per demand level and scheme: mean loss in per cent over graphs and runs, and half its 95 % interval."""
    found: dict[float, dict[str, tuple[float, float]]] = {}
    for demand_mbps in sorted({row["demand_mbps"] for row in rows}):
        chosen = [row for row in rows if row["base_point"] == base_point and row["demand_mbps"] == demand_mbps]
        found[demand_mbps] = {}
        for name in (*SCHEMES, "satisfied"):
            values = 100 * np.array([row[name] for row in chosen])
            spread = values.std(ddof=1) / np.sqrt(len(values)) if len(values) > 1 else 0.0
            found[demand_mbps][name] = float(values.mean()), float(1.96 * spread)
    return found


def claims(rows: Sequence[Json]) -> list[Json]:
    """The paper's claim for the centre, and the same number for the vertex beside it, without a verdict."""
    found = []
    for base_point in BASE_POINTS:
        distances = [values["kuijia"][0] - values["precomputed"][0] for values in means(rows, base_point).values()]
        judged = base_point == "centre"
        worst = max(distances)
        found.append(
            {
                "name": f"largest distance between original and precomputed weights, {base_point}",
                "unit": "points of throughput loss",
                "paper": "highly comparable",
                "measured": worst,
                "low": 0.0,
                "high": CLOSE_POINTS if judged else None,
                "verdict": ("held" if 0 <= worst <= CLOSE_POINTS else "failed") if judged else "reported",
            }
        )
    return found


def draw(rows: Sequence[Json]) -> Figure:
    """Mean loss over demand, one panel a base point."""
    figure, panels = new_figure(11.5, 4.4, len(BASE_POINTS))
    graphs, runs = (len({row[key] for row in rows}) for key in ("graph", "run"))
    highest = 0.0
    for axes, base_point in zip(panels, BASE_POINTS, strict=True):
        by_demand = means(rows, base_point)
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


def table_rows(rows: Sequence[Json]) -> list[tuple[str, ...]]:
    """For people: demand, share satisfied, and the three losses from both base points."""
    both = [means(rows, base_point) for base_point in BASE_POINTS]
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


@lru_cache(maxsize=4)
def _problem(graph: int, run: int, seed: int) -> tuple[Problem, Paths]:
    network = _network(graph, seed)
    demands = random_pairs(network.topology, PAIRS, DEMANDS_MBPS[0], seed=1_000_000 * seed + 1000 * graph + run)
    problem = to_problem(network, demands)
    return problem, to_paths(problem.tunnels)


@lru_cache(maxsize=4)
def _network(graph: int, seed: int) -> Network:
    from mininet_topos.catalogue import load_topology

    return to_network(load_topology(f"random:{NODES}:{LINKS}:{1000 * seed + graph}"), CAPACITY_MBPS)
