"""What the ingress switches do when links fail: which traffic moves to which tunnels, and in which queue.

A `TrafficPlan` is the state before the failure. A response is a function of it and of the tunnels that failed; it needs
no controller unless it says so.

rescale
    The failed tunnels' traffic goes to the others of its demand by their weights, in its own queue (Kuijia section
    4.1).
rate_rescale
    The same traffic in the victim queue: Kuijia (section 4.2).
precomputed
    The victims' split is computed anew for this failure, the rest of the network unchanged (section 4.2, Figure 4).
limited
    Rescaling, but no tunnel carries more than it was given (TeaVaR's rule, SIGCOMM 2019).
reoptimise
    A controller allocates everything anew without the failed links: the bound, not a data plane scheme.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from te_solver.certificate import feasible
from te_solver.network import BoolArray, FloatArray
from te_solver.solve import FAST, SolveOptions, require_gap, solve, throughput_gap, throughput_point, without_crumbs
from te_solver.values import Allocation, IntArray, Problem, victim_priority

# A volume below this share of the demand counts as delivered whole.
NEGLIGIBLE = 1e-9


@dataclass(frozen=True, eq=False)
class TrafficPlan:
    """What is sent before any failure.

    Attributes
    ----------
    allocation
        What every tunnel is given; its splitting weights are the ingress weights.
    granted_mbps : float array, shape (demands,)
        What every demand may send; less than its tunnels are given when a scheme keeps a reserve.
    """

    allocation: Allocation
    granted_mbps: FloatArray

    @property
    def problem(self) -> Problem:
        """Demands and tunnels."""
        return self.allocation.problem

    @cached_property
    def rates_mbps(self) -> FloatArray:
        """Traffic of every tunnel before the failure, shape (tunnels,)."""
        owner = self.problem.tunnels.pair_of
        rates: FloatArray = self.granted_mbps[owner] * self.allocation.splitting_weights
        return rates


@dataclass(frozen=True, eq=False)
class Response:
    """Traffic after the failure.

    Attributes
    ----------
    kept_mbps : float array, shape (tunnels,)
        Aboriginal traffic: it stays where it was.
    moved_mbps : float array, shape (tunnels,)
        Victim traffic on the tunnels it was moved to.
    moved_queue : int array, shape (tunnels,)
        Queue of the moved traffic.
    rearranged
        Whether aboriginal traffic was moved too, so that classes of tunnels mean nothing.
    """

    kept_mbps: FloatArray
    moved_mbps: FloatArray
    moved_queue: IntArray
    rearranged: bool = False


def rescale(plan: TrafficPlan, down: BoolArray) -> Response:
    """Move the victims by the original weights, in their own queue.

    Parameters
    ----------
    down : bool array, shape (tunnels,)
        Tunnels that cross a failed link.

    Returns
    -------
    Where all surviving weights are 0 the survivors share equally; without survivors nothing is moved.
    """
    kept = np.where(down, 0.0, plan.rates_mbps)
    return Response(kept, moved_by_weights(plan, down), _own_queue(plan))


def rate_rescale(plan: TrafficPlan, down: BoolArray) -> Response:
    """Move the victims by the original weights into the victim queue."""
    kept = np.where(down, 0.0, plan.rates_mbps)
    return Response(kept, moved_by_weights(plan, down), _victim_queue(plan))


def limited(plan: TrafficPlan, down: BoolArray) -> Response:
    """Move the victims by the original weights, as far as the survivors were given more than they carry."""
    kept = np.where(down, 0.0, plan.rates_mbps)
    room = np.maximum(0.0, plan.allocation.tunnel_mbps - kept)
    return Response(kept, np.minimum(moved_by_weights(plan, down), room), _own_queue(plan))


def precomputed(plan: TrafficPlan, down: BoolArray, failed_arcs: BoolArray, options: SolveOptions) -> Response:
    """Move the victims by the weights that are best for this failure, into the victim queue.

    The second linear program of Kuijia section 4.2, once for every victim queue in order: a queue has what aboriginal
    traffic of queues before it and victims already placed leave. With `options.te_solver` "fast" it is left out
    where the original weights already deliver everything that has a survivor. A queue has several optima, so what later
    queues get may differ between the solvers.
    """
    problem, kept = plan.problem, np.where(down, 0.0, plan.rates_mbps)
    victims = problem.per_demand(np.where(down, plan.rates_mbps, 0.0))
    queues = _victim_queue(plan)
    of_demand = np.array([victim_priority(demand.priority) for demand in problem.demands], dtype=np.int64)
    own = problem.priorities[problem.tunnels.pair_of]
    moved = np.zeros(len(down))
    by_weights = moved_by_weights(plan, down)
    for queue in np.unique(of_demand):
        before = np.where(own < queue, kept, 0.0) + moved
        left = np.where(failed_arcs, 0.0, problem.network.capacity_mbps - problem.tunnels.arc_loads(before))
        left = without_crumbs(np.maximum(0.0, left), problem.network.capacity_mbps)
        simple = np.where(queues == queue, by_weights, 0.0)
        if options.te_solver == FAST and (problem.tunnels.arc_loads(simple) <= left * (1 + NEGLIGIBLE)).all():
            moved += simple
            continue
        part = problem.with_volumes(np.where(of_demand == queue, victims, 0.0))
        best = throughput_point(part, left, options)
        require_gap(throughput_gap(part, best.rates_mbps, best.prices, left), best.solved_by)
        moved += feasible(part, best.rates_mbps, left)
    return Response(kept, moved, queues)


def reoptimise(plan: TrafficPlan, down: BoolArray, failed_arcs: BoolArray, options: SolveOptions) -> Response:
    """Allocate everything anew without the failed arcs; of what a demand gets, its aboriginal volume counts first."""
    problem = plan.problem
    rates = solve(problem, options, failed_arcs).tunnel_mbps
    got = problem.per_demand(rates)
    aboriginal = np.minimum(problem.per_demand(np.where(down, 0.0, plan.rates_mbps)), got)
    share = (aboriginal / np.where(got > 0, got, 1.0))[problem.tunnels.pair_of]
    return Response(rates * share, rates * (1 - share), _own_queue(plan), rearranged=True)


def moved_by_weights(plan: TrafficPlan, down: BoolArray) -> FloatArray:
    """Victim traffic on every surviving tunnel when it is split by the original weights, shape (tunnels,)."""
    problem = plan.problem
    owner = problem.tunnels.pair_of
    victims = problem.per_demand(np.where(down, plan.rates_mbps, 0.0))[owner]
    weights = np.where(down, 0.0, plan.allocation.splitting_weights)
    total = problem.per_demand(weights)[owner]
    survivors = problem.per_demand((~down).astype(np.float64))[owner]
    share = np.where(total > 0, weights / np.where(total > 0, total, 1.0), ~down / np.maximum(1.0, survivors))
    moved: FloatArray = victims * share
    return moved


def _own_queue(plan: TrafficPlan) -> IntArray:
    return plan.problem.priorities[plan.problem.tunnels.pair_of]


def _victim_queue(plan: TrafficPlan) -> IntArray:
    queues = np.array([victim_priority(demand.priority) for demand in plan.problem.demands], dtype=np.int64)
    return queues[plan.problem.tunnels.pair_of]
