"""The readable reference for every linear program here: cvxpy in matrix form, its status checked."""

from __future__ import annotations

import warnings
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_matrix, diags

from mininet_topos.errors import BadInputError, MissingRequirementError
from te_solver.choices import BASE_POINTS, SOLVERS
from te_solver.errors import InfeasibleError, SolverError
from te_solver.network import FloatArray

# An interior point method ends inside the set of best allocations (every tunnel that some of them uses carries
# something), near its centre but not the same spot for every such method; the simplex method ends at a vertex of it.
DEFAULT_SOLVER = {"centre": "clarabel", "vertex": "highs"}
UNEQUAL_SIZES = (
    "demands and capacities may differ by too many orders of magnitude; correct those that are far too large or small"
)
"""What usually makes a solver end without a good answer."""


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


def minimise(
    cost: FloatArray, rows: csr_matrix, limits: FloatArray, solver: str = "clarabel", widths: FloatArray | None = None
) -> Solution:
    """Point x >= 0 with rows x <= limits that has the least cost' x.

    Parameters
    ----------
    cost : float array, shape (columns,)
    rows : sparse matrix, shape (rows, columns)
    limits : float array, shape (rows,)
    solver : {"clarabel", "highs", "scipy"}
    widths : float array, shape (columns,), optional
        Typical size of every variable, above 0. Solvers stop at a precision that is relative to the largest numbers;
        in units of its own width and limit every variable and row is about 1.

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
    widths = np.ones(len(cost)) if widths is None else widths
    scaled, heights = scaled_rows(rows, limits, widths)
    unit = float(np.abs(cost * widths).max()) or 1.0
    point, multipliers = _solved(cost * widths / unit, scaled, limits / heights, solver)
    return Solution(point * widths, multipliers * unit / heights)


def scaled_rows(rows: csr_matrix, limits: FloatArray, widths: FloatArray) -> tuple[csr_matrix, FloatArray]:
    """Rows over variables in units of their widths, each divided by its height: its limit, or its largest entry."""
    wide = csr_matrix(rows @ diags(widths))
    largest = np.asarray(abs(wide).max(axis=1).todense()).ravel()
    heights = np.where(limits != 0, np.abs(limits), np.where(largest > 0, largest, 1.0))
    return csr_matrix(diags(1.0 / heights) @ wide), heights


def _solved(cost: FloatArray, rows: csr_matrix, limits: FloatArray, solver: str) -> Solution:
    try:
        import cvxpy
    except ImportError as error:
        raise MissingRequirementError(
            "cvxpy is not installed; run 'make setup', or pip install '.[te]' in Armor's folder"
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
            size = f"{rows.shape[0]} rows and {rows.shape[1]} columns"
            raise SolverError(f"solver {solver} failed on {size}: {error}") from error
    if problem.status in (cvxpy.INFEASIBLE, cvxpy.INFEASIBLE_INACCURATE):
        raise InfeasibleError(f"no allocation meets all {len(limits)} rows; lower the demands, or raise the capacities")
    if problem.status not in (cvxpy.OPTIMAL, cvxpy.OPTIMAL_INACCURATE):
        raise SolverError(f"solver {solver} ended with status {problem.status!r}; {UNEQUAL_SIZES}")
    return Solution(np.asarray(point.value), np.maximum(0.0, np.asarray(constraint.dual_value)))


def lower_bound(
    cost: FloatArray, rows: csr_matrix, limits: FloatArray, multipliers: FloatArray, upper: FloatArray
) -> float:
    """No point with rows x <= limits and 0 <= x <= upper has a smaller cost' x, whatever the multipliers >= 0."""
    reduced = cost + rows.T @ multipliers
    return float(-limits @ multipliers + np.minimum(0.0, reduced) @ upper)
