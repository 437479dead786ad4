"""Finds what folders hold: figures of papers, kinds of trials, and what runs these."""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from types import ModuleType

from experiments.campaign.act.engine import Runner
from experiments.campaign.figure import PaperFigure
from experiments.campaign.kind import TrialKind
from experiments.campaign.values import TestbedSettings, Trial

_FIGURES, _KINDS = "experiments.figures", "experiments.campaign.kinds"
_BEYOND = "beyond"


@cache
def find_figures() -> Mapping[str, PaperFigure]:
    """Every id that `armor reproduce` takes, in the order of `--all`: paper by paper, and last those beyond papers.

    An id is a `PaperFigure` that a module of experiments/figures/PAPER holds.

    Raises
    ------
    ValueError
        Two modules have the same id.
    """
    found: dict[str, PaperFigure] = {}
    homes: dict[str, str] = {}
    for module in (each for folder in _folders(_FIGURES) for each in _modules(folder)):
        for figure in (value for value in vars(module).values() if isinstance(value, PaperFigure)):
            if found.setdefault(figure.id, figure) is not figure:
                raise ValueError(f"{module.__name__} and {homes[figure.id]} both have an id {figure.id!r}; rename one")
            homes.setdefault(figure.id, module.__name__)
    return {figure.id: figure for figure in sorted(found.values(), key=_place)}


def aliases_of(figures: Mapping[str, PaperFigure]) -> Mapping[str, tuple[str, ...]]:
    """Names that ask for several ids."""
    found: dict[str, tuple[str, ...]] = {}
    for figure in figures.values():
        if figure.part_of is not None:
            found[figure.part_of] = (*found.get(figure.part_of, ()), figure.id)
    return found


@cache
def find_kinds() -> Mapping[str, TrialKind]:
    """Every kind of trials by its name: a `TrialKind` that a module of experiments/campaign/kinds holds."""
    values = (value for module in _modules(_KINDS) for value in vars(module).values())
    return {kind.name: kind for kind in values if isinstance(kind, TrialKind)}


def make_runners(trials: Iterable[Trial], settings: TestbedSettings) -> Mapping[str, Runner]:
    """A runner for every kind of some trials; nothing is imported that these do not need.

    Parameters
    ----------
    settings
        `work` receives raw files, which are removed with each trial.
    """
    names = {name: find_kinds()[name].runner for name in dict.fromkeys(trial.kind for trial in trials)}
    made = {runner: _named(runner)(settings) for runner in dict.fromkeys(names.values())}
    return {name: made[runner] for name, runner in names.items()}


def _named(runner: str) -> Callable[[TestbedSettings], Runner]:
    module, _, attribute = runner.partition(":")
    found: Callable[[TestbedSettings], Runner] = getattr(importlib.import_module(module), attribute)
    return found


def _folders(package: str) -> list[str]:
    """Names of the folders in a package."""
    found = pkgutil.iter_modules(importlib.import_module(package).__path__, f"{package}.")
    return [each.name for each in found if each.ispkg]


def _modules(package: str) -> Iterator[ModuleType]:
    """Modules of a package, imported one by one, in the order of their names."""
    for each in pkgutil.iter_modules(importlib.import_module(package).__path__, f"{package}."):
        if not each.ispkg:
            yield importlib.import_module(each.name)


def _place(figure: PaperFigure) -> tuple[bool, str, list[tuple[str, int]]]:
    """Order of ids: numbers in them count as numbers, so that fig10a stands behind fig9."""
    parts = re.findall(r"(\D*)(\d*)", figure.id)
    return figure.paper == _BEYOND, figure.paper, [(text, int(number or 0)) for text, number in parts]
