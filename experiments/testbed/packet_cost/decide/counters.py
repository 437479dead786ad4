"""Counters of the userspace datapath: what found each packet's actions, read from `dpif-netdev/pmd-stats-show`."""

from __future__ import annotations

import re
from collections.abc import Mapping

from mininet_topos.errors import ArmorError

LOOKUPS: dict[str, str] = {
    "exact": "found in the exact-match cache",
    "megaflow": "found among the datapath's flows",
    "none": "looked up in the OpenFlow tables, packet by packet",
}
RECEIVED = "received"

# Line of the text -> our name. A packet that misses costs a translation whether or not a flow is installed for it.
_LINES = {
    "packets received": RECEIVED,
    "simple match hits": "megaflow",
    "emc hits": "exact",
    "smc hits": "megaflow",
    "megaflow hits": "megaflow",
    "miss with success upcall": "none",
    "miss with failed upcall": "none",
}
_COUNT = re.compile(r"^\s*([a-z][a-z ]*[a-z]): (\d+)$", re.MULTILINE)


def read_counters(text: str) -> dict[str, int]:
    """Packets received, and how each was found (keys of `LOOKUPS`), summed over the threads that forward.

    Parameters
    ----------
    text
        What `ovs-appctl dpif-netdev/pmd-stats-show` prints.

    Raises
    ------
    ArmorError
        A count that every version of Open vSwitch prints is missing.
    """
    counts = dict.fromkeys((RECEIVED, *LOOKUPS), 0)
    lines = [(name, int(count)) for name, count in _COUNT.findall(text) if name in _LINES]
    missing = {"packets received", "emc hits", "megaflow hits"} - {name for name, _ in lines}
    if missing:
        raise ArmorError(f"pmd-stats-show names no {sorted(missing)[0]!r}; use Open vSwitch 2.13 or later")
    for name, count in lines:
        counts[_LINES[name]] += count
    return counts


def counted_since(before: Mapping[str, int], after: Mapping[str, int]) -> dict[str, int]:
    """What was counted between two readings."""
    return {name: after[name] - before[name] for name in before}


def count_complaint(counts: Mapping[str, int], lookup: str, sent: int) -> str | None:
    """Why a measurement is not what it claims to be; None when it is.

    Parameters
    ----------
    counts
        Of `counted_since`.
    lookup
        How every packet was to be found: a key of `LOOKUPS`.
    sent
        Packets sent; the switch may have received nothing else.
    """
    if counts[RECEIVED] != sent:
        return f"{sent} packets were sent, but the switch received {counts[RECEIVED]}"
    if counts[lookup] != sent:
        found = ", ".join(f"{counts[name]} {LOOKUPS[name]}" for name in LOOKUPS)
        return f"of {sent} packets all were to be {LOOKUPS[lookup]}, but {found}"
    return None
