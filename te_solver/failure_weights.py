"""Precomputed weights: for each link, how victims are split once it has failed (Kuijia sections 4.2 and 5.1)."""

from __future__ import annotations

import numpy as np

from mininet_topos.topology import LinkId
from te_solver.network import FloatArray
from te_solver.responses import TrafficPlan, moved_by_weights, precomputed
from te_solver.solve import SolveOptions


def failure_weights(plan: TrafficPlan, options: SolveOptions) -> dict[LinkId, FloatArray]:
    """Splitting weights of the victims of each link that carries a tunnel, shape (tunnels,).

    The second linear program places what fits into the capacity that aboriginal traffic leaves. A switch splits all
    victims of a pair, so what fits nowhere is split as the rest; victims of which nothing fits go by the original
    weights.

    Raises
    ------
    SolverError
        The solver failed.
    """
    problem, found = plan.problem, {}
    owner = problem.tunnels.pair_of
    for number, link in enumerate(problem.network.topology.link_ids):
        failed_arcs = problem.network.link_of == number
        down = problem.tunnels.down(failed_arcs)
        if down.any():
            moved = precomputed(plan, down, failed_arcs, options).moved_mbps
            placed = problem.per_demand(moved)[owner] > 0
            found[link] = np.where(placed, moved, moved_by_weights(plan, down))
    return found
