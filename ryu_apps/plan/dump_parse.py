"""Rows from the text that ovs-ofctl prints (`dump-flows`, `dump-groups`): the inverse of `row_text`.

It reads every match and action that a plan can hold, and statistics, which it drops. Anything else raises:
a row that was not understood must not look like one that was.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from ipaddress import IPv4Address

from mininet_topos.errors import PlanError
from ryu_apps.plan.fields import FIELDS, IP_UDP, IPV4_FIELDS, MAC_FIELDS, openflow_match
from ryu_apps.plan.ids import VLAN_PRESENT
from ryu_apps.plan.row_text import KEYWORDS, RESERVED_PORTS
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

_NAMES = {spelling: field.name for field in FIELDS.values() for spelling in (field.name, field.ofctl, field.nxm)}
_NAMES |= {
    "ip_src": "ipv4_src",
    "ip_dst": "ipv4_dst",
    "eth_type": "eth_type",
    "nw_ecn": "ip_ecn",
    "dl_vlan": "vlan_vid",
}
_STATISTICS = frozenset({"duration", "n_packets", "n_bytes", "idle_age", "hard_age"})
_FLAGS = frozenset({"send_flow_rem", "reset_counts"})
_BITS = re.compile(r"(?P<name>\w+)(?:\[(?:(?P<first>\d+)(?:\.\.(?P<last>\d+))?)?\])?\Z")
_RECIRCULATION = re.compile(r"\(ct\(table=(\d+)\)\)")
_DSCP_SHIFT = 2  # nw_tos shows the DSCP in the place it has in the TOS octet


def parse_flow(line: str) -> FlowRow:
    """Row of one line of `ovs-ofctl -O OpenFlow13 dump-flows`, or of `row_text.flow_text`.

    Matches on `vlan_tci` become the OpenFlow 1.3 match on `vlan_vid` that means the same, when there is one.

    Raises
    ------
    PlanError
        Something in the line that no plan row can hold.
    """
    try:
        return _flow(line)
    except ValueError as error:
        raise PlanError(f"{line.strip()!r} is no flow that a plan can hold: {error}") from error


def _flow(line: str) -> FlowRow:
    head, _, tail = line.partition("actions=")
    if not tail:
        raise ValueError("it has no actions=")
    options: dict[str, str] = {}
    terms: list[tuple[str, str]] = []
    for term in re.split(r"[,\s]+", head.strip().rstrip(",")):
        name, _, value = term.partition("=")
        if name in ("cookie", "table", "priority", "hard_timeout") or name in _FLAGS:
            options[name] = value
        elif name and name not in _STATISTICS:
            terms.append((name, value))
    apply_actions, write_actions, goto_table = _instructions(tail.strip())
    return FlowRow(
        int(options.get("table", "0")),
        int(options.get("priority", "32768")),
        _match(terms),
        apply_actions,
        write_actions,
        goto_table,
        cookie=int(options.get("cookie", "0"), 0),
        hard_timeout_s=int(options.get("hard_timeout", "0")),
        send_flow_removed="send_flow_rem" in options,
    )


def parse_group(line: str) -> GroupRow:
    """Row of one line of `ovs-ofctl -O OpenFlow13 dump-groups`, or of `row_text.group_text`.

    Raises
    ------
    PlanError
        Something in the line that no plan row can hold.
    """
    try:
        return _group(line)
    except ValueError as error:
        raise PlanError(f"{line.strip()!r} is no group that a plan can hold: {error}") from error


def _group(line: str) -> GroupRow:
    head, *buckets = line.strip().split(",bucket=")
    options = dict(term.split("=", 1) for term in head.split(","))
    if set(options) != {"group_id", "type"}:
        raise ValueError("it has not just an id and a type")
    default_weight = int(options["type"] == "select")  # ovs-ofctl leaves a weight of 1 out
    return GroupRow(int(options["group_id"]), options["type"], tuple(_bucket(text, default_weight) for text in buckets))


def _bucket(text: str, default_weight: int) -> Bucket:
    head, _, actions = text.partition("actions=")
    options = {name: int(value) for name, value in (term.split(":", 1) for term in head.split(",") if term)}
    unknown = options.keys() - {"bucket_id", "weight", "watch_port", "watch_group"}
    if unknown:
        raise ValueError(f"its bucket {text!r} has {min(unknown)!r}")
    return Bucket(
        _actions(actions),
        options.get("watch_port"),
        options.get("watch_group"),
        weight=options.get("weight", default_weight),
    )


def split_list(text: str) -> Iterator[str]:
    """Parts of a comma-separated list; commas inside parentheses do not part."""
    depth, start = 0, 0
    for at, letter in enumerate(text):
        depth += (letter == "(") - (letter == ")")
        if letter == "," and depth == 0:
            yield text[start:at]
            start = at + 1
    yield text[start:]


def _instructions(text: str) -> tuple[tuple[Action, ...], tuple[Action, ...], int | None]:
    apply_actions: list[str] = []
    write_actions: tuple[Action, ...] = ()
    goto_table = None
    for part in split_list(text):
        if part.startswith("write_actions("):
            write_actions = _actions(_inside(part))
        elif part.startswith("goto_table:"):
            goto_table = int(part.removeprefix("goto_table:"))
        else:
            apply_actions.append(part)
    return _actions(",".join(apply_actions)), write_actions, goto_table


def _inside(text: str) -> str:
    """What stands between the outer parentheses."""
    return text[text.index("(") + 1 : text.rindex(")")]


def _number(name: str, text: str) -> int:
    if name in IPV4_FIELDS:
        return int(IPv4Address(text))
    if name in MAC_FIELDS:
        return int(text.replace(":", ""), 16)
    if name == "in_port" and text in RESERVED_PORTS:
        return RESERVED_PORTS[text]
    return int(text, 0)


def _field(spelling: str) -> str:
    name = _NAMES.get(spelling)
    if name is None:
        raise ValueError(f"fields.py does not know {spelling!r}")
    return name


def _match(terms: list[tuple[str, str]]) -> Match:
    found: dict[str, tuple[int, int | None]] = {}
    for spelling, text in terms:
        if spelling in KEYWORDS and not text:
            eth_type, ip_proto = KEYWORDS[spelling]
            found["eth_type"] = (eth_type, None)
            if ip_proto is not None:
                found["ip_proto"] = (ip_proto, None)
        elif spelling == "dl_vlan":
            found["vlan_vid"] = (VLAN_PRESENT | int(text), None)
        elif spelling == "nw_tos":
            found["ip_dscp"] = (int(text) >> _DSCP_SHIFT, None)
        elif spelling in ("tp_src", "tp_dst"):
            protocol = "udp" if found.get("ip_proto", (0, None))[0] == IP_UDP else "tcp"
            found[spelling.replace("tp", protocol)] = _value_and_mask(f"{protocol}_dst", text)
        else:
            found[_field(spelling)] = _value_and_mask(_field(spelling), text)
    if "vlan_pcp" in found:  # which says without a word that there is a tag
        found = {"vlan_tci": (VLAN_PRESENT, VLAN_PRESENT), **found} if "vlan_vid" not in found else found
    return openflow_match(tuple(sorted((name, *given) for name, given in found.items())))


def _value_and_mask(name: str, text: str) -> tuple[int, int | None]:
    value, _, mask = text.partition("/")
    if not mask:
        return _number(name, value), None
    if name in IPV4_FIELDS and mask.isdigit():
        return _number(name, value), 0xFFFFFFFF & ~(0xFFFFFFFF >> int(mask))
    return _number(name, value), _number(name, mask)


def _bits(text: str) -> tuple[str, int, int]:
    """(field, first bit, number of bits) of `NXM_NX_REG0[0..9]` and the like."""
    parts = _BITS.match(text)
    if parts is None:
        raise ValueError(f"{text!r} names no bits of a field")
    name = _field(parts["name"])
    if parts["first"] is None:
        return name, 0, FIELDS[name].action_bits
    first = int(parts["first"])
    return name, first, int(parts["last"] or first) - first + 1


def _actions(text: str) -> tuple[Action, ...]:
    return tuple(_action(part) for part in split_list(text) if part not in ("", "drop"))


def _action(text: str) -> Action:
    name = re.split(r"[:(]", text, maxsplit=1)[0]
    if name in RESERVED_PORTS and name != "CONTROLLER":
        return Output(RESERVED_PORTS[name])
    reader = _ACTIONS.get(name)
    if reader is None:
        raise ValueError(f"action {text!r} is unknown")
    return reader(text[len(name) :].lstrip(":"))


def _load(text: str) -> Load:
    value, _, bits = text.partition("->")
    name, first_bit, n_bits = _bits(bits)
    return Load(name, first_bit, n_bits, int(value, 0))


def _set_field(text: str) -> SetField:
    value, _, name = text.partition("->")
    return SetField(_field(name), _number(_field(name), value))


def _move(text: str) -> Move:
    src, dst = (_bits(part) for part in text.split("->"))
    return Move(src[0], src[1], dst[0], dst[1], dst[2])


def _resubmit(text: str) -> Resubmit:
    return Resubmit(int(_inside(text).removeprefix(",")))


def _recirculate(text: str) -> Recirculate:
    if (found := _RECIRCULATION.fullmatch(text)) is None:
        raise ValueError(f"{text!r} is no recirculation of a copy")
    return Recirculate(int(found[1]))


def _controller(text: str) -> Controller:
    options = dict(part.split("=", 1) for part in _inside(text).split(",")) if "(" in text else {}
    return Controller(int(options.get("id", "0"), 0))


def _multipath(text: str) -> Multipath:
    fields, basis, algorithm, n_slots, _, slot_bits = _inside(text).split(",")
    return Multipath(fields, int(basis), algorithm, int(n_slots), _bits(slot_bits)[0])


def _learn(text: str) -> Learn:
    numbers = {"table": 1, "priority": 32768, "cookie": 0, "idle_timeout": 0, "hard_timeout": 0}
    matches, loads = [], []
    for part in split_list(_inside(text)):
        name, _, value = part.partition("=")
        if name in numbers:
            numbers[name] = int(value, 0)
        elif part.startswith("load:"):
            load = _load(part.removeprefix("load:"))
            loads.append(LearnLoad(load.field, load.first_bit, load.n_bits, load.value))
        else:
            field, first_bit, n_bits = _bits(name)
            matches.append(LearnMatch(field, first_bit, n_bits, _number(field, value)))
    return Learn(
        numbers["table"],
        numbers["priority"],
        numbers["cookie"],
        tuple(matches),
        tuple(loads),
        idle_timeout_s=numbers["idle_timeout"],
        hard_timeout_s=numbers["hard_timeout"],
    )


_ACTIONS: dict[str, Callable[[str], Action]] = {
    "output": lambda text: Output(int(text)),
    "group": lambda text: Group(int(text)),
    "set_field": _set_field,
    "load": _load,
    "move": _move,
    "push_vlan": lambda _: PushVlan(),
    "pop_vlan": lambda _: PopVlan(),
    "push_mpls": lambda _: PushMpls(),
    "pop_mpls": lambda text: PopMpls(int(text, 0)),
    "set_queue": lambda text: SetQueue(int(text)),
    "resubmit": _resubmit,
    "clone": _recirculate,
    "controller": _controller,
    "CONTROLLER": _controller,
    "multipath": _multipath,
    "learn": _learn,
}
