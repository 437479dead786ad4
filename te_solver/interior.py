"""A primal-dual interior point method for the throughput program of a whole network.

Demand rows share no tunnel, so they are eliminated by hand; what is left is one dense system with a row for every arc
(Schur complement), whatever the number of demands. Mehrotra's predictor and corrector (SIAM J. Optim. 2, 1992), up to
`CORRECTORS` of Gondzio's (Comp. Optim. Appl. 6, 1996), arc rows in the chain basis (chains.py).

    max sum(x)   B x + s = d   A x + r = c   x, s, r >= 0      multipliers u (demands), v (arcs), z (tunnels)
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg import lapack

from te_solver.chains import Chains, Columns, against_chains, along_chains, arc_prices, differences
from te_solver.errors import SolverError
from te_solver.interior_kernels import (
    demand_sums,
    largest_worth,
    longest_step,
    row_sums,
    schur_complement,
    tunnel_sums,
)
from te_solver.network import FloatArray, IntArray

MAX_ITERATIONS = 120
CORRECTORS = 2
# Certified relative gap and relative infeasibility at which to stop.
GAP = 1e-7
ACCEPTABLE = 1e-4
INFEASIBILITY = 1e-8
# Share of the step to the boundary that is taken.
DAMPING = 0.9995
# Keeps the factorisation away from breaking down in the last iterations.
REGULARISATION = 1e-14


class System(NamedTuple):
    """The program: demand and capacity limits in the same unit, tunnels as columns over difference rows."""

    pair_starts: IntArray
    owner: IntArray
    columns: Columns
    chains: Chains
    demands: FloatArray
    capacities: FloatArray
    blocks: int


class Point(NamedTuple):
    """Rates, slacks of demands and arcs, their multipliers, and reduced costs; also a step from one to another."""

    x: FloatArray
    s: FloatArray
    r: FloatArray
    u: FloatArray
    v: FloatArray
    z: FloatArray


class Residual(NamedTuple):
    """What is missing from the demand rows, the arc rows and the dual rows."""

    demand: FloatArray
    arc: FloatArray
    dual: FloatArray


class Factor(NamedTuple):
    """The factorised Schur complement and the weights it was made of."""

    cholesky: FloatArray
    theta: FloatArray
    demand_weight: FloatArray


def arc_loads(system: System, rates: FloatArray) -> FloatArray:
    """A x."""
    return along_chains(system.chains, row_sums(system.columns, rates, len(system.capacities), system.blocks))


def tunnel_prices(system: System, prices: FloatArray) -> FloatArray:
    """A' v."""
    return tunnel_sums(system.columns, against_chains(system.chains, prices), system.blocks)


def interior_point(system: System) -> Point:
    """Point with a certified gap of at most `GAP`, or the best one reached.

    Raises
    ------
    SolverError
        The gap stays above `ACCEPTABLE`.
    """
    point = _start(system)
    best, smallest = point, np.inf
    # On the last steps of an ill-conditioned program numbers overflow; what comes then is not taken.
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        for _ in range(MAX_ITERATIONS):
            residual, gap = _residual(system, point)
            if gap < smallest:
                best, smallest = point, gap
            factor = _factorise(system, point) if gap > GAP else None
            if factor is None:
                break
            point = _advance(system, point, residual, factor)
    if smallest > ACCEPTABLE:
        raise SolverError(f"the interior point method broke down at a gap of {smallest:.1e}")
    return best


def _start(system: System) -> Point:
    """A strictly positive point with half of what surely fits."""
    count = np.diff(system.pair_starts)[system.owner]
    x = 0.5 * system.demands[system.owner] / count
    loads = arc_loads(system, x)
    fit = np.where(loads > 0, 0.5 * system.capacities / np.where(loads > 0, loads, 1.0), 1.0)
    x *= max(1e-2, min(1.0, float(fit.min())))
    s = system.demands - demand_sums(system.pair_starts, x)
    r = np.maximum(system.capacities - arc_loads(system, x), 0.1 * system.capacities)
    entries = len(system.columns.row) / max(1, len(x))
    u = np.full(len(s), 0.5)
    v = np.full(len(r), max(1e-3, 0.5 / entries))
    z = np.maximum(u[system.owner] + tunnel_prices(system, v) - 1.0, 0.1)
    return Point(x, s, r, u, v, z)


def _residual(system: System, point: Point) -> tuple[Residual, float]:
    """Residuals, and the certified relative gap (infinite while the rates do not fit)."""
    prices = tunnel_prices(system, point.v)
    demand = system.demands - demand_sums(system.pair_starts, point.x) - point.s
    arc = system.capacities - arc_loads(system, point.x) - point.r
    dual = 1.0 - (point.u[system.owner] + prices - point.z)
    bound = float(system.demands @ largest_worth(system.pair_starts, prices) + system.capacities @ point.v)
    value = float(point.x.sum())
    fits = max(np.abs(demand).max(), np.abs(arc).max() / system.capacities.max()) <= INFEASIBILITY
    return Residual(demand, arc, dual), (bound - value) / max(value, 1e-300) if fits else np.inf


def _factorise(system: System, point: Point) -> Factor | None:
    """Cholesky factor of the Schur complement in the chain basis; None when it is not positive."""
    theta, slack = point.x / point.z, point.s / point.u
    if not (np.isfinite(theta).all() and np.isfinite(slack).all() and np.isfinite(point.r / point.v).all()):
        return None
    rows = len(system.capacities)
    matrix = schur_complement(system.columns, system.pair_starts, theta, slack, rows, system.blocks)
    own = point.r / point.v
    every, after = np.arange(rows), system.chains.followers
    before = system.chains.before[after]
    matrix[every, every] += own
    matrix[after, after] += own[before]
    matrix[np.maximum(after, before), np.minimum(after, before)] -= own[before]
    matrix[every, every] *= 1 + REGULARISATION
    # The lower triangle by rows is the upper one by columns, which LAPACK takes without a copy.
    cholesky, failed = lapack.dpotrf(matrix.T, lower=0, overwrite_a=1)
    if failed:
        return None
    return Factor(cholesky, theta, demand_sums(system.pair_starts, theta) + slack)


def _direction(system: System, point: Point, factor: Factor, residual: Residual | None, target: Point) -> Point:
    """Newton step towards the complementarity `target` (only x, s, r are used: the products' missing parts)."""
    owner, theta = system.owner, factor.theta
    shift = target.x / point.z + (theta * residual.dual if residual is not None else 0.0)
    for_demands = demand_sums(system.pair_starts, shift) + target.s / point.u
    if residual is not None:
        for_demands -= residual.demand
    # One pass over the tunnels for both terms that they contribute.
    reduced = arc_loads(system, shift - theta * (for_demands / factor.demand_weight)[owner]) + target.r / point.v
    if residual is not None:
        reduced -= residual.arc
    solved, _ = lapack.dpotrs(factor.cholesky, differences(system.chains, reduced), lower=0)
    dv = arc_prices(system.chains, solved)
    charged = tunnel_sums(system.columns, solved, system.blocks)
    du = (for_demands - demand_sums(system.pair_starts, theta * charged)) / factor.demand_weight
    dz = du[owner] + charged - (residual.dual if residual is not None else 0.0)
    dx = target.x / point.z - theta * dz
    ds = target.s / point.u - point.s / point.u * du
    dr = target.r / point.v - point.r / point.v * dv
    return Point(dx, ds, dr, du, dv, dz)


def _advance(system: System, point: Point, residual: Residual, factor: Factor) -> Point:
    """Predictor, corrector, further correctors while they lengthen the step; then the step."""
    size = len(point.x) + len(point.s) + len(point.r)
    mean = _complementarity(point) / size
    predictor = _direction(system, point, factor, residual, _target(point, 0.0))
    primal, dual = _steps(point, predictor)
    ahead = _complementarity(_moved(point, predictor, primal, dual)) / size
    centre = min(1.0, max(1e-6, (ahead / mean) ** 3)) * mean
    step = _direction(system, point, factor, residual, _target(point, centre, predictor))
    primal, dual = _steps(point, step)
    for _ in range(CORRECTORS):
        if min(primal, dual) > 0.95:
            break
        trial = _moved(point, step, min(1.0, 1.08 * primal + 0.1), min(1.0, 1.08 * dual + 0.1))
        extra = _direction(system, point, factor, None, _correction(trial, centre))
        corrected = Point(*(a + b for a, b in zip(step, extra, strict=True)))
        longer = _steps(point, corrected)
        if sum(longer) <= primal + dual + 0.02 or longer[0] < 0.9 * primal or longer[1] < 0.9 * dual:
            break
        step, (primal, dual) = corrected, longer
    return _moved(point, step, DAMPING * primal, DAMPING * dual)


def _target(point: Point, centre: float, predictor: Point | None = None) -> Point:
    """What the products lack of `centre`, second order terms of the predictor included."""
    lacks = [centre - point.x * point.z, centre - point.s * point.u, centre - point.r * point.v]
    if predictor is not None:
        lacks[0] -= predictor.x * predictor.z
        lacks[1] -= predictor.s * predictor.u
        lacks[2] -= predictor.r * predictor.v
    return Point(lacks[0], lacks[1], lacks[2], point.u, point.v, point.z)


def _correction(trial: Point, centre: float) -> Point:
    """Bring outlying products of the trial point back to within a tenth and ten times the centre."""

    def back(product: FloatArray) -> FloatArray:
        return np.maximum(np.clip(product, 0.1 * centre, 10 * centre) - product, -10 * centre)

    return Point(back(trial.x * trial.z), back(trial.s * trial.u), back(trial.r * trial.v), trial.u, trial.v, trial.z)


def _complementarity(point: Point) -> float:
    return float(point.x @ point.z + point.s @ point.u + point.r @ point.v)


def _steps(point: Point, step: Point) -> tuple[float, float]:
    """Longest primal and dual steps."""
    longest = [longest_step(value, change) for value, change in zip(point, step, strict=True)]
    return min(longest[:3]), min(longest[3:])


def _moved(point: Point, step: Point, primal: float, dual: float) -> Point:
    lengths = (primal, primal, primal, dual, dual, dual)
    return Point(*(a + length * b for a, b, length in zip(point, step, lengths, strict=True)))
