"""What SQR's ids share: colours, words below pictures, distributions, and the table of completion times."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from experiments.campaign.figure import Table
from experiments.campaign.statistics import median_interval
from experiments.campaign.values import Variant
from experiments.charts.canvas import PALETTE
from experiments.figures.sqr import flow_measures as measures
from experiments.figures.sqr import flow_setup as setup
from experiments.figures.sqr.flow_measures import FlowsRow
from experiments.testbed.workloads.decide.sizes import DATA_MINING, WEB_SEARCH

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLOURS: Mapping[Variant, str] = {
    setup.NO_FAILURE: PALETTE[1],
    setup.SB: PALETTE[7],
    setup.SB_SQR: PALETTE[0],
    setup.LRR: PALETTE[2],
    setup.LRR_SQR: PALETTE[6],
}
MODEL = setup.MODEL
SCALE = (
    f"Scaled {setup.SCALE} times: route failure {MODEL.down_ms:g} ms (SB'), {MODEL.detection_ms:g} ms (LRR), RTOmin "
    f"{setup.RTO_MIN_MS:g} ms; not scaled: round trip 0.1 to 0.2 ms, 1 s until a SYN is repeated."
)
FLOWS_TEXT = (
    f"TCP flows of at most {setup.LIMIT_BYTES // 1000} kB, one at a time, {setup.PAUSE_MS:g} ms apart on average, a "
    f"failure every {MODEL.interval_ms:g} ms; namespaces of one machine, no Open vSwitch."
)
BESIDE = (
    f"Beside them transfers of {setup.BACKGROUND_BYTES // 1_000_000} MB at {setup.BACKGROUND_MBPS:g} Mbit/s both ways, "
    f"{setup.BACKGROUND_PAUSE_MS:g} ms apart. Variants take turns in every round, with the same flows."
)
TESTBED = (
    "Two hosts, two nodes and two paths in network namespaces of one machine, no Open vSwitch; variants one after "
    "another in every round."
)
PAIRS = ((setup.SB, setup.SB_SQR), (setup.LRR, setup.LRR_SQR))
_SHARES = (0.5, 0.99, 0.999, 1.0)
_HEADER = ("", "flows", "median, ms", "99th", "99.9th", "greatest", "hit", "their median, ms", "their 99th")


def steps(axes: Axes, values: Sequence[float], colour: str, label: str, style: str = "-") -> None:
    """An empirical distribution, in per cent."""
    if values:
        ordered = np.sort(np.asarray(values))
        shares = 100.0 * np.arange(1, len(ordered) + 1) / len(ordered)
        axes.step([ordered[0], *ordered], [0.0, *shares], where="post", color=colour, ls=style, lw=1.8, label=label)


def range_name(sizes_bytes: tuple[int, int]) -> str:
    """Words for a range of sizes.

    Examples
    --------
    >>> range_name((0, 10_000)), range_name((10_000, 50_000))
    ('up to 10 kB', '10 to 50 kB')
    """
    low, high = (each // 1000 for each in sizes_bytes)
    return f"{low} to {high} kB" if low else f"up to {high} kB"


def flows_table(variants: Sequence[Variant]) -> Callable[[Sequence[FlowsRow]], Table]:
    """Completion times of all flows and of hit ones, for every workload and variant."""
    return lambda rows: completion_lines(rows, {each.name: setup.LABELS[each.name] for each in variants})


def completion_lines(rows: Sequence[FlowsRow], labels: Mapping[str, str]) -> Table:
    """That table for variants of these names, in this order."""
    lines = []
    for workload in (WEB_SEARCH, DATA_MINING):
        for name, label in labels.items():
            own = measures.rows_of(rows, Variant(name), workload.name)
            times = [each for row in own for each in measures.completions_ms(row)]
            if times:
                cells = [_shown(measures.tail(times, share)) for share in _SHARES]
                lines.append((f"{workload.title}, {label}", f"{len(times):,}", *cells, *_hit_cells(own, name)))
    return Table(_HEADER, tuple(lines))


def _hit_cells(rows: Sequence[FlowsRow], variant: str) -> tuple[str, str, str]:
    times = [hit.completion_ms for hit in measures.all_hits(rows)]
    if variant == setup.NO_FAILURE.name or not times:
        return "-", "-", "-"
    return f"{len(times):,}", _shown(median_interval(times).value), _shown(measures.tail(times, setup.TAIL_SHARE))


def _shown(value: float) -> str:
    return f"{value:,.3g}" if value < 1000 else f"{value:,.0f}"
