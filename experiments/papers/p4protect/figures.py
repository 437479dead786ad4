"""P4-Protect's ids for `armor reproduce`."""

from __future__ import annotations

from experiments.papers.figure import PaperFigure
from experiments.papers.p4protect import claims, pictures, setup

_ALL = {arm: setup.LABELS[arm.name] for arm in (setup.PLAIN, setup.UNPROTECTED, setup.PROTECTED)}
_TWO = {arm: label for arm, label in _ALL.items() if arm != setup.UNPROTECTED}

FIGURES = (
    PaperFigure(
        setup.LOSS,
        setup.PAPER,
        "A path dies: nothing lost, nothing twice",
        setup.loss_trials,
        claims.loss,
        pictures.draw_loss,
        pictures.table_of(
            setup.LOSS,
            _TWO,
            {"": {}},
            {"sent": "sent", "lost": "lost", "duplicated": "twice", "reordered": "overtaken"},
        ),
    ),
    PaperFigure(
        setup.COST,
        setup.PAPER,
        "Figure 6: processing time of a packet",
        setup.cost_trials,
        claims.cost,
        pictures.draw_cost,
        pictures.table_of(
            setup.COST,
            _ALL,
            {f"{size} bytes": {"frame_bytes": size} for size in setup.FRAME_BYTES},
            {"first_node_ns": "sending end, ns", "second_node_ns": "receiving end, ns", "whole_ns": "whole way, ns"},
        ),
    ),
    PaperFigure(
        setup.GOODPUT,
        setup.PAPER,
        "Figure 7: TCP goodput",
        setup.goodput_trials,
        claims.goodput,
        pictures.draw_goodput,
        pictures.table_of(
            setup.GOODPUT,
            _ALL,
            {f"{flows} flow{'s' if flows > 1 else ''}": {"flows": flows} for flows in setup.FLOWS},
            {"goodput_mbps": "goodput, Mbit/s", "retransmits": "sent again"},
        ),
    ),
    PaperFigure(
        setup.JITTER,
        setup.PAPER,
        "Figure 8: jitter of the paths",
        setup.jitter_trials,
        claims.jitter,
        pictures.draw_jitter,
        pictures.table_of(
            setup.JITTER,
            _TWO,
            {f"jitter {each:g} ms": {"jitter_ms": each} for each in setup.JITTERS_MS},
            {"mean_ms": "mean, ms", "deviation_ms": "deviation, ms", "arrived": "arrived"},
        ),
    ),
)
