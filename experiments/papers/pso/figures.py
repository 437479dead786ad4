"""PSO's ids for `armor reproduce`, and the one beyond the paper that its load generator serves."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from experiments.campaign.values import CampaignPlan, Json, Trial
from experiments.papers.figure import PaperFigure
from experiments.papers.pso import claims, matching, paths, pictures, setup, tables, timing

PAPER, BEYOND = "pso", "beyond"


def _out_of_band(plan: CampaignPlan) -> tuple[Trial, ...]:
    return setup.load_trials(plan, setup.LINK, setup.LINK_NLS)


def _both_regimes(plan: CampaignPlan) -> tuple[Trial, ...]:
    return (*_out_of_band(plan), *setup.load_trials(plan, setup.CPU, setup.CPU_NLS))


def _real(plan: CampaignPlan) -> tuple[Trial, ...]:
    return (*_out_of_band(plan), *setup.load_trials(plan, setup.REAL, setup.REAL_NLS))


def _in_band(plan: CampaignPlan) -> tuple[Trial, ...]:
    steady = setup.load_trials(plan, setup.IN_BAND, setup.IN_BAND_NLS)
    return (*steady, *setup.load_trials(plan, setup.IN_BAND, setup.BURST_NLS, burst_pkts=setup.BURST_PKTS))


FIGURES = (
    PaperFigure(
        "pso-fig7",
        PAPER,
        "Loss and hop delay of high-priority packet-ins, out-of-band",
        _both_regimes,
        claims.fig7_claims,
        pictures.draw_fig7,
        lambda rows: tables.load_table(rows, (pictures.LINK, pictures.CPU)),
    ),
    PaperFigure(
        "pso-fig8",
        PAPER,
        "Throughput and delay of the high-priority flow through a real switch, out-of-band",
        _real,
        claims.fig8_claims,
        pictures.draw_fig8,
        lambda rows: tables.load_table(rows, (pictures.REAL, pictures.LINK)),
    ),
    PaperFigure(
        "pso-fig9",
        PAPER,
        "Loss and delay of OpenFlow messages, in-band",
        _in_band,
        claims.fig9_claims,
        pictures.draw_fig9,
        lambda rows: tables.load_table(rows, (claims.IN_BAND, claims.IN_BAND_BURSTS)),
    ),
    PaperFigure(
        matching.ID,
        PAPER,
        "Delay of flow matching with a Policy Map Table, computed and measured",
        matching.trials,
        matching.claims,
        pictures.draw_fig10,
        matching.table,
    ),
    PaperFigure(
        "x-misbehaving",
        BEYOND,
        "High class of well-behaved switches beside one that misbehaves",
        setup.misbehaving_trials,
        claims.misbehaving_claims,
        pictures.draw_misbehaving,
        tables.misbehaving_table,
        with_paper=PAPER,
    ),
    PaperFigure(
        paths.ID,
        BEYOND,
        "First packets through four switches: each switch asks, or the path is set up at once",
        paths.trials,
        paths.claims,
        pictures.draw_paths,
        paths.table,
        with_paper=PAPER,
    ),
)
SWEEPS: Mapping[str, Callable[[Trial], Json]] = {matching.ID: timing.run_trial}
