"""Figure 8: throughput and delay of the high-priority flow through four real switches; emulated switches beside."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from experiments.campaign.figure import PaperFigure, Table
from experiments.campaign.kinds.control import ROWS, ControlRow
from experiments.campaign.values import CampaignPlan, Trial
from experiments.campaign.verdicts import MARGIN, AtLeast, Claim, ClaimResult, judge
from experiments.charts import canvas
from experiments.charts.canvas import INK, paper_handle
from experiments.figures.pso import setup
from experiments.figures.pso.comparisons import (
    ABOVE_08,
    EDGE,
    FIFO,
    LINK,
    PSO,
    REAL,
    SCALED,
    all_answers,
    delay_ratio,
    delays_beside,
    load_table,
    logarithmic,
    out_of_band_trials,
    over_load,
    paper_level,
    repetitions_text,
    share_apart,
)
from experiments.figures.pso.measures import HIGH, Choice, answered_percent, chosen, estimate, mean_ms
from experiments.loadgen.decide.load import FRAME_BYTES

if TYPE_CHECKING:
    from matplotlib.figure import Figure


PAPER_FIFO, PAPER_PSO = 88.7, 99.2  # throughput, % of what is offered
REAL_ABOVE_08 = tuple(nl for nl in setup.REAL_NLS if nl > 0.8)


def trials(plan: CampaignPlan) -> tuple[Trial, ...]:
    """Emulated switches, and real ones."""
    return (*out_of_band_trials(plan), *setup.load_trials(plan, setup.REAL, setup.REAL_NLS))


def claims(rows: Sequence[ControlRow]) -> list[ClaimResult]:
    """Throughput and delay of the high-priority flow through real switches; emulated switches beside."""
    above = Choice(setup.REAL, REAL_ABOVE_08)
    throughput = Claim("throughput with PSO, share of offered, NL > 0.8", "%", PAPER_PSO, AtLeast(99.0), asks=MARGIN)
    fifo = Claim("throughput with FIFO, share of offered, NL > 0.8", "%", PAPER_FIFO)
    emulated = Choice(setup.LINK, ABOVE_08)
    return [
        judge(throughput, estimate(chosen(rows, above, PSO), answered_percent(HIGH))),
        share_apart(
            rows,
            above,
            "throughput, PSO less FIFO, share of offered, NL > 0.8",
            round(PAPER_PSO - PAPER_FIFO, 1),
            answered_percent(HIGH),
            larger=PSO,
        ),
        delay_ratio(rows, above, "delay, PSO / FIFO, NL > 0.8", 27.6 / 103, 0.27),
        all_answers(rows, Choice(setup.REAL, (1.1,))),
        judge(fifo, estimate(chosen(rows, above, FIFO), answered_percent(HIGH))),
        *delays_beside(rows, Choice(setup.REAL), REAL_ABOVE_08),
        *(
            judge(
                Claim(f"emulated switch: throughput with {variant.name.upper()}, share of offered, NL > 0.8", "%"),
                estimate(chosen(rows, emulated, variant.name), answered_percent(HIGH)),
            )
            for variant in setup.VARIANTS
        ),
    ]


def draw(rows: Sequence[ControlRow], caption: str) -> Figure:
    """Throughput and delay of the high-priority flow through four bridges, and what emulated switches say."""
    figure, (throughput, delay) = canvas.panels(
        "PSO, Figure 8: the high-priority flow, control link of its own", 2, 4.9
    )
    for axes, measure in ((throughput, answered_percent(HIGH)), (delay, mean_ms(HIGH))):
        over_load(axes, rows, REAL, measure, EDGE["out"], label="{}, four real switches")
        over_load(axes, rows, LINK, measure, None, style=":", label="{}, emulated switch")
    throughput.set_ylabel("throughput, % of what is offered", color=INK)
    throughput.set_ylim(0, 105)
    paper_level(throughput, PAPER_FIFO, PAPER_PSO)
    logarithmic(delay, "mean delay, ms (log)")
    paper_level(delay, 103, 27.6)
    canvas.legend(figure, delay, [paper_handle("paper")])
    offered = 8 * FRAME_BYTES * setup.HIGH_PPS / 1000
    facts = [
        f"{offered:.0f} kbit/s offered (for the paper's 1000); each packet is a flow of its own, which the first of "
        "four bridges sends to the controller and lets go when the packet-out comes; later ones have rules.",
        "The paper, FIFO and PSO: 88.7 and 99.2 %, 103 and 27.6 ms.",
    ]
    return canvas.finish(figure, [*facts, repetitions_text(rows, REAL), SCALED], caption)


def table(rows: Sequence[ControlRow]) -> Table:
    """Loss, delay and throughput through Open vSwitch and emulated switches over the load."""
    return load_table(rows, (REAL, LINK))


FIGURE = PaperFigure(
    "pso-fig8",
    "pso",
    "Throughput and delay of the high-priority flow through four real switches, out-of-band",
    trials,
    ROWS.on(claims),
    ROWS.on(draw),
    ROWS.on(table),
)
