"""The same problem at many demand levels: one solver, only its limits changed from step to step."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

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
from te_solver.solve import FAST, SolveOptions, check_gap, solve
from te_solver.tableau_ladder import climb
from te_solver.values import Allocation, Problem

# Entries up to which a dense tableau beats HiGHS.
LARGEST_TABLEAU = 100_000
PROVEN = 1e-8


def solve_ladder(problem: Problem, levels_mbps: Sequence[float], options: SolveOptions) -> Iterator[Allocation]:
    """Throughput allocations when every demand asks for the same volume, level by level.

    Parameters
    ----------
    problem
        Demands of one priority; their own volumes are not used.
    levels_mbps
        Above 0.
    options
        With method "fast" the solver is set up once; from a vertex, each level starts at the basis of the one before.

    Yields
    ------
    Certified like those of `solve`.

    Raises
    ------
    SolverError
        As `solve`.
    """
    count, capacity_mbps = len(problem.demands), problem.network.capacity_mbps
    steps = [problem.with_volumes(np.full(count, mbps)) for mbps in levels_mbps]
    if options.te_solver != "fast" or not len(problem.tunnels) or not steps:
        yield from (solve(step, options) for step in steps)
        return
    program = packing_program(steps[0], capacity_mbps, np.ones(len(problem.tunnels), dtype=bool))
    limits = [np.full(count, mbps / program.scale_mbps) for mbps in levels_mbps]
    climb = _vertices if options.base_point == "vertex" else _centres
    for step, (point, prices) in zip(steps, climb(program, count, limits), strict=True):
        rates = feasible(step, point * program.scale_mbps, capacity_mbps)
        bound = throughput_bound(step, np.maximum(0.0, prices), capacity_mbps)
        value = float(rates.sum())
        yield check_gap(Allocation(step, rates, options.objective, options.base_point, value, bound, FAST), FAST)


def _vertices(program: PackingProgram, demands: int, levels: Sequence[FloatArray]) -> Iterator[Rates]:
    """Points and arc prices by the simplex method, over the rows that can bind."""
    kept = tightest_rows(program, demands)
    rows = np.concatenate([np.arange(demands), demands + kept])
    reduced = PackingProgram(program.rows.tocsr()[rows].tocsc(), program.limits[rows], program.scale_mbps)
    for point, multipliers in _climbed(reduced, demands, levels):
        prices = np.zeros(len(program.limits) - demands)
        prices[kept] = multipliers[demands:]
        yield point, prices


def _climbed(program: PackingProgram, demands: int, levels: Sequence[FloatArray]) -> Iterator[Rates]:
    """Points and multipliers, dense where that is fast and ends well; else HiGHS' dual simplex method, kept warm."""
    rows, columns = program.rows.shape
    if rows * columns <= LARGEST_TABLEAU:
        tableau = np.zeros((rows + 1, columns + 1))
        tableau[:rows, :columns] = program.rows.toarray()
        tableau[:rows, columns], tableau[rows, :columns] = program.limits, -1.0
        tableau[:demands, columns] = levels[0]
        points, multipliers = np.zeros((len(levels), columns)), np.zeros((len(levels), rows))
        heights = np.array([level[0] for level in levels])
        done = climb(tableau, demands, heights, points, multipliers)
        if done and _are_proven(program, demands, heights, points, multipliers):
            yield from zip(points, multipliers, strict=True)
            return
    highs = vertex_solver(program, dual=True)
    number, unbounded = np.arange(demands, dtype=np.int32), np.full(demands, -np.inf)
    for level in levels:
        check_status(highs.changeRowsBounds(demands, number, unbounded, level))
        check_status(highs.run())
        yield vertex_answer(highs)


def _are_proven(
    program: PackingProgram, demands: int, heights: FloatArray, points: FloatArray, multipliers: FloatArray
) -> bool:
    """Whether points fit and multipliers prove them, as far as rounding goes: dense pivots can lose all digits."""
    limits = np.tile(program.limits, (len(heights), 1))
    limits[:, :demands] = heights[:, None]
    over = (program.rows @ points.T).T - limits
    short = 1.0 - (program.rows.T @ multipliers.T).T
    gap = (limits * multipliers).sum(axis=1) - points.sum(axis=1)
    return bool(max(over.max(), short.max(), np.abs(gap).max()) <= PROVEN)


def _centres(program: PackingProgram, demands: int, levels: Sequence[FloatArray]) -> Iterator[Rates]:
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
