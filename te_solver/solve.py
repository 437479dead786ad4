"""Allocations: the linear programs of traffic engineering, solved and certified.

throughput
    Carry as much as possible (Kuijia section 5.1). Priorities are served in order: a class gets what the classes
    before it leave (as SWAN does, SIGCOMM 2013).
max-min
    Raise the least served demand as far as possible, then the next ones (water filling over linear programs).
min-max-utilisation
    Carry every demand whole with the least highest utilisation, which may pass 1.

The best allocation is hardly ever unique; `base_point` says which one is meant (linear.py).

cvxpy solves every program (linear.py). The throughput program has a fast solver too (fast_solve.py), for networks that
keep cvxpy busy for long; both answers carry the same certificate.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_matrix, hstack, vstack

from mininet_topos.errors import BadInputError
from te_solver.certificate import feasible, raised_prices, throughput_bound, utilisation_bound
from te_solver.choices import OBJECTIVES, TE_SOLVERS
from te_solver.errors import InfeasibleError, SolverError
from te_solver.linear import UNEQUAL_SIZES, choose_solver, minimise
from te_solver.network import BoolArray, FloatArray
from te_solver.values import Allocation, Problem

AUTO, CVXPY, FAST = TE_SOLVERS
# "auto" takes cvxpy up to this many entries of the matrix, where it answers in 2 s, and the fast solver above
# (`python -m benchmarks.te_solvers`).
CVXPY_ENTRIES = 150_000
LARGEST_GAP = 1e-6
# What a class leaves of a capacity counts as nothing below this share: solvers cannot work with crumbs.
CRUMB = 1e-7
# A multiplier above this share of the largest says that a demand cannot rise further. Interior point methods leave
# small multipliers everywhere; a demand that is missed is found in the next round, at the same level.
BLOCKED_SHARE = 0.003
# Later rounds of max-min may take this share of a level that earlier ones found: where nothing else can give way,
# interior point methods need the room.
ROOM_SHARE = 1e-7


@dataclass(frozen=True, slots=True)
class SolveOptions:
    """How to allocate.

    Attributes
    ----------
    solver
        cvxpy's; None: the usual one of the base point.
    te_solver : {"auto", "cvxpy", "fast"}
        What solves the throughput program (`chosen_te_solver`).
    threads
        Of the fast solver.
    """

    objective: str = "throughput"
    base_point: str = "centre"
    solver: str | None = None
    te_solver: str = CVXPY
    threads: int = 1


class Point(NamedTuple):
    """Rates of every tunnel and prices of every arc, not yet repaired, and who found them: cvxpy or fast."""

    rates_mbps: FloatArray
    prices: FloatArray
    solved_by: str


def chosen_te_solver(options: SolveOptions, entries: int) -> str:
    """What solves a throughput program: "cvxpy" or "fast".

    Parameters
    ----------
    entries
        Of the program's matrix: one for each tunnel, and one for each arc of each tunnel.

    Examples
    --------
    >>> chosen_te_solver(SolveOptions(te_solver="auto"), entries=364 + 1122)
    'cvxpy'
    """
    if options.te_solver != AUTO:
        return options.te_solver
    return CVXPY if options.solver is not None or entries <= CVXPY_ENTRIES else FAST


def solve(problem: Problem, options: SolveOptions = SolveOptions(), closed: BoolArray | None = None) -> Allocation:
    """Best allocation, certified to `LARGEST_GAP`.

    Parameters
    ----------
    problem
        Demands without a tunnel or with volume 0 get nothing (min-max-utilisation refuses the former).
    closed : bool array, shape (arcs,), optional
        Arcs that carry nothing (failed ones).

    Raises
    ------
    BadInputError
        Unknown objective, base point or solver.
    InfeasibleError
        min-max-utilisation with a demand that has no open tunnel.
    SolverError
        The solver failed, or its answer is not proven best.
    """
    if options.objective not in OBJECTIVES:
        raise BadInputError(f"unknown objective {options.objective!r}; use one of {', '.join(OBJECTIVES)}")
    if options.te_solver not in TE_SOLVERS:
        raise BadInputError(f"unknown te_solver {options.te_solver!r}; use one of {', '.join(TE_SOLVERS)}")
    solver = choose_solver(options.base_point, options.solver)
    capacity_mbps = problem.network.capacity_mbps
    if closed is not None:
        capacity_mbps = np.where(closed, 0.0, capacity_mbps)
    run = {"throughput": _by_priority, "max-min": _max_min, "min-max-utilisation": _min_max_utilisation}
    allocation = run[options.objective](problem, capacity_mbps, options)
    return check_gap(allocation, solver)


def check_gap(allocation: Allocation, solver: str, largest: float = LARGEST_GAP) -> Allocation:
    """The allocation itself.

    Raises
    ------
    SolverError
        It is not proven best to this gap.
    """
    require_gap(allocation.gap, solver, largest)
    return allocation


def require_gap(gap: float, solver: str, largest: float = LARGEST_GAP) -> None:
    """Refuse an answer that is not proven best (raises as `check_gap`); no number is a gap that is too large."""
    if not gap <= largest:
        raise SolverError(f"solver {solver} left a gap of {gap:.1e}, more than {largest:.0e}; {UNEQUAL_SIZES}")


def without_crumbs(left_mbps: FloatArray, capacity_mbps: FloatArray) -> FloatArray:
    """Capacities that are left, without those that count as nothing (`CRUMB`)."""
    whole: FloatArray = np.where(left_mbps > CRUMB * capacity_mbps, left_mbps, 0.0)
    return whole


def _by_priority(problem: Problem, capacity_mbps: FloatArray, options: SolveOptions) -> Allocation:
    rates = np.zeros(len(problem.tunnels))
    value = bound = 0.0
    solved_by: set[str] = set()
    classes = np.unique(problem.priorities)
    for priority in classes:
        part = (
            problem
            if len(classes) == 1
            else problem.with_volumes(np.where(problem.priorities == priority, problem.demands_mbps, 0.0))
        )
        left = capacity_mbps - problem.tunnels.arc_loads(rates)
        left = without_crumbs(left, capacity_mbps)
        best = throughput_point(part, left, options)
        solved_by.add(best.solved_by)
        given = feasible(part, best.rates_mbps, left)
        value += float(given.sum())
        bound += throughput_bound(part, best.prices, left)
        rates = rates + given
    who = " and ".join(sorted(solved_by))
    return Allocation(problem, rates, options.objective, options.base_point, value, bound, who)


def throughput_point(problem: Problem, capacity_mbps: FloatArray, options: SolveOptions) -> Point:
    """Answer of the throughput program by the chosen solver.

    The fast solver's answer is taken only where its certificate holds; else cvxpy is asked.
    """
    usable = _usable(problem, capacity_mbps)
    if chosen_te_solver(options, len(problem.tunnels) + len(problem.tunnels.arcs)) == FAST and usable.any():
        from te_solver.fast_solve import fast_throughput

        fast = fast_throughput(problem, capacity_mbps, usable, options.base_point, options.threads)
        if fast is not None and throughput_gap(problem, *fast, capacity_mbps) <= LARGEST_GAP:
            return Point(*fast, FAST)
    rows = vstack([demand_rows(problem), arc_rows(problem)], format="csr")[:, usable]
    limits = np.concatenate([problem.demands_mbps, capacity_mbps])
    solver = choose_solver(options.base_point, options.solver)
    widths = widest(problem, capacity_mbps)[usable]
    solution = minimise(-np.ones(len(widths)), rows, limits, solver, widths)
    rates = np.zeros(len(usable))
    rates[usable] = solution.point
    # Raised prices add a hundredth of the largest gap to the bound, at most.
    spare_mbps = LARGEST_GAP / 100 * max(1.0, float(rates.sum())) / len(capacity_mbps)
    return Point(rates, raised_prices(solution.multipliers[len(problem.demands) :], capacity_mbps, spare_mbps), CVXPY)


def throughput_gap(problem: Problem, rates: FloatArray, prices: FloatArray, capacity_mbps: FloatArray) -> float:
    """Relative gap that `check_gap` will see."""
    bound = throughput_bound(problem, prices, capacity_mbps)
    return abs(bound - float(feasible(problem, rates, capacity_mbps).sum())) / max(1.0, abs(bound))


def _max_min(problem: Problem, capacity_mbps: FloatArray, options: SolveOptions) -> Allocation:
    usable = _usable(problem, capacity_mbps)
    count = int(usable.sum())
    widths = widest(problem, capacity_mbps)[usable]
    served, arcs = demand_rows(problem)[:, usable], arc_rows(problem)[:, usable]
    active = (served @ np.ones(count)) > 0
    first_active = active.copy()
    floor = np.zeros(len(problem.demands))
    solver = choose_solver(options.base_point, options.solver)
    point = np.zeros(count)
    # The level's own width: no demand can get more, and a width far above it would cost the level its precision.
    reach = np.minimum(problem.demands_mbps, served @ widths)
    first: tuple[float, float] | None = None
    while active.any():
        column = csr_matrix(active.astype(float).reshape(-1, 1))
        ceiling = float(problem.demands_mbps[active].min())
        rows = vstack(
            [_beside(-served, column), _beside(arcs, csr_matrix((arcs.shape[0], 1))), _last_only(count)], format="csr"
        )
        limits = np.concatenate([np.where(active, 0.0, -floor * (1 - ROOM_SHARE)), capacity_mbps, [ceiling]])
        solution = minimise(np.r_[np.zeros(count), -1.0], rows, limits, solver, np.r_[widths, reach[active].min()])
        level = float(solution.point[-1])
        first = first or (level, _level_bound(problem, solution.multipliers, active, capacity_mbps))
        blocked = _blocked(solution.multipliers, active, problem.demands_mbps, level)
        floor[blocked] = np.minimum(level, problem.demands_mbps[blocked])
        active &= ~blocked
        point = solution.point[:-1]
    rates = np.zeros(len(usable))
    rates[usable] = point
    level, bound = first or (0.0, 0.0)
    rates = feasible(problem, _capped(problem, rates, floor), capacity_mbps)
    # The proof is of the lowest level, and of what the repaired rates reach of it.
    level = float(problem.per_demand(rates)[first_active].min(initial=level))
    return Allocation(problem, rates, options.objective, options.base_point, level, bound, CVXPY)


def _blocked(multipliers: FloatArray, active: BoolArray, demands_mbps: FloatArray, level: float) -> BoolArray:
    """Active demands that cannot rise above the level: they hold it down, or have all they ask for. At least one."""
    held = np.where(active, multipliers[: len(active)], 0.0)
    blocked: BoolArray = active & (held > BLOCKED_SHARE * max(held.max(), multipliers[-1]))
    blocked |= active & (demands_mbps <= level)
    if not blocked.any():
        blocked = active & (demands_mbps == demands_mbps[active].min())
    return blocked


def _level_bound(problem: Problem, multipliers: FloatArray, active: BoolArray, capacity_mbps: FloatArray) -> float:
    """No allocation gives every active demand more than this: the least one is below any weighted mean of them."""
    demands = len(problem.demands)
    total = multipliers[:demands][active].sum() + multipliers[-1]
    weights = np.where(active, multipliers[:demands], 0.0) / total
    prices = raised_prices(multipliers[demands:-1] / total, capacity_mbps)
    ceiling = float(problem.demands_mbps[active].min()) * multipliers[-1] / total
    return throughput_bound(problem, prices, capacity_mbps, weights) + float(ceiling)


def _capped(problem: Problem, rates: FloatArray, floor: FloatArray) -> FloatArray:
    """Rates scaled so that no demand gets more than its level: what others gave up stays free."""
    got = problem.per_demand(rates)
    factor = np.where(got > floor, floor / np.where(got > 0, got, 1.0), 1.0)
    capped: FloatArray = rates * factor[problem.tunnels.pair_of]
    return capped


def _min_max_utilisation(problem: Problem, capacity_mbps: FloatArray, options: SolveOptions) -> Allocation:
    usable = _usable(problem, capacity_mbps)
    count = int(usable.sum())
    served, arcs = demand_rows(problem)[:, usable], arc_rows(problem)[:, usable]
    stranded = (problem.demands_mbps > 0) & ((served @ np.ones(count)) == 0)
    if stranded.any():
        demand = problem.demands[int(np.flatnonzero(stranded)[0])]
        raise InfeasibleError(
            f"{demand.src} to {demand.dst} has no open tunnel, so not every demand can be carried; remove it, "
            "or use objective 'throughput'"
        )
    rows = vstack(
        [
            _beside(-served, csr_matrix((served.shape[0], 1))),
            _beside(arcs, csr_matrix(-capacity_mbps.reshape(-1, 1))),
        ],
        format="csr",
    )
    limits = np.concatenate([-problem.demands_mbps, np.zeros(len(capacity_mbps))])
    even = problem.demands_mbps / np.maximum(1.0, served @ np.ones(count))
    widths = even[problem.tunnels.pair_of[usable]]
    open_arcs = capacity_mbps > 0
    loads = arcs @ widths
    typical = float((loads[open_arcs] / capacity_mbps[open_arcs]).max(initial=0.0)) or 1.0
    solver = choose_solver(options.base_point, options.solver)
    solution = minimise(np.r_[np.zeros(count), 1.0], rows, limits, solver, np.r_[widths, typical])
    rates = np.zeros(len(usable))
    rates[usable] = np.maximum(0.0, solution.point[:-1])
    got = problem.per_demand(rates)
    rates *= (problem.demands_mbps / np.where(got > 0, got, 1.0))[problem.tunnels.pair_of]
    loads = problem.tunnels.arc_loads(rates)
    value = float((loads[open_arcs] / capacity_mbps[open_arcs]).max(initial=0.0))
    prices = solution.multipliers[len(problem.demands) :]
    prices = np.where(open_arcs, prices, prices.sum() * 1e9)
    bound = utilisation_bound(problem, prices, capacity_mbps)
    return Allocation(problem, rates, options.objective, options.base_point, value, min(bound, value), CVXPY)


def demand_rows(problem: Problem) -> csr_matrix:
    """Matrix of demands over tunnels: 1 where the tunnel is the demand's."""
    owner = problem.tunnels.pair_of
    return csr_matrix((np.ones(len(owner)), (owner, np.arange(len(owner)))), shape=(len(problem.demands), len(owner)))


def arc_rows(problem: Problem) -> csr_matrix:
    """Matrix of arcs over tunnels: 1 where the tunnel runs over the arc."""
    tunnels = problem.tunnels
    shape = (len(problem.network.links), len(tunnels))
    return csr_matrix((np.ones(len(tunnels.arcs)), (tunnels.arcs, tunnels.tunnel_of_entry)), shape=shape)


def _usable(problem: Problem, capacity_mbps: FloatArray) -> BoolArray:
    """Tunnels that can carry something: their demand asks for it and every arc is open."""
    wanted = problem.demands_mbps[problem.tunnels.pair_of] > 0
    usable: BoolArray = wanted & (problem.tunnels.least_along(capacity_mbps) > 0)
    return usable


def widest(problem: Problem, capacity_mbps: FloatArray) -> FloatArray:
    """Most that every tunnel can carry: its demand or its narrowest arc, shape (tunnels,)."""
    return np.minimum(problem.demands_mbps[problem.tunnels.pair_of], problem.tunnels.least_along(capacity_mbps))


def _beside(left: csr_matrix, right: csr_matrix) -> csr_matrix:
    return csr_matrix(hstack([left, right], format="csr"))


def _last_only(count: int) -> csr_matrix:
    return csr_matrix(([1.0], ([0], [count])), shape=(1, count + 1))
