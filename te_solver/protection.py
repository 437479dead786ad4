"""Schemes that reserve before failures: FFC and TeaVaR.

FFC (Liu et al., SIGCOMM 2014): grant b and give tunnels a such that, whichever k links fail, the surviving tunnels of
every demand were given at least b. Rescaling then never congests. A demand whose tunnels k links can all fail gets 0.

TeaVaR (Bogle et al., SIGCOMM 2019): give tunnels a such that the conditional value at risk, at the wanted availability,
of the largest loss of any demand is least. The loss of a demand is 1 - (what surviving tunnels were given) / demand.
Failure sets beyond the enumerated ones count as a total loss.

Both programs are written once over patterns (patterns.py); `grouped=False` writes a row for every failure set instead,
which is the reference.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.sparse import coo_matrix, csr_matrix

from mininet_topos.errors import BadInputError
from te_solver.certificate import feasible
from te_solver.linear import choose_solver, lower_bound, minimise
from te_solver.network import FloatArray
from te_solver.patterns import Scenario, failed_mask, failure_masks, scenarios, worst_failed_tunnels
from te_solver.responses import TrafficPlan
from te_solver.solve import CVXPY, check_gap
from te_solver.values import Allocation, Problem

# Interior point methods end farther from the best here, and grants are cut to what every failure leaves.
LARGEST_GAP = 1e-4
Rows = list[tuple[list[int], list[float], float]]


class Program(NamedTuple):
    """min cost' x with rows x <= limits and 0 <= x <= upper, in units of `scale_mbps`."""

    cost: FloatArray
    rows: csr_matrix
    limits: FloatArray
    upper: FloatArray
    scale_mbps: float


def ffc_plan(
    problem: Problem, failures: int, base_point: str = "centre", *, solver: str | None = None, grouped: bool = True
) -> TrafficPlan:
    """Forward fault correction against every set of up to `failures` failed links.

    Raises
    ------
    BadInputError
        Fewer than 1 failure.
    SolverError
        The solver failed, or its answer is not proven best to `LARGEST_GAP`.
    """
    if failures < 1:
        raise BadInputError(f"FFC was asked to protect against {failures} failures; give at least 1")
    program = ffc_program(problem, failures, grouped=grouped)
    chosen = choose_solver(base_point, solver)
    solution = minimise(program.cost, program.rows, program.limits, chosen)
    bound = -lower_bound(program.cost, program.rows, program.limits, solution.multipliers, program.upper)
    demands = len(problem.demands)
    # What tunnels are given may add up to more than the demand, so only capacities are repaired.
    given = _within_capacities(problem, np.maximum(0.0, solution.point[demands:]) * program.scale_mbps)
    granted = np.minimum(problem.demands_mbps, _guaranteed(problem, given, failures))
    value = float(granted.sum())
    allocation = Allocation(problem, given, f"ffc{failures}", base_point, value, bound * program.scale_mbps, CVXPY)
    return TrafficPlan(check_gap(allocation, chosen, LARGEST_GAP), granted)


def ffc_program(problem: Problem, failures: int, *, grouped: bool) -> Program:
    """FFC's linear program: columns are grants, then what tunnels are given."""
    demands, starts = len(problem.demands), problem.tunnels.pair_starts.tolist()
    rows: Rows = []
    for number, mask in enumerate(failure_masks(problem)):
        if grouped:
            failed_tunnels: Sequence[int] = worst_failed_tunnels(mask.values(), failures)
        else:
            links = range(len(problem.network.topology.link_ids))
            sets = itertools.chain.from_iterable(itertools.combinations(links, size) for size in range(failures + 1))
            failed_tunnels = [failed_mask(mask, failed) for failed in sets]
        for down in failed_tunnels:
            live = [t for t in range(starts[number], starts[number + 1]) if not down >> (t - starts[number]) & 1]
            rows.append(([number, *(demands + t for t in live)], [1.0, *(-1.0 for _ in live)], 0.0))
    scale_mbps = float(problem.network.capacity_mbps.max())
    count = demands + len(problem.tunnels)
    _add_capacity_rows(rows, problem, demands, scale_mbps)
    for number, mbps in enumerate(problem.demands_mbps.tolist()):
        rows.append(([number], [1.0], mbps / scale_mbps))
    cost = np.zeros(count)
    cost[:demands] = -1.0
    return _program(
        rows, cost, np.concatenate([problem.demands_mbps / scale_mbps, _widest(problem, scale_mbps)]), scale_mbps
    )


def teavar_plan(
    problem: Problem,
    probabilities: Sequence[float],
    availability: float,
    failures: int = 1,
    base_point: str = "centre",
    *,
    solver: str | None = None,
    grouped: bool = True,
) -> TrafficPlan:
    """Least conditional value at risk of the largest loss.

    Parameters
    ----------
    probabilities
        Chance that each physical link is down.
    availability
        In (0, 1): the share of time that the promise covers.
    failures
        Sets of up to this many failed links are looked at.
    base_point : {"centre", "vertex"}
    solver
        cvxpy's; None: the usual one of the base point.

    Returns
    -------
    `allocation.value` is the value at risk reached (a share of the demand), `bound` what none can go below.

    Raises
    ------
    BadInputError
        An availability or a probability outside its range.
    SolverError
        The solver failed, or its answer is not proven best to `LARGEST_GAP`.
    """
    if not 0 < availability < 1:
        raise BadInputError(f"the availability is {availability}; give a number between 0 and 1")
    cases = scenarios(problem, probabilities, failures, merged=grouped)
    served = [d for d in range(len(problem.demands)) if problem.demands_mbps[d] > 0 and _tunnel_count(problem, d)]
    program = teavar_program(problem, cases, availability, served, grouped=grouped)
    chosen = choose_solver(base_point, solver)
    solution = minimise(program.cost, program.rows, program.limits, chosen)
    bound = lower_bound(program.cost, program.rows, program.limits, solution.multipliers, program.upper)
    given = _within_capacities(problem, np.maximum(0.0, solution.point[: len(problem.tunnels)]) * program.scale_mbps)
    constant = max(0.0, 1.0 - sum(case.probability for case in cases)) / (1 - availability)
    value = value_at_risk(problem, given, cases, availability, served)
    allocation = Allocation(problem, given, "teavar", base_point, value, min(value, bound + constant), CVXPY)
    granted = np.minimum(problem.demands_mbps, problem.per_demand(given))
    return TrafficPlan(check_gap(allocation, chosen, LARGEST_GAP), granted)


def teavar_program(
    problem: Problem, cases: Sequence[Scenario], availability: float, served: Sequence[int], *, grouped: bool
) -> Program:
    """TeaVaR's linear program: what tunnels are given, alpha, an excess for every case, then shared losses.

    Shared losses (grouped only): one column for every demand and set of failed tunnels, and one for the largest loss
    without any failure, which every case has at least.
    """
    count, alpha = len(problem.tunnels), len(problem.tunnels)
    scale_mbps = float(problem.network.capacity_mbps.max())
    rows: Rows = []
    _add_capacity_rows(rows, problem, 0, scale_mbps)
    column: dict[tuple[int, int], int] = {}
    intact = alpha + 1 + len(cases)
    following = intact + 1
    for number, case in enumerate(cases):
        excess = alpha + 1 + number
        if grouped:
            rows.append(([intact, alpha, excess], [1.0, -1.0, -1.0], 0.0))
        for demand in served:
            down = case.down[demand]
            if not grouped:
                live, weights = _loss_terms(problem, demand, down, scale_mbps)
                rows.append(([*live, alpha, excess], [*weights, -1.0, -1.0], -1.0))
                continue
            key = demand, down
            if key not in column:
                column[key] = intact if down == 0 else following
                following += down != 0
                live, weights = _loss_terms(problem, demand, down, scale_mbps)
                rows.append(([*live, column[key]], [*weights, -1.0], -1.0))
            if down:
                rows.append(([column[key], alpha, excess], [1.0, -1.0, -1.0], 0.0))
    cost = np.zeros(following)
    cost[alpha] = 1.0
    cost[alpha + 1 : intact] = [case.probability / (1 - availability) for case in cases]
    # No value passes 1: losses are shares. Cases left out add their probability beside the program, as a loss of 1.
    missing = max(0.0, 1.0 - sum(case.probability for case in cases)) / (1 - availability)
    cost[alpha] -= missing
    upper = np.concatenate([_widest(problem, scale_mbps), np.ones(following - count)])
    rows.append(([alpha], [1.0], 1.0))
    return _program(rows, cost, upper, scale_mbps)


def value_at_risk(
    problem: Problem, given_mbps: FloatArray, cases: Sequence[Scenario], availability: float, served: Sequence[int]
) -> float:
    """Mean of the largest demand loss over the worst 1 - availability of the probability (CVaR), by sorting cases."""
    losses = [(largest_loss(problem, given_mbps, case.down, served), case.probability) for case in cases]
    losses.append((1.0, max(0.0, 1.0 - sum(case.probability for case in cases))))
    left, total = 1 - availability, 0.0
    for loss, probability in sorted(losses, reverse=True):
        taken = min(left, probability)
        total += taken * loss
        left -= taken
    return total / (1 - availability)


def largest_loss(problem: Problem, given_mbps: FloatArray, down: Sequence[int], served: Sequence[int]) -> float:
    """Largest share that any served demand loses when the tunnels in `down` (a mask for every demand) are gone."""
    starts = problem.tunnels.pair_starts
    largest = 0.0
    for demand in served:
        tunnels = range(starts[demand], starts[demand + 1])
        left = math.fsum(given_mbps[t] for place, t in enumerate(tunnels) if not down[demand] >> place & 1)
        largest = max(largest, 1.0 - left / float(problem.demands_mbps[demand]))
    return largest


def _guaranteed(problem: Problem, given_mbps: FloatArray, failures: int) -> FloatArray:
    """What every demand's surviving tunnels were given in the worst case, shape (demands,)."""
    starts = problem.tunnels.pair_starts.tolist()
    worst = np.zeros(len(problem.demands))
    for number, mask in enumerate(failure_masks(problem)):
        tunnels = range(starts[number], starts[number + 1])
        worst[number] = min(
            math.fsum(given_mbps[t] for place, t in enumerate(tunnels) if not down >> place & 1)
            for down in worst_failed_tunnels(mask.values(), failures)
        )
    return worst


def _loss_terms(problem: Problem, demand: int, down: int, scale_mbps: float) -> tuple[list[int], list[float]]:
    first, last = problem.tunnels.pair_starts[demand : demand + 2].tolist()
    live = [tunnel for tunnel in range(first, last) if not down >> (tunnel - first) & 1]
    weight = -scale_mbps / float(problem.demands_mbps[demand])
    return live, [weight] * len(live)


def _within_capacities(problem: Problem, given_mbps: FloatArray) -> FloatArray:
    """What tunnels are given, scaled down until loads keep to the capacities."""
    unlimited = problem.with_volumes(problem.per_demand(given_mbps) * (1 + 1e-12))
    return feasible(unlimited, given_mbps, problem.network.capacity_mbps)


def _add_capacity_rows(rows: Rows, problem: Problem, offset: int, scale_mbps: float) -> None:
    over: list[list[int]] = [[] for _ in problem.network.links]
    for tunnel, arc in zip(problem.tunnels.tunnel_of_entry.tolist(), problem.tunnels.arcs.tolist(), strict=True):
        over[arc].append(offset + tunnel)
    for arc, columns in enumerate(over):
        if columns:
            rows.append((columns, [1.0] * len(columns), float(problem.network.capacity_mbps[arc]) / scale_mbps))


def _program(rows: Rows, cost: FloatArray, upper: FloatArray, scale_mbps: float) -> Program:
    sizes = [len(columns) for columns, _, _ in rows]
    number = np.repeat(np.arange(len(rows)), sizes)
    columns = np.fromiter(itertools.chain.from_iterable(row[0] for row in rows), dtype=np.int64, count=sum(sizes))
    values = np.fromiter(itertools.chain.from_iterable(row[1] for row in rows), dtype=np.float64, count=sum(sizes))
    matrix = csr_matrix(coo_matrix((values, (number, columns)), shape=(len(rows), len(cost))))
    return Program(cost, matrix, np.array([row[2] for row in rows]), upper, scale_mbps)


def _widest(problem: Problem, scale_mbps: float) -> FloatArray:
    """Most that every tunnel can be given."""
    widest: FloatArray = problem.tunnels.least_along(problem.network.capacity_mbps) / scale_mbps
    return widest


def _tunnel_count(problem: Problem, demand: int) -> int:
    first, last = problem.tunnels.pair_starts[demand : demand + 2].tolist()
    return int(last - first)
