"""Kernel of the second linear program: max sum(y) with A y <= b, y >= 0, where A holds zeros and ones and b >= 0.

Dense primal simplex on a condensed tableau. It starts at y = 0, where all slacks are basic; Dantzig's rule first, then
Bland's, which cannot cycle. Program sizes are a few columns by a few dozen rows.
"""

from __future__ import annotations

import numpy as np

from te_solver.compiled import kernel
from te_solver.network import FloatArray, IntArray

PIVOT_TOLERANCE = 1e-10
# What rounding leaves where exact arithmetic has 0.
NOISE = 1e-13
# Dantzig's rule for this many pivots a column, then Bland's.
PATIENCE = 20


@kernel
def entering(tableau: FloatArray, outside: IntArray, columns: int, last: int, careful: bool) -> int:
    """Column to bring in, or -1 at the optimum."""
    best, chosen = -PIVOT_TOLERANCE, -1
    for column in range(columns):
        gain = tableau[last, column]
        if gain >= -PIVOT_TOLERANCE:
            continue
        if careful:
            if chosen < 0 or outside[column] < outside[chosen]:
                chosen = column
        elif gain < best:
            best, chosen = gain, column
    return chosen


@kernel
def leaving(tableau: FloatArray, inside: IntArray, column: int, rows: int, columns: int) -> int:
    """Row that limits the column first; the lowest variable among equals."""
    chosen, least = -1, 0.0
    for row in range(rows):
        entry = tableau[row, column]
        if entry > PIVOT_TOLERANCE:
            ratio = tableau[row, columns] / entry
            if chosen < 0 or ratio < least or (ratio == least and inside[row] < inside[chosen]):
                chosen, least = row, ratio
    return chosen


@kernel
def pivot(tableau: FloatArray, row: int, column: int) -> None:
    """Exchange the row's and the column's variables."""
    height, width = tableau.shape
    inverse = 1.0 / tableau[row, column]
    # Rows are sparse: only columns where the pivot row is not 0 change.
    touched, count = np.empty(width, np.int64), 0
    for k in range(width):
        if tableau[row, k] != 0.0 and k != column:
            tableau[row, k] *= inverse
            touched[count] = k
            count += 1
    for i in range(height):
        factor = tableau[i, column]
        if i != row and factor != 0.0:
            for place in range(count):
                value = tableau[i, touched[place]] - factor * tableau[row, touched[place]]
                tableau[i, touched[place]] = value if abs(value) > NOISE else 0.0
            tableau[i, column] = -factor * inverse
    tableau[row, column] = inverse


@kernel
def primal_simplex(tableau: FloatArray, inside: IntArray, outside: IntArray) -> int:
    """Pivot from a feasible basis to an optimal one; the number of pivots, or -1 when there is no end."""
    rows, columns = tableau.shape[0] - 1, tableau.shape[1] - 1
    pivots = 0
    limit = 1000 * (columns + 1)
    while True:
        column = entering(tableau, outside, columns, rows, pivots > PATIENCE * columns)
        if column < 0:
            return pivots
        row = leaving(tableau, inside, column, rows, columns)
        if row < 0 or pivots > limit:
            return -1
        pivot(tableau, row, column)
        outside[column], inside[row] = inside[row], outside[column]
        pivots += 1


@kernel
def solve_tiny(tableau: FloatArray, multipliers: FloatArray) -> int:
    """Solve in place; the optimum stands in the last corner, the rows' multipliers in `multipliers`.

    Parameters
    ----------
    tableau : float array, shape (rows + 1, columns + 1)
        A with b beside it; the last row is -1 under every column and 0 in the corner.
    multipliers : float array, shape (rows,)
        Filled with a proof of optimality (linear programming duality).

    Returns
    -------
    Number of pivots; -1 when the program has no end or the pivots do not.
    """
    rows, columns = tableau.shape[0] - 1, tableau.shape[1] - 1
    outside, inside = np.arange(columns), np.arange(columns, columns + rows)
    pivots = primal_simplex(tableau, inside, outside)
    if pivots < 0:
        return -1
    multipliers[:] = 0.0
    for column in range(columns):
        if outside[column] >= columns:
            multipliers[outside[column] - columns] = max(0.0, tableau[rows, column])
    return pivots
