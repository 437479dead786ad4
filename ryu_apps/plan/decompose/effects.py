"""Which actions may change places, and which may run before a later look-up.

Every action and every matched field names what it reads and writes: a field, `stack` (the MPLS labels, under which
the IP header disappears), `vlan`, `queue`, `sent` (what left the switch), or everything. Two actions may change
places when neither writes what the other reads or writes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from ryu_apps.plan import rows as row_types
from ryu_apps.plan.rows import Action

ALL = "*"
STACK, VLAN, QUEUE, SENT = "stack", "vlan", "queue", "sent"
_VLAN_FIELDS = frozenset({"vlan_vid", "vlan_pcp", "vlan_tci"})
_BESIDE_MPLS = frozenset({"in_port", "metadata", "eth_src", "eth_dst"})


@dataclass(frozen=True, slots=True)
class GoTo:
    """The goto of a row, as the last of its actions."""

    table_id: int


Step = Action | GoTo


class Effects(NamedTuple):
    """What a step reads and writes."""

    reads: frozenset[str]
    writes: frozenset[str]


def field_reads(name: str) -> frozenset[str]:
    """What must stay as it is for a match on a field to mean the same."""
    if name in _VLAN_FIELDS:
        return frozenset({VLAN})
    if name in _BESIDE_MPLS or name.startswith("reg"):
        return frozenset({name})
    return frozenset({name, STACK})


def effects_of(step: Step) -> Effects:
    """What a step reads and writes; what leaves the switch, or may do anything, reads everything."""
    if isinstance(step, row_types.SetQueue):
        return Effects(frozenset(), frozenset({QUEUE}))
    if isinstance(step, row_types.SetField | row_types.Load):
        own = frozenset({VLAN if step.field in _VLAN_FIELDS else step.field})
        return Effects(field_reads(step.field) - own, own)
    if isinstance(step, row_types.PushMpls | row_types.PopMpls):
        return Effects(frozenset(), frozenset({STACK}))
    if isinstance(step, row_types.PushVlan | row_types.PopVlan):
        return Effects(frozenset(), frozenset({VLAN}))
    if isinstance(step, row_types.Multipath):
        headers = frozenset({STACK, "ipv4_src", "ipv4_dst"})
        return Effects(headers, frozenset({step.dst.partition("[")[0]}))
    return Effects(frozenset({ALL}), frozenset({SENT}))


def may_change_places(first: Step, second: Step) -> bool:
    """Whether two neighbours in an action list may swap."""
    one, other = effects_of(first), effects_of(second)
    return not (_clash(one.writes, other) or _clash(other.writes, one))


def _clash(writes: frozenset[str], other: Effects) -> bool:
    touched = other.reads | other.writes
    return bool(writes) and (ALL in touched or bool(writes & touched))


def hides(step: Step, fields: frozenset[str]) -> bool:
    """Whether a later match on these fields would see something else after the step."""
    read = frozenset(resource for name in fields for resource in field_reads(name))
    return bool(effects_of(step).writes & read)


# Only these may wait in the action set (OpenFlow 1.3.5 section 5.10) until the last table is done.
WAITING: tuple[type, ...] = (row_types.PopVlan, row_types.PopMpls, row_types.Group, row_types.Output)


def is_sending(step: Step) -> bool:
    """Whether the step lets a packet leave, or may do anything."""
    return SENT in effects_of(step).writes
