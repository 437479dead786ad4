"""Kuijia's ids that are computed, and what runs their trials."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from experiments.campaign.values import Json, Trial
from experiments.papers.figure import PaperFigure
from experiments.papers.kuijia import fields, memory, pictures
from experiments.te import fig4_trials

PAPER = "kuijia"
FIGURES = (
    fig4_trials.KUIJIA_FIG4,
    PaperFigure(
        memory.ID,
        PAPER,
        "Memory of flow entries against the number of priorities, three shapes of tables",
        memory.trials,
        memory.claims,
        pictures.draw_fig8,
        memory.table,
    ),
    PaperFigure(
        fields.ID,
        PAPER,
        "Fields of all flow entries on Gscale, replicated against decomposed",
        fields.trials,
        fields.claims,
        pictures.draw_fields,
        fields.table,
    ),
)
_SWEEPS: Mapping[str, Callable[[Trial], Json]] = {
    fig4_trials.ID: fig4_trials.run_unit,
    memory.ID: memory.run_trial,
    fields.ID: fields.run_trial,
}


def run_sweep(trial: Trial) -> Json:
    """Row of a trial of kind "sweep"; its name begins with the id that it was made for."""
    return _SWEEPS[trial.trial_id.partition("/")[0]](trial)
