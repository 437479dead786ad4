"""What has failed, in the order in which it failed: links of a network, or tunnels of a commodity."""

from __future__ import annotations

from typing import TypeVar

from mininet_topos.topology import LinkId

Failing = TypeVar("Failing")
History = tuple[frozenset[LinkId], ...]
"""Links that carry nothing; those that failed at once stand together."""
FailedTunnels = tuple[frozenset[int], ...]
"""Tunnels of a commodity that failed, one set for each moment at which some did."""


def next_history(history: tuple[frozenset[Failing], ...], failed: frozenset[Failing]) -> tuple[frozenset[Failing], ...]:
    """The history once exactly these have failed: what is back leaves it, what is new comes last, at once.

    Examples
    --------
    >>> next_history((frozenset({1, 2}), frozenset({3})), frozenset({2, 4}))
    (frozenset({2}), frozenset({4}))
    """
    known = {each for event in history for each in event}
    events = (*(event & failed for event in history), failed - known)
    return tuple(event for event in events if event)
