"""`armor te sweep --figure ID`: a campaign of computed trials, in several processes or on a cluster."""

from __future__ import annotations

import argparse
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from experiments.campaign.act.campaign import conclude, measure
from experiments.campaign.act.discovery import find_figures, find_kinds, make_runners
from experiments.campaign.act.store import CAMPAIGN, Store
from experiments.campaign.act.workers import SpreadRunner
from experiments.campaign.durations import estimates
from experiments.campaign.order import OK, remaining
from experiments.campaign.selection import Request, describe, run_order, trials_of
from experiments.campaign.values import CampaignPlan, Json, TestbedSettings, Trial
from experiments.campaign.verdicts import DIFFERS
from experiments.cli.campaign_progress import campaign_progress
from experiments.cli.reproduce_text import result_text
from experiments.terminal.output import emit, note

FOLDER = Path("results/te")


@dataclass(frozen=True)
class ComputingTestbed:
    """Computes trials, in `workers` processes or on the cluster at `dask`."""

    workers: int
    dask: str | None

    def require(self, trials: Sequence[Trial]) -> None:
        """Nothing."""

    def facts(self, _trials: Sequence[Trial]) -> Json:
        """None: no network is built."""
        return {}

    def calibrate(self, _trials: Sequence[Trial], _settings: TestbedSettings) -> Json:
        """Nothing: no network is built."""
        raise RuntimeError("computed trials need no calibration")

    def runners(self, trials: Sequence[Trial], settings: TestbedSettings) -> Mapping[str, SpreadRunner]:
        """One that spreads its trials, for each kind."""
        made = make_runners(trials, settings)
        return {
            kind: SpreadRunner(runner, self.workers, self.dask) for kind, runner in made.items() if callable(runner)
        }


def sweep(arguments: argparse.Namespace) -> int:
    """Run `armor te sweep`; exit code 1 when a claim differs."""
    figures, started_s = find_figures(), time.monotonic()
    plan = CampaignPlan(arguments.quick, arguments.seed)
    wanted = figures[arguments.figure].trials(plan)
    # Figures of one sweep share its folder.
    ids = tuple(name for name, figure in figures.items() if figure.trials is figures[arguments.figure].trials)
    request = Request(ids, plan)
    by_id = trials_of(request, figures)
    path = Path(arguments.out or FOLDER / wanted[0].trial_id.partition("/")[0])
    arguments.out = None
    store, trials = _store(path, describe(request, by_id), arguments.again), run_order(by_id)
    todo = remaining(trials, store.rows())
    note(f"{len(todo)} of {len(trials)} trials to compute; rows go to {store.path}")
    with campaign_progress(estimates(todo, find_kinds())) as progress:
        testbed = ComputingTestbed(arguments.workers, arguments.dask)
        measure(store, trials, testbed, progress, progress.say, tell=progress.tell)
    results = {result["id"]: result for result in conclude(store, figures, path)["results"]}
    names = {trial.trial_id for trial in todo}
    value = {
        **results[arguments.figure],
        "seconds": round(time.monotonic() - started_s, 3),
        "cpu_seconds": sum(row.get("cpu_seconds", 0.0) for row in store.rows() if row["trial"] in names),
        "units": len(trials),
        "units_computed": len(todo),
    }
    emit(arguments, value, _text(value))
    pictures = "" if value["lacks_data"] else "figure.png, figure.svg, "
    note(f"written: {value['folder']}/{pictures}verdict.json; rows are in {path}")
    return 1 if value["verdict"] == DIFFERS or value["lacks_data"] else 0


def _store(path: Path, description: Json, again: bool) -> Store:
    """The folder of a sweep: a new one, or one of before with its good rows of trials that are the same."""
    if not (path / CAMPAIGN).exists():
        return Store.create(path, description)
    store = Store.open(path)
    old, new = ({trial["trial"]: trial for trial in each["trials"]} for each in (store.description, description))
    kept = set() if again else {name for name in new if old.get(name) == new[name]}

    def keep(row: Json) -> Json | None:
        return {**row, "quick": description["quick"]} if row["trial"] in kept and row["status"] == OK else None

    store.begin_again(description, keep)
    return store


def _text(value: Json) -> str:
    computed = f"{value['units']} trials, {value['units_computed']} computed now"
    return (
        f"{result_text(value)}\n\n{computed}: {value['seconds']:.2f} s wall, {value['cpu_seconds']:.2f} s CPU in them"
    )
