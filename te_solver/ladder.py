"""The same problem at many demand levels: one solver, only its limits changed from step to step."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from te_solver.certificate import feasible, throughput_bound
from te_solver.fast_solve import (
    PackingProgram,
    Rates,
    centre_answer,
    centre_solver,
    check_status,
    packing_program,
    vertex_answer,
    vertex_solver,
)
from te_solver.network import FloatArray, IntArray
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
        With method "fast" the solver is set up once; from a vertex, each level starts at the basis of the one before.

    Yields
    ------
    Allocation
        Certified like those of `solve`.

    Raises
    ------
    SolverError
        As `solve`.
    """
    count, capacity_mbps = len(problem.demands), problem.network.capacity_mbps
    steps = [problem.with_volumes(np.full(count, mbps)) for mbps in levels_mbps]
    if options.method != "fast":
        yield from (solve(step, options) for step in steps)
        return
    program = packing_program(steps[0], capacity_mbps, np.ones(len(problem.tunnels), dtype=bool))
    limits = (np.full(count, mbps / program.scale_mbps) for mbps in levels_mbps)
    climb = _vertices if options.base_point == "vertex" else _centres
    for step, (point, prices) in zip(steps, climb(program, count, limits), strict=True):
        rates = feasible(step, point * program.scale_mbps, capacity_mbps)
        bound = throughput_bound(step, np.maximum(0.0, prices), capacity_mbps)
        value = float(rates.sum())
        yield check_gap(Allocation(step, rates, options.objective, options.base_point, value, bound), "highs")


def _vertices(program: PackingProgram, demands: int, levels: Iterable[FloatArray]) -> Iterator[Rates]:
    """Points and arc prices by the dual simplex method: new limits leave the basis dual feasible."""
    kept = tightest_rows(program, demands)
    rows = np.concatenate([np.arange(demands), demands + kept])
    reduced = PackingProgram(program.rows.tocsr()[rows].tocsc(), program.limits[rows], program.scale_mbps)
    highs = vertex_solver(reduced, dual=True)
    number, unbounded = np.arange(demands, dtype=np.int32), np.full(demands, -np.inf)
    for level in levels:
        check_status(highs.changeRowsBounds(demands, number, unbounded, level))
        check_status(highs.run())
        point, multipliers = vertex_answer(highs)
        prices = np.zeros(len(program.limits) - demands)
        prices[kept] = multipliers[demands:]
        yield point, prices


def _centres(program: PackingProgram, demands: int, levels: Iterable[FloatArray]) -> Iterator[Rates]:
    """Points and arc prices by Clarabel, its matrices scaled and ordered once."""
    solver = centre_solver(program)
    limits = np.concatenate([program.limits, np.zeros(program.rows.shape[1])])
    for level in levels:
        limits[:demands] = level
        solver.update(b=limits)
        point, multipliers = centre_answer(solver, len(program.limits))
        yield point, multipliers[demands:]


def tightest_rows(program: PackingProgram, demands: int) -> IntArray:
    """Arcs (from 0) whose row no other makes superfluous: of equal rows the tightest one, none without tunnels."""
    rows = program.rows.tocsr()
    rows.sort_indices()
    tightest: dict[bytes, int] = {}
    for arc, limit in enumerate(program.limits[demands:].tolist()):
        row = demands + arc
        tunnels = rows.indices[rows.indptr[row] : rows.indptr[row + 1]].tobytes()
        held = tightest.get(tunnels)
        if tunnels and (held is None or limit < program.limits[demands + held]):
            tightest[tunnels] = arc
    return np.array(sorted(tightest.values()), dtype=np.int64)
