"""Fast paths of the throughput program: the same answer without a modelling layer, certified like the reference.

Small programs go straight to Clarabel (centre) or to HiGHS (vertex); the centre of large ones is found by the
interior point method that knows their structure (interior.py).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csc_matrix, csr_matrix, identity, vstack

from mininet_topos.errors import MissingRequirementError
from te_solver.certificate import raised_prices
from te_solver.chains import find_chains, to_columns
from te_solver.compiled import running_threads
from te_solver.errors import SolverError
from te_solver.interior import System, interior_point
from te_solver.linear import scaled_rows
from te_solver.network import BoolArray, FloatArray
from te_solver.values import Problem

Rates = tuple[FloatArray, FloatArray]
# From this many tunnels on, the structured method is faster than Clarabel.
STRUCTURED_FROM = 1000


class PackingProgram(NamedTuple):
    """max sum(x) with rows x <= limits, x >= 0, in volumes of `scale_mbps`: demand rows first, then arc rows."""

    rows: csc_matrix
    limits: FloatArray
    scale_mbps: float


def packing_program(problem: Problem, capacity_mbps: FloatArray, usable: BoolArray) -> PackingProgram:
    """The throughput program over the usable tunnels, shape (demands + arcs, usable)."""
    tunnels = problem.tunnels
    demands, count = len(problem.demands), int(usable.sum())
    entry = usable[tunnels.tunnel_of_entry]
    column = (np.cumsum(usable) - 1)[tunnels.tunnel_of_entry[entry]]
    row = np.concatenate([tunnels.pair_of[usable], demands + tunnels.arcs[entry]])
    columns = np.concatenate([np.arange(count), column])
    shape = demands + len(capacity_mbps), count
    scale_mbps = float(capacity_mbps.max(initial=0.0)) or 1.0
    rows = csc_matrix((np.ones(len(row)), (row, columns)), shape=shape)
    return PackingProgram(rows, np.concatenate([problem.demands_mbps, capacity_mbps]) / scale_mbps, scale_mbps)


def fast_throughput(
    problem: Problem, capacity_mbps: FloatArray, usable: BoolArray, base_point: str, threads: int = 1
) -> Rates | None:
    """Rates of every tunnel and prices of every arc, near the best; `certificate.py` proves how near.

    None where the solver ended without an answer.

    Parameters
    ----------
    capacity_mbps : float array, shape (arcs,)
    usable : bool array, shape (tunnels,)
        Tunnels that may carry something; at least one.
    base_point : {"centre", "vertex"}
    threads
        For the structured method.

    Raises
    ------
    MissingRequirementError
        The solver is not installed.
    """
    try:
        return _fast_point(problem, capacity_mbps, usable, base_point, threads)
    except SolverError:
        return None


def _fast_point(problem: Problem, capacity_mbps: FloatArray, usable: BoolArray, base_point: str, threads: int) -> Rates:
    if base_point == "centre" and usable.sum() >= STRUCTURED_FROM:
        return structured_point(problem, capacity_mbps, usable, threads)
    program = packing_program(problem, capacity_mbps, usable)
    point, multipliers = (centre_point if base_point == "centre" else vertex_point)(program)
    rates = np.zeros(len(usable))
    rates[usable] = point * program.scale_mbps
    prices = np.maximum(0.0, multipliers[len(problem.demands) :])
    return rates, raised_prices(prices, capacity_mbps)


def structured_point(problem: Problem, capacity_mbps: FloatArray, usable: BoolArray, threads: int = 1) -> Rates:
    """Rates and prices by the interior point method for whole networks."""
    tunnels = problem.tunnels
    scale_mbps = float(capacity_mbps.max())
    owner = tunnels.pair_of[usable]
    served, starts = np.unique(owner, return_index=True)
    entry = usable[tunnels.tunnel_of_entry]
    arc_starts = np.concatenate([[0], np.cumsum(np.diff(tunnels.arc_starts)[usable])])
    chains = find_chains(problem.network.graph())
    system = System(
        np.append(starts, len(owner)),
        np.repeat(np.arange(len(served)), np.diff(np.append(starts, len(owner)))),
        to_columns(arc_starts, tunnels.arcs[entry], chains),
        chains,
        problem.demands_mbps[served] / scale_mbps,
        # No usable tunnel crosses a closed arc, so its capacity is any positive number.
        np.where(capacity_mbps > 0, capacity_mbps / scale_mbps, 1.0),
        threads,
    )
    with running_threads(threads):
        point = interior_point(system)
    rates = np.zeros(len(usable))
    rates[usable] = point.x * scale_mbps
    return rates, raised_prices(point.v, capacity_mbps)


def centre_point(program: PackingProgram) -> Rates:
    """Point and multipliers by Clarabel's interior point method, every variable and row in units of its own size."""
    # Entries are 1, so a column's limits are those of its rows; every tunnel stands in at least its demand's row.
    widths = np.minimum.reduceat(program.limits[program.rows.indices], program.rows.indptr[:-1])
    rows, heights = scaled_rows(csr_matrix(program.rows), program.limits, widths)
    unit = float(widths.max())
    scaled = PackingProgram(csc_matrix(rows), program.limits / heights, program.scale_mbps)
    point, multipliers = centre_answer(centre_solver(scaled, widths / unit), len(program.limits))
    return point * widths, multipliers * unit / heights


def centre_solver(program: PackingProgram, worth: FloatArray | None = None) -> Any:
    """Clarabel with the program loaded, max worth' x; without presolve, so that limits can be changed later.

    Raises
    ------
    MissingRequirementError
        Clarabel is not installed.
    """
    try:
        import clarabel
    except ImportError as error:
        raise MissingRequirementError("clarabel is not installed; run 'make setup'") from error
    rows, columns = program.rows.shape
    matrix = csc_matrix(vstack([program.rows, -identity(columns)]))
    limits = np.concatenate([program.limits, np.zeros(columns)])
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.max_threads = 1
    settings.presolve_enable = False
    nothing = csc_matrix((columns, columns))
    cones = [clarabel.NonnegativeConeT(rows + columns)]
    gain = np.ones(columns) if worth is None else worth
    return clarabel.DefaultSolver(nothing, -gain, matrix, limits, cones, settings)


def centre_answer(solver: Any, rows: int) -> Rates:
    """Run Clarabel; point and the multipliers of the first `rows` rows.

    Raises
    ------
    SolverError
        The run ended without an optimum.
    """
    answer = solver.solve()
    if str(answer.status) not in ("Solved", "AlmostSolved"):
        raise SolverError(f"Clarabel ended with status {answer.status}")
    return np.maximum(0.0, np.array(answer.x)), np.array(answer.z)[:rows]


def vertex_point(program: PackingProgram) -> Rates:
    """Point and multipliers by HiGHS' simplex method."""
    highs = vertex_solver(program)
    check_status(highs.run())
    return vertex_answer(highs)


def vertex_solver(program: PackingProgram, *, dual: bool = False) -> Any:
    """HiGHS with the program loaded, simplex without presolve; primal is the fastest on one small program.

    Option "threads" stays as it is: a second value in one process makes every later run fail.

    Raises
    ------
    MissingRequirementError
        HiGHS is not installed.
    """
    try:
        import highspy
    except ImportError as error:
        raise MissingRequirementError("highspy is not installed; run 'make setup'") from error
    rows, columns = program.rows.shape
    model = highspy.HighsLp()
    model.num_col_, model.num_row_ = columns, rows
    model.col_cost_, model.col_lower_ = -np.ones(columns), np.zeros(columns)
    model.col_upper_ = np.full(columns, highspy.kHighsInf)
    model.row_lower_, model.row_upper_ = np.full(rows, -highspy.kHighsInf), program.limits
    model.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    model.a_matrix_.num_col_, model.a_matrix_.num_row_ = columns, rows
    model.a_matrix_.start_, model.a_matrix_.index_ = program.rows.indptr, program.rows.indices
    model.a_matrix_.value_ = program.rows.data
    highs = highspy.Highs()
    for option, value in (
        ("output_flag", False),
        ("solver", "simplex"),
        ("simplex_strategy", 1 if dual else 4),
        ("presolve", "off"),
    ):
        check_status(highs.setOptionValue(option, value))
    check_status(highs.passModel(model))
    return highs


def check_status(status: Any) -> None:
    """Refuse a HiGHS call that failed: it says so only by its return code.

    Raises
    ------
    SolverError
        It did.
    """
    if str(status).endswith("kError"):
        raise SolverError("HiGHS refused a call")


def vertex_answer(highs: Any) -> Rates:
    """Point and multipliers after a run.

    Raises
    ------
    SolverError
        The run ended without an optimum.
    """
    status = highs.modelStatusToString(highs.getModelStatus())
    if status != "Optimal":
        raise SolverError(f"HiGHS ended with status {status!r}")
    solution = highs.getSolution()
    return np.maximum(0.0, np.array(solution.col_value)), -np.array(solution.row_dual)
