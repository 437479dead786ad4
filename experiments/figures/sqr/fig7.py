"""Figure 7: no time-out with SQR, and a congestion window that does not shrink."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from experiments.campaign.figure import PaperFigure
from experiments.campaign.kinds.paths import StreamMeasured, StreamParameters
from experiments.campaign.rows import RowType
from experiments.campaign.statistics import Estimate, total_interval
from experiments.campaign.values import CampaignPlan, Trial
from experiments.campaign.verdicts import DIFFERS, MARGIN, AtLeast, AtMost, Claim, ClaimResult, Exactly, judge
from experiments.charts import canvas
from experiments.charts.canvas import INK, PAPER, say_empty
from experiments.figures.p4protect.comparisons import AnyRow, field_of, good_rows, mean_of, table_of, values
from experiments.figures.p4protect.setup import two_path_trials
from experiments.figures.sqr import flow_setup
from experiments.figures.sqr import flow_setup as setup
from experiments.figures.sqr.comparisons import COLOURS, MODEL, SCALE

if TYPE_CHECKING:
    from matplotlib.figure import Figure


_CONTROL = Claim("time-outs a round without SQR", "time-outs", "one", AtLeast(1.0), asks=MARGIN)
_WHY_NONE = "a loss probe (RFC 8985) and fast retransmissions end the disruption before the sender's time-out"
_WINDOWS = {setup.SB: ("drastically smaller", AtMost(50.0)), setup.SB_SQR: ("as without a failure", AtLeast(90.0))}
_STREAM_VARIANTS = (flow_setup.NO_FAILURE, flow_setup.SB, flow_setup.SB_SQR)


def trials(plan: CampaignPlan) -> tuple[Trial, ...]:
    """One long flow whose path fails once."""
    own = setup.stream_parameters(setup.STREAM)
    return two_path_trials(plan, {str(own.seconds): own}, (setup.NO_FAILURE, setup.SB, setup.SB_SQR))


def claims(rows: Sequence[AnyRow]) -> list[ClaimResult]:
    """No time-out with SQR, and a congestion window that does not shrink; without SQR, the control, both are there."""
    timeouts = values(rows, setup.SB_SQR, {}, field_of("timeouts"))
    total = total_interval(timeouts) if timeouts else None
    results = [
        judge(Claim("time-outs with SQR, all rounds", "time-outs", 0.0, Exactly(0.0), asks=MARGIN), total),
        _control(mean_of(rows, setup.SB, {}, field_of("timeouts"))),
    ]
    for variant in (setup.NO_FAILURE, setup.SB, setup.SB_SQR):
        label = setup.LABELS[variant.name]
        for field, name, unit in (
            ("retransmits", "segments retransmitted", "segments"),
            ("stalled_ms", "longest time without progress around the failure", "ms"),
        ):
            found = mean_of(rows, variant, {}, field_of(field))
            results.append(judge(Claim(f"{name}, {label}", unit), found))
        sampled = [row for row in rows if row.measured.cwnd_at_failure and row.measured.smallest_cwnd is not None]
        kept = mean_of(sampled, variant, {}, _window_kept)
        paper, band = _WINDOWS.get(variant, (None, None))
        name = f"smallest congestion window after the failure, {label}"
        results.append(judge(Claim(name, "% of that at the failure", paper, band, asks=MARGIN), kept))
    return results


def _control(timeouts: Estimate | None) -> ClaimResult:
    result = judge(_CONTROL, timeouts)
    return result.with_note(_WHY_NONE) if result.verdict == DIFFERS else result


def _window_kept(row: AnyRow) -> float:
    return 100.0 * float(row.measured.smallest_cwnd) / float(row.measured.cwnd_at_failure)


def draw(rows: Sequence[AnyRow], caption: str) -> Figure:
    """Congestion window and sequence number of one flow around the failure."""
    figure, (window, sequence) = canvas.panels("SQR, Figure 7: a long flow whose path fails", 2)
    for variant in (setup.NO_FAILURE, setup.SB, setup.SB_SQR):
        own = good_rows(rows, variant, {})
        for row in sorted(own, key=lambda row: not row.measured.trustworthy)[:1]:
            seconds = np.asarray(row.measured.at_ms) / 1000
            label = setup.LABELS[variant.name]
            window.plot(seconds, row.measured.cwnd_segments, color=COLOURS[variant], lw=1.6, label=label)
            shown = (seconds > -0.02) & (seconds < 0.08)
            sent = np.asarray(row.measured.sent_bytes)
            since = (sent - np.interp(0.0, seconds, sent)) / 1e6
            sequence.plot(1000 * seconds[shown], since[shown], color=COLOURS[variant], lw=1.6, marker=".", ms=4)
    if not window.lines:
        say_empty(window)
        say_empty(sequence)
    else:
        for axes in (window, sequence):
            axes.axvline(0.0, color=PAPER, lw=1.2, ls=":", label="failure")
        canvas.legend(figure, window)
    window.set_ylim(bottom=0)
    window.set_xlabel("seconds since the failure", color=INK)
    window.set_ylabel("congestion window, segments", color=INK)
    sequence.set_xlabel("ms since the failure", color=INK)
    sequence.set_ylabel("sent, MB since the failure", color=INK)
    facts = [
        f"TCP CUBIC against {setup.STREAM_MBPS:g} Mbit/s at its host, TCP_INFO every {setup.SAMPLE_MS:g} ms, one "
        f"round. The path is down for {MODEL.down_ms:g} ms. {SCALE}"
    ]
    return canvas.finish(figure, facts, caption)


ROWS = RowType("paths", StreamParameters, StreamMeasured, f"{setup.STREAM}/")
FIGURE = PaperFigure(
    setup.STREAM,
    setup.PAPER,
    "Figure 7: a long flow whose path fails",
    trials,
    ROWS.on(claims),
    ROWS.on(draw),
    ROWS.on(
        table_of(
            {variant: setup.LABELS[variant.name] for variant in _STREAM_VARIANTS},
            {"": {}},
            {
                "timeouts": "time-outs",
                "loss_probes": "loss probes",
                "retransmits": "retransmitted",
                "stalled_ms": "without progress, ms",
                "rate_mbps": "Mbit/s",
            },
        )
    ),
)
