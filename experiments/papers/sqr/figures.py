"""SQR's ids for `armor reproduce`."""

from __future__ import annotations

from experiments.papers.figure import PaperFigure
from experiments.papers.p4protect.pictures import table_of
from experiments.papers.sqr import claims, flow_claims, flow_pictures, flow_setup, pictures, setup
from experiments.papers.sqr.flow_tables import flows_table

_COST_TABLE = table_of(
    setup.LATENCY,
    {arm: label for arm, (_, label) in pictures.COST_LOOKS.items()},
    {f"{size} bytes": {"frame_bytes": size} for size in setup.COST_BYTES},
    {"first_node_ns": "at the switch, ns", "whole_ns": "whole way, ns"},
)

_FLOWS_TABLE = flows_table(flow_setup.FLOWS, flow_setup.ALL_ARMS)
_STREAM_ARMS = (flow_setup.NO_FAILURE, flow_setup.SB, flow_setup.SB_SQR)

FIGURES = (
    PaperFigure(
        flow_setup.ALONE,
        setup.PAPER,
        "Figure 3: completion times with recovery alone",
        flow_setup.alone_trials,
        flow_claims.fig3,
        flow_pictures.draw_fig3,
        flows_table(flow_setup.ALONE, (flow_setup.SB,)),
    ),
    PaperFigure(
        flow_setup.STREAM,
        setup.PAPER,
        "Figure 7: a long flow whose path dies",
        flow_setup.stream_trials,
        flow_claims.fig7,
        flow_pictures.draw_fig7,
        table_of(
            flow_setup.STREAM,
            {arm: flow_setup.LABELS[arm.name] for arm in _STREAM_ARMS},
            {"": {}},
            {
                "timeouts": "time-outs",
                "loss_probes": "loss probes",
                "retransmits": "sent again",
                "stalled_ms": "without progress, ms",
                "rate_mbps": "Mbit/s",
            },
        ),
    ),
    PaperFigure(
        flow_setup.FIG8,
        setup.PAPER,
        "Figure 8: recovery time",
        flow_setup.flow_trials,
        flow_claims.fig8,
        flow_pictures.draw_fig8,
        _FLOWS_TABLE,
    ),
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
        flow_setup.FIG10,
        setup.PAPER,
        "Figure 10: completion times of hit flows",
        flow_setup.flow_trials,
        flow_claims.fig10,
        flow_pictures.draw_fig10,
        _FLOWS_TABLE,
    ),
    PaperFigure(
        flow_setup.FIG11,
        setup.PAPER,
        "Figure 11: completion times of hit flows by size",
        flow_setup.flow_trials,
        flow_claims.fig11,
        flow_pictures.draw_fig11,
        _FLOWS_TABLE,
    ),
    PaperFigure(
        flow_setup.FIG12,
        setup.PAPER,
        "Figure 12: completion times of all flows",
        flow_setup.flow_trials,
        flow_claims.fig12,
        flow_pictures.draw_fig12,
        _FLOWS_TABLE,
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
