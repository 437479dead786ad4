"""A live network's event log as failures and paths: injections, detections, who knows, and returns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from experiments.analysis.events import Event
from experiments.live.decide.document import FailureView, PairView, Span
from experiments.live.decide.log import Log
from experiments.live.decide.running import PathsOf
from mininet_topos.errors import TopologyError
from mininet_topos.topology import LinkId, Topology
from ryu_apps.plan.failure_sets import FailureSets
from ryu_apps.plan.rows import RulePlan

LinksOfTag = Callable[[int], Iterable[LinkId]]
"""Failed links that a tag names."""


def links_of_tag(topology: Topology, plans: Mapping[int, RulePlan]) -> LinksOfTag:
    """Links of the tags that a network's plans use; none where its scheme has no tags.

    Parameters
    ----------
    plans
        By datapath id.
    """
    sets, links = FailureSets(*next(iter(plans.values())).tag_space), topology.link_ids
    return lambda tag_id: tuple(links[number] for number in sets.numbers(tag_id)) if sets.n_links else ()


@dataclass
class _Record:
    """A failure while the log is read; times in ms."""

    name: str
    kind: str
    links: tuple[str, ...]
    start: float
    end: float | None = None
    returned: float | None = None
    detected: float | None = None
    notified: dict[str, float] = field(default_factory=dict)

    def view(self, now_ms: float, wait_ms: float) -> FailureView:
        """The failure as the page shows it."""
        returned = self.returned
        if returned is None and self.end is not None and now_ms > self.end + wait_ms:
            returned = self.end  # a scheme whose routes return at once says nothing
        return FailureView(
            name=self.name,
            kind=self.kind,
            links=self.links,
            nodes=(),
            down=((self.start, self.end),),
            returned_ms=returned,
            stages={} if self.detected is None else {"detect": self.detected},
            notified=dict(self.notified),
            lost=0,
            backtracked=0,
            outage_ms=0.0,
            has_recovered=True,
        )


class LogReader:
    """Failures of a log that grows.

    Parameters
    ----------
    zero_s
        The page's zero (CLOCK_MONOTONIC).
    links_of_tag
        Agents log tags in place of links.
    """

    def __init__(self, topology: Topology, zero_s: float, links_of_tag: LinksOfTag) -> None:
        self._topology, self._zero_s, self._links_of_tag = topology, zero_s, links_of_tag
        self._log = Log(topology, (), zero_s)
        self._records: list[_Record] = []

    def read(self, event: Event) -> None:
        """The next event."""
        handler = self._HANDLERS.get(event.name)
        if handler is not None:
            handler(self, event, self._log.ms(event))

    def views(self, now_ms: float, wait_ms: float) -> tuple[FailureView, ...]:
        """Failures so far, in order.

        Parameters
        ----------
        wait_ms
            So long after a repair routes have returned, if nobody has said when.
        """
        return tuple(record.view(now_ms, wait_ms) for record in self._records)

    def _inject(self, event: Event, t_ms: float) -> None:
        name = str(event.fields["target"])
        if event.fields["live"]:
            for record in self._open(lambda record: record.name == name):
                record.end = t_ms
            return
        links = self._links_of(name)
        self._records.append(_Record(name, str(event.fields["kind"]), links, t_ms))

    def _links_of(self, target: str) -> tuple[str, ...]:
        """Links of "s1-s2", "s1>s2" or "s1"; none for what is no link or switch."""
        if target in self._topology.index_of:
            return tuple(str(link) for link in self._topology.link_ids if target in (link.a, link.b))
        try:
            return (str(self._topology.parse_link(target.replace(">", "-"))),)
        except TopologyError:
            return ()

    def _port(self, event: Event, t_ms: float) -> None:
        if event.fields.get("live") or event.fields.get("is_first"):
            return
        link = self._log.link_of(event)
        for record in self._open(lambda record: link in record.links and record.detected is None):
            record.detected = t_ms

    def _notification(self, event: Event, t_ms: float) -> None:
        if "link" in event.fields:
            links = {str(event.fields["link"])}
        else:
            links = {str(link) for link in self._links_of_tag(int(event.fields["tag_id"]))}
        since_s = event.fields.get("since_s")
        at_ms = t_ms if since_s is None else 1000 * (float(since_s) - self._zero_s)
        node = str(event.fields["node"])
        for record in self._open(lambda record: not links.isdisjoint(record.links)):
            record.notified[node] = min(max(at_ms, record.start), record.notified.get(node, float("inf")))

    def _returned(self, event: Event, t_ms: float) -> None:
        links = set(map(str, event.fields.get("links", ())))
        for record in self._records:
            if record.end is not None and not links.isdisjoint(record.links):
                record.returned = record.returned or t_ms

    def _open(self, condition: Callable[[_Record], bool]) -> Iterator[_Record]:
        return (record for record in self._records if record.end is None and condition(record))

    _HANDLERS = {  # noqa: RUF012 - never changed
        "inject": _inject,
        "port_status": _port,
        "notification": _notification,
        "return_done": _returned,
    }


def live_pair(pair: PairView, failures: Sequence[FailureView], topology: Topology, paths_of: PathsOf) -> PairView:
    """A pair whose packets are lost at a failure until a switch detects it, and then go where the plan sends them."""
    spans, paths = [Span(0.0, (), "usual")], {each.failed: each for each in pair.paths}
    down: dict[int, bool] = {}  # failures that last, and whether they are known
    for at_ms, number, known in _changes(failures):
        if known is None:
            down.pop(number, None)
        else:
            down[number] = known
        names = _in_order(topology, (link for each, heard in down.items() if heard for link in failures[each].links))
        hidden = {link for each, heard in down.items() if not heard for link in failures[each].links}
        if names not in paths:
            found = paths_of((pair.source, pair.destination), frozenset(map(topology.parse_link, names)))
            if found is None:
                return pair
            paths[names] = found
        is_broken = not hidden.isdisjoint(paths[names].settled.links)
        spans.append(Span(at_ms, names, "broken" if is_broken else "settled" if names else "usual"))
    return PairView(pair.source, pair.destination, tuple(paths.values()), tuple(spans))


def _changes(failures: Sequence[FailureView]) -> list[tuple[float, int, bool | None]]:
    """(time, failure, whether it is known; None: its routes have returned), in order."""
    found: list[tuple[float, int, bool | None]] = []
    for number, failure in enumerate(failures):
        found.append((failure.down[0][0], number, False))
        if "detect" in failure.stages:
            found.append((failure.stages["detect"], number, True))
        if failure.returned_ms is not None:
            found.append((failure.returned_ms, number, None))
    return sorted(found, key=lambda change: change[0])


def _in_order(topology: Topology, links: Iterable[str]) -> tuple[str, ...]:
    wanted = set(links)
    return tuple(str(link) for link in topology.link_ids if str(link) in wanted)
