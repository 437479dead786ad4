"""SD-FAST's ids for `armor reproduce`, and those beyond the paper that its trials serve."""

from __future__ import annotations

from experiments.campaign.values import CampaignPlan, Trial
from experiments.papers.figure import PaperFigure
from experiments.papers.sdfast import claims, extra_claims, extra_pictures, pictures, setup, tables
from experiments.papers.sdfast.draws import MOST_FAILURES
from experiments.papers.sdfast.measures import Choice

PAPER, BEYOND = "sd-fast", "beyond"
_MOST_TABLE = tuple(Choice("mixed", topology, (0, MOST_FAILURES)) for topology in (setup.USNET, setup.DARKSTRAND))
_OVER_TABLE = (Choice("mixed", setup.DARKSTRAND, setup.EVERY_NUMBER),)


def _both_topologies(plan: CampaignPlan) -> tuple[Trial, ...]:
    darkstrand = setup.mixed_trials(plan, setup.DARKSTRAND, setup.FAIL_FREE_AND_MOST, setup.ON_USNET)
    return (*darkstrand, *setup.mixed_trials(plan, setup.USNET, setup.FAIL_FREE_AND_MOST, setup.ON_USNET))


def _over_failures(plan: CampaignPlan) -> tuple[Trial, ...]:
    return tuple(setup.mixed_trials(plan, setup.DARKSTRAND, setup.EVERY_NUMBER, setup.RECOVERING))


def _backtracking(plan: CampaignPlan) -> tuple[Trial, ...]:
    return tuple(setup.mixed_trials(plan, setup.DARKSTRAND, (MOST_FAILURES,), (*setup.BACKTRACKING, setup.CB)))


def _downloads(plan: CampaignPlan) -> tuple[Trial, ...]:
    return tuple(setup.download_trials(plan, setup.FAIL_FREE_AND_MOST, setup.RECOVERING))


def _flows(plan: CampaignPlan) -> tuple[Trial, ...]:
    return tuple(setup.flow_trials(plan, setup.ENDING_THE_WALK))


def _stages(plan: CampaignPlan) -> tuple[Trial, ...]:
    return tuple(setup.mixed_trials(plan, setup.DARKSTRAND, (1, MOST_FAILURES), setup.ON_DARKSTRAND))


def _multi(plan: CampaignPlan) -> tuple[Trial, ...]:
    numbers = extra_claims.SEVERAL
    measured = setup.mixed_trials(plan, setup.DARKSTRAND, numbers, setup.ON_DARKSTRAND)
    return (*setup.verify_trials(plan, (setup.DARKSTRAND,), numbers), *measured)


def _coverage(plan: CampaignPlan) -> tuple[Trial, ...]:
    return tuple(setup.verify_trials(plan, setup.bundled_topologies(), (1,)))


def _cost(plan: CampaignPlan) -> tuple[Trial, ...]:
    return tuple(setup.cost_trials(plan))


FIGURES = (
    PaperFigure(
        "sdfast-fig5",
        PAPER,
        "Mean end-to-end delay under failure, USNET and Darkstrand",
        _both_topologies,
        claims.fig5_claims,
        pictures.draw_fig5,
        lambda rows: tables.delay_table(rows, _MOST_TABLE),
    ),
    PaperFigure(
        "sdfast-fig6",
        PAPER,
        "Mean throughput under failure, USNET and Darkstrand",
        _both_topologies,
        claims.fig6_claims,
        pictures.draw_fig6,
        lambda rows: tables.throughput_table(rows, _MOST_TABLE),
    ),
    PaperFigure(
        "sdfast-fig7",
        PAPER,
        "Delay against the number of failed links, Darkstrand",
        _over_failures,
        claims.fig7_claims,
        pictures.draw_fig7,
        lambda rows: tables.delay_table(rows, _OVER_TABLE),
    ),
    PaperFigure(
        "sdfast-fig8",
        PAPER,
        "Throughput against the number of failed links, Darkstrand",
        _over_failures,
        claims.fig8_claims,
        pictures.draw_fig8,
        lambda rows: tables.throughput_table(rows, _OVER_TABLE),
    ),
    PaperFigure(
        "sdfast-fig9",
        PAPER,
        "Backtracking time, SD-FAST and CBC at three control delays",
        _backtracking,
        claims.fig9_claims,
        pictures.draw_fig9,
        tables.backtracking_table,
    ),
    PaperFigure(
        "sdfast-fig10a",
        PAPER,
        "Time of a file transfer, Darkstrand",
        _downloads,
        claims.fig10a_claims,
        pictures.draw_fig10a,
        tables.download_table,
    ),
    PaperFigure(
        "sdfast-fig10b",
        PAPER,
        "Throughput of a file transfer, Darkstrand",
        _downloads,
        claims.fig10b_claims,
        pictures.draw_fig10b,
        tables.download_table,
    ),
    PaperFigure(
        "x-learned",
        BEYOND,
        "Packets sent back per flow and direction: learned, agent, CBC",
        _flows,
        extra_claims.learned_claims,
        extra_pictures.draw_learned,
        tables.learned_table,
        with_paper=PAPER,
    ),
    PaperFigure(
        "x-stages",
        BEYOND,
        "Stages of the recovery, scheme by scheme",
        _stages,
        extra_claims.stage_claims,
        extra_pictures.draw_stages,
        tables.stage_table,
        with_paper=PAPER,
    ),
    PaperFigure(
        "x-multi",
        BEYOND,
        "One to four simultaneous failures: delivered, dropped, looped, and a measured sample",
        _multi,
        extra_claims.multi_claims,
        extra_pictures.draw_multi,
        tables.multi_table,
        with_paper=PAPER,
    ),
    PaperFigure(
        "x-coverage",
        BEYOND,
        "Every bundled topology, pair, single link failure and scheme, decided by the interpreter",
        _coverage,
        extra_claims.coverage_claims,
        extra_pictures.draw_coverage,
        tables.coverage_table,
        with_paper=PAPER,
    ),
    PaperFigure(
        "x-packet-cost",
        BEYOND,
        "What chains of tables cost a packet, cached and not",
        _cost,
        extra_claims.cost_claims,
        extra_pictures.draw_cost,
        tables.cost_table,
        with_paper=PAPER,
    ),
)
ALIASES = {"sdfast-fig10": ("sdfast-fig10a", "sdfast-fig10b")}
