"""A running network from look to look: what is seen becomes failures, events and spans of the page's document."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from experiments.live.decide.document import EventView, FailureView, PairView, PlannedPaths, RunView, Span
from mininet_topos.topology import LinkId, Topology

Json = Mapping[str, Any]
PathsOf = Callable[[tuple[str, str], frozenset[LinkId]], PlannedPaths | None]
"""Walks of a pair while links are down; None where the scheme's plan is not walked."""

Paths = tuple[PlannedPaths, ...]

MOST_EVENTS = 2000
"""The oldest are forgotten."""
RETURN_SLACK_S = 5.0
"""So long after a repair and the wait-to-restore time usual routes have returned, if nobody has said when."""


@dataclass(frozen=True)
class Seen:
    """One look at a network.

    Attributes
    ----------
    t_ms
        When, since the page began.
    failed
        Links that somebody reports down.
    known_ms
        By (switch, link): since when the switch knows of the link's failure.
    loads_mbps
        By link, the larger of its two directions.
    away
        Switches without a controller connection.
    """

    t_ms: float
    failed: frozenset[LinkId] = frozenset()
    known_ms: Mapping[tuple[str, str], float] = field(default_factory=dict)
    loads_mbps: Mapping[str, float] = field(default_factory=dict)
    away: frozenset[str] = frozenset()


def first_view(name: str, scheme: str, mode: str, paths: Mapping[tuple[str, str], Paths]) -> RunView:
    """A run of some pairs in which nothing has happened yet."""
    pairs = tuple(PairView(*pair, known, (Span(0.0, (), "usual"),)) for pair, known in paths.items())
    return RunView(name, scheme, mode, 0.0, 0.0, (), (), (), pairs, (), {}, (), True, True, ())


def advanced(run: RunView, topology: Topology, before: Seen, now: Seen, paths_of: PathsOf) -> RunView:
    """The run after another look.

    Parameters
    ----------
    before
        The look that `run` ends with.
    """
    failures = _failures(run.failures, before, now, topology)
    events = sorted((*run.events, *_events(before, now, topology)), key=lambda event: event.t_ms)
    return replace(
        run,
        end_ms=now.t_ms,
        failures=failures,
        events=tuple(events[-MOST_EVENTS:]),
        pairs=run.pairs
        if now.failed == before.failed
        else tuple(_moved(each, topology, now, paths_of) for each in run.pairs),
        loads_mbps=dict(now.loads_mbps),
    )


def _failures(old: Sequence[FailureView], before: Seen, now: Seen, topology: Topology) -> tuple[FailureView, ...]:
    begun = [_begun(link, now) for link in topology.link_ids if link in now.failed - before.failed]
    repaired = {str(link) for link in before.failed - now.failed}
    return tuple(_known(_ended(each, repaired, now), now) for each in (*old, *begun))


def _begun(link: LinkId, now: Seen) -> FailureView:
    """A failure that begins when the first switch knew of it, which may be before this look."""
    start_ms = min([now.t_ms, *(at for (_, name), at in now.known_ms.items() if name == str(link))])
    return FailureView(
        name=str(link),
        kind="reported",
        links=(str(link),),
        nodes=(),
        down=((start_ms, None),),
        returned_ms=None,
        stages={},
        notified={},
        lost=0,
        backtracked=0,
        outage_ms=0.0,
        has_recovered=True,
    )


def _ended(failure: FailureView, repaired: set[str], now: Seen) -> FailureView:
    start, end = failure.down[-1]
    if end is not None or failure.name not in repaired:
        return failure
    return replace(failure, down=((start, now.t_ms),), returned_ms=now.t_ms)


def _known(failure: FailureView, now: Seen) -> FailureView:
    if failure.down[-1][1] is not None:
        return failure
    found = {node: at for (node, link), at in now.known_ms.items() if link == failure.name}
    return replace(failure, notified={**found, **failure.notified})


def _events(before: Seen, now: Seen, topology: Topology) -> list[EventView]:
    t_ms = now.t_ms
    found = [EventView(t_ms, "fail", f"{link} is reported down") for link in _ordered(now.failed - before.failed)]
    found += [EventView(t_ms, "repair", f"{link} is up again") for link in _ordered(before.failed - now.failed)]
    order = topology.index_of
    new = sorted(
        now.known_ms.keys() - before.known_ms.keys(), key=lambda key: (now.known_ms[key], order.get(key[0], 0))
    )
    found += [
        EventView(now.known_ms[node, link], "notified", f"{node} knows that {link} has failed", node)
        for node, link in new
    ]
    found += [
        EventView(t_ms, "disconnect", f"{node} loses the controller", node) for node in sorted(now.away - before.away)
    ]
    found += [
        EventView(t_ms, "connect", f"{node} connects to the controller", node)
        for node in sorted(before.away - now.away)
    ]
    return found


def _ordered(links: Iterable[LinkId]) -> list[str]:
    return sorted(map(str, links))


def _moved(pair: PairView, topology: Topology, now: Seen, paths_of: PathsOf) -> PairView:
    """A pair whose packets go where the plan sends them while these links are down."""
    names = tuple(str(link) for link in topology.link_ids if link in now.failed)
    span = Span(now.t_ms, names, "settled" if names else "usual")
    known = pair.paths
    if names not in {paths.failed for paths in known}:
        found = paths_of((pair.source, pair.destination), now.failed)
        known = known if found is None else (*known, found)
    return replace(pair, paths=known, spans=(*pair.spans, span))
