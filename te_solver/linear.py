"""The readable reference for every linear program here: cvxpy in matrix form, its status checked."""

from __future__ import annotations

import warnings
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_matrix

from mininet_topos.errors import BadInputError, MissingRequirementError
from te_solver.errors import InfeasibleError, SolverError
from te_solver.network import FloatArray

BASE_POINTS = ("centre", "vertex")
# An interior point method ends inside the set of best allocations (every tunnel that some of them uses carries
# something), near its centre but not the same spot for every such method; the simplex method ends at a vertex of it.
SOLVERS = {"clarabel": "centre", "highs": "vertex", "scipy": "vertex"}
DEFAULT_SOLVER = {"centre": "clarabel", "vertex": "highs"}


class Solution(NamedTuple):
    """Best point and a multiplier (at least 0) for every row."""

    point: FloatArray
    multipliers: FloatArray


def choose_solver(base_point: str, solver: str | None = None) -> str:
    """Solver for a base point.

    Raises
    ------
    BadInputError
        Unknown base point or solver, or a solver that ends at the other base point.
    """
    if base_point not in BASE_POINTS:
        raise BadInputError(f"unknown base point {base_point!r}; use one of {', '.join(BASE_POINTS)}")
    if solver is None:
        return DEFAULT_SOLVER[base_point]
    if solver not in SOLVERS:
        raise BadInputError(f"unknown solver {solver!r}; use one of {', '.join(SOLVERS)}")
    if SOLVERS[solver] != base_point:
        fitting = ", ".join(name for name, point in SOLVERS.items() if point == base_point)
        raise BadInputError(f"solver {solver!r} ends at a {SOLVERS[solver]}, not at the {base_point}; use {fitting}")
    return solver


def minimise(cost: FloatArray, rows: csr_matrix, limits: FloatArray, solver: str = "clarabel") -> Solution:
    """Point x >= 0 with rows x <= limits that has the least cost' x.

    Parameters
    ----------
    cost : float array, shape (columns,)
    rows : sparse matrix, shape (rows, columns)
    limits : float array, shape (rows,)
        Scaled so that typical values are about 1.
    solver : {"clarabel", "highs", "scipy"}

    Raises
    ------
    InfeasibleError
        No such point.
    SolverError
        The solver gave up, or the cost falls without end.
    MissingRequirementError
        cvxpy is not installed.
    """
    if not len(cost):
        return Solution(np.zeros(0), np.zeros(len(limits)))
    try:
        import cvxpy
    except ImportError as error:
        raise MissingRequirementError(
            "cvxpy is not installed; run 'make setup', or pip install armor-sdn[te]"
        ) from error
    point = cvxpy.Variable(len(cost), nonneg=True)
    constraint = rows @ point <= limits
    problem = cvxpy.Problem(cvxpy.Minimize(cost @ point), [constraint])
    with warnings.catch_warnings():
        # "Solution may be inaccurate": every answer here is judged by its certificate instead.
        warnings.simplefilter("ignore", UserWarning)
        try:
            problem.solve(solver=solver.upper())
        except cvxpy.SolverError as error:
            raise SolverError(
                f"solver {solver} failed on {rows.shape[0]} rows and {rows.shape[1]} columns: {error}"
            ) from error
    if problem.status in (cvxpy.INFEASIBLE, cvxpy.INFEASIBLE_INACCURATE):
        raise InfeasibleError(
            f"no allocation meets all {rows.shape[0]} rows; lower the demands, or raise the capacities"
        )
    if problem.status not in (cvxpy.OPTIMAL, cvxpy.OPTIMAL_INACCURATE):
        raise SolverError(f"solver {solver} ended with status {problem.status!r}; try another solver")
    return Solution(np.asarray(point.value), np.maximum(0.0, np.asarray(constraint.dual_value)))


def lower_bound(
    cost: FloatArray, rows: csr_matrix, limits: FloatArray, multipliers: FloatArray, upper: FloatArray
) -> float:
    """No point with rows x <= limits and 0 <= x <= upper has a smaller cost' x, whatever the multipliers >= 0."""
    reduced = cost + rows.T @ multipliers
    return float(-limits @ multipliers + np.minimum(0.0, reduced) @ upper)
