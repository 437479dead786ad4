"""Figure 7 through Open vSwitch: TCP goodput of 1 to 4 pairs with 15 flows each, plain, unprotected and protected."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from experiments.campaign.figure import PaperFigure
from experiments.campaign.kinds.paths import GoodputMeasured, GoodputParameters
from experiments.campaign.kinds.protected import TransfersMeasured, TransfersParameters
from experiments.campaign.rows import Row, RowType
from experiments.campaign.statistics import median_confidence
from experiments.campaign.values import CampaignPlan, Trial
from experiments.campaign.verdicts import MARGIN, Claim, ClaimResult, Within, judge
from experiments.charts import canvas
from experiments.figures.p4protect import setup
from experiments.figures.p4protect.comparisons import (
    ALL,
    LOOKS,
    QUARTILE_BARS,
    AnyRow,
    bars,
    field_of,
    median_of,
    ratios_of,
    table_of,
)
from experiments.figures.p4protect.fig7 import GOODPUT_WITHIN
from mininet_topos.wording import counted

if TYPE_CHECKING:
    from matplotlib.figure import Figure


ID = "p4protect-ovs-fig7"
PAIRS, FLOWS = (1, 2, 3, 4), 15
TRANSFER_S, QUICK_TRANSFER_S = 4.0, 2.0
CASES = {counted(pairs, "pair"): {"flows": pairs} for pairs in PAIRS}
Transfers = Sequence[Row[TransfersParameters, TransfersMeasured]]


def trials(plan: CampaignPlan) -> tuple[Trial, ...]:
    """All numbers of pairs, one after another on one network."""
    seconds = QUICK_TRANSFER_S if plan.quick else TRANSFER_S
    own = TransfersParameters(ID, setup.BFD_MS, PAIRS, FLOWS, seconds)
    return setup.site_trials(setup.BRIDGES, plan, {f"{seconds:g}s": own}, tuple(ALL))


def by_pairs(rows: Transfers) -> list[AnyRow]:
    """A row for each number of pairs, which stands where Figure 7 without a bridge has its number of flows."""
    return [
        Row(
            *(row.trial, row.topology, row.variant, row.round, row.links, row.bfd_interval_ms),
            GoodputParameters(ID, pairs, row.parameters.transfer_s),
            GoodputMeasured(mbps, retransmits),
        )
        for row in rows
        for pairs, mbps, retransmits in zip(
            row.parameters.pairs, row.measured.goodput_mbps, row.measured.retransmits, strict=True
        )
    ]


def claims(stored: Transfers) -> list[ClaimResult]:
    """TCP is as fast as plain, within 10 %, whether protected or only beside a protected flow."""
    rows, results = by_pairs(stored), []
    band = Within(-GOODPUT_WITHIN, GOODPUT_WITHIN)
    for name, case in CASES.items():
        for variant in (setup.UNPROTECTED, setup.PROTECTED):
            ratios = ratios_of(rows, (variant, setup.PLAIN), case, field_of("goodput_mbps"))
            less = median_confidence([100.0 * (each - 1) for each in ratios]) if ratios else None
            text = f"TCP through Open vSwitch, {setup.LABELS[variant.name]} against plain, {name}"
            results.append(judge(Claim(text, "%", 0.0, band, asks=MARGIN), less))
        plain = median_of(rows, setup.PLAIN, case, field_of("goodput_mbps"))
        results.append(judge(Claim(f"TCP goodput through Open vSwitch, plain, {name}", "Mbit/s"), plain))
    return [result.with_note("median over rounds, and its interval") for result in results]


def draw(stored: Transfers, caption: str) -> Figure:
    """TCP goodput and retransmissions by the number of pairs."""
    rows = by_pairs(stored)
    figure, axes = canvas.panels("P4-Protect, Figure 7 through Open vSwitch", 2)
    bars(axes[0], rows, LOOKS, CASES, value=field_of("goodput_mbps"))
    axes[0].set_ylabel("goodput of all pairs, Mbit/s")
    bars(axes[1], rows, LOOKS, CASES, value=field_of("retransmits"))
    axes[1].set_ylabel("segments retransmitted")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="upper right", fontsize=9, frameon=False, ncols=3)
    facts = [
        f"A pair is an iperf3 client at one host and its server at the other, {FLOWS} flows; the paper's pairs have "
        "hosts of their own. All flows send during the whole time. Each link carries 100 Mbit/s, so the link is the "
        "bottleneck, as in the paper.",
        setup.BRIDGES_SCALE,
        QUARTILE_BARS,
    ]
    return canvas.finish(figure, facts, caption)


ROWS = RowType("protected", TransfersParameters, TransfersMeasured, f"{ID}/")
_table = table_of(ALL, CASES, {"goodput_mbps": "goodput, Mbit/s", "retransmits": "retransmitted"})
FIGURE = PaperFigure(
    ID,
    setup.PAPER,
    "Figure 7 through Open vSwitch: TCP goodput of 1 to 4 pairs",
    trials,
    ROWS.on(claims),
    ROWS.on(draw),
    ROWS.on(lambda rows: _table(by_pairs(rows))),
)
