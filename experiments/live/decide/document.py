"""What the page shows: one type for replays, exports and running networks, and its JSON.

Times are milliseconds after the run's zero. Links are named as `LinkId` prints itself, hosts as h1..hN.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, fields, is_dataclass
from typing import Any, Literal

FORMAT_VERSION = 1

Phase = Literal["usual", "broken", "backtracking", "settled"]


@dataclass(frozen=True, slots=True)
class NodeView:
    """A switch and its host; `x` and `y` (downwards) lie in 0..1000 along the longer side."""

    name: str
    label: str
    host: str
    x: float
    y: float


@dataclass(frozen=True, slots=True)
class LinkView:
    """A physical link; None: unknown."""

    name: str
    a: str
    b: str
    capacity_mbps: float | None
    delay_ms: float | None


@dataclass(frozen=True, slots=True)
class TopologyView:
    """The map."""

    name: str
    nodes: tuple[NodeView, ...]
    links: tuple[LinkView, ...]


@dataclass(frozen=True, slots=True)
class Walk:
    """Way of one packet: switches in order, and the links between them.

    Attributes
    ----------
    outcome
        "delivered", "dropped" or "looped".
    """

    outcome: str
    nodes: tuple[str, ...]
    links: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PlannedPaths:
    """What the plan does with a pair's packets while `failed` links are down, all failed at once.

    Attributes
    ----------
    failed
        In the topology's order.
    first, settled
        The first packet, and those that come once nothing changes any more.
    """

    failed: tuple[str, ...]
    first: Walk
    settled: Walk


@dataclass(frozen=True, slots=True)
class Span:
    """From `from_ms` to the next span, a pair's packets take the walk of these failed links.

    Attributes
    ----------
    phase
        "usual": nothing on the way has failed. "broken": the failure is not known yet, and packets are lost at it.
        "backtracking": as the first packet. "settled": around the failure.
    """

    from_ms: float
    failed: tuple[str, ...]
    phase: Phase


@dataclass(frozen=True, slots=True)
class PairView:
    """Two hosts, one direction.

    Attributes
    ----------
    paths
        By set of failed links; empty where plans are not walked (schemes of tunnels).
    spans
        In order of time; empty without a recorded run.
    """

    source: str
    destination: str
    paths: tuple[PlannedPaths, ...] = ()
    spans: tuple[Span, ...] = ()


@dataclass(frozen=True, slots=True)
class FailureView:
    """Something that failed.

    Attributes
    ----------
    down
        (start, end) of each time that its links were down; None: to the end.
    returned_ms
        When the pairs' packets took their usual paths again; None: they did not, or no record says so.
    stages
        Time of each stage of the recovery; those that did not come are left out.
    notified
        By switch, when a notification first left or reached it.
    """

    name: str
    kind: str
    links: tuple[str, ...]
    nodes: tuple[str, ...]
    down: tuple[tuple[float, float | None], ...]
    returned_ms: float | None
    stages: dict[str, float]
    notified: dict[str, float]
    lost: int
    backtracked: int
    outage_ms: float
    has_recovered: bool


@dataclass(frozen=True, slots=True)
class EventView:
    """Something that happened.

    Attributes
    ----------
    rows
        Number of rows that an agent installed (below 0: removed); 0 for other events.
    """

    t_ms: float
    kind: str
    text: str
    node: str = ""
    rows: int = 0


@dataclass(frozen=True, slots=True)
class CapturedWalk:
    """A captured packet that backtracked: where it was when."""

    sent_ms: float
    nodes: tuple[str, ...]
    links: tuple[str, ...]
    at_ms: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class SeriesView:
    """Followed packets of one stream and way.

    Attributes
    ----------
    sent_ms, delay_ms
        Of each packet; a delay of None is a loss.
    is_thinned
        Whether packets are left out: never lost ones, never around a failure.
    counts
        Over the whole run, as in verdict.json.
    """

    source: str
    destination: str
    kind: str
    way: str
    sent_ms: tuple[float, ...]
    delay_ms: tuple[float | None, ...]
    captured: tuple[CapturedWalk, ...]
    is_thinned: bool
    counts: dict[str, int]


@dataclass(frozen=True, slots=True)
class ClaimView:
    """Something that must hold."""

    name: str
    held: bool
    detail: str


@dataclass(frozen=True, slots=True)
class RunView:
    """One run of one scheme.

    Attributes
    ----------
    facts
        (name, value) of its settings.
    error
        Why it broke off; empty for a whole run.
    loads_mbps
        By link, the larger of its two directions; of running networks.
    """

    name: str
    scheme: str
    mode: str
    begin_ms: float
    end_ms: float
    facts: tuple[tuple[str, str], ...]
    failures: tuple[FailureView, ...]
    events: tuple[EventView, ...]
    pairs: tuple[PairView, ...]
    series: tuple[SeriesView, ...]
    counts: dict[str, int]
    claims: tuple[ClaimView, ...]
    held: bool
    is_trustworthy: bool
    warnings: tuple[str, ...]
    error: str = ""
    loads_mbps: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Document:
    """All that the page shows.

    Attributes
    ----------
    source
        "recorded", "live" or "attached".
    origin
        (name, value): where it was measured, with what.
    """

    title: str
    source: Literal["recorded", "live", "attached"]
    topology: TopologyView
    runs: tuple[RunView, ...]
    origin: tuple[tuple[str, str], ...] = ()
    format_version: int = field(default=FORMAT_VERSION)


def to_json(document: Document) -> dict[str, Any]:
    """Plain data, with the names of the fields; numbers rounded to microseconds."""
    plain: dict[str, Any] = _rounded(asdict(document))
    return plain


def changes(old: RunView, new: RunView) -> dict[str, Any]:
    """Fields of a run that differ, as JSON: what a page that shows the old one must learn."""
    names = [each.name for each in fields(RunView) if getattr(old, each.name) != getattr(new, each.name)]
    changed = {name: getattr(new, name) for name in names}
    return {name: _rounded(_plain(value)) for name, value in changed.items()}


def _plain(value: Any) -> Any:
    """Views in tuples as dictionaries."""
    if isinstance(value, tuple):
        return [asdict(each) if is_dataclass(each) and not isinstance(each, type) else each for each in value]
    return value


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return round(value, 3)
    if isinstance(value, dict):
        return {key: _rounded(each) for key, each in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_rounded(each) for each in value]
    return value
