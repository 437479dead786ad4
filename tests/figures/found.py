"""Every id, and those of one folder of experiments/figures."""

from __future__ import annotations

from experiments.campaign.act.discovery import find_figures
from experiments.campaign.figure import PaperFigure

FIGURES = find_figures()


def figures_in(folder: str) -> dict[str, PaperFigure]:
    """Ids whose trials a module of a folder makes."""
    start = f"experiments.figures.{folder}."
    return {name: figure for name, figure in FIGURES.items() if figure.trials.__module__.startswith(start)}
