"""All-pairs throughput programs, certified, against open general solvers: python -m benchmarks.te_all_pairs [large]

Networks are of the catalogue's generator, as large as those in the literature: 100 nodes and 200 links; Deltacom,
113 and 161; Cogentco, 197 and 243; 754 and 895 with 20,000 random pairs. "large" adds all 567,762 pairs of the last.
Gaps are those of the strictly feasible allocation to the bound its prices prove; peers are repaired in the same way.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from benchmarks.te_timing import begin, cpu_s
from mininet_topos.catalogue import load_topology
from te_solver.certificate import feasible, throughput_bound
from te_solver.fast_solve import PackingProgram, centre_point, packing_program, structured_point, vertex_solver
from te_solver.network import to_network
from te_solver.tunnels import find_tunnels
from te_solver.values import Demand, Problem

# Name, pairs (0: all), largest demand (links have 1).
CASES = (
    ("random:100:200:1", 0, 0.03),
    ("random:113:161:1", 0, 0.03),
    ("random:197:243:1", 0, 0.02),
    ("random:754:895:1", 20_000, 0.01),
)
LARGE = ("random:754:895:1", 0, 0.001)
LARGE_THREADS = 2
Point = tuple[np.ndarray, np.ndarray]


def make(name: str, pairs: int, largest: float) -> Problem:
    """Problem with uniformly drawn demands."""
    topology = load_topology(name)
    nodes = len(topology.nodes)
    ends = np.array([(a, b) for a in range(nodes) for b in range(nodes) if a != b], dtype=np.int64)
    rng = np.random.default_rng(0)
    if pairs:
        ends = ends[np.sort(rng.choice(len(ends), pairs, replace=False))]
    volumes = rng.uniform(0, largest, len(ends)).tolist()
    names = topology.node_names
    demands = tuple(Demand(names[a], names[b], mbps) for (a, b), mbps in zip(ends.tolist(), volumes, strict=True))
    start_s = time.process_time()
    tunnels = find_tunnels(to_network(topology, 1.0), ends)
    print(f"{name}: {len(ends)} demands, {len(tunnels)} tunnels, found in {time.process_time() - start_s:.2f} CPU s")
    return Problem(tunnels, demands)


def certified_gap(problem: Problem, rates: np.ndarray, prices: np.ndarray) -> tuple[float, float]:
    """Value of the repaired allocation and its relative distance to the bound."""
    capacity = problem.network.capacity_mbps
    value = float(feasible(problem, rates, capacity).sum())
    bound = throughput_bound(problem, np.maximum(0.0, prices), capacity)
    return value, (bound - value) / bound


def highs_interior(program: PackingProgram) -> Point:
    """HiGHS' interior point method without crossover."""
    highs = vertex_solver(program)
    for option, value in (("solver", "ipm"), ("run_crossover", "off"), ("presolve", "on")):
        highs.setOptionValue(option, value)
    highs.run()
    solution = highs.getSolution()
    return np.array(solution.col_value), -np.array(solution.row_dual)


def or_tools_pdlp(program: PackingProgram) -> Point:
    """OR-tools' first order method to 1e-6."""
    from ortools.linear_solver.python import model_builder_helper as builder

    model = builder.ModelBuilderHelper()
    rows, columns = program.rows.shape
    model.fill_model_from_sparse_data(
        np.zeros(columns),
        np.full(columns, np.inf),
        np.ones(columns),
        np.full(rows, -np.inf),
        program.limits,
        program.rows.tocsr(),
    )
    model.set_maximize(True)
    solver = builder.ModelSolverHelper("pdlp")
    tolerance = (
        "termination_criteria { simple_optimality_criteria { eps_optimal_relative: 1e-6 eps_optimal_absolute: 1e-6 } }"
    )
    solver.set_solver_specific_parameters(tolerance)
    solver.solve(model)
    return np.array(solver.variable_values()), np.array(solver.dual_values())


def compare(problem: Problem) -> None:
    """One case: ours, then every peer that is installed."""
    capacity = problem.network.capacity_mbps
    usable = np.ones(len(problem.tunnels), dtype=bool)
    program = packing_program(problem, capacity, usable)
    demands = len(problem.demands)
    structured_point(problem, capacity, usable)
    ours_s, (rates, prices) = cpu_s(lambda: structured_point(problem, capacity, usable), 3)
    value, gap = certified_gap(problem, rates, prices)
    print(f"  ours: {ours_s:.2f} CPU s, value {value:.6f}, certified gap {gap:.1e}", flush=True)
    peers: dict[str, Callable[[PackingProgram], Point]] = {
        "HiGHS IPM": highs_interior,
        "Clarabel": centre_point,
        "OR-tools PDLP 1e-6": or_tools_pdlp,
    }
    for name, solve_one in peers.items():
        try:
            seconds, (point, multipliers) = cpu_s(lambda solve_one=solve_one: solve_one(program))
        except ImportError:
            print(f"  {name}: not installed")
            continue
        value, gap = certified_gap(problem, point * program.scale_mbps, multipliers[demands:])
        ratio = seconds / ours_s
        print(f"  {name}: {seconds:.2f} CPU s ({ratio:.1f} times ours), value {value:.6f}, gap {gap:.1e}", flush=True)


def large() -> None:
    """All pairs of 754 nodes."""
    import resource

    problem = make(*LARGE)
    capacity, usable = problem.network.capacity_mbps, np.ones(len(problem.tunnels), dtype=bool)
    start_s = time.perf_counter()
    seconds, (rates, prices) = cpu_s(lambda: structured_point(problem, capacity, usable, LARGE_THREADS))
    value, gap = certified_gap(problem, rates, prices)
    peak_gb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    print(
        f"  ours, {LARGE_THREADS} threads: {time.perf_counter() - start_s:.1f} s wall, {seconds:.1f} CPU s, "
        f"value {value:.6f}, certified gap {gap:.1e}, peak {peak_gb:.2f} GB"
    )


def main() -> None:
    """Print the table."""
    words = begin(__doc__, "large")
    for case in CASES:
        compare(make(*case))
    if "large" in words:
        large()


if __name__ == "__main__":
    main()
