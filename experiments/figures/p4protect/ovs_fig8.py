"""Figure 8 through Open vSwitch: one-way delay and round trip, mean and deviation, while links have jitter."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from experiments.campaign.figure import PaperFigure
from experiments.campaign.kinds.protected import EchoMeasured, EchoParameters
from experiments.campaign.rows import Row, RowType
from experiments.campaign.statistics import Estimate, mean_interval
from experiments.campaign.values import CampaignPlan, Trial
from experiments.campaign.verdicts import AtMost, Claim, ClaimResult, Within, judge
from experiments.charts import canvas
from experiments.figures.p4protect import setup
from experiments.figures.p4protect.comparisons import (
    COLOURS,
    INTERVALS,
    TWO,
    field_of,
    good_rows,
    label_of,
    mean_of,
    table_of,
)
from experiments.figures.p4protect.fig8 import DEVIATION_RATIO, MEAN_RATIO, MEAN_SPARE, draw_curve

if TYPE_CHECKING:
    from matplotlib.figure import Figure


ID = "p4protect-ovs-fig8"
JITTERS_MS = (0.0, 2.0, 4.0)
# No packet is sent before the one ahead of it is out of the jitter, so that delays are independent.
INTERVAL_MS, SETTLE_S = 5.0, 0.5
PACKETS, QUICK_PACKETS = 1000, 500
WAYS = {"one_way": "one-way delay", "round_trip": "round trip"}
Echoes = Sequence[Row[EchoParameters, EchoMeasured]]
Value = Callable[[Row[EchoParameters, EchoMeasured]], float]


def trials(plan: CampaignPlan) -> tuple[Trial, ...]:
    """UDP packets that the far host returns, while each link delays each packet by a time drawn evenly."""
    packets = QUICK_PACKETS if plan.quick else PACKETS
    pace = setup.BASE_DELAY_MS, packets, INTERVAL_MS, SETTLE_S
    cases = {f"{each:g}-{packets}": EchoParameters(ID, setup.BFD_MS, each, *pace) for each in JITTERS_MS}
    site = replace(setup.BRIDGES, quick_rounds=2)
    return setup.site_trials(site, plan, cases, (setup.PLAIN, setup.PROTECTED))


def claims(rows: Echoes) -> list[ClaimResult]:
    """The first of two copies arrives earlier, and at less different times; answers as well."""
    results = []
    band = Within(MEAN_RATIO - MEAN_SPARE, MEAN_RATIO + MEAN_SPARE)
    for way, words in WAYS.items():
        means = extra_ratios(rows, f"{way}_mean_ms")
        deviations = ratios(rows, field_of(f"{way}_deviation_ms"))
        claim = Claim(f"mean extra {words}, 1+1 against plain", "ratio", "about half", band, neutral=1.0)
        results.append(judge(claim, means))
        claim = Claim(f"deviation of {words}, 1+1 against plain", "ratio", "about half", AtMost(DEVIATION_RATIO), 1.0)
        results.append(judge(claim, deviations))
    return results


def extra_ratios(rows: Echoes, field: str) -> Estimate | None:
    """Protected by plain of what jitter adds to a mean, beside the same round's mean without jitter."""
    still = {
        (row.variant, row.round): float(getattr(row.measured, field)) for row in rows if not row.parameters.jitter_ms
    }
    known = [row for row in rows if (row.variant, row.round) in still]
    return ratios(known, lambda row: float(getattr(row.measured, field)) - still[row.variant, row.round])


def ratios(rows: Echoes, value: Value) -> Estimate | None:
    """Protected by plain, mean over all rounds and jitters but none; None without both."""
    found: list[float] = []
    for jitter_ms in JITTERS_MS[1:]:
        plain, protected = (
            {row.round: value(row) for row in good_rows(rows, variant, {"jitter_ms": jitter_ms})}
            for variant in (setup.PLAIN, setup.PROTECTED)
        )
        found += [protected[number] / plain[number] for number in protected if plain.get(number)]
    return mean_interval(found) if found else None


def draw(rows: Echoes, caption: str) -> Figure:
    """Mean and deviation, one way and round trip, against jitter."""
    figure, axes = canvas.panels("P4-Protect, Figure 8 through Open vSwitch: jitter of the links", 4)
    fields = [(f"{way}_{kind}_ms", f"{words}, {kind}, ms") for way, words in WAYS.items() for kind in _KINDS]
    for panel, (field, title) in zip(axes, fields, strict=True):
        for variant in (setup.PLAIN, setup.PROTECTED):
            found = [mean_of(rows, variant, {"jitter_ms": each}, field_of(field)) for each in JITTERS_MS]
            draw_curve(panel, JITTERS_MS, found, COLOURS[variant], label_of(variant))
        panel.set_xlabel("jitter, ms")
        panel.set_ylabel(title)
        panel.set_ylim(bottom=0)
    figure.legend(*axes[0].get_legend_handles_labels(), loc="upper right", fontsize=9, frameon=False, ncols=2)
    facts = [
        f"UDP packets every {INTERVAL_MS:g} ms that the far host returns. Each link delays each packet by "
        f"{setup.BASE_DELAY_MS:g} ms and an evenly drawn time up to the jitter. The model of two independent delays "
        "says 0.67 of plain for the mean that jitter adds and 0.82 for the deviation, both ways alike.",
        setup.BRIDGES_SCALE,
        INTERVALS,
    ]
    return canvas.finish(figure, facts, caption)


_KINDS = ("mean", "deviation")
_HEADINGS = {f"{way}_{kind}_ms": f"{words}, {kind}, ms" for way, words in WAYS.items() for kind in _KINDS}
ROWS = RowType("protected", EchoParameters, EchoMeasured, f"{ID}/")
FIGURE = PaperFigure(
    ID,
    setup.PAPER,
    "Figure 8 through Open vSwitch: one-way delay and round trip",
    trials,
    ROWS.on(claims),
    ROWS.on(draw),
    ROWS.on(
        table_of(
            TWO,
            {f"jitter {each:g} ms": {"jitter_ms": each} for each in JITTERS_MS},
            {**_HEADINGS, "returned": "returned"},
        )
    ),
)
