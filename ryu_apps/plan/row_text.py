"""Rows as ovs-ofctl writes them: one line a row, canonical, accepted by `add-flows` and `add-groups`.

The inverse is `dump_parse`. Actions use the spelling of ovs-actions(7); a comment may follow a line.
"""

from __future__ import annotations

from collections.abc import Callable
from ipaddress import IPv4Address
from typing import Any

from mininet_topos.errors import PlanError
from ryu_apps.plan.fields import (
    ETH_ARP,
    ETH_IPV4,
    ETH_IPV6,
    ETH_MPLS,
    FIELDS,
    IP_ICMP,
    IP_TCP,
    IP_UDP,
    IPV4_FIELDS,
    MAC_FIELDS,
    Field,
)
from ryu_apps.plan.ids import OFPP_CONTROLLER, OFPP_IN_PORT, OFPP_LOCAL, VLAN_PRESENT
from ryu_apps.plan.rows import (
    Action,
    Bucket,
    Controller,
    FlowRow,
    Group,
    GroupRow,
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

# (eth_type, ip_proto) that ovs-ofctl abbreviates; None: any protocol.
KEYWORDS: dict[str, tuple[int, int | None]] = {
    "ip": (ETH_IPV4, None),
    "icmp": (ETH_IPV4, IP_ICMP),
    "tcp": (ETH_IPV4, IP_TCP),
    "udp": (ETH_IPV4, IP_UDP),
    "arp": (ETH_ARP, None),
    "ipv6": (ETH_IPV6, None),
    "mpls": (ETH_MPLS, None),
}
RESERVED_PORTS = {"IN_PORT": OFPP_IN_PORT, "CONTROLLER": OFPP_CONTROLLER, "LOCAL": OFPP_LOCAL}
_FIELD_RANK = {name: rank for rank, name in enumerate(FIELDS)}
_HEX_FIELDS = frozenset({"vlan_tci", "metadata", "eth_type", *(name for name in FIELDS if name.startswith("reg"))})
_PORT_FIELDS = frozenset({"tcp_src", "tcp_dst", "udp_src", "udp_dst"})
_SET_FIELD_NAMES = {"ipv4_src": "ip_src", "ipv4_dst": "ip_dst", "ip_ecn": "nw_ecn"}
_PORT_NAMES = {number: name for name, number in RESERVED_PORTS.items()}


def flow_text(row: FlowRow) -> str:
    """One flow as `ovs-ofctl -O OpenFlow13 add-flows` reads it.

    Examples
    --------
    >>> from ryu_apps.plan.rows import match
    >>> flow_text(FlowRow(1, 20000, match(eth_type=0x800, ipv4_dst=0x0A000005), (Group(3),)))
    'cookie=0x0000000000000000,table=1,priority=20000,ip,nw_dst=10.0.0.5 actions=group:3'
    """
    options = [f"hard_timeout={row.hard_timeout_s}"] if row.hard_timeout_s else []
    options += ["send_flow_rem"] if row.send_flow_removed else []
    head = [f"cookie=0x{row.cookie:016x}", f"table={row.table_id}", f"priority={row.priority}", *options]
    return f"{','.join([*head, *match_texts(row.match)])} actions={instructions_text(row)}"


def group_text(row: GroupRow) -> str:
    """One group as `ovs-ofctl -O OpenFlow13 add-groups` reads it."""
    buckets = "".join(f",bucket={bucket_text(bucket, row.group_type)}" for bucket in row.buckets)
    return f"group_id={row.group_id},type={row.group_type}{buckets}"


def bucket_text(bucket: Bucket, group_type: str) -> str:
    """One bucket; select buckets always show their weight."""
    parts = [f"weight:{bucket.weight}"] if group_type == "select" or bucket.weight else []
    parts += [] if bucket.watch_port is None else [f"watch_port:{bucket.watch_port}"]
    parts += [] if bucket.watch_group is None else [f"watch_group:{bucket.watch_group}"]
    return ",".join([*parts, f"actions={actions_text(bucket.actions) or 'drop'}"])


def instructions_text(row: FlowRow) -> str:
    """Apply-actions, write-actions and goto of a flow, in the order in which a switch carries them out."""
    parts = [actions_text(row.apply_actions)] if row.apply_actions else []
    parts += [f"write_actions({actions_text(row.write_actions)})"] if row.write_actions else []
    parts += [] if row.goto_table is None else [f"goto_table:{row.goto_table}"]
    return ",".join(parts) or "drop"


def match_texts(match: Match) -> list[str]:
    """The terms of a match, in the order in which Open vSwitch prints them."""
    wanted = {name: (value, mask) for name, value, mask in match}
    keyword = _keyword(wanted)
    if keyword is not None:
        del wanted["eth_type"]
        if KEYWORDS[keyword][1] is not None:
            del wanted["ip_proto"]
    terms = [(_FIELD_RANK[name], _match_term(FIELDS[name], *given)) for name, given in wanted.items()]
    terms += [] if keyword is None else [(_FIELD_RANK["eth_type"], keyword)]
    return [term for _, term in sorted(terms)]


def _keyword(wanted: dict[str, tuple[int, int | None]]) -> str | None:
    eth_type, ip_proto = wanted.get("eth_type", (None, None))[0], wanted.get("ip_proto", (None, None))[0]
    names = {pair: name for name, pair in KEYWORDS.items()}
    if eth_type is None:
        return None
    return names.get((eth_type, ip_proto)) or names.get((eth_type, None))


def _match_term(field: Field, value: int, mask: int | None) -> str:
    if field.name == "vlan_vid":
        return _vlan_term(value, mask)
    if mask is None:
        return f"{field.ofctl}={value_text(field.name, value)}"
    if field.name in _PORT_FIELDS:
        return f"{field.ofctl}=0x{value:04x}/0x{mask:04x}"
    return f"{field.ofctl}={value_text(field.name, value)}/{value_text(field.name, mask)}"


def _vlan_term(value: int, mask: int | None) -> str:
    """Exactly 0 means untagged in OpenFlow 1.3 (OFPVID_NONE); ovs-ofctl shows that as bits of the tag."""
    if mask is not None:
        return f"vlan_tci=0x{value:04x}/0x{mask:04x}"
    return f"dl_vlan={value & ~VLAN_PRESENT}" if value & VLAN_PRESENT else "vlan_tci=0x0000/0x1fff"


def value_text(name: str, value: int) -> str:
    """A value (or mask) of a field, spelled as its kind is: address, hexadecimal or decimal."""
    if name in IPV4_FIELDS:
        return str(IPv4Address(value))
    if name in MAC_FIELDS:
        return ":".join(f"{octet:02x}" for octet in value.to_bytes(6, "big"))
    if name == "vlan_tci":
        return f"0x{value:04x}"
    if name == "in_port":
        return _PORT_NAMES.get(value, str(value))
    return f"0x{value:x}" if name in _HEX_FIELDS else str(value)


def bits_text(name: str, first_bit: int, n_bits: int) -> str:
    """A bit range of a field: `NXM_NX_REG0[]` whole, `[5]` one bit, `[0..9]` several."""
    field = FIELDS[name]
    if n_bits == field.action_bits:
        return f"{field.nxm}[]"
    last_bit = first_bit + n_bits - 1
    return f"{field.nxm}[{first_bit}]" if n_bits == 1 else f"{field.nxm}[{first_bit}..{last_bit}]"


def actions_text(actions: tuple[Action, ...]) -> str:
    """An action list, comma-separated; empty text for an empty list."""
    return ",".join(action_text(action) for action in actions)


def action_text(action: Action) -> str:
    """One action.

    Raises
    ------
    PlanError
        An action that ovs-ofctl has no spelling for here.
    """
    writer = _ACTION_TEXT.get(type(action))
    if writer is None:
        raise PlanError(f"action {action!r} has no ovs-ofctl text; add it to row_text.py")
    return writer(action)


def _output(action: Output) -> str:
    name = _PORT_NAMES.get(action.port_no)
    return f"output:{action.port_no}" if name is None else name


def _learn(action: Learn) -> str:
    parts = [f"table={action.table_id}", f"priority={action.priority}", f"cookie=0x{action.cookie:016x}"]
    parts += [f"idle_timeout={action.idle_timeout_s}"] if action.idle_timeout_s else []
    parts += [f"hard_timeout={action.hard_timeout_s}"] if action.hard_timeout_s else []
    parts += [_learn_match(spec) for spec in action.matches]
    parts += [_learn_load(spec) for spec in action.loads]
    return f"learn({','.join(parts)})"


def _learn_match(spec: LearnMatch) -> str:
    field = FIELDS[spec.field]
    if spec.n_bits == field.action_bits:
        return f"{field.ofctl}={value_text(spec.field, spec.value)}"
    return f"{bits_text(spec.field, spec.first_bit, spec.n_bits)}={spec.value}"


def _learn_load(spec: LearnLoad) -> str:
    return f"load:0x{spec.value:x}->{bits_text(spec.field, spec.first_bit, spec.n_bits)}"


def _multipath(action: Multipath) -> str:
    slot_bits = bits_text(action.dst, 0, max(1, (action.n_slots - 1).bit_length()))
    return f"multipath({action.fields},{action.basis},{action.algorithm},{action.n_slots},0,{slot_bits})"


def _load(action: Load) -> str:
    return f"load:0x{action.value:x}->{bits_text(action.field, action.first_bit, action.n_bits)}"


def _move(action: Move) -> str:
    src = bits_text(action.src, action.src_first_bit, action.n_bits)
    return f"move:{src}->{bits_text(action.dst, action.dst_first_bit, action.n_bits)}"


# Values are called with an action of their key's type.
_ACTION_TEXT: dict[type, Callable[[Any], str]] = {
    Output: _output,
    Group: lambda action: f"group:{action.group_id}",
    SetField: lambda action: f"set_field:{value_text(action.field, action.value)}->{action_field_name(action.field)}",
    Load: _load,
    Move: _move,
    PushVlan: lambda _: "push_vlan:0x8100",
    PopVlan: lambda _: "pop_vlan",
    PushMpls: lambda _: "push_mpls:0x8847",
    PopMpls: lambda action: f"pop_mpls:0x{action.eth_type:04x}",
    SetQueue: lambda action: f"set_queue:{action.queue_id}",
    Resubmit: lambda action: f"resubmit(,{action.table_id})",
    Recirculate: lambda action: f"clone(ct(table={action.table_id}))",
    Controller: lambda action: f"controller(id={action.controller_id})" if action.controller_id else "CONTROLLER:65535",
    Multipath: _multipath,
    Learn: _learn,
}


def action_field_name(name: str) -> str:
    """Name of a field in `set_field`."""
    return _SET_FIELD_NAMES.get(name, name)
