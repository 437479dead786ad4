"""Computed trials: the same rows from any worker, resumable, failures tried again, `armor te sweep` of them."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import warnings
from pathlib import Path
from unittest.mock import Mock

import pytest

from experiments.campaign.act.attempts import Attempt
from experiments.campaign.act.engine import run_campaign
from experiments.campaign.act.store import ROWS, Store
from experiments.campaign.act.workers import SpreadRunner
from experiments.campaign.values import CampaignPlan, Trial
from experiments.campaign.verdicts import DIFFERS
from experiments.cli.main import main
from experiments.figures.kuijia import fig4
from mininet_topos.errors import ArmorError, BadInputError

TRIALS = tuple(Trial(f"unit{k}", "sweep", f"topology{k % 2}", None, k, 0, (), (), None, None, seed=k) for k in range(5))


def square(trial):
    return {"square": trial.seed**2}


def broken(trial):
    raise BadInputError(f"trial {trial.seed} was computed again")


def kill_itself(_trial):
    os.kill(os.getpid(), signal.SIGKILL)


def campaign(path: Path, runner: SpreadRunner, trials=TRIALS) -> list[dict]:
    store = Store(path) if (path / ROWS).exists() else Store.create(path, {})
    with store.writing():
        run_campaign(trials, {"sweep": runner}, store, True, Mock())
    return store.rows()


def squares(rows):
    return sorted((row["trial"], row["square"]) for row in rows if row["status"] == "ok")


WANTED = [(f"unit{k}", k**2) for k in range(5)]


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2])
def test_results_are_the_same_however_many_compute(tmp_path, workers):
    assert squares(campaign(tmp_path, SpreadRunner(square, workers))) == WANTED


def test_a_broken_off_sweep_goes_on_where_it_stopped(tmp_path):
    campaign(tmp_path, SpreadRunner(square), TRIALS[:3])
    rows = campaign(tmp_path, SpreadRunner(square))
    assert squares(rows) == WANTED
    assert campaign(tmp_path, SpreadRunner(broken)) == rows


def test_what_fails_is_tried_twice_and_its_error_kept(tmp_path):
    rows = campaign(tmp_path, SpreadRunner(broken), TRIALS[:2])
    assert [(row["trial"], row["attempt"], row["error"]) for row in rows] == [
        (f"unit{k}", attempt, f"trial {k} was computed again") for attempt in (1, 2) for k in range(2)
    ]


@pytest.mark.slow
def test_a_cluster_computes_the_same(tmp_path):
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None, protocol="tcp"
    ) as cluster:
        assert squares(campaign(tmp_path, SpreadRunner(square, dask=cluster.scheduler_address))) == WANTED


def test_a_cluster_that_goes_away_is_an_error_and_what_is_finished_is_kept(tmp_path, monkeypatch):
    distributed = pytest.importorskip("distributed")
    good = {"square": 0, "status": "ok", "error": None}
    answers = [
        ("finished", Attempt(TRIALS[0], good, "", 0.0)),
        ("cancelled", distributed.client.FutureCancelledError("1", "")),
    ]
    monkeypatch.setattr(distributed, "Client", lambda *_, **__: Mock())
    monkeypatch.setattr(
        distributed,
        "as_completed",
        lambda *_, **__: iter([(Mock(status=status), answer) for status, answer in answers]),
    )
    with pytest.raises(ArmorError, match=r"gave up \(cancelled\); finished trials are kept"):
        campaign(tmp_path, SpreadRunner(square, dask="tcp://127.0.0.1:1"))
    assert squares(Store(tmp_path).rows()) == WANTED[:1]


def test_a_cluster_that_is_not_there_is_an_error(tmp_path):
    pytest.importorskip("distributed")
    with pytest.raises(BadInputError, match="no dask scheduler"):
        campaign(tmp_path, SpreadRunner(square, dask="nonsense"))


@pytest.mark.slow
def test_a_folder_that_can_no_longer_be_written_ends_the_workers_without_a_word(tmp_path, monkeypatch) -> None:
    def full(_store: Store, _row: dict) -> None:
        raise OSError(28, "No space left on device")

    before = set(multiprocessing.active_children())
    monkeypatch.setattr(Store, "append", full)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(OSError, match="No space left"):
            campaign(tmp_path, SpreadRunner(square, 2))
    assert not [worker for worker in set(multiprocessing.active_children()) - before if worker.is_alive()]


@pytest.mark.slow
def test_a_worker_that_is_killed_is_reported_in_one_line(tmp_path) -> None:
    with pytest.raises(ArmorError, match=r"a worker process was killed, .*; ask for fewer --workers"):
        campaign(tmp_path, SpreadRunner(kill_itself, 2))


def swept(capsys, folder: Path, *more: str) -> tuple[int, dict]:
    code = main(["te", "sweep", "--figure", "kuijia-fig4", "--out", str(folder), "--json", *more])
    printed = capsys.readouterr()
    assert printed.out, printed.err
    return code, json.loads(printed.out)


@pytest.fixture
def small(monkeypatch):
    """Small graphs at two demands; the full sweep has one run more than the quick one."""
    pytest.importorskip("cvxpy")
    pytest.importorskip("matplotlib")
    monkeypatch.setattr(fig4, "QUICK", 1)
    monkeypatch.setattr(fig4, "GRAPHS", 1)
    monkeypatch.setattr(fig4, "RUNS", 2)
    for name, value in {"NODES": 30, "LINKS": 60, "PAIRS": 8, "DEMANDS_MBPS": (1200.0, 2400.0)}.items():
        monkeypatch.setattr(fig4, name, value)


@pytest.mark.slow
def test_sweep_command_writes_rows_pictures_and_verdict_and_computes_each_trial_once(tmp_path, capsys, small):
    folder = tmp_path / "f"
    code, value = swept(capsys, folder, "--quick")
    assert code == (1 if value["verdict"] == DIFFERS else 0)
    assert {"id", "quick", "verdict", "claims", "trials", "failed_trials", "seconds", "folder"} <= set(value)
    quick = Store.open(folder).rows()
    assert len(quick) == value["units"] == value["units_computed"] == 2
    assert [claim.to_json() for claim in fig4.FIGURE.claims(quick)] == value["claims"]
    for name in ("figure.png", "figure.svg", "verdict.json"):
        assert (folder / "kuijia-fig4" / name).stat().st_size > 100
    assert swept(capsys, folder, "--quick")[1]["units_computed"] == 0
    full = swept(capsys, folder)[1]
    assert (full["units"], full["units_computed"], full["quick"]) == (4, 2, False)
    assert Store.open(folder).rows()[0] == {**quick[0], "quick": False}
    assert main(["report", str(folder), "--out", str(tmp_path / "page.html")]) == 0
    capsys.readouterr()
    assert swept(capsys, folder, "--again")[1]["units_computed"] == 4
    other = swept(capsys, folder, "--seed", "2")[1]
    assert other["units_computed"] == 4
    assert {trial["seed"] for trial in Store.open(folder).description["trials"]} == {2} != {CampaignPlan(True, 1).seed}


def test_a_sweep_into_a_folder_of_something_else_names_no_option_that_it_lacks(tmp_path, capsys, small):
    (tmp_path / "notes").touch()
    assert main(["te", "sweep", "--figure", "kuijia-fig4", "--quick", "--out", str(tmp_path)]) == 2
    assert capsys.readouterr().err == f"armor: folder {str(tmp_path)!r} is not empty; name a new one with --out\n"
