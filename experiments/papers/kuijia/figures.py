"""Kuijia's ids for `armor reproduce`: those that are computed, and those that are measured."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from experiments.campaign.values import CampaignPlan, Json, Trial
from experiments.campaign.verdicts import ClaimResult
from experiments.papers.figure import PaperFigure
from experiments.papers.kuijia import (
    claims,
    fields,
    ingress,
    ingress_pictures,
    loss_pictures,
    memory,
    pictures,
    rate_pictures,
    tables,
    testbed,
)
from experiments.papers.kuijia.measures import Choice, Class
from experiments.te import fig4_trials

PAPER = "kuijia"
_LOW = {"directly affected, low": claims.LOW_DIRECT, "victims, low": claims.LOW_VICTIM}
_HIGH = {"directly affected, high": claims.HIGH_DIRECT, "victims, high": claims.HIGH_VICTIM}


def _tcp(plan: CampaignPlan) -> tuple[Trial, ...]:
    return testbed.gscale_trials(plan, "tcp")


def _udp(plan: CampaignPlan) -> tuple[Trial, ...]:
    return testbed.gscale_trials(plan, "udp")


def _both_transports(plan: CampaignPlan) -> tuple[Trial, ...]:
    return (*_tcp(plan), *_udp(plan))


def _classes(plan: CampaignPlan) -> tuple[Trial, ...]:
    return testbed.gscale_trials(plan, "tcp", testbed.FOUR)


def _loss_figure(
    name: str,
    title: str,
    trials: Callable[[CampaignPlan], tuple[Trial, ...]],
    judged: Callable[[Sequence[Json]], list[ClaimResult]],
    cases: Mapping[str, tuple[Choice, Class]],
    band: float | None = None,
) -> PaperFigure:
    """An id whose picture and table are losses over demand."""
    heading = f"Kuijia, {title}"
    return PaperFigure(
        f"kuijia-{name}",
        PAPER,
        title,
        trials,
        judged,
        loss_pictures.loss_picture(heading, cases, band),
        tables.loss_table(cases),
    )


def _table_figure(table: str, title: str, judged: Callable[[Sequence[Json]], list[ClaimResult]]) -> PaperFigure:
    return PaperFigure(
        f"kuijia-{table}",
        PAPER,
        title,
        lambda plan: testbed.figure1_trials(plan, table),
        judged,
        rate_pictures.figure1_picture(table, f"Kuijia, {title}"),
        tables.figure1_table(table),
    )


FIGURES = (
    _table_figure("table2", "Table 2: throughput with room on the other tunnels", claims.table2),
    _table_figure("table3", "Table 3: throughput without room on the other tunnels", claims.table3),
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
    _loss_figure(
        "fig10",
        "Figure 10: throughput loss of directly affected TCP flows",
        _tcp,
        claims.fig10,
        {"directly affected TCP flows": (claims.TCP, claims.DIRECT)},
        3.0,
    ),
    PaperFigure(
        "kuijia-table4",
        PAPER,
        "Table 4: convergence time of TCP",
        _tcp,
        claims.table4,
        loss_pictures.draw_convergence,
        tables.convergence_table,
    ),
    _loss_figure(
        "fig11",
        "Figure 11: packet loss of directly affected UDP flows",
        _udp,
        claims.fig11,
        {"directly affected UDP flows": (claims.UDP, claims.DIRECT)},
        2.0,
    ),
    _loss_figure(
        "fig12",
        "Figure 12: throughput loss of TCP victims",
        _tcp,
        claims.victims(claims.TCP),
        {"TCP victims": (claims.TCP, claims.VICTIM)},
    ),
    _loss_figure(
        "fig13",
        "Figure 13: packet loss of UDP victims",
        _udp,
        claims.victims(claims.UDP),
        {"UDP victims": (claims.UDP, claims.VICTIM)},
    ),
    _loss_figure(
        "fig14",
        "Figure 14: losses with two priorities, low to high 10 to 1",
        _classes,
        claims.fig14,
        {name: (claims.CLASSES_TCP, which) for name, which in (_LOW | _HIGH).items()},
    ),
    PaperFigure(
        "kuijia-fig16",
        PAPER,
        "Figure 16: traffic of every priority over a link",
        _classes,
        claims.fig16,
        rate_pictures.draw_fig16,
        tables.crossing_table,
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
    _loss_figure(
        "indirect",
        "Section 5.2: losses of indirectly affected flows",
        _both_transports,
        claims.indirect,
        {
            "indirectly affected TCP flows": (claims.TCP, claims.INDIRECT),
            "indirectly affected UDP flows": (claims.UDP, claims.INDIRECT),
        },
        0.5,
    ),
    PaperFigure(
        ingress.ID,
        "beyond",
        "Beyond: when the ingress has cut its ranges anew, told by agents or by the controller",
        ingress.trials,
        ingress.claims,
        ingress_pictures.draw_ingress,
        ingress.table,
        with_paper=PAPER,
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
