"""What SQR's trials with TCP amount to: completion times of all flows and of those that a failure hit."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

import numpy as np

from experiments.campaign.kinds.paths import FlowsMeasured, FlowsParameters
from experiments.campaign.rows import Row, RowType
from experiments.campaign.statistics import Estimate, mean_interval
from experiments.campaign.values import Variant
from experiments.figures.p4protect.comparisons import good_rows
from experiments.figures.sqr import flow_setup as setup
from experiments.testbed.workloads.decide.flows import GIVE_UP_MS

ROWS = RowType("paths", FlowsParameters, FlowsMeasured, f"{setup.FLOWS}/")
FlowsRow = Row[FlowsParameters, FlowsMeasured]


@dataclass(frozen=True)
class Hit:
    """A flow that a failure hit: its round and number, its start after the failure, its longest silence."""

    round: int
    number: int
    size_bytes: int
    completion_ms: float
    started_after_ms: float
    silence_ms: float
    retransmits: int


def rows_of(rows: Sequence[FlowsRow], variant: Variant, workload: str | None = None) -> list[FlowsRow]:
    """Rows of a variant, of one workload or of all."""
    return good_rows(rows, variant, {} if workload is None else {"workload": workload})


def completions_ms(row: FlowsRow) -> list[float]:
    """Completion times of all flows; a flow that was given up counts as long as it was waited for."""
    return [GIVE_UP_MS if each is None else float(each) for each in row.measured.completion_ms]


def hits_of(row: FlowsRow) -> list[Hit]:
    """The flows of a trial that a failure hit."""
    times = completions_ms(row)
    return [
        Hit(row.round, number, row.measured.sizes_bytes[number], times[number], after_ms, silence_ms, again)
        for number, after_ms, silence_ms, again in row.measured.hits
    ]


def all_hits(rows: Iterable[FlowsRow]) -> list[Hit]:
    """Hit flows of several trials."""
    return [hit for row in rows for hit in hits_of(row)]


def nearest_cluster(completion_ms: float) -> str | None:
    """The closest of the times that a time-out makes, by name; None where there is none within its reach.

    Examples
    --------
    >>> nearest_cluster(1016.0) is None, nearest_cluster(300.0) is None
    (False, True)
    """
    name = min(setup.CLUSTERS_MS, key=lambda each: abs(setup.CLUSTERS_MS[each] - completion_ms))
    centre = setup.CLUSTERS_MS[name]
    return name if abs(completion_ms - centre) <= setup.NEAR_SHARE * centre else None


def tail(values: Sequence[float], share: float) -> float:
    """The smallest measured value that this share does not exceed.

    Examples
    --------
    >>> tail([1.0, 2.0, 3.0, 100.0], 0.99)
    100.0
    """
    return float(np.quantile(np.asarray(values), share, method="higher"))


def in_range(hits: Iterable[Hit], sizes_bytes: tuple[int, int]) -> list[float]:
    """Completion times of hit flows of some sizes (above the first, up to the second)."""
    return [hit.completion_ms for hit in hits if sizes_bytes[0] < hit.size_bytes <= sizes_bytes[1]]


def orders_apart(
    alone: Mapping[int, Sequence[float]], helped: Mapping[int, Sequence[float]], share: float
) -> Estimate | None:
    """By how many powers of ten the tail is lower, mean over rounds that have both; None without such rounds.

    Parameters
    ----------
    alone, helped : mapping of round to completion times
    share
        Of flows that the tail is beyond.
    """
    both = [number for number in alone if alone[number] and helped.get(number)]
    found = [float(np.log10(tail(alone[number], share) / tail(helped[number], share))) for number in both]
    return mean_interval(found) if found else None


def by_round(rows: Iterable[FlowsRow], sizes_bytes: tuple[int, int]) -> dict[int, list[float]]:
    """Completion times of hit flows of some sizes, by round."""
    found: dict[int, list[float]] = {}
    for row in rows:
        found.setdefault(row.round, []).extend(in_range(hits_of(row), sizes_bytes))
    return found


def added_ms(hit_rows: Sequence[FlowsRow], calm_rows: Sequence[FlowsRow]) -> dict[int, list[float]]:
    """By round: how much longer hit flows took than the same flows (size, number, workload) without failures."""
    calm = {(row.round, row.parameters.workload): completions_ms(row) for row in calm_rows}
    found: dict[int, list[float]] = {}
    for row in hit_rows:
        same = calm.get((row.round, row.parameters.workload), [])
        added = [hit.completion_ms - same[hit.number] for hit in hits_of(row) if hit.number < len(same)]
        found.setdefault(row.round, []).extend(added)
    return found


def outage_ms(rows: Iterable[FlowsRow]) -> float:
    """Mean route failure time of some trials, as measured."""
    return fmean(float(each) for row in rows for each in row.measured.outages_ms)


def recoveries_ms(rows: Iterable[FlowsRow]) -> list[float]:
    """The longest silence of each flow that was under way when its path failed."""
    return [hit.silence_ms for hit in all_hits(rows) if hit.started_after_ms < 0]


def mean_of_rounds(values: Mapping[int, Sequence[float]], share: float | None = None) -> Estimate | None:
    """Mean over rounds of each round's mean, or of the value that this share does not exceed; None without values."""
    found = [fmean(each) if share is None else float(np.quantile(each, share)) for each in values.values() if each]
    return mean_interval(found) if found else None
