"""Runs and campaigns, and their stored results as data frames."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any

from experiments.campaign.act.campaign import conclude
from experiments.campaign.act.discovery import aliases_of, find_figures
from experiments.campaign.selection import Request, choose_ids
from experiments.campaign.values import CampaignPlan
from experiments.cli import reproduce as reproduction
from experiments.cli.run import run_file
from experiments.report.folders import PROBES, CampaignFolder, RunFolder, read_folder, read_rows
from experiments.report.table_file import frame_of
from mininet_topos.errors import BadInputError

if TYPE_CHECKING:
    import pandas as pd

    from experiments.comparison.decide.row import Row

Json = dict[str, Any]
Place = str | PathLike[str]


def run(scenario: Place, out: Place | None = None, *, seed: int | None = None) -> Json:
    """Run a scenario file on emulated networks and measure it, as `armor run`; needs root.

    Parameters
    ----------
    out
        Folder of the results, new or empty; None: a new one in results/.
    seed
        In place of the file's.

    Returns
    -------
    What `armor run --json` prints: `runs`, `held`, `trustworthy`, `folder`.

    Raises
    ------
    BadInputError
        The file is no scenario, or the folder cannot be used.
    MissingRequirementError
        The machine lacks a right or a program.
    """
    return dict(run_file(fspath(scenario), None if out is None else Path(out), seed))


def reproduce(
    ids: Sequence[str],
    out: Place | None = None,
    *,
    quick: bool = False,
    seed: int = 1,
    rounds: int | None = None,
    variants: Sequence[str] | None = None,
) -> Json:
    """Measure figures and claims of the papers again, as `armor reproduce`; ids with networks need root.

    Parameters
    ----------
    ids
        As `armor reproduce --list` shows them.
    out
        As of `run`.
    quick
        Fewer rounds and repetitions.
    rounds, variants
        None: those of each id.

    Returns
    -------
    What `armor reproduce --json` prints: the verdict of each id is in `results`.

    Raises
    ------
    BadInputError
        Unknown id, variants that leave no trial, or a folder that cannot be used.
    MissingRequirementError
        The machine lacks what the trials need.
    """
    figures = find_figures()
    chosen = choose_ids(list(ids), None, False, figures, aliases_of(figures))
    plan = CampaignPlan(quick, seed, rounds)
    request = Request(chosen, plan, None if variants is None else tuple(variants))
    testbed = reproduction.NetworkTestbed()
    store, trials = reproduction.begin_campaign(request, figures, None if out is None else Path(out), testbed)
    reproduction.measure_trials(store, trials, testbed)
    return conclude(store, figures, store.path)


def redraw(folder: Place, out: Place | None = None, ids: Sequence[str] = ()) -> Json:
    """Judge and draw a campaign again from its stored rows, as `armor reproduce --redraw`.

    Parameters
    ----------
    out
        Gets a folder for each id; None: the campaign's own.
    ids
        Some of the campaign's; empty: all.

    Returns
    -------
    As `reproduce`.

    Raises
    ------
    BadInputError
        No campaign, rows that this version cannot judge, or an unknown id.
    """
    store = reproduction.open_campaign(Path(folder))
    return conclude(store, find_figures(), store.path if out is None else Path(out), ids)


def load_rows(folder: Place) -> pd.DataFrame:
    """Rows of a folder of results: of a run one a failure, stream and way; of a campaign one an attempt of a trial.

    Names of columns end in their unit. A value within an object has the names of both: `stages_ms.detect`.

    Raises
    ------
    BadInputError
        The folder holds no results, or files that cannot be read.
    MissingRequirementError
        pandas is not installed.
    """
    return frame_of(read_folder(Path(folder)).rows)


def load_probes(folder: Place) -> pd.DataFrame:
    """Probe packets of a run: one row a packet and way, seconds since the run's zero; errors as `load_rows`."""
    found = read_folder(Path(folder))
    if not isinstance(found, RunFolder):
        raise BadInputError(f"{fspath(folder)!r} is no run, and keeps no single packets; use load_rows")
    path = found.path / PROBES
    return frame_of(read_rows(path) if path.is_file() else ())


def load_claims(folder: Place) -> pd.DataFrame:
    """Claims of a campaign as judged: id, name, paper's value, measured one with its interval, verdict.

    Raises
    ------
    BadInputError
        The folder holds no campaign, or files that cannot be read.
    MissingRequirementError
        pandas is not installed.
    """
    found = read_folder(Path(folder))
    if not isinstance(found, CampaignFolder):
        raise BadInputError(f"{fspath(folder)!r} is no campaign, and has no claims of papers; use load_rows")
    verdicts = (figure.verdict for figure in found.figures)
    return frame_of([{"id": verdict["id"], **claim} for verdict in verdicts for claim in verdict["claims"]])


def comparison_frame(rows: Iterable[Row]) -> pd.DataFrame:
    """Rows of `compare` as a data frame (`MissingRequirementError`: pandas is not installed)."""
    return frame_of([asdict(row) for row in rows])
