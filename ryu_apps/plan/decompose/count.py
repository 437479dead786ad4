"""What rows cost, counted as Kuijia counts it (sections 4.3 and 5.4): match fields and actions, 32 bits each.

A field that another field of the row cannot do without (`eth_type` of an MPLS label) is not counted: the paper's
transit row, with tag, port and path, queue and output, has 3 + 2 = 5 fields. A goto counts as an action, which the
paper leaves open; it counts against decomposed tables, so what they save is not flattered.
"""

from __future__ import annotations

from collections.abc import Iterable

from ryu_apps.plan.fields import ETH_MPLS, FIELDS
from ryu_apps.plan.rows import Action, FlowRow, GroupRow, Load, Match, Move, PopMpls, PushMpls, PushVlan, SetField

FIELD_BITS = 32  # "the same", for every match and action (section 4.3)


def field_count(row: FlowRow, *, gotos: bool = True) -> int:
    """Match fields and actions of a row.

    Examples
    --------
    >>> from ryu_apps.plan.rows import Output, SetQueue, match
    >>> transit = match(in_port=2, eth_type=0x8847, mpls_label=16, mpls_tc=0)
    >>> field_count(FlowRow(6, 20000, transit, (SetQueue(1), Output(3))))
    5
    """
    actions = (*row.apply_actions, *row.write_actions)
    return len(counted_names(row.match, actions)) + len(actions) + (gotos and row.goto_table is not None)


def counted_names(match: Match, actions: Iterable[Action]) -> frozenset[str]:
    """Fields of a match that are asked for by themselves, not because another field or an action needs them."""
    names = frozenset(name for name, _, _ in match)
    needed = frozenset(name for field in names for name, _ in needs_of(field))
    return names - needed - needs_of_actions(actions).keys()


def needs_of(field: str) -> tuple[tuple[str, tuple[int, ...]], ...]:
    """Prerequisites of a field: (other field, values) pairs."""
    return FIELDS[field].needs if field in FIELDS else ()


def needs_of_actions(actions: Iterable[Action]) -> dict[str, tuple[int, ...]]:
    """What an action list needs of the packet as it comes: (field -> values); what it pushed itself it has."""
    found: dict[str, tuple[int, ...]] = {}
    for action in actions:
        if isinstance(action, PopMpls):
            found.setdefault("eth_type", (ETH_MPLS,))
        if isinstance(action, PushMpls | PopMpls | PushVlan):
            return found
        names = {SetField: ("field",), Load: ("field",), Move: ("src", "dst")}.get(type(action), ())
        for attribute in names:
            for name, values in needs_of(getattr(action, attribute)):
                found.setdefault(name, values)
    return found


def count_fields(flows: Iterable[FlowRow], groups: Iterable[GroupRow] = (), *, gotos: bool = True) -> int:
    """Match fields and actions of all rows, and actions of all buckets.

    Parameters
    ----------
    gotos
        Whether going on to another table counts as an action.
    """
    in_buckets = sum(len(bucket.actions) for group in groups for bucket in group.buckets)
    return sum(field_count(row, gotos=gotos) for row in flows) + in_buckets


def memory_bits(n_fields: int) -> int:
    """Memory of that many fields (bit)."""
    return n_fields * FIELD_BITS
