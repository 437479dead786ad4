"""Figure 10: K log2(n m) as the paper computes it, and what classifying a packet-in takes beside it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from experiments.campaign.computed.classification import FIRST, LAST, ROWS, Classified, ClassifyParameters
from experiments.campaign.figure import PaperFigure, Table
from experiments.campaign.rows import Row
from experiments.campaign.statistics import Estimate, mean_interval
from experiments.campaign.values import CampaignPlan, Trial
from experiments.campaign.verdicts import AtMost, Claim, ClaimResult, Exactly, judge
from experiments.charts import canvas
from experiments.charts.canvas import INK, PALETTE, PAPER, paper_handle
from experiments.figures.kuijia.trials import computed_trial
from experiments.figures.pso.comparisons import exact
from ryu_apps.pmt.delay import matching_delay_us

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


ID = "pso-fig10"
RULES = (5, 16, 32, 64)
FLOWS = tuple(2**power for power in range(10))
ClassifiedRow = Row[ClassifyParameters, Classified]
MOST_US, PAPER_US = 300.0, 46.0
FORMULA = "the formula with the paper's constant: nothing is measured"
HEADER = ("rules", "formula, 1 flow, us", "formula, 512 flows, us", "first rule decides, us", "last rule decides, us")


def trials(plan: CampaignPlan) -> tuple[Trial, ...]:
    """One trial for each number of rules."""
    return tuple(
        computed_trial(
            ID, f"rules-{n_rules}", "policy-map-table", plan, ClassifyParameters(n_rules, batches=30, batch=300)
        )
        for n_rules in RULES
    )


def formula_us(n_flows: int, n_rules: int) -> float:
    """The paper's K log2(n m)."""
    return matching_delay_us(n_flows, n_rules)


def time_us(rows: Sequence[ClassifiedRow], n_rules: int, kind: str) -> Estimate | None:
    """Measured time of one classification, mean over batches with its 95 % interval."""
    for row in rows:
        if row.parameters.rules == n_rules:
            return mean_interval(row.measured.batches_us[kind])
    return None


def claims(rows: Sequence[ClassifiedRow]) -> list[ClaimResult]:
    """The paper's numbers exactly, and the measured times beside them."""
    small = Claim("K log2(n m), one flow and five rules", "us", PAPER_US, Exactly(PAPER_US), by_construction=FORMULA)
    wide = Claim(
        "K log2(n m), 64 rules, below 512 flows", "us", "less than 300", AtMost(MOST_US), by_construction=FORMULA
    )
    found = [
        judge(small, exact(float(round(formula_us(1, 5))))),
        judge(wide, exact(formula_us(511, 64))),
    ]
    return found + [
        judge(
            Claim(f"classifying a packet-in, {n_rules} rules, the {kind} decides", "us"), time_us(rows, n_rules, kind)
        )
        for n_rules in RULES
        for kind in (FIRST, LAST)
    ]


def table(rows: Sequence[ClassifiedRow]) -> Table:
    """Formula and measured times for every number of rules."""
    lines = []
    for n_rules in RULES:
        times = [time_us(rows, n_rules, kind) for kind in (FIRST, LAST)]
        measured = ["-" if found is None else f"{found.value:.1f}" for found in times]
        computed = [f"{formula_us(n_flows, n_rules):.0f}" for n_flows in (1, 512)]
        lines.append((str(n_rules), *computed, *measured))
    return Table(HEADER, tuple(lines))


def draw(rows: Sequence[ClassifiedRow], caption: str) -> Figure:
    """The paper's formula, and what classifying takes."""
    figure, (formula, measured) = canvas.panels("PSO, Figure 10: what a Policy Map Table costs a packet", 2, 4.6)
    for number, n_rules in enumerate(RULES):
        values = [formula_us(n_flows, n_rules) for n_flows in FLOWS]
        label = f"{n_rules} rules"
        formula.plot(FLOWS, values, marker="o", markersize=3, color=PALETTE[number], lw=1.5, label=label)
    formula.axhline(MOST_US, color=PAPER, lw=1.4, ls="--")
    formula.set_xscale("log", base=2)
    formula.set_xticks(FLOWS[::3], [str(n_flows) for n_flows in FLOWS[::3]])
    formula.set_xlabel("flow entries (n)", color=INK)
    formula.set_ylabel("K log2(n m), K = 20 us (us)", color=INK, parse_math=False)
    formula.set_ylim(bottom=0)
    _draw_times(measured, rows)
    canvas.legend(figure, formula, [paper_handle("paper: less than 300 us", "--")])
    facts = ["Left: the paper's formula for a switch's TCAM, computed. Right: our classifier in Python, measured."]
    return canvas.finish(figure, facts, caption)


def _draw_times(axes: Axes, rows: Sequence[ClassifiedRow]) -> None:
    width = 0.38
    for side, kind, colour in ((-0.5, FIRST, PALETTE[6]), (0.5, LAST, PALETTE[7])):
        for place, n_rules in enumerate(RULES):
            canvas.bar(axes, place + side * width, time_us(rows, n_rules, kind), 0.92 * width, color=colour)
        axes.bar([0], [0], color=colour, label=f"the {kind} rule decides")
    axes.set_xticks(range(len(RULES)), [f"{n_rules} rules" for n_rules in RULES])
    axes.set_ylabel("classifying one packet-in (us)", color=INK)
    axes.margins(y=0.25)  # room for the legend above the bars
    axes.legend(frameon=False, fontsize=9, loc="upper right")
    axes.set_ylim(bottom=0)


FIGURE = PaperFigure(
    ID,
    "pso",
    "Delay of flow matching with a Policy Map Table, computed and measured",
    trials,
    ROWS.on(claims),
    ROWS.on(draw),
    ROWS.on(table),
)
