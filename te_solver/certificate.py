"""Proofs: a strictly feasible allocation from a solver's nearly feasible one, and bounds from any multipliers.

Linear programming duality: whatever prices v >= 0 the arcs have, no allocation carries more than
sum(c v) + sum over demands of d max(0, 1 - cheapest tunnel's price). One pass over the tunnels proves it.
"""

from __future__ import annotations

import numpy as np

from te_solver.network import FloatArray
from te_solver.values import Problem

# Rates below this share of the demand are what interior point methods leave on tunnels that should carry nothing.
NOTHING = 1e-8


def feasible(problem: Problem, rates_mbps: FloatArray, capacity_mbps: FloatArray) -> FloatArray:
    """Rates scaled down, never up, until sums keep to the demands and loads to the capacities.

    Parameters
    ----------
    rates_mbps : float array, shape (tunnels,)
        Nearly feasible.
    capacity_mbps : float array, shape (arcs,)

    Returns
    -------
    float array, shape (tunnels,)
    """
    tunnels = problem.tunnels
    asked = problem.demands_mbps[tunnels.pair_of]
    rates = np.where(rates_mbps > NOTHING * asked, rates_mbps, 0.0)
    rates = rates * np.minimum(1.0, _ratio(problem.demands_mbps, problem.per_demand(rates)))[tunnels.pair_of]
    kept: FloatArray = rates * np.minimum(1.0, tunnels.least_along(_ratio(capacity_mbps, tunnels.arc_loads(rates))))
    return kept


def throughput_bound(
    problem: Problem, prices: FloatArray, capacity_mbps: FloatArray, weights: FloatArray | None = None
) -> float:
    """No allocation carries more than this (Mbit/s), whatever the arcs' prices, shape (arcs,), at least 0.

    With `weights`, shape (demands,), the volume of each demand counts that much.
    """
    owner = problem.tunnels.pair_of
    worth = np.zeros(len(problem.demands))
    value = 1.0 if weights is None else weights[owner]
    np.maximum.at(worth, owner, value - problem.tunnels.over_tunnels(prices))
    return float(capacity_mbps @ prices + problem.demands_mbps @ worth)


def raised_prices(prices: FloatArray, capacity_mbps: FloatArray, spare_mbps: float = 0.0) -> FloatArray:
    """Prices below 1 raised to 1 where that adds no more than `spare_mbps` to the bound: at closed arcs, above all.

    A solver finds the price of an arc only as well as the arc's capacity matters. At an arc that is nearly full already
    it may miss 1 by 1e-4, and the bound grows by that share of every demand whose tunnels all cross such arcs.
    """
    raised: FloatArray = np.where(capacity_mbps * (1.0 - prices) <= spare_mbps, np.maximum(prices, 1.0), prices)
    return raised


def utilisation_bound(problem: Problem, prices: FloatArray, capacity_mbps: FloatArray) -> float:
    """No allocation of all demands has a smaller highest utilisation, whatever the arcs' prices."""
    worth = float(capacity_mbps @ prices)
    if worth <= 0:
        return 0.0
    cheapest = np.full(len(problem.demands), np.inf)
    np.minimum.at(cheapest, problem.tunnels.pair_of, problem.tunnels.over_tunnels(prices))
    carried = problem.demands_mbps > 0
    return float(problem.demands_mbps[carried] @ cheapest[carried]) / worth


def _ratio(limit: FloatArray, value: FloatArray) -> FloatArray:
    """limit / value, 1 where the value is 0, a hair less so that rounding cannot overshoot."""
    ratio: FloatArray = np.where(value > 0, limit * (1 - 1e-15) / np.where(value > 0, value, 1.0), 1.0)
    return np.where(value <= limit, 1.0, ratio)
