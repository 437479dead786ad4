"""From the rows of trials to what each scheme did: medians over rounds, with the least and the most."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from experiments.campaign.kinds.probed import ProbedRow, read_row
from experiments.campaign.order import OK
from experiments.campaign.values import Json, Variant

AFTER = ("transient", "converged")


@dataclass(frozen=True, slots=True)
class Spread:
    """Of all rounds."""

    median: float
    least: float
    most: float


@dataclass(frozen=True, slots=True)
class Measured:
    """A scheme in one mode.

    Attributes
    ----------
    rounds
        That gave a row.
    doubtful
        Rounds among them whose row is not trustworthy (a busy machine, BFD that failed where nobody failed a link).
    outage_ms
        Of the pair with the longest in each round: from the first packet that is lost to the next that arrives. None
        where packets of a pair were still lost at the end of a round.
    packets_lost
        Pings without an answer after the failure, of all pairs.
    backtracked
        Packets that backtracked, both ways.
    backtracking_ms
        From the failure to the last packet that backtracked; None where some still did at the end of a round.
    notification_frames
        On all links.
    """

    scheme: str
    mode: str
    rounds: int
    doubtful: int
    outage_ms: Spread | None
    packets_lost: Spread | None
    backtracked: Spread | None
    backtracking_ms: Spread | None
    notification_frames: Spread | None


HEADER = (
    "scheme",
    "rounds",
    "doubtful",
    "outage, ms",
    "lost",
    "backtracked",
    "backtracking, ms",
    "notification frames",
)


def measured(variants: Sequence[Variant], rows: Sequence[Json]) -> list[Measured]:
    """What each variant did, in their order; without a good row all but its name is missing."""
    good = [row for row in rows if row["status"] == OK]
    return [_of(variant, [row for row in good if row["variant"] == variant.name]) for variant in variants]


def _of(variant: Variant, rows: Sequence[Json]) -> Measured:
    read = [read_row(row) for row in rows]
    ends = [None if row.backtracking_ms is None else row.backtracking_ms.from_failure for row in read]
    return Measured(
        scheme=variant.scheme,
        mode=variant.mode,
        rounds=len(rows),
        doubtful=sum(not row["trustworthy"] for row in rows),
        outage_ms=spread([outage_of_row_ms(row) for row in read]),
        packets_lost=spread([_lost(row) for row in read]),
        backtracked=spread([_backtracked(row) for row in read]),
        backtracking_ms=spread(ends),
        notification_frames=spread([row["notification_frames"] for row in rows]),
    )


def outage_of_row_ms(row: ProbedRow) -> float | None:
    """Of the pair with the longest; None where one had not ended."""
    outages_ms = [pair.outage_ms for pair in row.pairs]
    known_ms = [each for each in outages_ms if each is not None]
    return max(known_ms) if known_ms and len(known_ms) == len(outages_ms) else None


def _lost(row: ProbedRow) -> int:
    return sum(pair.phases[name].lost for pair in row.pairs for name in AFTER)


def _backtracked(row: ProbedRow) -> int:
    return sum((pair.backtracked_out or 0) + (pair.backtracked_back or 0) for pair in row.pairs)


def spread(values: Sequence[float | None]) -> Spread | None:
    """Median, least and most; None without values, and where one has no end.

    Examples
    --------
    >>> spread([3.0, 1.0, 8.0]), spread([1.0, None]), spread([])
    (Spread(median=3.0, least=1.0, most=8.0), None, None)
    """
    known = [value for value in values if value is not None]
    if not known or len(known) < len(values):
        return None
    return Spread(median(known), min(known), max(known))


def cells(each: Measured) -> tuple[str, ...]:
    """One line of the table, in the order of `HEADER`."""
    name = each.scheme if each.mode == "none" else f"{each.scheme} ({each.mode})"
    spreads = each.outage_ms, each.packets_lost, each.backtracked, each.backtracking_ms, each.notification_frames
    return (name, str(each.rounds), str(each.doubtful), *(_cell(found) for found in spreads))


def _cell(found: Spread | None) -> str:
    if found is None:
        return "-"
    middle, least, most = (f"{value:,.1f}".removesuffix(".0") for value in (found.median, found.least, found.most))
    return middle if least == most else f"{middle} [{least}, {most}]"
