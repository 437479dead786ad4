"""Every id that `armor reproduce` takes, in the order of `--all`."""

from __future__ import annotations

from collections.abc import Mapping

from experiments.papers.figure import PaperFigure, Table
from experiments.papers.sdfast import figures as sdfast
from experiments.te.fig4_trials import KUIJIA_FIG4

FIGURES: Mapping[str, PaperFigure] = {figure.id: figure for figure in (*sdfast.FIGURES, KUIJIA_FIG4)}
ALIASES: Mapping[str, tuple[str, ...]] = dict(sdfast.ALIASES)

__all__ = ["ALIASES", "FIGURES", "PaperFigure", "Table"]
