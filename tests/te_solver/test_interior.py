"""The structured interior point method against the reference, and the chain basis against plain sums."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from threadpoolctl import ThreadpoolController, threadpool_limits

from mininet_topos.catalogue import load_topology
from te_solver import fast_solve
from te_solver.chains import against_chains, along_chains, arc_prices, differences, find_chains, to_columns
from te_solver.demands import gravity
from te_solver.interior import interior_point
from te_solver.interior_kernels import row_sums, schur_complement, tunnel_sums
from te_solver.network import to_network
from te_solver.solve import SolveOptions, arc_rows, demand_rows, solve
from te_solver.tunnels import to_problem
from tests.examples import examples
from tests.te_solver.strategies import gnm_problem, problems

pytest.importorskip("cvxpy")

FAST = SolveOptions(te_solver="fast")


@pytest.fixture
def _always_structured(monkeypatch):
    monkeypatch.setattr(fast_solve, "STRUCTURED_FROM", 1)


@pytest.mark.slow
@pytest.mark.usefixtures("_always_structured")
@pytest.mark.parametrize("seed", range(25))
def test_structured_method_equals_the_reference_on_random_instances(seed):
    problem = gnm_problem(seed, nodes=14, links=18 + seed % 8, pairs=30, high_mbps=600.0)
    fast, reference = solve(problem, FAST), solve(problem)
    assert fast.value == pytest.approx(reference.value, rel=1e-6)
    assert fast.gap <= 1e-6


@pytest.mark.usefixtures("_always_structured")
@given(problem=problems())
@examples(60)
def test_structured_method_equals_the_reference_on_drawn_networks(problem):
    fast, reference = solve(problem, FAST), solve(problem)
    assert fast.value == pytest.approx(reference.value, rel=2e-6, abs=1e-6)


@pytest.mark.usefixtures("_always_structured")
@given(problem=problems(priorities=(1, 6)))
@examples(60)
def test_structured_method_serves_classes_in_order(problem):
    # How much the second class gets depends on which of the best allocations the first one took.
    fast, reference = solve(problem, FAST), solve(problem)
    high = problem.priorities == 1
    wanted = reference.demand_mbps[high].sum()
    assert fast.demand_mbps[high].sum() == pytest.approx(wanted, rel=2e-6, abs=1e-6)
    assert (fast.arc_loads_mbps <= problem.network.capacity_mbps * (1 + 1e-12)).all()


@pytest.mark.usefixtures("_always_structured")
def test_structured_method_ends_inside_the_best_allocations_like_the_reference():
    # Inside, every tunnel that some best allocation uses carries something; a vertex leaves many of them empty.
    problem = gnm_problem(3, nodes=14, links=22, pairs=30, high_mbps=600.0)
    points = [FAST, SolveOptions(), SolveOptions(base_point="vertex")]
    fast, reference, vertex = (solve(problem, options).tunnel_mbps > 1e-3 for options in points)
    assert (fast == reference).all()
    assert (fast | ~vertex).all()
    assert fast.sum() > vertex.sum() + 10


@pytest.mark.slow
@pytest.mark.parametrize("load", [0.3, 1.0, 4.0])
@pytest.mark.parametrize("name", ["darkstrand", "tail", "ring:9", "star"])
def test_all_pairs_of_networks_with_long_chains_are_certified(name, load):
    topology = load_topology(name)
    problem = to_problem(to_network(topology, 100.0), gravity(topology, load * 100.0 * len(topology.nodes), 1))
    fast = solve(problem, SolveOptions(te_solver="fast", threads=2))
    assert fast.gap <= 1e-6
    assert fast.value == pytest.approx(solve(problem).value, rel=1e-6)


@pytest.mark.usefixtures("_always_structured")
def test_closed_arcs_are_left_out():
    problem = gnm_problem(4, pairs=12)
    closed = problem.network.link_of == 3
    fast, reference = solve(problem, FAST, closed), solve(problem, closed=closed)
    assert fast.value == pytest.approx(reference.value, rel=1e-6)
    assert fast.arc_loads_mbps[closed].sum() == 0


@given(problems(), st.integers(1, 3), st.randoms(use_true_random=False))
@examples(60)
def test_chain_basis_gives_plain_loads_and_prices(problem, blocks, random):
    tunnels = problem.tunnels
    chains = find_chains(problem.network.graph())
    columns = to_columns(tunnels.arc_starts, tunnels.arcs, chains)
    arcs = len(problem.network.links)
    rates = np.array([random.random() for _ in range(len(tunnels))])
    prices = np.array([random.random() for _ in range(arcs)])
    loads = along_chains(chains, row_sums(columns, rates, arcs, blocks))
    assert loads == pytest.approx(tunnels.arc_loads(rates), abs=1e-12)
    assert tunnel_sums(columns, against_chains(chains, prices), blocks) == pytest.approx(tunnels.over_tunnels(prices))
    assert along_chains(chains, differences(chains, prices)) == pytest.approx(prices)
    assert arc_prices(chains, against_chains(chains, prices)) == pytest.approx(prices)
    assert len(columns.row) <= len(tunnels.arcs) + len(tunnels)


@given(problems(), st.integers(1, 3), st.randoms(use_true_random=False))
@examples(60)
def test_schur_complement_is_the_matrix_product(problem, blocks, random):
    tunnels = problem.tunnels
    if not len(tunnels):
        return
    chains = find_chains(problem.network.graph())
    columns = to_columns(tunnels.arc_starts, tunnels.arcs, chains)
    arcs = len(problem.network.links)
    theta = np.array([0.1 + random.random() for _ in range(len(tunnels))])
    slack = np.array([0.1 + random.random() for _ in range(len(problem.demands))])
    made = schur_complement(columns, tunnels.pair_starts, theta, slack, arcs, blocks)
    plain, owner = arc_rows(problem).toarray(), demand_rows(problem).toarray()
    basis = np.array([differences(chains, column) for column in np.eye(arcs)]).T
    weights = np.diag(theta) - (owner * theta).T @ np.diag(1 / (owner @ theta + slack)) @ (owner * theta)
    wanted = basis @ plain @ weights @ plain.T @ basis.T
    assert np.tril(made) == pytest.approx(np.tril(wanted), abs=1e-10)


def test_a_ring_is_cut_open():
    chains = find_chains(to_network(load_topology("ring:5"), 1.0).graph())
    assert len(chains.followers) == 2 * 5 - 2
    assert (chains.before[chains.followers] >= 0).all()


def test_linear_algebra_gets_the_threads_that_were_asked_for(monkeypatch):
    pools = ThreadpoolController().select(user_api="blas").lib_controllers
    inside = []

    def seen(system):
        inside.extend(pool.num_threads for pool in pools)
        return interior_point(system)

    monkeypatch.setattr(fast_solve, "interior_point", seen)
    problem = gnm_problem(3, nodes=14, links=22, pairs=30, high_mbps=600.0)
    with threadpool_limits(2, user_api="blas"):
        before = [pool.num_threads for pool in pools]
        fast_solve.structured_point(problem, problem.network.capacity_mbps, np.ones(len(problem.tunnels), dtype=bool))
        after = [pool.num_threads for pool in pools]
    assert set(inside) == {1}
    assert 2 in before
    assert after == before, "the caller's threads are back"
