"""What may be wrong with one match or one action list. Each function yields sentences; no sentence, no fault.

A `Header` is what is known of the packet while an action list runs: what the match pins, changed by the pushes
and pops on the way (as Open vSwitch checks consistency, ofpacts_check in lib/ofp-actions.c).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from mininet_topos.ports import MAX_PORT_NO
from ryu_apps.plan.fields import ETH_IPV4, ETH_MPLS, FIELDS, Field
from ryu_apps.plan.ids import OFPP_IN_PORT, OFPP_LOCAL, SPARE_TABLES, VLAN_PRESENT, Kind, Table, split_cookie
from ryu_apps.plan.rows import (
    Action,
    Controller,
    Group,
    Learn,
    LearnLoad,
    LearnMatch,
    Load,
    Match,
    Move,
    Multipath,
    Output,
    PopMpls,
    PopVlan,
    PushMpls,
    PushVlan,
    Recirculate,
    Resubmit,
    SetField,
    SetQueue,
)

TABLE_IDS = frozenset((*(int(table) for table in Table), *SPARE_TABLES))
_TAGGED_BIT = VLAN_PRESENT.bit_length() - 1
_NXM_ONLY = frozenset({"in_port", "vlan_tci"})  # writable by load only (OpenFlow 1.3.5 section 7.2.5)
_HASHES = frozenset(
    {"eth_src", "symmetric_l4", "symmetric_l3", "symmetric_l3l4", "symmetric_l3l4+udp", "nw_src", "nw_dst"}
)
_ALGORITHMS = frozenset({"modulo_n", "hash_threshold", "hrw", "iter_hash"})


@dataclass(frozen=True, slots=True)
class Header:
    """What is known of a packet. In a group bucket nothing is known, and everything is believed.

    `exact` holds the fields of which each bit is known; `tagged` is None when it may be either.
    """

    exact: dict[str, int]
    tagged: bool | None
    trusting: bool = False

    def lacks(self, field: Field) -> str | None:
        """The prerequisite of a field that this packet may not meet, as text; None when all are met."""
        if self.trusting:
            return None
        if field.needs_tag and not self.tagged:
            return "a tag"
        return next(
            (
                f"{name} = {' or '.join(f'{value:#x}' for value in allowed)}"
                for name, allowed in field.needs
                if self.exact.get(name) not in allowed
            ),
            None,
        )

    def with_tag(self, tagged: bool) -> Header:
        """The packet after a tag was pushed or popped."""
        return Header(self.exact, tagged, self.trusting)

    def with_eth_type(self, eth_type: int) -> Header:
        """The packet after MPLS was pushed or popped."""
        return Header(self.exact | {"eth_type": eth_type}, self.tagged, self.trusting)


TRUSTING = Header({}, None, trusting=True)


def header_of(match: Match) -> Header:
    """What a match says about the packets that it lets through."""
    exact = {name: value for name, value, mask in match if mask is None}
    tagged = None
    for name, value, mask in match:
        if name in ("vlan_vid", "vlan_tci") and (mask is None or mask & VLAN_PRESENT):
            tagged = bool(value & VLAN_PRESENT)
    return Header(exact, tagged)


def match_faults(match: Match) -> Iterator[str]:
    """Faults of a match: order, unknown fields, values and masks that do not fit, missing prerequisites."""
    names = [name for name, _, _ in match]
    if names != sorted(set(names)):
        yield f"match fields {names} are not in order, each once; build the match with rows.match"
    header = header_of(match)
    for name, value, mask in match:
        field = FIELDS.get(name)
        if field is None:
            yield f"match on unknown field {name!r}"
            continue
        yield from _value_faults(field, value, mask)
        # Matching on vlan_vid is how a tag is asked for, so it needs none.
        lacking = None if name == "vlan_vid" else header.lacks(field)
        if lacking is not None:
            yield f"match on {name} needs {lacking} in the same match"


def _value_faults(field: Field, value: int, mask: int | None) -> Iterator[str]:
    if not 0 <= value <= field.full_mask:
        yield f"{field.name} = {value:#x} does not fit its {field.n_bits} bits"
    if mask is None:
        return
    if not field.maskable:
        yield f"{field.name} cannot be masked"
    if not 0 < mask < field.full_mask:
        yield f"{field.name} has mask {mask:#x}; leave the field out for 0, and use no mask for all ones"
    if value & ~mask:
        yield f"{field.name} = {value:#x} has bits outside its mask {mask:#x}"


def action_faults(actions: Iterable[Action], header: Header, port_nos: frozenset[int] | None) -> Iterator[str]:
    """Faults of an action list that runs on `header`; `port_nos` are the switch's ports, None when not known."""
    for action in actions:
        lacking = _lacking(action, header)
        if lacking is not None:
            yield f"{action} needs {lacking}"
        if isinstance(action, Output):
            yield from _output_faults(action, port_nos)
        elif type(action) in _ACTION_FAULTS:
            yield from _ACTION_FAULTS[type(action)](action)
        header = _after(action, header)


def _lacking(action: Action, header: Header) -> str | None:
    """What the packet may not have that the action works on."""
    if isinstance(action, PopVlan) and not (header.trusting or header.tagged):
        return "a tag: match on vlan_vid"
    if isinstance(action, Recirculate) and not (header.trusting or header.exact.get("eth_type") == ETH_IPV4):
        return "IPv4: match on eth_type"
    if isinstance(action, PopMpls) and not header.trusting and header.exact.get("eth_type") != ETH_MPLS:
        return f"a label: match on eth_type {ETH_MPLS:#x}"
    if isinstance(action, Load) and action.field == "vlan_tci" and not header.trusting:
        return None if _writes_tagged_bit(action) or header.tagged else "a tag: match on vlan_vid"
    if isinstance(action, SetField | Load) and action.field in FIELDS:
        return header.lacks(FIELDS[action.field])
    if isinstance(action, Move):
        fields = [FIELDS[name] for name in (action.src, action.dst) if name in FIELDS]
        return next((lack for field in fields if (lack := header.lacks(field)) is not None), None)
    return None


def _after(action: Action, header: Header) -> Header:
    """What is known of the packet after the action."""
    if isinstance(action, PushVlan | PopVlan):
        return header.with_tag(isinstance(action, PushVlan))
    if isinstance(action, PushMpls):
        return header.with_eth_type(ETH_MPLS)
    if isinstance(action, PopMpls):
        return header.with_eth_type(action.eth_type)
    if isinstance(action, Load) and _writes_tagged_bit(action):
        return header.with_tag(bool(action.value >> (_TAGGED_BIT - action.first_bit) & 1))
    return header


def _writes_tagged_bit(action: Load) -> bool:
    return action.field == "vlan_tci" and action.first_bit <= _TAGGED_BIT < action.first_bit + action.n_bits


def _output_faults(action: Output, port_nos: frozenset[int] | None) -> Iterator[str]:
    if action.port_no in (OFPP_IN_PORT, OFPP_LOCAL):
        return
    if not 1 <= action.port_no <= MAX_PORT_NO:
        yield f"{action} is no port; use 1..{MAX_PORT_NO}, OFPP_IN_PORT or OFPP_LOCAL"
    elif port_nos is not None and action.port_no not in port_nos:
        yield f"{action} is no port of this switch"


def _set_field_faults(action: SetField) -> Iterator[str]:
    field = FIELDS.get(action.field)
    if field is None or not field.settable or action.field in _NXM_ONLY:
        yield f"{action}: set-field cannot write {action.field!r}"
        return
    yield from _value_faults(field, action.value, None)
    if action.field == "vlan_vid" and not action.value & VLAN_PRESENT:
        yield f"{action}: a vlan_vid is written with bit {VLAN_PRESENT:#x} set"


def _load_faults(action: Load | LearnLoad) -> Iterator[str]:
    field = FIELDS.get(action.field)
    if field is None or not field.settable:
        yield f"{action}: load cannot write {action.field!r}"
        return
    yield from _bits_faults(action.field, action.first_bit, action.n_bits)
    if not 0 <= action.value < 1 << max(action.n_bits, 0):
        yield f"{action}: the value does not fit {action.n_bits} bits"


def _bits_faults(name: str, first_bit: int, n_bits: int) -> Iterator[str]:
    field = FIELDS.get(name)
    if field is None:
        yield f"unknown field {name!r}"
    elif first_bit < 0 or n_bits < 1 or first_bit + n_bits > field.action_bits:
        yield f"bits {first_bit}..{first_bit + n_bits - 1} are not in {name}, which has {field.action_bits}"


def _move_faults(action: Move) -> Iterator[str]:
    yield from _bits_faults(action.src, action.src_first_bit, action.n_bits)
    yield from _bits_faults(action.dst, action.dst_first_bit, action.n_bits)
    if action.dst in FIELDS and not FIELDS[action.dst].settable:
        yield f"{action}: move cannot write {action.dst!r}"


def _multipath_faults(action: Multipath) -> Iterator[str]:
    if action.fields not in _HASHES or action.algorithm not in _ALGORITHMS:
        yield f"{action}: unknown hash {action.fields!r} or algorithm {action.algorithm!r}"
    if not 1 <= action.n_slots <= 1 << 16 or not 0 <= action.basis < 1 << 16:
        yield f"{action}: slots are 1..65536 and the basis has 16 bits"
    yield from _bits_faults(action.dst, 0, max(1, (action.n_slots - 1).bit_length()))


def _learn_faults(action: Learn) -> Iterator[str]:
    """Also: a learned row that writes the tag must know whether there is one, or it would re-tag any packet."""
    if action.table_id not in TABLE_IDS:
        yield f"learn writes to unknown table {action.table_id}"
    if not 1 <= action.priority <= 0xFFFF:
        yield f"learn has priority {action.priority}; use 1..65535"
    if split_cookie(action.cookie).kind != Kind.LEARNED:
        yield f"learn has cookie {action.cookie:#x}, whose kind is not LEARNED; clean-up would not find the rows"
    for load in action.loads:
        yield from _load_faults(load)
    names = [spec.field for spec in action.matches]
    if len(set(names)) < len(names):
        yield f"learn matches fields {names}; name each once"
    for spec in action.matches:
        yield from _bits_faults(spec.field, spec.first_bit, spec.n_bits)
        if not 0 <= spec.value < 1 << max(spec.n_bits, 0):
            yield f"{spec}: the value does not fit {spec.n_bits} bits"
    if all(spec.field in FIELDS for spec in action.matches):
        yield from _learned_header_faults(action)


def _learned_header_faults(action: Learn) -> Iterator[str]:
    header = header_of(tuple(_as_match(spec) for spec in action.matches))
    for spec in action.matches:
        lacking = None if spec.field == "vlan_vid" else header.lacks(FIELDS[spec.field])
        if lacking is not None:
            yield f"learn matches {spec.field}, which needs {lacking} in the same learn"
    if header.tagged is None and any(load.field == "vlan_tci" for load in action.loads):
        yield "learn writes vlan_tci of tagged and untagged packets alike; match on bit 12 of vlan_tci"


def _as_match(spec: LearnMatch) -> tuple[str, int, int | None]:
    whole = spec.n_bits == FIELDS[spec.field].action_bits
    mask = (1 << max(spec.n_bits, 0)) - 1 << max(spec.first_bit, 0)
    return spec.field, spec.value << max(spec.first_bit, 0), None if whole else mask


def _table_faults(action: Resubmit | Recirculate) -> Iterator[str]:
    if action.table_id not in TABLE_IDS:
        yield f"{type(action).__name__.lower()} to unknown table {action.table_id}"


def _queue_faults(action: SetQueue) -> Iterator[str]:
    if not 0 <= action.queue_id <= 0xFFFFFFFE:
        yield f"{action}: queue ids have 32 bits"


def _controller_faults(action: Controller) -> Iterator[str]:
    if not 0 <= action.controller_id <= 0xFFFF:
        yield f"{action}: controller ids have 16 bits"


def _pop_mpls_faults(action: PopMpls) -> Iterator[str]:
    if not 0x600 <= action.eth_type <= 0xFFFF:
        yield f"{action}: an Ethernet type is 0x600..0xffff"


_ACTION_FAULTS: dict[type, Callable[[Any], Iterator[str]]] = {
    SetField: _set_field_faults,
    Load: _load_faults,
    Move: _move_faults,
    Multipath: _multipath_faults,
    Learn: _learn_faults,
    Resubmit: _table_faults,
    Recirculate: _table_faults,
    SetQueue: _queue_faults,
    Controller: _controller_faults,
    PopMpls: _pop_mpls_faults,
}

# OpenFlow 1.3.5 section 5.10: a switch carries out an action set in this order, whatever order it was given in.
_SET_ORDER: dict[type, int] = {
    PopVlan: 0,
    PopMpls: 1,
    PushMpls: 2,
    PushVlan: 3,
    SetField: 4,
    Load: 4,
    Move: 4,
    SetQueue: 5,
    Group: 6,
    Output: 6,
    Resubmit: 6,
}
_MANY_IN_A_SET = 4


def action_set_faults(actions: tuple[Action, ...]) -> Iterator[str]:
    """Faults of write-actions or of a bucket, which a switch runs as a set: one of a kind, in a fixed order."""
    outside = [action for action in actions if type(action) not in _SET_ORDER]
    if outside:
        yield f"{outside[0]} has no place in an action set or a bucket"
        return
    ranks = [_SET_ORDER[type(action)] for action in actions]
    if ranks != sorted(ranks):
        yield f"the action set {actions} is not written in the order in which a switch carries it out"
    if len([rank for rank in ranks if rank != _MANY_IN_A_SET]) > len(set(ranks) - {_MANY_IN_A_SET}):
        yield f"the action set {actions} has two actions of a kind, of which a switch keeps one"
