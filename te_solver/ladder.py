"""The same problem at many demand levels: one solver, its limits changed from step to step."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from te_solver.certificate import feasible, throughput_bound
from te_solver.fast_solve import check_status, packing_program, vertex_answer, vertex_solver
from te_solver.solve import SolveOptions, check_gap, solve
from te_solver.values import Allocation, Problem


def solve_ladder(problem: Problem, levels_mbps: Sequence[float], options: SolveOptions) -> Iterator[Allocation]:
    """Throughput allocations when every demand asks for the same volume, level by level.

    Parameters
    ----------
    problem : Problem
        Demands of one priority; their own volumes are not used.
    levels_mbps : sequence of float
        Above 0.
    options : SolveOptions
        From a vertex with method "fast", each level starts at the basis of the one before.

    Yields
    ------
    Allocation
        Certified like those of `solve`.

    Raises
    ------
    SolverError
        As `solve`.
    """
    count = len(problem.demands)
    steps = (problem.with_volumes(np.full(count, mbps)) for mbps in levels_mbps)
    if options.method != "fast" or options.base_point != "vertex":
        yield from (solve(step, options) for step in steps)
        return
    capacity_mbps = problem.network.capacity_mbps
    highs = None
    for step in steps:
        program = packing_program(step, capacity_mbps, np.ones(len(problem.tunnels), dtype=bool))
        if highs is None:
            highs = vertex_solver(program)
        else:
            rows = np.arange(count, dtype=np.int32)
            check_status(highs.changeRowsBounds(count, rows, np.full(count, -np.inf), program.limits[:count]))
        check_status(highs.run())
        point, multipliers = vertex_answer(highs)
        rates = feasible(step, point * program.scale_mbps, capacity_mbps)
        prices = np.maximum(0.0, multipliers[count:])
        bound = throughput_bound(step, prices, capacity_mbps)
        yield check_gap(
            Allocation(step, rates, options.objective, options.base_point, float(rates.sum()), bound), "highs"
        )
