"""Which switch knows of which failed link, and from where: read from the rows that failures put there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum

from mininet_topos.topology import LinkId, Topology
from ryu_apps.control.decide.returning import ReturnState, is_awaited
from ryu_apps.openflow.messages import FlowStat
from ryu_apps.plan.failure_sets import FailureSets
from ryu_apps.plan.ids import Kind, Table, split_cookie


class Source(Enum):
    """Where a switch knows of a failed link from; the first that applies is named."""

    PORT = "port"  # its own port of the link is down
    NOTIFICATION = "notification"  # a notification frame named the link: the row that drops the same frame is there
    PACKETS = "packets"  # tagged packets named the link: learned rows, or rows that its agent installed


@dataclass(frozen=True, slots=True)
class Known:
    """A switch knows of a failed link; `since_s` is CLOCK_MONOTONIC seconds, None where nobody recorded it."""

    node: str
    link: LinkId
    source: Source
    since_s: float | None


def known_from_rows(
    node: str, stats: Iterable[FlowStat], tag_space: tuple[int, int], topology: Topology, now_s: float
) -> tuple[Known, ...]:
    """What the recovery rows of a switch say that it knows, link by link.

    Parameters
    ----------
    stats
        Its rows with their age; rows of other kinds are passed over.
    tag_space
        That of its plan.
    """
    sets = FailureSets(*tag_space)
    found: dict[Source, dict[LinkId, float]] = {source: {} for source in Source}
    for stat in stats:
        parts = split_cookie(stat.cookie)
        if parts.kind in (Kind.LEARNED, Kind.AGENT) and parts.tag_id < len(sets.masks):
            oldest = found[Source.NOTIFICATION if stat.table_id == Table.NOTIFY else Source.PACKETS]
            for number in sets.numbers(parts.tag_id):
                link, since_s = topology.link_ids[number], now_s - stat.duration_s
                oldest[link] = min(since_s, oldest.get(link, since_s))
    notified = found[Source.NOTIFICATION]
    packets = {link: since_s for link, since_s in found[Source.PACKETS].items() if link not in notified}
    return (
        *(Known(node, link, Source.NOTIFICATION, since_s) for link, since_s in sorted(notified.items())),
        *(Known(node, link, Source.PACKETS, since_s) for link, since_s in sorted(packets.items())),
    )


def knowledge(state: ReturnState, from_rows: Mapping[str, Iterable[Known]]) -> tuple[Known, ...]:
    """Everything that switches know, a line for each (switch, link).

    Parameters
    ----------
    state
        Liveness of the ports; a switch knows of its own ones at once.
    from_rows
        By switch, when its rows were read last.
    """
    own = {(known.node, known.link): known for known in _own_ports(state)}
    rows = (one for found in from_rows.values() for one in found)
    others = [one for one in rows if (one.node, one.link) not in own and is_awaited(state, one.link)]
    return tuple(sorted((*own.values(), *others), key=lambda one: (one.link, one.node)))


def _own_ports(state: ReturnState) -> Iterator[Known]:
    for link, ends in state.ends.items():
        downs = state.history(link).downs
        for end in ends:
            if state.live.get(end) is False:
                yield Known(end[0], link, Source.PORT, downs[-1] if downs else None)
