"""Kernels of the interior point method: sums over tunnels, and the Schur complement on arcs.

Work is cut into blocks of demands that run side by side; each block adds into its own copy, and the copies are added up
in order, so results depend on the number of blocks only in the last digits.
"""

from __future__ import annotations

import numpy as np

from te_solver.chains import Columns
from te_solver.compiled import blocks, kernel, parallel_kernel
from te_solver.network import FloatArray, IntArray

# Weights below this share of the largest change no digit of the complement; a larger cut breaks convergence.
NEGLIGIBLE = 1e-14


@parallel_kernel
def row_sums(columns: Columns, rates: FloatArray, rows: int, count: int) -> FloatArray:
    """Sum of `rates` over the entries of every difference row, shape (rows,)."""
    tunnels = len(columns.starts) - 1
    parts = np.zeros((count, rows))
    for block in blocks(count):
        for tunnel in range(block * tunnels // count, (block + 1) * tunnels // count):
            rate = rates[tunnel]
            for place in range(columns.starts[tunnel], columns.starts[tunnel + 1]):
                parts[block, columns.row[place]] += columns.sign[place] * rate
    total: FloatArray = parts.sum(axis=0)
    return total


@parallel_kernel
def tunnel_sums(columns: Columns, prices: FloatArray, count: int) -> FloatArray:
    """Sum of difference-row prices over the entries of every tunnel, shape (tunnels,)."""
    tunnels = len(columns.starts) - 1
    sums = np.empty(tunnels)
    for block in blocks(count):
        for tunnel in range(block * tunnels // count, (block + 1) * tunnels // count):
            total = 0.0
            for place in range(columns.starts[tunnel], columns.starts[tunnel + 1]):
                total += columns.sign[place] * prices[columns.row[place]]
            sums[tunnel] = total
    return sums


@kernel
def add_block(columns: Columns, one: int, other: int, weight: float, complement: FloatArray) -> None:
    """Add weight (a b' + b a') below the diagonal, a and b two tunnels' columns (weight a a' when they are one)."""
    last = columns.starts[other + 1]
    for place in range(columns.starts[one], columns.starts[one + 1]):
        row = columns.row[place]
        signed = weight * columns.sign[place]
        for beside in range(columns.starts[other], place + 1 if one == other else last):
            column = columns.row[beside]
            value = signed * columns.sign[beside]
            if row > column:
                complement[row, column] += value
            elif row < column:
                complement[column, row] += value
            elif one == other:
                complement[row, row] += value
            else:
                complement[row, row] += 2.0 * value


@kernel
def add_demand(
    columns: Columns, first: int, last: int, theta: FloatArray, slack: float, least: float, complement: FloatArray
) -> None:
    """Add one demand's part: its tunnels' columns by theta, less the rank-one part that its own row takes out."""
    total = slack
    for tunnel in range(first, last):
        total += theta[tunnel]
    for one in range(first, last):
        if theta[one] <= least:
            continue
        # theta - theta^2 / total without cancellation.
        others = slack
        for tunnel in range(first, last):
            if tunnel != one:
                others += theta[tunnel]
        add_block(columns, one, one, theta[one] * (others / total), complement)
        for other in range(first, one):
            if theta[other] > least:
                add_block(columns, one, other, -theta[one] * theta[other] / total, complement)


@parallel_kernel
def schur_complement(
    columns: Columns, pair_starts: IntArray, theta: FloatArray, slack: FloatArray, rows: int, count: int
) -> FloatArray:
    """Lower triangle of the arcs' Schur complement without the arcs' own diagonal, shape (rows, rows).

    Parameters
    ----------
    pair_starts : int array, shape (demands + 1,)
    theta : float array, shape (tunnels,)
        Rate over reduced cost.
    slack : float array, shape (demands,)
        Slack over price of the demand rows.
    rows, count
        Difference rows; blocks.
    """
    demands = len(pair_starts) - 1
    least = NEGLIGIBLE * theta.max()
    parts = np.zeros((count, rows, rows))
    for block in blocks(count):
        for demand in range(block * demands // count, (block + 1) * demands // count):
            add_demand(columns, pair_starts[demand], pair_starts[demand + 1], theta, slack[demand], least, parts[block])
    for block in range(1, count):
        parts[0] += parts[block]
    total: FloatArray = parts[0]
    return total


@kernel
def demand_sums(pair_starts: IntArray, rates: FloatArray) -> FloatArray:
    """Sum over every demand's tunnels, shape (demands,)."""
    sums = np.zeros(len(pair_starts) - 1)
    for demand in range(len(sums)):
        for tunnel in range(pair_starts[demand], pair_starts[demand + 1]):
            sums[demand] += rates[tunnel]
    return sums


@kernel
def largest_worth(pair_starts: IntArray, prices: FloatArray) -> FloatArray:
    """max(0, 1 - cheapest tunnel's price) of every demand: its part of the duality bound."""
    worth = np.zeros(len(pair_starts) - 1)
    for demand in range(len(worth)):
        for tunnel in range(pair_starts[demand], pair_starts[demand + 1]):
            worth[demand] = max(worth[demand], 1.0 - prices[tunnel])
    return worth


@kernel
def longest_step(values: FloatArray, changes: FloatArray) -> float:
    """Largest step up to 1 that keeps all values at least 0."""
    step = 1.0
    for place in range(len(values)):
        if changes[place] < 0.0:
            step = min(step, -values[place] / changes[place])
    return step
