"""Allocations: feasible, certified, and equal to what an independent solver finds."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy.optimize import linprog
from scipy.sparse import vstack

from mininet_topos.catalogue import load_topology
from mininet_topos.errors import BadInputError
from te_solver.certificate import throughput_bound, utilisation_bound
from te_solver.choices import OBJECTIVES, SOLVERS, TE_SOLVERS
from te_solver.errors import InfeasibleError, SolverError
from te_solver.linear import choose_solver
from te_solver.network import to_network
from te_solver.solve import (
    CVXPY_ENTRIES,
    SolveOptions,
    arc_rows,
    chosen_te_solver,
    demand_rows,
    require_gap,
    solve,
    throughput_gap,
    throughput_point,
)
from te_solver.tunnels import to_problem
from te_solver.values import Demand
from tests.examples import examples
from tests.te_solver.strategies import chain, gnm_problem, problems, with_capacity

pytest.importorskip("cvxpy")

CHOICES = [
    SolveOptions(base_point=point, te_solver=solver) for point in ("centre", "vertex") for solver in ("cvxpy", "fast")
]


def assert_keeps_to_the_limits(allocation):
    problem = allocation.problem
    assert (allocation.tunnel_mbps >= 0).all()
    assert (allocation.demand_mbps <= problem.demands_mbps).all()
    assert (allocation.arc_loads_mbps <= problem.network.capacity_mbps * (1 + 1e-12)).all()


def best_throughput_mbps(problem):
    """The optimum by a solver that the package does not use: HiGHS through SciPy."""
    rows = vstack([demand_rows(problem), arc_rows(problem)])
    limits = np.concatenate([problem.demands_mbps, problem.network.capacity_mbps])
    return -linprog(-np.ones(len(problem.tunnels)), A_ub=rows, b_ub=limits, method="highs-ds").fun


@pytest.mark.slow
@pytest.mark.parametrize("options", CHOICES, ids=lambda options: f"{options.base_point}-{options.te_solver}")
def test_throughput_equals_an_independent_solver_on_random_instances(options):
    for seed in range(200):
        problem = gnm_problem(seed)
        allocation = solve(problem, options)
        assert allocation.value == pytest.approx(best_throughput_mbps(problem), rel=1e-6)
        assert_keeps_to_the_limits(allocation)


@given(problems(), st.sampled_from(CHOICES))
@examples(40)
def test_allocation_is_feasible_and_its_bound_holds(problem, options):
    allocation = solve(problem, options)
    assert_keeps_to_the_limits(allocation)
    assert allocation.value == pytest.approx(allocation.tunnel_mbps.sum())
    assert allocation.value <= allocation.bound * (1 + 1e-12) + 1e-12
    assert allocation.gap <= 1e-6


@given(problems(), st.lists(st.floats(0, 3), min_size=24, max_size=24))
@examples(40)
def test_any_prices_bound_the_throughput(problem, prices):
    best = solve(problem, SolveOptions(base_point="vertex"))
    some = np.resize(np.array(prices), len(problem.network.links))
    assert throughput_bound(problem, some, problem.network.capacity_mbps) >= best.value * (1 - 1e-9)


@given(st.floats(-7, 0))
@example(-6.0)
@example(-5.75)
@examples(20)
def test_what_little_a_class_leaves_of_a_link_widens_no_gap(exponent):
    problem = to_problem(chain(1.0, 1.0), [Demand("s1", "s2", 3.0), Demand("s2", "s3", 1.0)])
    left_mbps = np.array([0.7, 0.7, 10**exponent, 10**exponent])
    best = throughput_point(problem, left_mbps, SolveOptions())
    assert throughput_gap(problem, best.rates_mbps, best.prices, left_mbps) <= 1e-7


@given(problems())
@examples(30)
def test_splitting_weights_add_up_to_one(problem):
    allocation = solve(problem)
    sums = problem.per_demand(allocation.splitting_weights)
    has_tunnels = np.diff(problem.tunnels.pair_starts) > 0
    assert sums[has_tunnels] == pytest.approx(np.ones(has_tunnels.sum()))


@given(problems(), st.sampled_from(("centre", "vertex")))
@examples(30)
def test_max_min_levels_cannot_be_raised_without_lowering_a_smaller_one(problem, base_point):
    allocation = solve(problem, SolveOptions("max-min", base_point))
    assert_keeps_to_the_limits(allocation)
    rates = allocation.demand_mbps
    rows = vstack([-demand_rows(problem), arc_rows(problem)])
    for demand in np.flatnonzero(problem.demands_mbps > 0):
        # Every demand that has no more keeps its rate; how far can this one go?
        floor = np.where(rates <= rates[demand] + 1e-3, rates, 0.0) * (1 - 1e-6)
        cost = -demand_rows(problem)[demand].toarray().ravel()
        if not cost.any():
            assert rates[demand] == 0
            continue
        limits = np.concatenate([-floor, problem.network.capacity_mbps])
        reach = -linprog(cost, A_ub=rows, b_ub=limits).fun
        assert min(reach, problem.demands_mbps[demand]) <= rates[demand] + 5e-3


whole_mbps = st.sampled_from([1.0, 2.0, 3.0, 5.0, 10.0, 28.0, 100.0, 500.0])


@given(st.lists(st.tuples(whole_mbps, whole_mbps), min_size=2, max_size=5))
@example([(1.0, 28.0), (2.0, 28.0)])
@example([(3.0, 50.0), (10.0, 28.0), (1.0, 100.0)])
@example([(2.0, 500.0), (3.0, 500.0)])
@examples(30)
def test_max_min_gives_demands_that_share_no_link_what_their_own_links_carry(capacities_and_demands):
    capacities, demands = map(np.array, zip(*capacities_and_demands, strict=True))
    network = chain(*capacities)
    wanted = [Demand(f"s{number}", f"s{number + 1}", mbps) for number, mbps in enumerate(demands.tolist(), start=1)]
    allocation = solve(to_problem(network, wanted), SolveOptions("max-min"))
    assert allocation.demand_mbps == pytest.approx(np.minimum(capacities, demands), rel=2e-6)


@given(problems())
@examples(30)
def test_max_min_is_the_same_from_both_base_points(problem):
    centre, vertex = (solve(problem, SolveOptions("max-min", point)) for point in ("centre", "vertex"))
    assert centre.demand_mbps == pytest.approx(vertex.demand_mbps, rel=1e-4, abs=1e-3)


def test_least_highest_utilisation_carries_every_demand_and_is_proven():
    problem = gnm_problem(3)
    for base_point in ("centre", "vertex"):
        allocation = solve(problem, SolveOptions("min-max-utilisation", base_point))
        assert allocation.demand_mbps == pytest.approx(problem.demands_mbps)
        used = allocation.arc_loads_mbps / problem.network.capacity_mbps
        assert allocation.value == pytest.approx(used.max())
        assert allocation.gap <= 1e-6
    # Cutting all capacities to a third makes every utilisation three times as high: it may pass 1.
    third = with_capacity(problem.network, (problem.network.capacity_mbps / 3).tolist())
    tight = solve(to_problem(third, problem.demands), SolveOptions("min-max-utilisation"))
    assert tight.value == pytest.approx(3 * allocation.value, rel=1e-5)


def test_higher_classes_are_served_first():
    network = chain(100.0)
    demands = [Demand("s1", "s2", 80.0, 6), Demand("s1", "s2", 70.0, 1)]
    allocation = solve(to_problem(network, demands))
    assert allocation.demand_mbps == pytest.approx([30.0, 70.0])


def test_no_demands_give_an_empty_allocation():
    network = chain(100.0)
    for objective in OBJECTIVES:
        allocation = solve(to_problem(network, []), SolveOptions(objective))
        assert (allocation.value, allocation.bound, allocation.gap) == (0.0, 0.0, 0.0)


def test_a_demand_of_zero_gets_nothing_and_splits_evenly():
    allocation = solve(to_problem(to_network(load_topology("square")), [Demand("s1", "s3", 0.0)]))
    assert allocation.value == 0
    assert allocation.splitting_weights == pytest.approx([0.5, 0.5])


def test_a_pair_with_one_tunnel_gets_what_its_narrowest_link_carries():
    allocation = solve(to_problem(chain(100.0, 40.0, 70.0), [Demand("s1", "s4", 90.0)]))
    assert allocation.tunnel_mbps == pytest.approx([40.0])


def test_an_arc_of_capacity_zero_carries_nothing():
    network = with_capacity(to_network(load_topology("pair")), [0.0, 10.0])
    for objective in ("throughput", "max-min"):
        allocation = solve(to_problem(network, [Demand("s1", "s2", 5.0)]), SolveOptions(objective))
        assert (allocation.value, allocation.gap) == (0.0, 0.0)
    with pytest.raises(InfeasibleError, match="no open tunnel"):
        solve(to_problem(network, [Demand("s1", "s2", 5.0)]), SolveOptions("min-max-utilisation"))


def test_a_disconnected_pair_gets_nothing_and_others_are_served():
    from mininet_topos.build import from_edges, numbered_nodes

    network = to_network(from_edges("parts", numbered_nodes([""] * 4), ((1, 2), (3, 4))), 100.0)
    problem = to_problem(network, [Demand("s1", "s4", 5.0), Demand("s1", "s2", 5.0)])
    assert solve(problem).demand_mbps == pytest.approx([0.0, 5.0])
    with pytest.raises(InfeasibleError, match="s1 to s4"):
        solve(problem, SolveOptions("min-max-utilisation"))


def test_closed_arcs_carry_nothing():
    problem = to_problem(to_network(load_topology("square")), [Demand("s1", "s3", 500.0)])
    closed = np.array([link.src == "s1" and link.dst == "s2" for link in problem.network.links])
    assert solve(problem).value == pytest.approx(200.0)
    allocation = solve(problem, closed=closed)
    assert allocation.value == pytest.approx(100.0)
    assert allocation.arc_loads_mbps[closed].sum() == 0


def test_a_useless_price_proves_nothing():
    problem = gnm_problem(1)
    free = np.zeros(len(problem.network.links))
    assert utilisation_bound(problem, free, problem.network.capacity_mbps) == 0.0
    assert throughput_bound(problem, free, problem.network.capacity_mbps) == pytest.approx(problem.demands_mbps.sum())


@pytest.mark.parametrize("solver", sorted(SOLVERS))
def test_every_solver_reaches_the_same_optimum(solver):
    problem = gnm_problem(5)
    allocation = solve(problem, SolveOptions(base_point=SOLVERS[solver], solver=solver))
    assert allocation.value == pytest.approx(best_throughput_mbps(problem), rel=1e-6)


@pytest.mark.parametrize(
    ("options", "word"),
    [
        (SolveOptions(objective="profit"), "'profit'"),
        (SolveOptions(base_point="corner"), "'corner'"),
        (SolveOptions(solver="cplex"), "'cplex'"),
        (SolveOptions(solver="highs"), "ends at a vertex"),
        (SolveOptions(te_solver="magic"), "'magic'"),
    ],
)
def test_unknown_choices_are_named(options, word):
    with pytest.raises(BadInputError, match=word):
        solve(gnm_problem(1), options)
    assert choose_solver("centre") == "clarabel"


@given(st.integers(0, 10 * CVXPY_ENTRIES), st.sampled_from(TE_SOLVERS))
def test_auto_takes_cvxpy_up_to_a_size_and_other_choices_are_kept(entries, te_solver):
    found = chosen_te_solver(SolveOptions(te_solver=te_solver), entries)
    assert found == (te_solver if te_solver != "auto" else "fast" if entries > CVXPY_ENTRIES else "cvxpy")
    assert chosen_te_solver(SolveOptions(te_solver="auto", solver="clarabel"), entries) == "cvxpy"


def test_the_chosen_solver_answers_and_both_answers_carry_the_certificate(monkeypatch):
    problem = gnm_problem(3)
    entries = len(problem.tunnels) + len(problem.tunnels.arcs)
    auto = SolveOptions(te_solver="auto")
    monkeypatch.setattr("te_solver.solve.CVXPY_ENTRIES", entries)
    at_the_limit = solve(problem, auto)
    monkeypatch.setattr("te_solver.solve.CVXPY_ENTRIES", entries - 1)
    above = solve(problem, auto)
    assert (at_the_limit.solved_by, above.solved_by) == ("cvxpy", "fast")
    assert max(at_the_limit.gap, above.gap) <= 1e-6
    assert above.value == pytest.approx(at_the_limit.value, rel=2e-6)
    assert solve(problem, SolveOptions("max-min", te_solver="fast")).solved_by == "cvxpy"


def test_an_answer_of_the_fast_solver_without_a_certificate_gives_way_to_cvxpys(monkeypatch):
    problem = gnm_problem(3)
    nothing = np.zeros(len(problem.tunnels)), np.zeros(len(problem.network.links))
    monkeypatch.setattr("te_solver.fast_solve.fast_throughput", lambda *_: nothing)
    found = solve(problem, SolveOptions(te_solver="fast"))
    assert (found.solved_by, found.gap <= 1e-6) == ("cvxpy", True)


@pytest.mark.parametrize("gap", [1.1e-6, float("inf"), float("nan")])
def test_an_answer_that_is_not_proven_best_is_no_answer(gap):
    with pytest.raises(SolverError, match="left a gap of"):
        require_gap(gap, "clarabel")
    require_gap(1e-6, "clarabel")


def test_a_demand_far_beyond_all_capacities_is_said_to_be_the_cause():
    network = to_network(load_topology("square"), default_capacity_mbps=1.0)
    beyond = [Demand("s1", "s3", 1.0), Demand("s2", "s4", 1e15)]
    with pytest.raises(SolverError, match="orders of magnitude; correct those that are far too large or small"):
        solve(to_problem(network, beyond))


@given(problems())
def test_max_min_says_what_its_rates_reach(problem):
    allocation = solve(problem, SolveOptions(objective="max-min"))
    served = problem.per_demand(allocation.tunnel_mbps)
    asked = [number for number, demand in enumerate(problem.demands) if problem.demands_mbps[number] > 0]
    reachable = [number for number in asked if (problem.tunnels.pair_of == number).any()]
    if reachable:
        assert allocation.value <= min(served[number] for number in reachable) + 1e-9
