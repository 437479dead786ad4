"""Kernels of the failure sweep against the readable path, and the tiny simplex method against HiGHS."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

from te_solver import all_failures as sweep
from te_solver.all_failures import fail_every_link, to_paths
from te_solver.outcome import evaluate
from te_solver.responses import TrafficPlan, precomputed, rate_rescale, rescale
from te_solver.solve import SolveOptions, solve
from te_solver.tiny_program import solve_tiny
from tests.examples import examples
from tests.te_solver.strategies import gnm_problem, problems

pytest.importorskip("cvxpy")


def assert_equals_the_readable_path(problem, base_point):
    options = SolveOptions(base_point=base_point)
    allocation = solve(problem, options)
    plan = TrafficPlan(allocation, allocation.demand_mbps)
    rows = fail_every_link(problem, plan.rates_mbps)
    assert len(rows) == len(problem.network.topology.link_ids)
    for link, row in enumerate(rows):
        failed = problem.network.link_of == link
        down = problem.tunnels.down(failed)
        simple = evaluate(plan, rescale(plan, down), failed)
        kuijia = evaluate(plan, rate_rescale(plan, down), failed)
        best = evaluate(plan, precomputed(plan, down, failed, options), failed)
        near = {"rel": 1e-6, "abs": 1e-5}
        assert row[sweep.SENT] == pytest.approx(simple.total.before_mbps, **near)
        assert row[sweep.VICTIM] == pytest.approx(simple.victim.before_mbps, **near)
        assert row[sweep.RESCALING] == pytest.approx(simple.total.after_mbps, **near)
        assert row[sweep.KUIJIA] == pytest.approx(kuijia.victim.after_mbps, **near)
        assert row[sweep.PRECOMPUTED] == pytest.approx(best.victim.after_mbps, **near)
        assert row[sweep.GAP] <= 1e-9
        assert row[sweep.PIVOTS] != -1 or row[sweep.GAP] == 0


@given(problems(), st.sampled_from(("centre", "vertex")))
@examples(40)
def test_kernels_equal_the_readable_path_on_drawn_networks(problem, base_point):
    assert_equals_the_readable_path(problem, base_point)


@pytest.mark.parametrize("base_point", ["centre", "vertex"])
@pytest.mark.parametrize("seed", range(4))
def test_kernels_equal_the_readable_path_on_congested_graphs(seed, base_point):
    assert_equals_the_readable_path(gnm_problem(seed, 20, 36, 14, 1800.0), base_point)


def test_kept_paths_give_the_same_rows():
    problem = gnm_problem(3)
    rates = solve(problem).tunnel_mbps
    assert (fail_every_link(problem, rates, to_paths(problem.tunnels)) == fail_every_link(problem, rates)).all()


def test_the_second_program_is_skipped_and_used():
    pivots = []
    for seed in range(6):
        problem = gnm_problem(seed, 20, 36, 14, 1800.0)
        pivots += fail_every_link(problem, solve(problem).tunnel_mbps)[:, sweep.PIVOTS].tolist()
    assert any(number == sweep.NO_PROGRAM for number in pivots)
    assert any(number > 0 for number in pivots)


def test_an_optimum_below_the_original_weights_is_not_hidden():
    problem = gnm_problem(0, 20, 36, 14, 1800.0)
    paths, rates = to_paths(problem.tunnels), solve(problem).tunnel_mbps
    row = fail_every_link(problem, rates, paths)
    link = int(np.flatnonzero(row[:, sweep.PIVOTS] > 0)[0])
    found, lie = row[link].copy(), row[link].copy()
    work = sweep.empty_work(paths, rates)
    affected = sweep.fail_tunnels(paths, rates, work, link, -1.0)
    *_, movers = sweep.move(paths, rates, work, affected, found[sweep.SENT])
    lie[sweep.KUIJIA] = found[sweep.PRECOMPUTED] + 1.0
    sweep.second_program(paths, work, movers, lie)
    assert lie[sweep.PRECOMPUTED] == found[sweep.PRECOMPUTED]


@st.composite
def tableaus(draw):
    """Draw (A, b): zeros and ones, every column with a one, many equal and zero limits."""
    rows, columns = draw(st.integers(1, 8)), draw(st.integers(1, 6))
    bits = st.lists(st.booleans(), min_size=columns, max_size=columns)
    matrix = np.array(draw(st.lists(bits, min_size=rows, max_size=rows)), dtype=float)
    for column in range(columns):
        matrix[draw(st.integers(0, rows - 1)), column] = 1.0
    limit = st.sampled_from([0.0, 0.25, 0.5, 1.0]) | st.floats(0, 1)
    return matrix, np.array(draw(st.lists(limit, min_size=rows, max_size=rows)))


@given(tableaus())
@examples(300)
def test_tiny_simplex_equals_highs_and_proves_it(case):
    matrix, limits = case
    rows, columns = matrix.shape
    tableau = np.zeros((rows + 1, columns + 1))
    tableau[:rows, :columns], tableau[:rows, columns], tableau[rows, :columns] = matrix, limits, -1.0
    multipliers = np.empty(rows)
    assert solve_tiny(tableau, multipliers) >= 0
    wanted = -linprog(-np.ones(columns), A_ub=matrix, b_ub=limits, method="highs").fun
    # HiGHS allows itself 1e-7; the multipliers prove the rest.
    assert tableau[rows, columns] == pytest.approx(wanted, abs=1e-6)
    assert (multipliers >= 0).all()
    assert (matrix.T @ multipliers >= 1 - 1e-9).all()
    assert limits @ multipliers == pytest.approx(tableau[rows, columns], abs=1e-9)


def test_a_program_without_end_is_distinguished():
    tableau = np.array([[0.0, 1.0], [-1.0, 0.0]])
    assert solve_tiny(tableau, np.empty(1)) == -1
