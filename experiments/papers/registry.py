"""Every id that `armor reproduce` takes, in the order of `--all`."""

from __future__ import annotations

from collections.abc import Mapping

from experiments.campaign.values import Json, Trial
from experiments.papers.demoted import figures as demoted
from experiments.papers.figure import PaperFigure, Table
from experiments.papers.in_band import figures as in_band
from experiments.papers.kuijia import figures as kuijia
from experiments.papers.lossless import figures as lossless
from experiments.papers.p4protect import figures as p4protect
from experiments.papers.pso import figures as pso
from experiments.papers.sdfast import figures as sdfast
from experiments.papers.sqr import figures as sqr

FIGURES: Mapping[str, PaperFigure] = {
    figure.id: figure
    for figure in (
        *sdfast.FIGURES,
        *kuijia.FIGURES,
        *demoted.FIGURES,
        *pso.FIGURES,
        *p4protect.FIGURES,
        *sqr.FIGURES,
        *lossless.FIGURES,
        *in_band.FIGURES,
    )
}
ALIASES: Mapping[str, tuple[str, ...]] = dict(sdfast.ALIASES)


def run_sweep(trial: Trial) -> Json:
    """Row of a trial of kind "sweep"; its name begins with the id that it was made for."""
    return pso.SWEEPS.get(trial.trial_id.partition("/")[0], kuijia.run_sweep)(trial)


__all__ = ["ALIASES", "FIGURES", "PaperFigure", "Table", "run_sweep"]
