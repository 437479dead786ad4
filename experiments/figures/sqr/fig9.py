"""Figure 9: nothing is lost or reordered with SQR, whatever the route failure time; recovery alone loses some."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from experiments.campaign.figure import PaperFigure
from experiments.campaign.kinds.paths import SilentMeasured, SilentParameters
from experiments.campaign.rows import RowType
from experiments.campaign.statistics import total_interval
from experiments.campaign.values import CampaignPlan, Trial
from experiments.campaign.verdicts import MARGIN, Claim, ClaimResult, Exactly, judge
from experiments.charts import canvas
from experiments.charts.canvas import whisker
from experiments.figures.p4protect.comparisons import AnyRow, field_of, mean_of, table_of, values
from experiments.figures.p4protect.setup import two_path_trials
from experiments.figures.sqr import setup
from experiments.figures.sqr.comparisons import TESTBED

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def trials(plan: CampaignPlan) -> tuple[Trial, ...]:
    """A silent failure that is reported after a while, with SQR and without."""
    stream = setup.RATE_PPS, setup.SECONDS, setup.FAILURE_AT_S, setup.FRAME_BYTES, setup.SPARE_MS
    cases = {str(each): SilentParameters(setup.FIG9, each, *stream) for each in setup.DETECTION_MS}
    return two_path_trials(plan, cases, (setup.RECOVERY, setup.SQR))


def claims(rows: Sequence[AnyRow]) -> list[ClaimResult]:
    """Exactly nothing is lost or reordered with SQR, whatever the route failure time; recovery alone loses some."""
    results = []
    for name, what in (("lost", "lost"), ("reordered", "reordered")):
        found = values(rows, setup.SQR, {}, field_of(name))
        total = total_interval(found) if found else None
        claim = Claim(
            f"packets {what} with SQR, all route failure times and rounds", "packets", 0.0, Exactly(0.0), asks=MARGIN
        )
        results.append(judge(claim, total))
    for each in setup.DETECTION_MS:
        lost = mean_of(rows, setup.RECOVERY, {"detection_ms": each}, field_of("lost"))
        results.append(judge(Claim(f"packets lost by recovery alone, notified after {each:g} ms", "packets"), lost))
    return results


def draw(rows: Sequence[AnyRow], caption: str) -> Figure:
    """Packets lost and doubled against the time after which a failure is reported."""
    figure, axes = canvas.panels("SQR, Figure 9: packets lost against route failure time", 2)
    for place, (field, title) in enumerate((("lost", "packets lost"), ("duplicated", "packets duplicated"))):
        for variant in (setup.RECOVERY, setup.SQR):
            found = [
                (
                    each,
                    mean_of(rows, variant, {"detection_ms": each}, field_of(field)),
                )
                for each in setup.DETECTION_MS
            ]
            known = [(x, estimate) for x, estimate in found if estimate is not None]
            label = setup.LABELS[variant.name]
            axes[place].plot(
                [x for x, _ in known],
                [each.value for _, each in known],
                marker="o",
                color=setup.COLOURS[variant],
                label=label,
            )
            for x, estimate in known:
                whisker(axes[place], x, estimate)
        axes[place].set_xlabel("failure notified after, ms")
        axes[place].set_ylabel(title)
        axes[place].set_ylim(bottom=0)
    figure.legend(*axes[0].get_legend_handles_labels(), loc="upper right", fontsize=9, frameon=False, ncols=2)
    facts = [
        f"{setup.RATE_PPS:,} UDP packets a second; a path fails silently, once a round. {TESTBED}",
        "Whiskers: 95 % interval over rounds.",
    ]
    return canvas.finish(figure, facts, caption)


ROWS = RowType("paths", SilentParameters, SilentMeasured, f"{setup.FIG9}/")
FIGURE = PaperFigure(
    setup.FIG9,
    setup.PAPER,
    "Figure 9: packets lost against route failure time",
    trials,
    ROWS.on(claims),
    ROWS.on(draw),
    ROWS.on(
        table_of(
            {variant: setup.LABELS[variant.name] for variant in (setup.RECOVERY, setup.SQR)},
            {f"notified after {each:g} ms": {"detection_ms": each} for each in setup.DETECTION_MS},
            {"lost": "lost", "duplicated": "duplicated", "reordered": "reordered"},
        )
    ),
)
