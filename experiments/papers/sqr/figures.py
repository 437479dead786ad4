"""SQR's ids for `armor reproduce`."""

from __future__ import annotations

from experiments.papers.figure import PaperFigure
from experiments.papers.p4protect.pictures import table_of
from experiments.papers.sqr import claims, pictures, setup

_COST_TABLE = table_of(
    setup.LATENCY,
    {arm: label for arm, (_, label) in pictures.COST_LOOKS.items()},
    {f"{size} bytes": {"frame_bytes": size} for size in setup.COST_BYTES},
    {"first_node_ns": "at the switch, ns", "whole_ns": "whole way, ns"},
)

FIGURES = (
    PaperFigure(
        setup.FIG9,
        setup.PAPER,
        "Figure 9: packets lost against route failure time",
        setup.fig9_trials,
        claims.fig9,
        pictures.draw_fig9,
        table_of(
            setup.FIG9,
            {arm: setup.LABELS[arm.name] for arm in (setup.RECOVERY, setup.SQR)},
            {f"told after {each:g} ms": {"detection_ms": each} for each in setup.DETECTION_MS},
            {"lost": "lost", "duplicated": "twice", "reordered": "overtaken"},
        ),
    ),
    PaperFigure(
        setup.FIG13,
        setup.PAPER,
        "Figure 13: buffer against rate x delay",
        setup.fig13_trials,
        claims.fig13,
        pictures.draw_fig13,
        table_of(
            setup.FIG13,
            {setup.SQR: "SQR"},
            {
                f"{rate:,}/s, {delta:g} ms": {"rate_pps": rate, "delta_ms": delta}
                for rate in setup.BUFFER_RATES_PPS
                for delta in setup.BUFFER_DELTAS_MS
            },
            {"rate_pps": "measured rate, packets/s", "window": "packets held"},
        ),
    ),
    PaperFigure(
        "sqr-fig14",
        setup.PAPER,
        "Figure 14: what normal traffic pays",
        setup.cost_trials,
        claims.fig14,
        pictures.draw_cost,
        _COST_TABLE,
    ),
    PaperFigure(
        setup.LATENCY,
        setup.PAPER,
        "Time added at the switch",
        setup.cost_trials,
        claims.latency,
        pictures.draw_cost,
        _COST_TABLE,
    ),
)
