"""Packets of flows by the counters of their hosts' devices, which the kernel keeps anyway."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from experiments.live.decide.screen import FlowCounts

Ends = tuple[str, str]
_RECEIVED, _SENT = 1, 9  # columns of packets after the name in /proc/net/dev


class Packets(NamedTuple):
    """Packets that a device has sent and received since it was made."""

    sent: int
    received: int


def packets_of(text: str, name: str) -> Packets:
    """Counters of one device in /proc/net/dev; zeros when it is not listed.

    Examples
    --------
    >>> packets_of("Inter-| Receive\\n face |bytes\\n  h1-eth0: 10 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15\\n", "h1-eth0")
    Packets(sent=9, received=1)
    """
    for line in text.splitlines()[2:]:
        found, _, numbers = line.partition(":")
        if found.strip() == name:
            columns = numbers.split()
            return Packets(int(columns[_SENT]), int(columns[_RECEIVED]))
    return Packets(0, 0)


def apart(flows: Iterable[Ends]) -> tuple[Ends, ...]:
    """Flows whose hosts have no other flow: only of these a device's counters tell.

    Examples
    --------
    >>> apart([("s1", "s5"), ("s2", "s6"), ("s2", "s7")])
    (('s1', 's5'),)
    """
    listed = list(flows)
    uses = Counter(node for pair in listed for node in pair)
    return tuple(pair for pair in listed if all(uses[node] == 1 for node in pair))


def flow_counts(
    flows: Sequence[Ends], before: Mapping[str, Packets], now: Mapping[str, Packets]
) -> tuple[FlowCounts, ...]:
    """Packets of flows between two readings of their hosts' counters; none of a flow that was not read."""
    return tuple(
        FlowCounts(
            f"{source} > {destination}",
            now[source].sent - before[source].sent,
            now[destination].received - before[destination].received,
            now[destination].sent - before[destination].sent,
            now[source].received - before[source].received,
        )
        for source, destination in flows
        if {source, destination} <= before.keys() & now.keys()
    )
