"""FFC and TeaVaR by survival patterns against the enumerated programs: python -m benchmarks.te_protection

Gscale, all pairs, gravity demands; both programs are built and solved by HiGHS through SciPy.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import bmat, csr_matrix, identity

from benchmarks.te_timing import begin, cpu_s
from mininet_topos.catalogue import load_topology
from te_solver.demands import gravity
from te_solver.network import to_network
from te_solver.patterns import scenarios
from te_solver.protection import Program, ffc_program, teavar_program
from te_solver.tunnels import to_problem
from te_solver.values import Problem

TOTAL_MBPS = 9000.0
PROBABILITY, AVAILABILITY = 0.004, 0.99


def optimum(program: Program) -> float:
    """Best value."""
    return float(linprog(program.cost, A_ub=program.rows, b_ub=program.limits, method="highs").fun)


def compare(name: str, make: Callable[[bool], Program]) -> None:
    """Print rows, seconds and values of both forms."""
    found = {}
    for grouped in (True, False):
        build_s, program = cpu_s(lambda grouped=grouped: make(grouped))
        solve_s, value = cpu_s(lambda program=program: optimum(program))
        found[grouped] = build_s + solve_s, value, program.rows.shape[0], solve_s
    (fast_s, value, rows, fast_solve_s), (slow_s, wanted, all_rows, slow_solve_s) = found[True], found[False]
    print(
        f"{name}: rows {rows} instead of {all_rows}, build and solve {fast_s:.2f} instead of {slow_s:.2f} CPU s "
        f"({slow_s / fast_s:.1f} times; solve alone {slow_solve_s / fast_solve_s:.1f}), "
        f"values differ by {abs(value - wanted):.1e}",
        flush=True,
    )


def teavar(problem: Problem, failures: int, grouped: bool) -> Program:
    """TeaVaR's program with its scenarios; enumerated, every case and demand has a loss column."""
    chances = [PROBABILITY] * len(problem.network.topology.link_ids)
    cases = scenarios(problem, chances, failures, merged=grouped)
    program = teavar_program(problem, cases, AVAILABILITY, range(len(problem.demands)), grouped=grouped)
    return program if grouped else with_loss_columns(program, len(problem.tunnels))


def with_loss_columns(program: Program, tunnels: int) -> Program:
    """Split every row "1 - served share <= alpha + excess" by a column of its own for the left side."""
    rows = program.rows.tocsr()
    is_loss = program.limits < 0
    count = int(is_loss.sum())
    served, rest = rows[is_loss].tolil(), rows[is_loss].tolil()
    served[:, tunnels:] = 0
    rest[:, :tunnels] = 0
    one = identity(count, format="csr")
    blocks = [[served, -one], [rest, one], [rows[~is_loss], None]]
    limits = np.concatenate([program.limits[is_loss], np.zeros(count), program.limits[~is_loss]])
    cost, upper = (
        np.concatenate([old, np.full(count, new)]) for old, new in ((program.cost, 0.0), (program.upper, 1.0))
    )
    return Program(cost, csr_matrix(bmat(blocks)), limits, upper, program.scale_mbps)


def main() -> None:
    """Print the table."""
    begin(__doc__)
    topology = load_topology("gscale")
    problem = to_problem(to_network(topology), gravity(topology, TOTAL_MBPS, 1))
    for failures in (1, 2, 3):
        compare(f"FFC k={failures}", lambda grouped, k=failures: ffc_program(problem, k, grouped=grouped))
    for failures in (1, 2):
        compare(f"TeaVaR up to {failures}", lambda grouped, k=failures: teavar(problem, k, grouped))


if __name__ == "__main__":
    main()
