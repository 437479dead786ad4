"""Figure 4 whole, against the loops it replaces: python -m benchmarks.te_figure4

Peers solve one linear program a failure that hits traffic, and one a base allocation: cvxpy with a scalar variable a
tunnel, cvxpy in matrix form, and HiGHS kept warm. They are timed on programs drawn from the same sweep and scaled up by
count.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import cvxpy as cp
import numpy as np
from scipy.sparse import csc_matrix

from benchmarks.te_timing import begin, cpu_s
from experiments.campaign.computed import ladder
from experiments.figures.kuijia import fig4
from te_solver import all_failures as effect
from te_solver.all_failures import fail_every_link
from te_solver.fast_solve import packing_program, vertex_solver
from te_solver.ladder import solve_ladder
from te_solver.responses import TrafficPlan
from te_solver.solve import SolveOptions, demand_rows
from te_solver.values import FloatArray, IntArray, Problem

DRAWN = 500
SEED = 1


class SecondProgram:
    """One second program: what victims ask for, what is left of every arc, which tunnels survive."""

    def __init__(self, problem: Problem, plan: TrafficPlan, link: int) -> None:
        down = problem.tunnels.down(problem.network.link_of == link)
        kept = np.where(down, 0.0, plan.rates_mbps)
        self.problem = problem
        self.victims = problem.per_demand(np.where(down, plan.rates_mbps, 0.0)) / 1000
        self.left = np.maximum(0.0, problem.network.capacity_mbps - problem.tunnels.arc_loads(kept)) / 1000
        live = ~down & (self.victims[problem.tunnels.pair_of] > 1e-9)
        self.live: IntArray = np.flatnonzero(live)


def draw(count: int) -> tuple[list[tuple[SecondProgram, float]], int]:
    """Programs of failures that hit traffic, with our answers in Gbit/s, and how many the vertex sweep has."""
    rng = np.random.default_rng(SEED)
    programs, total = [], 0
    units = [parameters for _, parameters in fig4.units(SEED) if parameters.base_point == "vertex"]
    for parameters in units:
        problem, paths = ladder.problem_of(replace(parameters, base_point=""))
        options = SolveOptions(base_point="vertex", te_solver="fast")
        for allocation in solve_ladder(problem, fig4.DEMANDS_MBPS, options):
            plan = TrafficPlan(allocation, allocation.demand_mbps)
            rows = fail_every_link(problem, plan.rates_mbps, paths)
            hit = np.flatnonzero(rows[:, effect.REROUTABLE] > 1e-3)
            total += len(hit)
            share = count / (len(units) * len(fig4.DEMANDS_MBPS) * len(hit))
            programs += [
                (SecondProgram(problem, plan, link), float(rows[link, effect.PRECOMPUTED]) / 1000)
                for link in hit[rng.random(len(hit)) < share].tolist()
            ]
    return programs, total


def scalar_cvxpy(program: SecondProgram) -> float:
    """A scalar variable a tunnel, constraints as sums."""
    tunnels = program.problem.tunnels
    rates = {tunnel: cp.Variable(nonneg=True) for tunnel in program.live.tolist()}
    constraints, over = [], {}
    for demand in np.unique(tunnels.pair_of[program.live]).tolist():
        own = [rate for tunnel, rate in rates.items() if tunnels.pair_of[tunnel] == demand]
        constraints.append(sum(own) <= program.victims[demand])
    for tunnel, rate in rates.items():
        for arc in tunnels.arcs_of(tunnel).tolist():
            over.setdefault(arc, []).append(rate)
    constraints += [sum(some) <= program.left[arc] for arc, some in over.items()]
    model = cp.Problem(cp.Maximize(sum(rates.values())), constraints)
    return float(model.solve())


def matrix_cvxpy(program: SecondProgram) -> float:
    """Small matrices, built anew."""
    tunnels = program.problem.tunnels
    entry = np.isin(tunnels.tunnel_of_entry, program.live)
    column = np.searchsorted(program.live, tunnels.tunnel_of_entry[entry])
    arcs, row = np.unique(tunnels.arcs[entry], return_inverse=True)
    over = csc_matrix((np.ones(len(row)), (row, column)))
    own = demand_rows(program.problem)[:, program.live]
    rate = cp.Variable(len(program.live), nonneg=True)
    constraints = [own @ rate <= program.victims, over @ rate <= program.left[arcs]]
    return float(cp.Problem(cp.Maximize(cp.sum(rate)), constraints).solve())


class WarmHighs:
    """One HiGHS a problem, limits changed from failure to failure."""

    def __init__(self) -> None:
        self.models: dict[int, object] = {}

    def __call__(self, program: SecondProgram) -> float:
        """Solve one program."""
        problem = program.problem
        count = len(problem.tunnels)
        if id(problem) not in self.models:
            packing = packing_program(problem, problem.network.capacity_mbps, np.ones(count, dtype=bool))
            self.models[id(problem)] = vertex_solver(packing)
            self.models[id(problem)].run()
        highs = self.models[id(problem)]
        upper = np.zeros(count)
        upper[program.live] = np.inf
        limits: FloatArray = np.concatenate([program.victims, program.left])
        rows, columns = (np.arange(size, dtype=np.int32) for size in (len(limits), count))
        highs.changeColsBounds(count, columns, np.zeros(count), upper)
        highs.changeRowsBounds(len(limits), rows, np.full(len(limits), -np.inf), limits)
        highs.run()
        return -float(highs.getInfo().objective_function_value)


def sweep(base_point: str) -> None:
    """Ours: graphs, tunnels, base allocations, all failures, all three schemes."""
    ladder.problem_of.cache_clear()
    for _, parameters in fig4.units(SEED):
        if parameters.base_point == base_point:
            ladder.climb(parameters)


def main() -> None:
    """Print the table."""
    begin(__doc__)
    sweep("vertex")  # compiles the kernels
    ours = {point: cpu_s(lambda point=point: sweep(point), 3)[0] for point in ("vertex", "centre")}
    programs, second = draw(DRAWN)
    bases = fig4.GRAPHS * fig4.RUNS * len(fig4.DEMANDS_MBPS)
    cases = bases * fig4.LINKS
    print(f"{cases} cases; {second} second programs with traffic to place (vertex), {bases} base programs")
    for point, seconds in ours.items():
        print(f"ours, {point}: {seconds:.2f} CPU s")
    warm = WarmHighs()
    for program, _ in programs:
        warm(program)
    peers: dict[str, Callable[[SecondProgram], float]] = {
        "cvxpy, scalar variables": scalar_cvxpy,
        "cvxpy, matrix form": matrix_cvxpy,
        "HiGHS, warm": warm,
    }
    for name, solve_one in peers.items():
        seconds, answers = cpu_s(lambda solve_one=solve_one: [solve_one(program) for program, _ in programs])
        worst = max(abs(answer - wanted) for answer, (_, wanted) in zip(answers, programs, strict=True))
        each_ms = 1000 * seconds / len(programs)
        whole_s = (second + bases) * each_ms / 1000
        print(
            f"{name}: {each_ms:.3f} CPU ms a program over {len(programs)}, whole sweep {whole_s:,.0f} s (scaled), "
            f"{whole_s / ours['vertex']:,.0f} times ours; largest difference {worst:.1e} Gbit/s",
            flush=True,
        )


if __name__ == "__main__":
    main()
