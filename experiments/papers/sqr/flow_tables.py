"""SQR's ids with TCP as tables."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from experiments.campaign.statistics import median_interval
from experiments.campaign.values import Arm, Json
from experiments.papers.figure import Table
from experiments.papers.sqr import flow_measures as measures
from experiments.papers.sqr import flow_setup as setup
from experiments.workloads.sizes_core import DATA_MINING, WEB_SEARCH

_SHARES = (0.5, 0.99, 0.999, 1.0)
_HEADER = ("", "flows", "median, ms", "99th", "99.9th", "greatest", "hit", "their median, ms", "their 99th")


def flows_table(figure_id: str, arms: Sequence[Arm]) -> Callable[[Sequence[Json]], Table]:
    """Completion times of all flows and of hit ones, for every workload and arm."""

    def table(rows: Sequence[Json]) -> Table:
        lines = []
        for workload in (WEB_SEARCH, DATA_MINING):
            for arm in arms:
                own = measures.rows_of(rows, arm, workload.name, figure_id)
                times = [each for row in own for each in measures.completions_ms(row)]
                if times:
                    cells = [_shown(measures.tail(times, share)) for share in _SHARES]
                    lines.append(
                        (
                            f"{workload.title}, {setup.LABELS[arm.name]}",
                            f"{len(times):,}",
                            *cells,
                            *_hit_cells(own, arm),
                        )
                    )
        return Table(_HEADER, tuple(lines))

    return table


def _hit_cells(rows: Sequence[Json], arm: Arm) -> tuple[str, str, str]:
    times = [hit.completion_ms for hit in measures.all_hits(rows)]
    if arm == setup.NO_FAILURE or not times:
        return "-", "-", "-"
    return f"{len(times):,}", _shown(median_interval(times).value), _shown(measures.tail(times, setup.TAIL_SHARE))


def _shown(value: float) -> str:
    return f"{value:,.3g}" if value < 1000 else f"{value:,.0f}"
