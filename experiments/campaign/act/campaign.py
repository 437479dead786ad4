"""A campaign from its folder to its figures: calibrate, run what is missing, judge and draw."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from experiments.campaign.act.discovery import find_kinds
from experiments.campaign.act.engine import Progress, Runner, run_campaign
from experiments.campaign.act.registration import registration_of
from experiments.campaign.act.store import CALIBRATION, ENVIRONMENT, Store
from experiments.campaign.calibration import DEFAULT_BFD_INTERVAL_MS, bfd_interval_ms, calibration_text, judged
from experiments.campaign.durations import needs_network
from experiments.campaign.judging import campaign_value, judge_figure, result_of
from experiments.campaign.order import remaining
from experiments.campaign.selection import Request, describe
from experiments.campaign.values import Json, TestbedSettings, Trial
from experiments.terminal.pictures import save
from machine.environment import NETWORK_PACKAGES, REPOSITORY, SOLVER_PACKAGES, environment_facts
from mininet_topos.errors import BadInputError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from experiments.campaign.figure import PaperFigure

PICTURES = ("figure.png", "figure.svg")
VERDICT = "verdict.json"
ENVIRONMENT_VERSION = 1
_OF_ONE_START = ("at", "command", "commit", "load")

Say = Callable[[str], None]


class CampaignTestbed(Protocol):
    """Where trials run."""

    def require(self, trials: Sequence[Trial]) -> None:
        """Refuse when the machine lacks what the trials need; remove what killed runs left behind."""

    def facts(self, trials: Sequence[Trial]) -> Json:
        """More for environment.json: what networks will be made of."""

    def calibrate(self, trials: Sequence[Trial], settings: TestbedSettings) -> Json:
        """Measure what `experiments.campaign.calibration` judges."""

    def runners(self, trials: Sequence[Trial], settings: TestbedSettings) -> Mapping[str, Runner]:
        """A runner for every kind of these trials."""


def begin(path: Path, request: Request, by_id: Mapping[str, Sequence[Trial]]) -> Store:
    """Make the folder of a new campaign.

    Raises
    ------
    BadInputError
        The folder cannot be used.
    """
    return Store.create(path, describe(request, by_id))


def measure(
    store: Store, trials: Sequence[Trial], testbed: CampaignTestbed, progress: Progress, say: Say, *, tell: Say
) -> None:
    """Run the trials that have no good row yet.

    Parameters
    ----------
    trials
        All of the campaign, in order.
    say, tell : callable
        `say` gets the progress, `tell` what a reader should see and keep.

    Raises
    ------
    BadInputError
        Another process writes the folder.
    MissingRequirementError
        The machine lacks something.
    """
    with store.writing(), store.work() as work:
        todo = remaining(trials, store.rows())
        if not todo:
            return
        description = store.description
        _write_environment(store, description["seed"], testbed.facts(trials), tell)
        settings = TestbedSettings(work, description["quick"], DEFAULT_BFD_INTERVAL_MS, say)
        calibration = _calibration(store, trials, todo, testbed, settings)
        if calibration is not None:
            tell(calibration_text(calibration))
            settings = replace(settings, bfd_interval_ms=bfd_interval_ms(calibration))
        run_campaign(trials, testbed.runners(trials, settings), store, description["quick"], progress)


def conclude(store: Store, figures: Mapping[str, PaperFigure], out: Path, ids: Sequence[str] = ()) -> Json:
    """Judge and draw from stored rows alone.

    Parameters
    ----------
    figures : mapping of id to PaperFigure
    out
        Gets a folder for every id.
    ids
        Some of the campaign's ids; all when empty.

    Returns
    -------
    The value of `reproduce --json`.

    Raises
    ------
    BadInputError
        An id is no part of the campaign, or of this code.
    """
    description = store.description
    of_figure: Mapping[str, list[str]] = description["figures"]
    for name in ids or of_figure:
        if name not in of_figure:
            raise BadInputError(f"{str(store.path)!r} has no {name!r}; its ids are {', '.join(of_figure)}")
        if name not in figures:
            raise BadInputError(f"{str(store.path)!r} holds {name!r}, which this code does not know; leave it out")
    rows, calibration = store.rows(), store.read_json(CALIBRATION)
    # All is judged and drawn before anything is written: rows that cannot be read leave the old files alone.
    concluded = {}
    for name in ids or of_figure:
        with _naming(store, name):
            concluded[name] = _conclude(figures[name], of_figure[name], rows, calibration)
    results, pictures = [], Store(out)
    for name, (result, figure) in concluded.items():
        results.append({**result, "folder": str(out / name)})
        pictures.write_json(f"{name}/{VERDICT}", results[-1])
        _draw(out / name, figure)
    run_commit = (store.read_json(ENVIRONMENT) or {}).get("commit")
    facts = {"calibration": calibration, "folder": str(out), "registration": registration_of(run_commit, REPOSITORY)}
    return campaign_value(results, rows, facts)


def _conclude(
    figure: PaperFigure, trial_ids: Sequence[str], rows: Sequence[Json], calibration: Json | None
) -> tuple[Json, Figure | None]:
    """Result and picture of one id."""
    found = judge_figure(figure, trial_ids, rows, calibration)
    result = {**result_of(found, rows, ""), "lacks_data": found.lacks_data}
    return result, figure.draw(found.rows, found.caption) if found.rows else None


@contextmanager
def _naming(store: Store, name: str) -> Iterator[None]:
    """Say of rows that this code cannot judge, since they were edited or are of another version, where they are."""
    try:
        yield
    except (LookupError, TypeError, AttributeError, ValueError, ArithmeticError, BadInputError) as error:
        raise BadInputError(
            f"{str(store.path)!r} holds rows or a calibration by which {name} cannot be judged "
            f"({type(error).__name__}: {error}); redraw with the version that measured them, or measure again"
        ) from error


def _calibration(
    store: Store,
    trials: Sequence[Trial],
    todo: Sequence[Trial],
    testbed: CampaignTestbed,
    settings: TestbedSettings,
) -> Json | None:
    """Stored or measured facts, judged; a resumed campaign keeps its BFD interval, whatever the machine does now."""
    stored = store.read_json(CALIBRATION)
    if stored is not None or not needs_network(todo, find_kinds()):
        return stored
    stored = judged(testbed.calibrate(trials, settings))
    store.write_json(CALIBRATION, stored)
    return stored


def _write_environment(store: Store, seed: int, more: Json, tell: Callable[[str], None]) -> None:
    """Facts of the first start; of every time that the campaign was resumed, and what had changed by then."""
    facts = {**environment_facts(seed, tuple(dict.fromkeys((*NETWORK_PACKAGES, *SOLVER_PACKAGES)))), **more}
    stored = store.read_json(ENVIRONMENT)
    if stored is None:
        started = facts.pop("at")
        store.write_json(
            ENVIRONMENT, {"format_version": ENVIRONMENT_VERSION, "started": started, **facts, "resumed": []}
        )
        return
    changed = {key: value for key, value in facts.items() if key not in _OF_ONE_START and value != stored.get(key)}
    entry = {**{key: facts[key] for key in _OF_ONE_START}, "changed": changed}
    store.write_json(ENVIRONMENT, {**stored, "resumed": [*stored["resumed"], entry]})
    if changed:
        tell(f"other than before: {', '.join(sorted(changed))}; environment.json says what was and what is")


def _draw(folder: Path, figure: Figure | None) -> None:
    """Write a figure; without one, no old picture may stay."""
    for name in PICTURES:
        if figure is None:
            (folder / name).unlink(missing_ok=True)
        else:
            save(figure, folder / name)


def folder_name(ids: Sequence[str]) -> Path:
    """A folder results/<time>-<what> in the current folder."""
    what = ids[0] if len(ids) == 1 else f"{len(ids)}-ids"
    return Path("results") / f"{time.strftime('%Y%m%d-%H%M%S')}-{what}"
