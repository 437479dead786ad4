"""Sweeps: resumable, the same results whoever computes, figures redrawn from rows, claims judged."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import warnings
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pytest

from experiments.campaign.verdicts import DIFFERS, HOLDS, MEASURED
from experiments.cli.main import main
from experiments.figures.kuijia import fig4
from experiments.te import scheme_sweep
from experiments.te.sweep import SweepOptions, Unit, run_sweep
from mininet_topos.errors import ArmorError, BadInputError
from te_solver import all_failures as effect
from te_solver import ladder
from te_solver.choices import BASE_POINTS
from te_solver.demands import random_pairs
from te_solver.ladder import solve_ladder
from te_solver.solve import SolveOptions, solve
from te_solver.tunnels import to_problem
from tests.te_solver.strategies import gnm_problem

pytest.importorskip("cvxpy")
pytest.importorskip("matplotlib")


def square(parameters):
    return {"square": parameters["number"] ** 2}


def broken(parameters):
    raise BadInputError(f"unit {parameters['number']} was computed again")


def kill_itself(_parameters):
    os.kill(os.getpid(), signal.SIGKILL)


UNITS = [Unit(f"unit{number}", {"number": number}) for number in range(5)]


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2])
def test_results_come_in_the_order_of_the_units(tmp_path, workers):
    done = run_sweep(UNITS, square, tmp_path, SweepOptions(workers))
    assert [result["square"] for result in done.results] == [0, 1, 4, 9, 16]
    assert done.computed == 5
    assert sorted(path.name for path in tmp_path.iterdir()) == [f"unit{k}.json" for k in range(5)]


def test_a_broken_off_sweep_goes_on_where_it_stopped(tmp_path):
    run_sweep(UNITS[:3], square, tmp_path, SweepOptions())
    done = run_sweep(UNITS, square, tmp_path, SweepOptions())
    assert done.computed == 2
    assert run_sweep(UNITS, broken, tmp_path, SweepOptions()).computed == 0
    with pytest.raises(BadInputError, match="unit 0"):
        run_sweep(UNITS, broken, tmp_path, SweepOptions(again=True))


def test_other_parameters_are_computed_again(tmp_path):
    run_sweep([Unit("unit", {"number": 2})], square, tmp_path, SweepOptions())
    assert run_sweep([Unit("unit", {"number": 3})], square, tmp_path, SweepOptions()).results == ({"square": 9},)


def test_a_damaged_unit_is_named(tmp_path):
    (tmp_path / "unit0.json").write_text("{")
    with pytest.raises(BadInputError, match=r"unit0\.json"):
        run_sweep(UNITS, square, tmp_path, SweepOptions())


@pytest.mark.slow
def test_a_cluster_computes_the_same(tmp_path):
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None, protocol="tcp"
    ) as cluster:
        done = run_sweep(UNITS, square, tmp_path, SweepOptions(dask=cluster.scheduler_address))
    assert [result["square"] for result in done.results] == [0, 1, 4, 9, 16]


def test_a_cluster_that_goes_away_is_an_error_and_what_is_finished_is_kept(tmp_path, monkeypatch):
    distributed = pytest.importorskip("distributed")
    answers = [
        ("finished", (UNITS[0], {"square": 0}, 0.0)),
        ("cancelled", distributed.client.FutureCancelledError("1", "")),
    ]
    monkeypatch.setattr(distributed, "Client", lambda *_, **__: Mock())
    monkeypatch.setattr(
        distributed,
        "as_completed",
        lambda *_, **__: iter([(Mock(status=status), answer) for status, answer in answers]),
    )
    with pytest.raises(ArmorError, match=r"gave up \(cancelled\); finished units are kept"):
        run_sweep(UNITS, square, tmp_path, SweepOptions(dask="tcp://127.0.0.1:1"))
    assert [path.name for path in tmp_path.iterdir()] == ["unit0.json"]


def test_a_cluster_that_is_not_there_is_an_error(tmp_path):
    pytest.importorskip("distributed")
    with pytest.raises(BadInputError, match="no dask scheduler"):
        run_sweep(UNITS, square, tmp_path, SweepOptions(dask="nonsense"))


def unit_of(base_point, graph, run):
    """Parameters of a unit of Figure 4, with seed 1."""
    return next(own for _, own in fig4.units(1) if (own.base_point, own.graph, own.run) == (base_point, graph, run))


LADDERS = [SolveOptions(base_point=point, method=method) for point in BASE_POINTS for method in ("reference", "fast")]


@pytest.mark.parametrize("dense", [True, False])
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("options", LADDERS, ids=lambda options: f"{options.base_point}-{options.method}")
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
        rows = fig4.compute(unit_of("vertex", graph=3, run=run))["levels"]
        assert all(row["gap"] <= 1e-8 for row in rows)


def test_a_dense_ladder_that_proves_nothing_is_replaced(monkeypatch):
    def lie(_tableau, _demands, heights, points, _multipliers):
        points[:] = 1.0
        return len(heights) > 0

    monkeypatch.setattr(ladder, "climb", lie)
    problem = gnm_problem(7)
    options = SolveOptions(base_point="vertex", method="fast")
    (allocation,) = solve_ladder(problem, (500.0,), options)
    alone = solve(problem.with_volumes(np.full(len(problem.demands), 500.0)))
    assert allocation.value == pytest.approx(alone.value, rel=1e-6)


def test_a_ladder_without_tunnels_or_levels_is_empty():
    problem = gnm_problem(7)
    fast = SolveOptions(base_point="vertex", method="fast")
    assert list(solve_ladder(problem, (), fast)) == []
    nothing = to_problem(problem.network, [])
    assert [allocation.value for allocation in solve_ladder(nothing, (5.0,), fast)] == [0.0]


@pytest.mark.slow
def test_a_unit_of_figure_4_repeats_and_keeps_the_order_of_schemes():
    _, parameters = next(fig4.units(seed=1))
    result = fig4.compute(parameters)
    assert result == fig4.compute(parameters)
    assert [row["demand_mbps"] for row in result["levels"]] == list(fig4.DEMANDS_MBPS)
    for row in result["levels"]:
        assert 0 <= row["precomputed"] <= row["kuijia"] * (1 + 1e-9) <= row["rescaling"] * (1 + 1e-6)
        assert row["failures"] == fig4.LINKS
        assert row["gap"] <= 1e-6
        assert row["largest_program_gap"] <= 1e-9


def test_figure_4_has_the_papers_size():
    units = list(fig4.units(seed=1))
    for base_point in ("centre", "vertex"):
        assert sum(parameters.base_point == base_point for _, parameters in units) == 10 * 10
    assert len({name for name, _ in units}) == len(units)
    assert fig4.DEMANDS_MBPS[0] == 800
    assert fig4.DEMANDS_MBPS[-1] == pytest.approx(3000)


def fig4_rows(kuijia):
    losses = {"rescaling": 0.03, "kuijia": kuijia, "precomputed": 0.02}
    return [
        {
            "trial": f"kuijia-fig4/{point}-{run}",
            "parameters": {"base_point": point, "graph": 0, "run": run},
            "levels": [{"demand_mbps": mbps, "satisfied": 0.5, **losses} for mbps in (800.0, 1000.0)],
        }
        for point in ("centre", "vertex")
        for run in (0, 1)
    ]


@pytest.mark.parametrize(("kuijia", "verdict"), [(0.0205, HOLDS), (0.0215, DIFFERS), (0.0195, DIFFERS)])
def test_the_claim_of_figure_4_is_judged_from_the_centre(kuijia, verdict):
    centre, vertex = fig4.claims(fig4_rows(kuijia))
    assert centre.verdict == verdict
    assert centre.measured == pytest.approx(100 * (kuijia - 0.02))
    assert vertex.verdict == MEASURED


def test_a_unit_of_the_scheme_sweep_has_every_scheme_and_their_laws():
    parameters = {"topology": "gscale", "run": 0, "load": 1.2, "seed": 1}
    schemes = scheme_sweep.compute(parameters)["schemes"]
    assert schemes["ffc3"]["admitted"] <= schemes["ffc2"]["admitted"] <= schemes["ffc1"]["admitted"] <= 1
    assert schemes["ffc1"]["lost"] == pytest.approx(1 - schemes["ffc1"]["admitted"], abs=1e-6)
    assert schemes["reoptimise"]["lost"] <= schemes["precomputed"]["lost"] + 1e-6
    assert schemes["kuijia"]["aboriginal_lost"] == pytest.approx(0, abs=1e-9)


@pytest.mark.slow
def test_sweep_command_writes_rows_pictures_and_verdict(tmp_path, capsys):
    argv = ["te", "sweep", "--figure", "kuijia-fig4", "--quick", "--out", str(tmp_path / "f"), "--json"]
    code = main(argv)
    value = json.loads(capsys.readouterr().out)
    assert code == (1 if value["verdict"] == DIFFERS else 0)
    assert {"id", "quick", "verdict", "claims", "trials", "failed_trials", "seconds", "folder"} <= set(value)
    rows = [json.loads(line) for line in (tmp_path / "f" / "rows.jsonl").read_text().splitlines()]
    assert len(rows) == value["trials"] == 2 * 2 * 2
    assert [claim.to_json() for claim in fig4.claims(rows)] == value["claims"]
    for name in ("figure.png", "figure.svg", "verdict.json", "environment.json"):
        assert (tmp_path / "f" / name).stat().st_size > 100


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


@pytest.mark.slow
def test_a_folder_that_can_no_longer_be_written_ends_the_workers_without_a_word(tmp_path: Path, monkeypatch) -> None:
    def full(_path: Path, _text: str) -> None:
        raise OSError(28, "No space left on device")

    before = set(multiprocessing.active_children())
    monkeypatch.setattr("experiments.te.sweep.write_whole", full)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(OSError, match="No space left"):
            run_sweep(UNITS, square, tmp_path, SweepOptions(workers=2))
    assert not [worker for worker in set(multiprocessing.active_children()) - before if worker.is_alive()]


@pytest.mark.slow
def test_a_worker_that_is_killed_is_told_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(ArmorError, match=r"a worker process was killed, .*; ask for fewer --workers"):
        run_sweep(UNITS, kill_itself, tmp_path, SweepOptions(workers=2))
