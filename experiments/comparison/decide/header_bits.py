"""How many bits of a packet's header a scheme uses, read off its rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from ryu_apps.plan.failure_sets import NO_TAG
from ryu_apps.plan.ids import VLAN_PRESENT
from ryu_apps.plan.rows import Action, Group, Learn, Load, Move, PushMpls, RulePlan, SetField

# Fields of a packet that no link carries.
_INSIDE = ("reg", "xreg", "xxreg", "in_port", "metadata", "tun_", "tunnel_", "pkt_mark", "actset", "ct_")
_VLAN, _PCP_AT = "vlan_tci", 13
_MPLS = ("mpls_label", "mpls_tc")


def header_bits(plans: Iterable[RulePlan]) -> int:
    """Bits of the header that are 1 in some value that a row, or an agent from a backup row, writes.

    A bit that no value sets tells switches nothing and is not counted; nor are the fixed parts of a VLAN tag or an MPLS
    entry. An MPLS entry counts once for each that one row pushes, at most.

    Parameters
    ----------
    plans
        Plans of all switches.
    """
    ones: Counter[str] = Counter()  # the OR of all written values, by field
    depth = 1
    for plan in plans:
        for name, value in _written(plan):
            ones[name] |= value
        depth = max(depth, _entries_pushed(plan))
    ones[_VLAN] &= ~VLAN_PRESENT  # Open vSwitch's mark of a tag; on a link it is the drop-eligible bit
    return sum(value.bit_count() * (depth if name in _MPLS else 1) for name, value in ones.items())


def _written(plan: RulePlan) -> Iterator[tuple[str, int]]:
    """(field, value in its place) of everything that rows write into headers."""
    for actions in _action_lists(plan):
        for action in actions:
            yield from (each for each in _values(action) if not each[0].startswith(_INSIDE))
    for row in plan.backups:
        if row.tag_id != NO_TAG:
            yield _VLAN, row.tag_id | row.status << _PCP_AT
    for extension in plan.extensions:
        yield _VLAN, extension.new_tag_id


def _values(action: Action) -> Iterator[tuple[str, int]]:
    if isinstance(action, SetField):
        yield _placed(action.field, action.value)
    elif isinstance(action, Load):
        yield _placed(action.field, action.value << action.first_bit)
    elif isinstance(action, Move):
        yield _placed(action.dst, ((1 << action.n_bits) - 1) << action.dst_first_bit)
    elif isinstance(action, Learn):
        yield from (_placed(load.field, load.value << load.first_bit) for load in action.loads)


def _placed(field: str, value: int) -> tuple[str, int]:
    """The parts of a VLAN tag in one word, as Open vSwitch has them."""
    if field == "vlan_pcp":
        return _VLAN, value << _PCP_AT
    return (_VLAN if field == "vlan_vid" else field), value


def _action_lists(plan: RulePlan) -> Iterator[tuple[Action, ...]]:
    for row in plan.flows:
        yield row.apply_actions
        yield row.write_actions
    for group in plan.groups:
        yield from (bucket.actions for bucket in group.buckets)


def _entries_pushed(plan: RulePlan) -> int:
    """MPLS entries that a row pushes, with the groups that it leads through; the most of all rows."""
    groups = {group.group_id: [bucket.actions for bucket in group.buckets] for group in plan.groups}
    found: dict[int, int] = {}
    return max((_pushed(actions, groups, found) for actions in _action_lists(plan)), default=0)


def _pushed(actions: tuple[Action, ...], groups: Mapping[int, list[tuple[Action, ...]]], found: dict[int, int]) -> int:
    total = 0
    for action in actions:
        if isinstance(action, PushMpls):
            total += 1
        elif isinstance(action, Group):
            if action.group_id not in found:
                buckets = groups.get(action.group_id, [])
                found[action.group_id] = max((_pushed(each, groups, found) for each in buckets), default=0)
            total += found[action.group_id]
    return total
