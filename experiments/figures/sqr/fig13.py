"""Figure 13: the window of buffered packets holds rate x delay."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from experiments.campaign.figure import PaperFigure
from experiments.campaign.kinds.paths import WindowMeasured, WindowParameters
from experiments.campaign.rows import RowType
from experiments.campaign.statistics import mean_interval
from experiments.campaign.values import CampaignPlan, Trial
from experiments.campaign.verdicts import Claim, ClaimResult, Within, judge
from experiments.charts import canvas
from experiments.charts.canvas import INK, PALETTE
from experiments.figures.p4protect.comparisons import AnyRow, good_rows, table_of
from experiments.figures.p4protect.setup import two_path_trials
from experiments.figures.sqr import setup
from experiments.figures.sqr.comparisons import TESTBED

if TYPE_CHECKING:
    from matplotlib.figure import Figure


FORMULA_BAND = Within(0.9, 1.1)
HELD = "a window that holds packets for a delay holds rate x delay of them (Little's law)"


def trials(plan: CampaignPlan) -> tuple[Trial, ...]:
    """What a window holds when a failure is reported in the middle of a stream."""
    windows = setup.FRAME_BYTES, setup.WINDOWS, setup.APART_S, setup.FAILURE_AT_S
    cases = {
        f"{rate}-{delta}": WindowParameters(setup.FIG13, rate, delta, *windows)
        for rate in setup.BUFFER_RATES_PPS
        for delta in setup.BUFFER_DELTAS_MS
    }
    return two_path_trials(plan, cases, (setup.SQR,))


def formula_bytes(row: AnyRow) -> float:
    """Rate x delay of a row, bytes."""
    parameters = row.parameters
    return float(row.measured.rate_pps * parameters.delta_ms / 1000 * setup.FRAME_BYTES)


def window_bytes(row: AnyRow) -> float:
    """What the window held, bytes of frames."""
    return float(row.measured.window * setup.FRAME_BYTES)


def claims(rows: Sequence[AnyRow]) -> list[ClaimResult]:
    """The window holds rate x delay."""
    results = []
    for rate in setup.BUFFER_RATES_PPS:
        for delta in setup.BUFFER_DELTAS_MS:
            case = {"rate_pps": rate, "delta_ms": delta}
            found = [window_bytes(row) / formula_bytes(row) for row in good_rows(rows, setup.SQR, case)]
            claim = Claim(
                f"bytes held by rate x delay, {rate:,} packets/s, {delta:g} ms",
                "ratio",
                1.0,
                FORMULA_BAND,
                by_construction=HELD,
            )
            results.append(judge(claim, mean_interval(found) if found else None))
    return results


def draw(rows: Sequence[AnyRow], caption: str) -> Figure:
    """Bytes in the window against rate x delay."""
    figure, (axes,) = canvas.panels("SQR, Figure 13: buffer against rate x delay", 1)
    for number, rate in enumerate(setup.BUFFER_RATES_PPS):
        good = [
            row
            for delta in setup.BUFFER_DELTAS_MS
            for row in good_rows(rows, setup.SQR, {"rate_pps": rate, "delta_ms": delta})
        ]
        axes.plot(
            [formula_bytes(row) / 1000 for row in good],
            [window_bytes(row) / 1000 for row in good],
            linestyle="none",
            marker="o",
            color=PALETTE[number],
            label=f"{rate:,} packets a second",
        )
    top = axes.get_xlim()[1]
    axes.plot([0, top], [0, top], color=INK, linewidth=1, linestyle=":", label="the formula")
    axes.set_xlabel("rate x delay, kB")
    axes.set_ylabel("held in the window, kB")
    axes.set_xlim(left=0)
    axes.set_ylim(bottom=0)
    figure.legend(*axes.get_legend_handles_labels(), loc="upper right", fontsize=9, frameon=False, ncols=3)
    return canvas.finish(figure, [f"Frames of {setup.FRAME_BYTES} bytes. {TESTBED}"], caption)


ROWS = RowType("paths", WindowParameters, WindowMeasured, f"{setup.FIG13}/")
FIGURE = PaperFigure(
    setup.FIG13,
    setup.PAPER,
    "Figure 13: buffer against rate x delay",
    trials,
    ROWS.on(claims),
    ROWS.on(draw),
    ROWS.on(
        table_of(
            {setup.SQR: "SQR"},
            {
                f"{rate:,}/s, {delta:g} ms": {"rate_pps": rate, "delta_ms": delta}
                for rate in setup.BUFFER_RATES_PPS
                for delta in setup.BUFFER_DELTAS_MS
            },
            {"rate_pps": "measured rate, packets/s", "window": "packets held"},
        )
    ),
)
