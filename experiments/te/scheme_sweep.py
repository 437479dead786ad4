"""All schemes on real networks: what a failed link costs each of them, and what reserving costs without a failure.

Set-up: Gscale, USNET and Darkstrand, 1 Gbit/s where the capacity is unknown, 3 tunnels a pair, a gravity matrix of all
pairs whose volume is a share of the largest that the network carries whole. Every link fails in turn. Losses are
counted against the unprotected optimum, so that what a scheme never admitted counts as lost too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from experiments.campaign.figure import Table
from experiments.figures.charts.canvas import INK, PALETTE, new_figure
from experiments.te.sweep import Json, Unit
from mininet_topos.topology import FailureScenario
from te_solver.demands import gravity
from te_solver.network import to_network
from te_solver.schemes import SCHEMES, SchemeOptions, fail, plan_schemes
from te_solver.solve import SolveOptions, solve
from te_solver.tunnels import to_problem
from te_solver.values import Problem

if TYPE_CHECKING:
    from matplotlib.figure import Figure


TOPOLOGIES = ("gscale", "usnet", "darkstrand")
# Share of the largest volume that fits whole; above 1 not all of it is carried.
LOADS = (0.4, 0.6, 0.8, 1.0, 1.2, 1.6)
RUNS = 5
CAPACITY_MBPS = 1000.0
RESERVING = ("ffc1", "ffc2", "ffc3", "teavar")
RESULT_VERSION = 1


def units(seed: int, runs: int = RUNS) -> list[Unit]:
    """One unit a topology, run and load."""
    return [
        Unit(
            f"{topology}-run{run}-load{load:.1f}",
            {"version": RESULT_VERSION, "topology": topology, "run": run, "load": load, "seed": seed},
        )
        for topology in TOPOLOGIES
        for run in range(runs)
        for load in LOADS
    ]


def compute(parameters: Mapping[str, Any]) -> Json:
    """For every scheme: share of the optimum admitted, and mean share of it lost over all single link failures."""
    problem = _problem(parameters["topology"], parameters["load"], 1000 * parameters["seed"] + parameters["run"])
    options = SchemeOptions(SolveOptions(method="fast"))
    plans = plan_schemes(problem, list(SCHEMES), options)
    optimum_mbps = float(plans["reoptimise"].granted_mbps.sum())
    schemes = {}
    for name, plan in plans.items():
        outcomes = [
            fail(name, plan, FailureScenario(links=frozenset({link})), options)
            for link in problem.network.topology.link_ids
        ]
        loads = problem.tunnels.arc_loads(plan.rates_mbps)
        schemes[name] = {
            "admitted": float(plan.granted_mbps.sum()) / optimum_mbps,
            "lost": max(0.0, float(np.mean([1 - outcome.total.after_mbps / optimum_mbps for outcome in outcomes]))),
            "aboriginal_lost": float(np.mean([outcome.aboriginal.lost for outcome in outcomes])),
            "mean_link_utilization": float(np.mean(loads / problem.network.capacity_mbps)),
        }
    return {"optimum_mbps": optimum_mbps, "asked_mbps": float(problem.demands_mbps.sum()), "schemes": schemes}


def by_scheme(rows: Sequence[Json]) -> list[Json]:
    """One row a unit and scheme."""
    return [
        {**row["parameters"], "optimum_mbps": row["optimum_mbps"], "scheme": name, **values}
        for row in rows
        for name, values in row["schemes"].items()
    ]


def mean_of(rows: Sequence[Json], key: str, topology: str, scheme: str) -> list[float]:
    """Mean over the runs of one number, for every load."""
    return [
        float(
            np.mean(
                [row[key] for row in rows if (row["topology"], row["scheme"], row["load"]) == (topology, scheme, load)]
            )
        )
        for load in LOADS
    ]


def draw_losses(rows: Sequence[Json], caption: str) -> Figure:
    """Mean share of the optimum lost under a failure, over the load."""
    label = "of the optimum lost, mean over failures (%)"
    return _draw(by_scheme(rows), "lost", tuple(SCHEMES), label, "every link failed in turn", caption)


def draw_price(rows: Sequence[Json], caption: str) -> Figure:
    """Share of the optimum that reserving schemes do not admit, without any failure."""
    priced = [{**row, "left_idle": 1 - row["admitted"]} for row in by_scheme(rows)]
    label, title = "of the optimum not admitted (%)", "the price of reserving, no failure"
    return _draw(priced, "left_idle", RESERVING, label, title, caption)


def table(rows: Sequence[Json]) -> Table:
    """For people: topology, scheme, then admitted and lost at each load, in per cent of the optimum."""
    values = by_scheme(rows)
    lines = []
    for topology, scheme in product(TOPOLOGIES, SCHEMES):
        both = (mean_of(values, key, topology, scheme) for key in ("admitted", "lost"))
        cells = (f"{100 * admitted:.1f}/{100 * lost:.2f}" for admitted, lost in zip(*both, strict=True))
        lines.append((topology, scheme, *cells))
    return Table(("topology", "scheme", *(f"load {load:.1f}" for load in LOADS)), tuple(lines))


def _draw(rows: Sequence[Json], key: str, schemes: Sequence[str], label: str, title: str, caption: str) -> Figure:
    figure, panels = new_figure(13.0, 4.4, len(TOPOLOGIES))
    for axes, topology in zip(panels, TOPOLOGIES, strict=True):
        for scheme, mark in zip(schemes, "osx^v<>D", strict=False):
            colour = PALETTE[list(SCHEMES).index(scheme)]
            values = [100 * value for value in mean_of(rows, key, topology, scheme)]
            axes.plot(LOADS, values, marker=mark, markersize=5, color=colour, label=scheme, linewidth=1.4)
        axes.set_title(topology, color=INK, fontsize=10, loc="left")
        axes.set_xlabel("load (share of what fits whole)", color=INK)
        axes.set_ylabel(label, color=INK)
        axes.set_ylim(bottom=0)
    figure.legend(
        *panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=8, frameon=False, fontsize=9
    )
    runs = len({row["run"] for row in rows})
    figure.suptitle(f"{title}; gravity demands, {runs} matrices", color=INK, fontsize=11, x=0.01, ha="left")
    if caption:
        figure.supxlabel(caption, fontsize=8, x=0.01, ha="left", parse_math=False)
    return figure


def _problem(topology_name: str, load: float, seed: int) -> Problem:
    from mininet_topos.catalogue import load_topology

    topology = load_topology(topology_name)
    network = to_network(topology, CAPACITY_MBPS)
    problem = to_problem(network, gravity(topology, CAPACITY_MBPS, seed))
    fullest = solve(problem, SolveOptions("min-max-utilisation")).value
    return problem.with_volumes(problem.demands_mbps * load / fullest)
