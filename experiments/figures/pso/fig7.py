"""Figure 7: loss and hop delay of high-priority packet-ins, out-of-band."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from experiments.campaign.figure import PaperFigure, Table
from experiments.campaign.kinds.control import ROWS, ControlRow
from experiments.campaign.values import CampaignPlan, Trial
from experiments.campaign.verdicts import MARGIN, AtLeast, AtMost, Claim, ClaimResult, Exactly, around, judge
from experiments.charts import canvas
from experiments.charts.canvas import INK
from experiments.figures.pso import setup
from experiments.figures.pso.comparisons import (
    _ACKNOWLEDGED,
    ABOVE_08,
    CPU,
    EDGE,
    FIFO,
    LINK,
    PSO,
    SCALED,
    all_answers,
    delay_ratio,
    delays_beside,
    from_nothing,
    high_lost,
    judged_knee,
    load_table,
    logarithmic,
    out_of_band_trials,
    over_load,
    paper_level,
    paper_words,
    repetitions_text,
    share_apart,
)
from experiments.figures.pso.measures import (
    HIGH,
    LOW,
    Choice,
    acknowledgement_percent,
    all_answers_pps,
    change_percent,
    chosen,
    dropped_percent,
    estimate,
    link_percent,
    lost_percent,
    mean_ms,
    of_class,
    ratio,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure


CPU_ABOVE_08 = tuple(nl for nl in setup.CPU_NLS if nl > 0.8)
FULL = Choice(setup.LINK, (1.1,))
RETRANSMITTED = Choice(setup.LINK, setup.RETRANSMIT_NLS, retransmit_after_s=setup.RETRANSMIT_AFTER_S)
_PAPER_LOSS, _PAPER_LOSS_SPREAD = 5.0, 1.4


def trials(plan: CampaignPlan) -> tuple[Trial, ...]:
    """Both regimes: the link is full first, and the processor; and a full link whose switches retransmit."""
    return (
        *out_of_band_trials(plan),
        *setup.load_trials(plan, setup.CPU, setup.CPU_NLS),
        *setup.load_trials(plan, setup.LINK, setup.RETRANSMIT_NLS, retransmit_after_s=setup.RETRANSMIT_AFTER_S),
    )


def claims(rows: Sequence[ControlRow]) -> list[ClaimResult]:
    """Loss and hop delay of high-priority packet-ins, out-of-band."""
    above = Choice(setup.LINK, ABOVE_08)
    return [
        high_lost(rows, above, "high class lost with PSO, NL > 0.8", AtMost(0.1), PSO, paper=0.0),
        delay_ratio(rows, above, "hop delay, PSO / FIFO, NL > 0.8", 22 / 83, 0.27),
        _at_full_load(rows, Choice(setup.LINK, (1.1,))),
        _p99_ratio(rows, FULL),
        *_work_conserving(rows, FULL),
        judged_knee(rows, Choice(setup.LINK), 0.8, "out-of-band"),
        *_retransmitting(rows),
        high_lost(rows, above, "high class lost with FIFO, NL > 0.8", None, FIFO, paper=5.0),
        *delays_beside(rows, Choice(setup.LINK), ABOVE_08),
        *_cpu_beside(rows),
    ]


def _at_full_load(rows: Sequence[ControlRow], choice: Choice) -> ClaimResult:
    claim = Claim("high class lost with PSO, NL 1.1", "%", "goal: none", Exactly(0.0), asks=MARGIN)
    return judge(claim, estimate(chosen(rows, choice, PSO), lost_percent(HIGH)))


def _p99_ratio(rows: Sequence[ControlRow], choice: Choice) -> ClaimResult:
    claim = Claim("99th percentile, PSO / FIFO, NL 1.1", "ratio", "goal: 0.10", AtMost(0.10), neutral=1.0)
    return judge(claim, ratio(rows, choice, of_class(HIGH, "p99_ms")))


def _work_conserving(rows: Sequence[ControlRow], choice: Choice) -> list[ClaimResult]:
    """Nothing stands still while packets wait; and what it costs that answers come on another connection."""
    mine = chosen(rows, choice, PSO)
    used = Claim("rate of the link in use with PSO, NL 1.1", "%", "work conserving", AtLeast(97.0), asks=MARGIN)
    shares = Claim("share of the link that acknowledgements of flow-mods take, PSO, NL 1.1", "%")
    return [
        judge(used, estimate(mine, link_percent)),
        all_answers(rows, choice).with_note(_ACKNOWLEDGED),
        judge(shares, estimate(mine, acknowledgement_percent)),
    ]


def _retransmitting(rows: Sequence[ControlRow]) -> list[ClaimResult]:
    """The paper's switches: what they drop, how often that is, and what it does to the delay (section 5.3)."""
    fifo, pso = (estimate(chosen(rows, RETRANSMITTED, name), dropped_percent(HIGH)) for name in (FIFO, PSO))
    paper = around(_PAPER_LOSS, _PAPER_LOSS_SPREAD)
    dropped = "retransmission: high class dropped with {}, of packet-ins raised"
    return [
        judge(Claim(dropped.format("FIFO"), "%", _PAPER_LOSS, paper, asks=MARGIN), fifo),
        judge(Claim(dropped.format("PSO"), "%", None, AtMost(0.1), asks=MARGIN), pso),
        share_apart(
            rows,
            RETRANSMITTED,
            "retransmission: share of the high class dropped, FIFO less PSO",
            "lower with PSO",
            dropped_percent(HIGH),
            larger=FIFO,
        ),
        delay_ratio(rows, RETRANSMITTED, "retransmission: hop delay, PSO / FIFO", 22 / 83, 0.27),
        high_lost(rows, RETRANSMITTED, "retransmission: high class lost for good, FIFO", None, FIFO, paper=None),
        judge(
            Claim("retransmission: mean delay, FIFO", "ms"), estimate(chosen(rows, RETRANSMITTED, FIFO), mean_ms(HIGH))
        ),
    ]


def _cpu_beside(rows: Sequence[ControlRow]) -> list[ClaimResult]:
    above = Choice(setup.CPU, CPU_ABOVE_08)
    return [
        judge(Claim("CPU-bound: delay, PSO / FIFO, NL > 0.8", "ratio", neutral=1.0), ratio(rows, above, mean_ms(HIGH))),
        *(
            judge(
                Claim(f"CPU-bound: high class lost with {variant.name.upper()}, NL > 0.8", "%"),
                estimate(chosen(rows, above, variant.name), lost_percent(HIGH)),
            )
            for variant in setup.VARIANTS
        ),
        judge(
            Claim("CPU-bound: answers of all classes, PSO against FIFO, NL > 0.8", "%"),
            change_percent(rows, above, all_answers_pps),
        ),
    ]


_ROWS = (
    (LINK, lost_percent(HIGH), "the link is full first"),
    (RETRANSMITTED, dropped_percent(HIGH), "the link is full first, switches retransmit"),
    (CPU, lost_percent(HIGH), "Ryu's processor is full first"),
)


def draw(rows: Sequence[ControlRow], caption: str) -> Figure:
    """Loss and hop delay of the high class: link-bound, link-bound with retransmission, CPU-bound."""
    figure, axes = canvas.panels("PSO, Figure 7: high-priority packet-ins on a control link of their own", 2, 9.8, 3)
    for row, (choice, lost, words) in enumerate(_ROWS):
        loss, delay = axes[2 * row : 2 * row + 2]
        over_load(loss, rows, choice, lost, EDGE["out"])
        over_load(delay, rows, choice, mean_ms(HIGH), EDGE["out"])
        over_load(delay, rows, choice, mean_ms(LOW), None, style=":", label="{}, low class")
        loss.set_title(words, loc="left", fontsize=10, color=INK)
        loss.set_ylabel("packet-ins dropped, %" if choice is RETRANSMITTED else "packet-ins lost, %", color=INK)
        from_nothing(loss)
        logarithmic(delay, "mean delay, ms (log)")
    paper_level(axes[2], _PAPER_LOSS)
    for delay in (axes[1], axes[3]):
        paper_level(delay, 83, 22)
    canvas.legend(figure, axes[1], [paper_words("83 and 22 ms; 5 % of packet-ins")])
    facts = [
        f"{repetitions_text(rows, LINK)} Delay: due instant of the packet-in to its answer. The paper's line: NL 0.8."
    ]
    return canvas.finish(figure, [*facts, SCALED], caption)


def table(rows: Sequence[ControlRow]) -> Table:
    """Loss, delay and throughput of both regimes over the load."""
    return load_table(rows, (LINK, RETRANSMITTED, CPU))


FIGURE = PaperFigure(
    "pso-fig7",
    "pso",
    "Loss and hop delay of high-priority packet-ins, out-of-band",
    trials,
    ROWS.on(claims),
    ROWS.on(draw),
    ROWS.on(table),
)
