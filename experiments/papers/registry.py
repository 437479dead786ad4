"""Every id that `armor reproduce` takes, in the order of `--all`."""

from __future__ import annotations

from collections.abc import Mapping

from experiments.papers.figure import PaperFigure, Table
from experiments.papers.kuijia import figures as kuijia
from experiments.papers.sdfast import figures as sdfast

FIGURES: Mapping[str, PaperFigure] = {figure.id: figure for figure in (*sdfast.FIGURES, *kuijia.FIGURES)}
ALIASES: Mapping[str, tuple[str, ...]] = dict(sdfast.ALIASES)

__all__ = ["ALIASES", "FIGURES", "PaperFigure", "Table"]
