"""Figure 9: loss and delay of OpenFlow messages that share their link with data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from experiments.campaign.figure import PaperFigure, Table
from experiments.campaign.kinds.control import ROWS, ControlRow
from experiments.campaign.values import CampaignPlan, Trial
from experiments.campaign.verdicts import Claim, ClaimResult, judge
from experiments.charts import canvas
from experiments.charts.canvas import INK
from experiments.figures.pso import setup
from experiments.figures.pso.comparisons import (
    EDGE,
    FIFO,
    PSO,
    SCALED,
    delay_ratio,
    delays_beside,
    exact,
    from_nothing,
    high_lost,
    judged_knee,
    load_table,
    logarithmic,
    over_load,
    paper_level,
    paper_words,
    repetitions_text,
    share_apart,
)
from experiments.figures.pso.measures import HIGH, Choice, knee, lost_percent, mean_ms, ratio

if TYPE_CHECKING:
    from matplotlib.figure import Figure


ABOVE_06 = tuple(nl for nl in setup.IN_BAND_NLS if nl > 0.6)
IN_BAND = Choice(setup.IN_BAND)
IN_BAND_BURSTS = Choice(setup.IN_BAND, burst_pkts=setup.BURST_PKTS)
_KNEE_NOTE = (
    "the paper does not say how packets arrive; packets in bursts fill the queue earlier, see Figure 9's bursts"
)


def trials(plan: CampaignPlan) -> tuple[Trial, ...]:
    """Steady data, and data in bursts."""
    steady = setup.load_trials(plan, setup.IN_BAND, setup.IN_BAND_NLS)
    return (*steady, *setup.load_trials(plan, setup.IN_BAND, setup.BURST_NLS, burst_pkts=setup.BURST_PKTS))


def claims(rows: Sequence[ControlRow]) -> list[ClaimResult]:
    """Loss and delay of OpenFlow messages that share their link with data."""
    above = Choice(setup.IN_BAND, ABOVE_06)
    bursts = Choice(setup.IN_BAND, (0.8,), setup.BURST_PKTS)
    return [
        delay_ratio(rows, above, "delay, PSO / FIFO, NL > 0.6", 32 / 100, 0.32),
        share_apart(
            rows, above, "messages lost, FIFO less PSO, NL > 0.6", "lower with PSO", lost_percent(HIGH), larger=FIFO
        ),
        judged_knee(rows, IN_BAND, 0.6, "in-band").with_note(_KNEE_NOTE),
        high_lost(rows, above, "messages lost with FIFO, NL > 0.6", None, FIFO, paper=6.4),
        high_lost(rows, above, "messages lost with PSO, NL > 0.6", None, PSO, paper=None),
        *delays_beside(rows, IN_BAND, ABOVE_06),
        _beside_knee(rows, IN_BAND_BURSTS, f"knee of FIFO, data in bursts of {setup.BURST_PKTS}"),
        judge(
            Claim(f"delay, PSO / FIFO, NL 0.8, data in bursts of {setup.BURST_PKTS}", "ratio", neutral=1.0),
            ratio(rows, bursts, mean_ms(HIGH)),
        ),
    ]


def _beside_knee(rows: Sequence[ControlRow], choice: Choice, name: str) -> ClaimResult:
    return judge(Claim(name, "NL", 0.6), exact(knee(rows, choice, HIGH, FIFO)))


def draw(rows: Sequence[ControlRow], caption: str) -> Figure:
    """Loss and delay of OpenFlow messages on a shared link."""
    figure, (loss, delay) = canvas.panels("PSO, Figure 9: OpenFlow messages on a link that data shares", 2, 4.6)
    for axes, measure in ((loss, lost_percent(HIGH)), (delay, mean_ms(HIGH))):
        over_load(axes, rows, IN_BAND, measure, EDGE["in"])
        over_load(axes, rows, IN_BAND_BURSTS, measure, None, style=":", label=f"{{}}, bursts of {setup.BURST_PKTS}")
    loss.set_ylabel("packet-ins lost, %", color=INK)
    from_nothing(loss)
    logarithmic(delay, "mean delay, ms (log)")
    paper_level(delay, 100, 32)
    canvas.legend(figure, delay, [paper_words("> 100 and 32 ms")])
    share = f"OpenFlow takes {setup.CONTROL_NL:g} of the link, data of {setup.DATA_BYTES} bytes the rest of the load."
    return canvas.finish(figure, [repetitions_text(rows, IN_BAND), share, SCALED], caption)


def table(rows: Sequence[ControlRow]) -> Table:
    """Loss, delay and throughput over the load, data steady and in bursts."""
    return load_table(rows, (IN_BAND, IN_BAND_BURSTS))


FIGURE = PaperFigure(
    "pso-fig9",
    "pso",
    "Loss and delay of OpenFlow messages, in-band",
    trials,
    ROWS.on(claims),
    ROWS.on(draw),
    ROWS.on(table),
)
