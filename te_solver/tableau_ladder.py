"""Kernel of a demand ladder from a vertex: primal simplex at the first level, dual simplex from level to level.

The tableau is that of tiny_program.py. Raising the limits of the demand rows keeps the basis dual feasible, so each
level starts where the one before ended.
"""

from __future__ import annotations

import numpy as np

from te_solver.compiled import kernel
from te_solver.network import FloatArray, IntArray
from te_solver.tiny_program import pivot, primal_simplex

# Limits below minus this are violated; values are about 1.
FEASIBILITY = 1e-10
# Smallest entry to pivot on, and what counts as equal ratios.
DUAL_PIVOT = 1e-7
TIE = 1e-11


@kernel
def raise_demands(tableau: FloatArray, inside: IntArray, outside: IntArray, demands: int, change: float) -> None:
    """Add `change` to the limits of the first `demands` rows, in terms of the present basis."""
    rows, columns = tableau.shape[0] - 1, tableau.shape[1] - 1
    for column in range(columns):
        if columns <= outside[column] < columns + demands:
            for row in range(rows + 1):
                tableau[row, columns] += change * tableau[row, column]
    for row in range(rows):
        if columns <= inside[row] < columns + demands:
            tableau[row, columns] += change


@kernel
def dual_entering(tableau: FloatArray, outside: IntArray, row: int, columns: int, careful: bool) -> int:
    """Column that stays dual feasible when the row leaves, or -1.

    Among near equals the one with the largest entry, for precision; the lowest variable when `careful`, against cycles.
    """
    last = tableau.shape[0] - 1
    least = np.inf
    for column in range(columns):
        entry = -tableau[row, column]
        if entry > DUAL_PIVOT:
            least = min(least, max(0.0, tableau[last, column]) / entry)
    chosen, largest = -1, 0.0
    for column in range(columns):
        entry = -tableau[row, column]
        if entry <= DUAL_PIVOT or max(0.0, tableau[last, column]) / entry > least + TIE:
            continue
        if (careful and (chosen < 0 or outside[column] < outside[chosen])) or (not careful and entry > largest):
            chosen, largest = column, entry
    return chosen


@kernel
def dual_simplex(tableau: FloatArray, inside: IntArray, outside: IntArray) -> int:
    """Pivot from a dual feasible basis to an optimal one; the number of pivots, or -1 when they do not end."""
    rows, columns = tableau.shape[0] - 1, tableau.shape[1] - 1
    pivots = 0
    limit = 20 * (rows + columns)
    while pivots <= limit:
        row = int(np.argmin(tableau[:rows, columns]))
        if tableau[row, columns] >= -FEASIBILITY:
            return pivots
        column = dual_entering(tableau, outside, row, columns, pivots > columns)
        if column < 0:
            return -1
        pivot(tableau, row, column)
        outside[column], inside[row] = inside[row], outside[column]
        pivots += 1
    return -1


@kernel
def climb(tableau: FloatArray, demands: int, levels: FloatArray, points: FloatArray, multipliers: FloatArray) -> bool:
    """Solve one program at every level, in place.

    Parameters
    ----------
    tableau : float array, shape (rows + 1, columns + 1)
        Demand rows first, with the first level as their limits; the last row is -1 under every column.
    levels : float array, shape (levels,)
    points, multipliers : float array, shape (levels, columns) and (levels, rows)
        Filled with each level's vertex and proof.

    Returns
    -------
    Whether every level was solved.
    """
    rows, columns = tableau.shape[0] - 1, tableau.shape[1] - 1
    outside, inside = np.arange(columns), np.arange(columns, columns + rows)
    for number in range(len(levels)):
        if number == 0:
            pivots = primal_simplex(tableau, inside, outside)
        else:
            raise_demands(tableau, inside, outside, demands, levels[number] - levels[number - 1])
            pivots = dual_simplex(tableau, inside, outside)
            # Rounding may have left a gain where there was none.
            pivots = min(pivots, primal_simplex(tableau, inside, outside))
        if pivots < 0:
            return False
        for row in range(rows):
            if inside[row] < columns:
                points[number, inside[row]] = max(0.0, tableau[row, columns])
        for column in range(columns):
            if outside[column] >= columns:
                multipliers[number, outside[column] - columns] = max(0.0, tableau[rows, column])
    return True
