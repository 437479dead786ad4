"""When and in what order the network forgets a failure once its link is back (wait-to-restore; docs/controller.md).

`ReturnState` is a value; events make a new one, time is an argument. A link is due when both its ends have
been live for the wait-to-restore time, which doubles with every further failure inside a window (flap
damping). The agents' states of a port (ovsdb_backup/decide/liveness.py) wait by the same rule (`Damping`), but a port
has one end and returns at once, while a link has two, either of which may be unknown, and its return may have to be
tried again. What happens then, switch by switch, is in `ReturnWork`:

1. every switch stops teaching itself about failed sets that hold the link (rows without their `learn`);
2. recovery rows that give packets such a tag go, from the ends of the link outward, with a barrier between hops,
   so that a packet that is no longer diverted finds the restored way open;
3. once no packet carries such a tag any more, the rows for tagged packets go too. Earlier would be wrong: agents are
   asked about tagged packets that no row knows, and would put back what was deleted (the destination of a
   packet switches the reverse path over, whose packets make the source do the same);
4. a dump shows that none is left, else 2 again;
5. the learning rows come back.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from mininet_topos.topology import LinkId, Topology
from ryu_apps.plan.damping import Damping
from ryu_apps.plan.failure_sets import FailureSets
from ryu_apps.plan.ids import KIND_MASK, SCHEME_MASK, TAG_MASK, Kind, Table, cookie, split_cookie
from ryu_apps.plan.notification import cache_row
from ryu_apps.plan.rows import Action, FlowRow, Learn, RulePlan

PortKey = tuple[str, int]
# NOTIFY first: what drops a notification must not outlive what the switch has learned from it.
PUSHING_TABLES = (Table.NOTIFY, Table.CLASSIFY, Table.LEARNED)
RECOVERY_MASK = SCHEME_MASK | KIND_MASK | TAG_MASK


@dataclass(frozen=True, slots=True)
class LinkHistory:
    """What is known of one link.

    Attributes
    ----------
    up_since_s
        Since when both ends are known to be live; None while one is down or unknown.
    downs
        Times of its failures inside the damping window.
    remembered
        Whether switches may still hold recovery rows about it.
    returning
        Whether its return is under way.
    retry_at_s
        Not to be tried before (after a return that did not succeed).
    """

    up_since_s: float | None = None
    downs: tuple[float, ...] = ()
    remembered: bool = False
    returning: bool = False
    retry_at_s: float = 0.0


@dataclass(frozen=True)
class ReturnState:
    """Liveness of every link port, and the history of every link."""

    ends: Mapping[LinkId, tuple[PortKey, PortKey]]
    damping: Damping = field(default_factory=Damping)
    live: Mapping[PortKey, bool] = field(default_factory=dict)
    links: Mapping[LinkId, LinkHistory] = field(default_factory=dict)

    def history(self, link: LinkId) -> LinkHistory:
        """What is known of a link."""
        return self.links.get(link, LinkHistory())

    def is_up(self, link: LinkId) -> bool:
        """Whether both ends are known to be live."""
        return all(self.live.get(end, False) for end in self.ends[link])

    def failed_links(self) -> frozenset[LinkId]:
        """Links with an end that is known to be down."""
        return frozenset(link for link, ends in self.ends.items() if any(self.live.get(end) is False for end in ends))

    def returning_links(self) -> frozenset[LinkId]:
        """Links whose return is under way."""
        return frozenset(link for link, history in self.links.items() if history.returning)


def ports_known(state: ReturnState, live: Mapping[PortKey, bool], now_s: float) -> ReturnState:
    """The state of several ports at once (a switch has connected); ports of no link change nothing."""
    ends = {end for ends in state.ends.values() for end in ends}
    live = {port: value for port, value in live.items() if port in ends}
    after = replace(state, live={**state.live, **live})
    return replace(after, links={**after.links, **_changed_links(state, after, live, now_s)})


def ports_unknown(state: ReturnState, node: str) -> ReturnState:
    """The connection of a switch is gone: its links are neither up nor failed, and wait."""
    live = {port: value for port, value in state.live.items() if port[0] != node}
    links = {
        link: replace(history, up_since_s=None) if any(end[0] == node for end in state.ends[link]) else history
        for link, history in state.links.items()
    }
    return replace(state, live=live, links=links)


def _changed_links(
    before: ReturnState, after: ReturnState, live: Mapping[PortKey, bool], now_s: float
) -> dict[LinkId, LinkHistory]:
    changed: dict[LinkId, LinkHistory] = {}
    failed_before, failed_after = before.failed_links(), after.failed_links()
    for link, ends in after.ends.items():
        if not live.keys() & set(ends):
            continue
        history = after.history(link)
        if link in failed_after and link not in failed_before:
            downs = after.damping.remembered(history.downs, now_s)
            history = replace(history, downs=(*downs, now_s), remembered=True)
        if not after.is_up(link):
            history = replace(history, up_since_s=None)
        elif history.up_since_s is None:
            history = replace(history, up_since_s=now_s)
        changed[link] = history
    return changed


def remember(state: ReturnState, links: Iterable[LinkId]) -> ReturnState:
    """Switches were found to hold recovery rows about these links."""
    found = {link: replace(state.history(link), remembered=True) for link in links}
    return replace(state, links={**state.links, **found})


def found(state: ReturnState, links: Iterable[LinkId], now_s: float) -> ReturnState:
    """Switches hold recovery rows about links of whose failure nothing is known here: they are returned to, too.

    Such rows come of a notification that a switch sent late, or by a plan that numbers failed sets otherwise. One
    waiting time passes first, in which the message of a real failure arrives.
    """
    retry_at_s = now_s + state.damping.wait_s
    unexpected = {
        link: replace(state.history(link), remembered=True, retry_at_s=retry_at_s)
        for link in links
        if not is_awaited(state, link)
    }
    return replace(state, links={**state.links, **unexpected})


def is_awaited(state: ReturnState, link: LinkId) -> bool:
    """Whether a link is still to be returned to, or its return is under way."""
    history = state.history(link)
    return history.remembered or history.returning


def due_at_s(state: ReturnState, link: LinkId, now_s: float) -> float | None:
    """When the return of a link may begin; None when nothing is to be done, or it is not up."""
    history = state.history(link)
    if not history.remembered or history.returning or history.up_since_s is None:
        return None
    return max(history.up_since_s + state.damping.required_s(history.downs, now_s), history.retry_at_s)


def due_links(state: ReturnState, now_s: float) -> tuple[LinkId, ...]:
    """Links whose return may begin now."""
    due = ((link, due_at_s(state, link, now_s)) for link in state.ends)
    return tuple(link for link, at_s in due if at_s is not None and at_s <= now_s)


def begin_return(state: ReturnState, links: Iterable[LinkId]) -> ReturnState:
    """The return of these links is under way. A failure from here on is remembered anew."""
    begun = {link: replace(state.history(link), returning=True, remembered=False) for link in links}
    return replace(state, links={**state.links, **begun})


def end_return(state: ReturnState, links: Iterable[LinkId], retry_at_s: float | None = None) -> ReturnState:
    """The return of these links is over; with `retry_at_s` it did not succeed and is tried again then."""
    ended = {}
    for link in links:
        history = replace(state.history(link), returning=False)
        ended[link] = history if retry_at_s is None else replace(history, remembered=True, retry_at_s=retry_at_s)
    return replace(state, links={**state.links, **ended})


def tag_ids_of_links(tag_space: tuple[int, int], topology: Topology, links: Iterable[LinkId]) -> frozenset[int]:
    """Ids of all failed sets that hold one of the links."""
    sets = FailureSets(*tag_space)
    return frozenset(tag_id for link in links for tag_id in sets.containing(topology.link_ids.index(link)))


def links_of_tag_ids(tag_space: tuple[int, int], topology: Topology, tag_ids: Iterable[int]) -> frozenset[LinkId]:
    """Links that stand in one of the failed sets."""
    sets = FailureSets(*tag_space)
    known = (tag_id for tag_id in tag_ids if tag_id < len(sets.masks))
    return frozenset(topology.link_ids[number] for tag_id in known for number in sets.numbers(tag_id))


@dataclass(frozen=True)
class ReturnWork:
    """What the return of some links asks of one switch.

    Attributes
    ----------
    learning
        Rows that teach the switch about failed sets with these links.
    silenced
        The same rows without their `learn`; those that send notifications on drop them, or they would flood for ever.
    cache, cache_meanwhile
        Rows that discard the cached flows of notifications: of ordinary times, and until learning starts again.
    cookies
        Cookies (under `RECOVERY_MASK`) of the recovery rows that have to go.
    """

    learning: tuple[FlowRow, ...] = ()
    silenced: tuple[FlowRow, ...] = ()
    cache: tuple[FlowRow, ...] = ()
    cache_meanwhile: tuple[FlowRow, ...] = ()
    cookies: tuple[int, ...] = ()


def return_work(plan: RulePlan, owner: int, tag_ids: frozenset[int]) -> ReturnWork:
    """What a switch has to do to forget the failed sets `tag_ids`."""
    learning = tuple(
        row
        for row in plan.flows
        if split_cookie(row.cookie).tag_id in tag_ids and any(isinstance(action, Learn) for action in row.apply_actions)
    )
    silenced = tuple(replace(row, apply_actions=tuple(_silenced(row))) for row in learning)
    cookies = tuple(cookie(owner, kind, tag_id) for kind in (Kind.LEARNED, Kind.AGENT) for tag_id in sorted(tag_ids))
    ordinary, meanwhile = cache_row(returning=False), cache_row(returning=True)
    cached = ordinary in plan.flows
    return ReturnWork(learning, silenced, (ordinary,) * cached, (meanwhile,) * cached, cookies)


def _silenced(row: FlowRow) -> Iterator[Action]:
    """Actions of a teaching row while it must not teach: a packet goes on, a notification goes nowhere."""
    if row.table_id != Table.NOTIFY:
        yield from (action for action in row.apply_actions if not isinstance(action, Learn))


def hops_outward(topology: Topology, links: Iterable[LinkId]) -> tuple[tuple[str, ...], ...]:
    """Switches by their distance from the nearest end of the links, nearest first."""
    wave = {end for link in links for end in (link.a, link.b)}
    reached: set[str] = set()
    hops: list[tuple[str, ...]] = []
    while wave:
        hops.append(tuple(name for name in topology.node_names if name in wave))
        reached |= wave
        wave = {link.dst for name in wave for link in topology.links_from[name]} - reached
    return tuple(hops)
