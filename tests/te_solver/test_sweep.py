"""What computed figures of traffic engineering compute, and how their claims are judged."""

from __future__ import annotations

from unittest.mock import Mock

import numpy as np
import pytest

from experiments.campaign.computed import ladder as computed
from experiments.campaign.computed.ladder import climb
from experiments.campaign.kinds.te_schemes import compute
from experiments.campaign.values import CampaignPlan
from experiments.figures.beyond import te_schemes
from experiments.figures.kuijia import fig4
from te_solver import all_failures as effect
from te_solver import ladder
from te_solver.choices import BASE_POINTS
from te_solver.demands import random_pairs
from te_solver.errors import SolverError
from te_solver.fast_solve import centre_answer, vertex_answer
from te_solver.ladder import solve_ladder
from te_solver.solve import SolveOptions, solve
from te_solver.tunnels import to_problem
from tests.te_solver.strategies import gnm_problem

pytest.importorskip("cvxpy")
pytest.importorskip("matplotlib")


def unit_of(base_point, graph, run):
    """Parameters of a unit of Figure 4, with seed 1."""
    return next(own for _, own in fig4.units(1) if (own.base_point, own.graph, own.run) == (base_point, graph, run))


LADDERS = [SolveOptions(base_point=point, te_solver=solver) for point in BASE_POINTS for solver in ("cvxpy", "fast")]


@pytest.mark.parametrize("dense", [True, False])
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("options", LADDERS, ids=lambda options: f"{options.base_point}-{options.te_solver}")
def test_a_ladder_reaches_what_single_solutions_reach(options, seed, dense, monkeypatch):
    monkeypatch.setattr(ladder, "LARGEST_TABLEAU", 1_000_000 if dense else 0)
    problem = gnm_problem(seed)
    levels = (100.0, 400.0, 900.0, 1600.0)
    for level, allocation in zip(levels, solve_ladder(problem, levels, options), strict=True):
        alone = solve(problem.with_volumes(np.full(len(problem.demands), level)))
        assert allocation.value == pytest.approx(alone.value, rel=1e-6)
        assert allocation.gap <= 1e-6


@pytest.mark.slow
def test_dense_ladders_of_figure_4_need_no_second_solver(monkeypatch):
    def refuse(*_arguments, **_options):
        raise AssertionError("the dense ladder gave up")

    monkeypatch.setattr(ladder, "vertex_solver", refuse)
    for run in range(4):
        rows = climb(unit_of("vertex", graph=3, run=run)).levels
        assert all(row.gap <= 1e-8 for row in rows)


def test_a_dense_ladder_that_proves_nothing_is_replaced(monkeypatch):
    def lie(_tableau, _demands, heights, points, _multipliers):
        points[:] = 1.0
        return len(heights) > 0

    monkeypatch.setattr(ladder, "climb", lie)
    problem = gnm_problem(7)
    options = SolveOptions(base_point="vertex", te_solver="fast")
    (allocation,) = solve_ladder(problem, (500.0,), options)
    alone = solve(problem.with_volumes(np.full(len(problem.demands), 500.0)))
    assert allocation.value == pytest.approx(alone.value, rel=1e-6)


@pytest.mark.parametrize(
    ("solver", "said"),
    [
        (Mock(**{"solve.return_value.status": "MaxIterations"}), "Clarabel ended with status MaxIterations"),
        (Mock(**{"modelStatusToString.return_value": "Time limit"}), "HiGHS ended with status 'Time limit'"),
    ],
)
def test_a_solver_that_finds_nothing_is_named_without_options_that_a_sweep_lacks(solver, said):
    answer = centre_answer if said.startswith("Clarabel") else lambda highs, _rows: vertex_answer(highs)
    with pytest.raises(SolverError) as error:
        answer(solver, 1)
    assert str(error.value) == said


def test_a_ladder_without_tunnels_or_levels_is_empty():
    problem = gnm_problem(7)
    fast = SolveOptions(base_point="vertex", te_solver="fast")
    assert list(solve_ladder(problem, (), fast)) == []
    nothing = to_problem(problem.network, [])
    assert [allocation.value for allocation in solve_ladder(nothing, (5.0,), fast)] == [0.0]


@pytest.mark.slow
def test_a_unit_of_figure_4_repeats_and_keeps_the_order_of_schemes():
    _, parameters = next(fig4.units(seed=1))
    result = climb(parameters)
    assert result == climb(parameters)
    assert [level.demand_mbps for level in result.levels] == list(fig4.DEMANDS_MBPS)
    for level in result.levels:
        assert 0 <= level.precomputed <= level.kuijia * (1 + 1e-9) <= level.rescaling * (1 + 1e-6)
        assert level.failures == fig4.LINKS
        assert level.gap <= 1e-6
        assert level.largest_program_gap <= 1e-9


@pytest.mark.parametrize(
    ("pivots", "gap", "given_up"), [(effect.NOT_SOLVED, 0.0, 1), (3.0, 1e-3, 0), (3.0, float("nan"), 0)]
)
def test_second_programs_that_prove_nothing_are_no_result(pivots, gap, given_up):
    effects = np.zeros((4, 8))
    effects[2, effect.PIVOTS], effects[2, effect.GAP] = pivots, gap
    with pytest.raises(SolverError, match=f"{given_up} second programs were given up"):
        computed._require_proven(effects, 800.0)
    effects[2] = 0.0
    computed._require_proven(effects, 800.0)


def test_figure_4_has_the_papers_size():
    units = list(fig4.units(seed=1))
    for base_point in ("centre", "vertex"):
        assert sum(parameters.base_point == base_point for _, parameters in units) == 10 * 10
    assert len({name for name, _ in units}) == len(units)
    assert fig4.DEMANDS_MBPS[0] == 800
    assert fig4.DEMANDS_MBPS[-1] == pytest.approx(3000)


def test_a_trial_of_the_schemes_has_every_scheme_and_their_laws():
    trial = next(each for each in te_schemes.trials(CampaignPlan(True, 1)) if "gscale-run0-load1.2" in each.trial_id)
    schemes = compute(trial)["schemes"]
    assert schemes["ffc3"]["admitted"] <= schemes["ffc2"]["admitted"] <= schemes["ffc1"]["admitted"] <= 1
    assert schemes["ffc1"]["lost"] == pytest.approx(1 - schemes["ffc1"]["admitted"], abs=1e-6)
    assert schemes["reoptimise"]["lost"] <= schemes["precomputed"]["lost"] + 1e-6
    assert schemes["kuijia"]["aboriginal_lost"] == pytest.approx(0, abs=1e-9)


def test_pairs_of_figure_4_differ_from_run_to_run_and_graph_to_graph():
    from mininet_topos.catalogue import load_topology

    topology = load_topology(f"random:{fig4.NODES}:{fig4.LINKS}:1000")
    drawn = {random_pairs(topology, fig4.PAIRS, 1.0, 1_000_000 + run) for run in range(4)}
    assert len(drawn) == 4


def test_columns_of_the_failure_table_are_all_named():
    names = (
        effect.SENT, effect.VICTIM, effect.REROUTABLE, effect.RESCALING,
        effect.KUIJIA, effect.PRECOMPUTED, effect.PIVOTS, effect.GAP,
    )  # fmt: skip
    assert sorted(names) == list(range(effect.COLUMNS))
