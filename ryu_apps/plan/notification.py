"""Notification of failures in the data plane: one packet meets the failure, the whole network knows.

The row that extends a packet's failed set (EXTEND) also sends a copy of it, the notification, to NOTIFY. There each
failed set has one row: it makes the switch drop the same notification from now on, teaches it, for every destination,
the tag that packets from here would end up with, and sends the notification on over all links. Nobody else takes part.

What is taught is not the whole failed set F. It is the smallest set that a packet from here would collect if it came
back here at every failed link of F that it meets: its path without that set meets no link of F. Of several rows that
notifications and packets have put there, the one whose first failed link is nearest on the way decides, then the one
whose second is, and so on: what a switch does depends on which failures it knows, never on the order in which it
heard of them (docs/decisions/notification.md).

A packet that was taught its tag here may meet more failures than a tag can name although it would have arrived had it
found out by itself. So a packet whose set is full starts afresh, once, where it is: without a set, with a bit of its
PCP that says so. What it had learned of the network is forgotten, and no row teaches it anew.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import combinations

from ryu_apps.plan.failure_sets import NO_TAG, FailureSets
from ryu_apps.plan.ids import (
    AGENT_CONTROLLER_ID,
    STATUS_BITS,
    VLAN_PRESENT,
    Kind,
    Priority,
    Status,
    Table,
    cookie,
    port_group,
    split_cookie,
)
from ryu_apps.plan.recovery_rows import (
    ANY_TAG,
    ETH_TYPE_IPV4,
    OWNER,
    PCP_FIRST_BIT,
    TCI_BITS,
    LearnedTag,
    learn,
    tag_tci,
)
from ryu_apps.plan.rows import (
    Action,
    BackupRow,
    Controller,
    ExtensionRow,
    FlowRow,
    Group,
    Learn,
    LearnMatch,
    Load,
    Output,
    Recirculate,
    Resubmit,
    RulePlan,
    match,
)

Path = tuple[int, ...]
"""Numbers of the links that a packet crosses, in order."""
_RANKS = 0xFFFF - Priority.RECOVERY
AFRESH = 1 << STATUS_BITS
"""Bit of the PCP of packets that have started afresh."""
_PLANNED = cookie(OWNER, Kind.PLANNED)
_PART_REGISTER = "reg3"
_NO_PROTOCOL = 255  # "Reserved" among IANA's protocol numbers
_LEARNS_A_ROW = 500  # of some 90 bytes each: a flow-mod has at most 64 KiB


class Teaching:
    """What one switch learns about one commodity, from any failed set.

    Parameters
    ----------
    paths
        Tag id to the path of the commodity's packets from this switch with that tag; none where no way is left.
    """

    def __init__(self, sets: FailureSets, n_nodes: int, paths: Mapping[int, Path]) -> None:
        self._sets, self._paths = sets, paths
        self._positions = max(2, n_nodes)  # of links on a path, and one for "none"
        self._digits = 1
        most = min(sets.max_failures, sets.n_links)
        while self._digits < most and self._positions ** (self._digits + 1) <= _RANKS:
            self._digits += 1

    def learned(self, tag_in: int, tag_id: int) -> tuple[int, int] | None:
        """(tag, rank) that packets with `tag_in` get once the switch knows of the set `tag_id`, which contains it.

        None when they keep their tag, or when no way is left.
        """
        tag, positions = collected(self._sets, self._paths.get, self._sets.masks[tag_id], tag_in)
        return (tag, self._rank(positions)) if positions and tag in self._paths else None

    def notified(self) -> Iterator[tuple[int, int, int]]:
        """(failed set, tag, rank) for untagged packets and every failed set that concerns them."""
        yield from self._from(0, [], 0)

    def _from(self, tag: int, positions: list[int], spared: int) -> Iterator[tuple[int, int, int]]:
        """Failed sets that hold the links of `tag`, collected at these positions, and no `spared` link."""
        path = self._paths.get(tag)
        if path is None:
            return
        before = spared
        for place, number in enumerate(path):
            larger = self._sets.with_link(tag, number)
            if larger is not None and not before >> number & 1:
                yield from self._from(larger, [*positions, place], before)
            before |= 1 << number
        if positions:
            rank = self._rank(positions)
            for failed_set in self._supersets(tag, before):
                yield failed_set, tag, rank

    def _supersets(self, tag: int, without: int) -> Iterator[int]:
        mask = self._sets.masks[tag]
        others = [number for number in range(self._sets.n_links) if not (mask | without) >> number & 1]
        for size in range(min(self._sets.max_failures - mask.bit_count(), len(others)) + 1):
            for more in combinations(others, size):
                yield self._sets.tag_id_of[mask | sum(1 << number for number in more)]

    def _rank(self, positions: Sequence[int]) -> int:
        """A nearer failed link ranks higher; with the same ones, a further one ranks higher than none."""
        rank = 0
        for index in range(self._digits):
            digit = self._positions - 1 - positions[index] if index < len(positions) else 0
            rank = rank * self._positions + digit
        return rank


def collected(
    sets: FailureSets, path_of: Callable[[int], Path | None], failed: int, tag_in: int = NO_TAG
) -> tuple[int, list[int]]:
    """The tag that packets with `tag_in` end up with where they come back here at each failed link that they meet.

    Parameters
    ----------
    path_of
        Path of packets by tag id; None where no way is left, which ends the search.
    failed
        Mask of the failed links, of any number: a set that cannot grow ends the search too.

    Returns
    -------
    tuple of int and list of int
        The tag, and the positions at which its links were met, each on the path of the moment.
    """
    tag, positions = tag_in, list[int]()
    while (path := path_of(tag)) is not None:
        unknown = failed & ~sets.masks[tag]
        met = next(((place, number) for place, number in enumerate(path) if unknown >> number & 1), None)
        larger = None if met is None else sets.with_link(tag, met[1])
        if met is None or larger is None:
            break
        positions.append(met[0])
        tag = larger
    return tag, positions


def is_notification(vlan_tci: int) -> bool:
    """Whether a frame with this TCI is a notification."""
    return vlan_tci >> PCP_FIRST_BIT & (1 << STATUS_BITS) - 1 == Status.NOTIFICATION


def is_for_notifications(row: FlowRow) -> bool:
    """Whether only notifications meet the row."""
    return Table.NOTIFY in (row.table_id, row.goto_table)


def taught_by(plan: RulePlan) -> dict[int, list[Learn]]:
    """What notifications teach a switch about packets, by failed set."""
    taught: dict[int, list[Learn]] = defaultdict(list)
    for row in plan.flows:
        if row.table_id == Table.NOTIFY and row.apply_actions:
            learns = (action for action in row.apply_actions if isinstance(action, Learn))
            taught[split_cookie(row.cookie).tag_id].extend(each for each in learns if each.table_id == Table.LEARNED)
    return taught


def notifying_extension(new_tag_id: int) -> tuple[Action, ...]:
    """Extend a packet's failed set and notify the network of it; ROUTE then gives the packet its own status.

    Both recirculate: Open vSwitch runs `learn` also when it translates a cached flow anew, for packets that it counted
    before the failure. This switch would learn that it has sent the notification, or a tag for untagged packets so
    that none meets this row again, before any packet did meet it, and nobody else would be notified.
    """
    return (
        Load("vlan_tci", 0, PCP_FIRST_BIT, VLAN_PRESENT | new_tag_id),
        Load("vlan_tci", PCP_FIRST_BIT, STATUS_BITS, Status.NOTIFICATION),
        Recirculate(Table.NOTIFY),
        Recirculate(Table.ROUTE),
    )


def afresh_rows(primaries: Iterable[BackupRow], extensions: Iterable[ExtensionRow]) -> Iterator[FlowRow]:
    """Rows for packets that start afresh: at a failed port with a set that is full, and on their way without a set.

    Parameters
    ----------
    extensions
        Those of packets without a tag.
    """
    afresh = (Load("vlan_tci", 0, TCI_BITS, tag_tci(NO_TAG, AFRESH)), Resubmit(Table.ROUTE))
    for first in extensions:
        for status in (Status.CRANKBACK, Status.RECOVERED):
            full = match(vlan_vid=ANY_TAG, vlan_pcp=int(status), reg2=first.port_no)
            yield FlowRow(Table.EXTEND, Priority.AFRESH, full, afresh, cookie=_PLANNED)
        empty = match(eth_type=ETH_TYPE_IPV4, vlan_vid=VLAN_PRESENT, reg2=first.port_no)
        yield FlowRow(Table.EXTEND, Priority.PRIMARY, empty, notifying_extension(first.new_tag_id), cookie=_PLANNED)
    for row in primaries:
        fields = {"eth_type": ETH_TYPE_IPV4, "vlan_vid": VLAN_PRESENT, "ipv4_dst": row.destination}
        if row.source is not None:
            fields["ipv4_src"] = row.source
        onward = (Group(port_group(row.out_port)),)
        yield FlowRow(Table.ROUTE, Priority.PRIMARY, match(**fields), onward, cookie=_PLANNED)


def notification_rows(
    notified: Mapping[int, Sequence[LearnedTag]], sets: FailureSets, link_ports: Iterable[int], hard_timeout_s: int
) -> Iterator[FlowRow]:
    """All rows of one switch that notifications meet.

    Parameters
    ----------
    notified
        Failed set to what the switch learns from it.
    hard_timeout_s
        Life of what is learned; 0 = until the link returns.
    """
    yield from _rows_that_recognize()
    onward = _over_all(link_ports)
    for tag_id in range(1, len(sets.masks)):
        learned = [learn(each, hard_timeout_s, STATUS_BITS) for each in notified.get(tag_id, ())]
        yield from _rows_of_set(tag_id, [*learned, _drop_the_same(tag_id, hard_timeout_s)], onward)


def agent_notification_rows(sets: FailureSets, link_ports: Iterable[int], hard_timeout_s: int) -> Iterator[FlowRow]:
    """Agent mode: send each notification on once, over all links, with a copy for the agent."""
    yield from _rows_that_recognize()
    onward = (*_over_all(link_ports), Controller(AGENT_CONTROLLER_ID))
    for tag_id in range(1, len(sets.masks)):
        yield from _rows_of_set(tag_id, [_drop_the_same(tag_id, hard_timeout_s)], onward)


def cache_row(*, returning: bool) -> FlowRow:
    """Make Open vSwitch discard the cached flows of notifications where a return begins, and where it ends.

    A cached flow lives for ten seconds after its last packet, and is translated anew when rows change: after a return
    it would send the next notification of the same failure on, and learn to drop it up to half a second later. So would
    those of all switches: a flood. But Open vSwitch discards a cached flow where a look-up reads a field that the
    flow leaves open. No packet matches this row; each look-up in NOTIFY reads its fields: other ones during a return.
    """
    read = {"ip_dscp": 0} if returning else {"ip_ecn": 0}
    fields = match(eth_type=ETH_TYPE_IPV4, ip_proto=_NO_PROTOCOL, **read)
    return FlowRow(Table.NOTIFY, Priority.GUARD, fields, cookie=_PLANNED)


def _rows_that_recognize() -> Iterator[FlowRow]:
    yield cache_row(returning=False)
    for afresh in (0, AFRESH):  # of the packet that it was copied from
        frames = match(vlan_vid=ANY_TAG, vlan_pcp=afresh | Status.NOTIFICATION)
        yield FlowRow(Table.CLASSIFY, Priority.NOTIFICATION, frames, goto_table=Table.NOTIFY, cookie=_PLANNED)


def _over_all(link_ports: Iterable[int]) -> tuple[Action, ...]:
    return tuple(Output(port_no) for port_no in sorted(link_ports))


def _rows_of_set(tag_id: int, learned: Sequence[Learn], onward: tuple[Action, ...]) -> Iterator[FlowRow]:
    """One row, or as many as a flow-mod's size makes of it: each asks for the next before it ends.

    What drops the same notification is learned last, so that it does not stop this one on its way through the rows.
    """
    parts = [learned[first : first + _LEARNS_A_ROW] for first in range(0, len(learned), _LEARNS_A_ROW)]
    for number, part in enumerate(parts):
        last = number == len(parts) - 1
        more = onward if last else (Load(_PART_REGISTER, 0, 32, number + 1), Resubmit(Table.NOTIFY))
        fields = {} if len(parts) == 1 else {_PART_REGISTER: number}
        yield FlowRow(
            Table.NOTIFY,
            Priority.PRIMARY,
            match(vlan_vid=VLAN_PRESENT | tag_id, **fields),
            (*part, *more),
            cookie=cookie(OWNER, Kind.PLANNED, tag_id),
        )


def heard_row(tag_id: int, hard_timeout_s: int) -> FlowRow:
    """Agent mode: in place of the row that `_drop_the_same` brings; its removal tells the agent of the repair."""
    return FlowRow(
        Table.NOTIFY,
        Priority.RECOVERY,
        match(vlan_vid=VLAN_PRESENT | tag_id),
        cookie=cookie(OWNER, Kind.AGENT, tag_id),
        hard_timeout_s=hard_timeout_s,
        send_flow_removed=True,
    )


def _drop_the_same(tag_id: int, hard_timeout_s: int) -> Learn:
    return Learn(
        Table.NOTIFY,
        Priority.RECOVERY,
        cookie(OWNER, Kind.LEARNED, tag_id),
        (LearnMatch("vlan_tci", 0, 13, VLAN_PRESENT | tag_id),),
        (),
        hard_timeout_s=hard_timeout_s,
    )
