"""Actions on the wire: every action of plan/rows.py to bytes and back.

Each action has one encoder and one decoder, side by side, registered in a table. Sources: OpenFlow
1.3.5 section 7.2.5; Open vSwitch's ovs-actions(7) for the Nicira extensions (experimenter 0x2320).
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from ryu_apps.openflow.action_bytes import Kind, Nx, action_bytes, bit_range, nicira_bytes, unpack
from ryu_apps.openflow.fields import (
    decode_oxms,
    decode_subfield,
    encode_match_field,
    encode_subfield,
    field_named,
)
from ryu_apps.openflow.wire import NX_EXPERIMENTER, WireError
from ryu_apps.plan.fields import ETH_MPLS, ETH_VLAN
from ryu_apps.plan.rows import (
    Action,
    Controller,
    Group,
    Learn,
    LearnLoad,
    LearnMatch,
    Load,
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

_WHOLE_PACKET = 0xFFFF
_REASON_ACTION = 1
_OFPP_IN_PORT_16 = 0xFFF8


HASH_FIELDS = (
    "eth_src",
    "symmetric_l4",
    "symmetric_l3l4",
    "symmetric_l3l4+udp",
    "nw_src",
    "nw_dst",
    "symmetric_l3",
)
HASH_ALGORITHMS = ("modulo_n", "hash_threshold", "hrw", "iter_hash")


def _output(action: Output) -> bytes:
    return action_bytes(Kind.OUTPUT, struct.pack("!IH", action.port_no, _WHOLE_PACKET))


def _read_output(body: bytes) -> Action:
    return Output(unpack("!IH", body)[0])


def _group(action: Group) -> bytes:
    return action_bytes(Kind.GROUP, struct.pack("!I", action.group_id))


def _read_group(body: bytes) -> Action:
    return Group(unpack("!I", body)[0])


def _set_field(action: SetField) -> bytes:
    return action_bytes(Kind.SET_FIELD, encode_match_field(action.field, action.value, None))


def _read_set_field(body: bytes) -> Action:
    length = 4 + unpack("!HBB", body)[2]
    ((name, value, mask),) = decode_oxms(bytes(body[:length]))
    if mask is not None:
        raise WireError(f"a set-field of {name} has a mask, which OpenFlow 1.3 does not know")
    return SetField(name, value)


def _push_vlan(_marker: PushVlan) -> bytes:
    return action_bytes(Kind.PUSH_VLAN, struct.pack("!H", ETH_VLAN))


def _read_push_vlan(body: bytes) -> Action:
    if unpack("!H", body)[0] != ETH_VLAN:
        raise WireError("a push_vlan of another type than 0x8100 is none that Armor uses")
    return PushVlan()


def _pop_vlan(_marker: PopVlan) -> bytes:
    return action_bytes(Kind.POP_VLAN, b"")


def _read_pop_vlan(_body: bytes) -> Action:
    return PopVlan()


def _push_mpls(_marker: PushMpls) -> bytes:
    return action_bytes(Kind.PUSH_MPLS, struct.pack("!H", ETH_MPLS))


def _read_push_mpls(body: bytes) -> Action:
    if unpack("!H", body)[0] != ETH_MPLS:
        raise WireError("a push_mpls of another type than 0x8847 is none that Armor uses")
    return PushMpls()


def _pop_mpls(action: PopMpls) -> bytes:
    return action_bytes(Kind.POP_MPLS, struct.pack("!H", action.eth_type))


def _read_pop_mpls(body: bytes) -> Action:
    return PopMpls(unpack("!H", body)[0])


def _set_queue(action: SetQueue) -> bytes:
    return action_bytes(Kind.SET_QUEUE, struct.pack("!I", action.queue_id))


def _read_set_queue(body: bytes) -> Action:
    return SetQueue(unpack("!I", body)[0])


def _load(action: Load) -> bytes:
    if action.value >> action.n_bits:
        raise WireError(f"load of {action.value:#x} does not fit {action.n_bits} bits of {action.field}")
    bits = bit_range(action.field, action.first_bit, action.n_bits)
    return nicira_bytes(
        Nx.REG_LOAD, struct.pack("!H", bits) + encode_subfield(action.field) + struct.pack("!Q", action.value)
    )


def _read_load(body: bytes) -> Action:
    bits, _subfield, value = unpack("!HIQ", body)
    return Load(decode_subfield(body[2:6]), bits >> 6, (bits & 0x3F) + 1, value)


def _move(action: Move) -> bytes:
    for name, first_bit in ((action.src, action.src_first_bit), (action.dst, action.dst_first_bit)):
        bit_range(name, first_bit, action.n_bits)
    numbers = struct.pack("!HHH", action.n_bits, action.src_first_bit, action.dst_first_bit)
    return nicira_bytes(Nx.REG_MOVE, numbers + encode_subfield(action.src) + encode_subfield(action.dst))


def _read_move(body: bytes) -> Action:
    n_bits, src_first_bit, dst_first_bit, _src, _dst = unpack("!HHHII", body)
    return Move(decode_subfield(body[6:10]), src_first_bit, decode_subfield(body[10:14]), dst_first_bit, n_bits)


def _resubmit(action: Resubmit) -> bytes:
    return nicira_bytes(Nx.RESUBMIT_TABLE, struct.pack("!HB3x", _OFPP_IN_PORT_16, action.table_id))


def _read_resubmit(body: bytes) -> Action:
    in_port, table_id = unpack("!HB", body)
    if in_port != _OFPP_IN_PORT_16:
        raise WireError(f"a resubmit that changes the in_port to {in_port} is none that Armor uses")
    return Resubmit(table_id)


def _recirculate(action: Recirculate) -> bytes:
    # Without flags, zone, helper and actions of its own: nothing is committed, the packet only comes to another table.
    ct = nicira_bytes(Nx.CT, struct.pack("!HIHB3xH", 0, 0, 0, action.table_id, 0))
    return nicira_bytes(Nx.CLONE, bytes(6) + ct)


def _read_recirculate(body: bytes) -> Action:
    kind, length, vendor, subtype, *options, table_id, helper = unpack("!HHIHHIHB3xH", body[6:])
    expected = Kind.EXPERIMENTER, len(body) - 6, NX_EXPERIMENTER, Nx.CT
    if (kind, length, vendor, subtype) != expected or any((*options, helper)):
        raise WireError("a clone that does more than recirculate is none that Armor uses")
    return Recirculate(table_id)


def _controller(action: Controller) -> bytes:
    return nicira_bytes(Nx.CONTROLLER, struct.pack("!HHBx", _WHOLE_PACKET, action.controller_id, _REASON_ACTION))


def _read_controller(body: bytes) -> Action:
    return Controller(unpack("!HHB", body)[1])


def _multipath(action: Multipath) -> bytes:
    if action.fields not in HASH_FIELDS or action.algorithm not in HASH_ALGORITHMS:
        raise WireError(
            f"multipath({action.fields}, {action.algorithm}) is unknown; "
            f"fields: {', '.join(HASH_FIELDS)}; algorithms: {', '.join(HASH_ALGORITHMS)}"
        )
    head = struct.pack("!HH2x", HASH_FIELDS.index(action.fields), action.basis)
    how = struct.pack("!HHI2x", HASH_ALGORITHMS.index(action.algorithm), action.n_slots - 1, 0)
    bits = bit_range(action.dst, 0, field_named(action.dst).n_bits)
    return nicira_bytes(Nx.MULTIPATH, head + how + struct.pack("!H", bits) + encode_subfield(action.dst))


def _read_multipath(body: bytes) -> Action:
    fields, basis, algorithm, max_link, _arg, _bits_of_dst, _dst = unpack("!HH2xHHI2xHI", body)
    if fields >= len(HASH_FIELDS) or algorithm >= len(HASH_ALGORITHMS):
        raise WireError(f"a multipath over fields {fields} by algorithm {algorithm} is none that Armor uses")
    return Multipath(HASH_FIELDS[fields], basis, HASH_ALGORITHMS[algorithm], max_link + 1, decode_subfield(body[18:22]))


# A learned flow's parts: bit 13 "the source is a constant", bits 12..11 what it becomes, the rest n_bits.
_LEARN_CONSTANT, _LEARN_MATCH, _LEARN_LOAD, _LEARN_BITS = 1 << 13, 0 << 11, 1 << 11, 0x7FF


def _learn_part(part: LearnMatch | LearnLoad) -> bytes:
    kind = _LEARN_MATCH if isinstance(part, LearnMatch) else _LEARN_LOAD
    bit_range(part.field, part.first_bit, part.n_bits)
    if part.value >> part.n_bits:
        raise WireError(f"learn of {part.value:#x} does not fit {part.n_bits} bits of {part.field}")
    constant = part.value.to_bytes((part.n_bits + 15) // 16 * 2, "big")
    head = struct.pack("!H", _LEARN_CONSTANT | kind | part.n_bits)
    return head + constant + encode_subfield(part.field) + struct.pack("!H", part.first_bit)


def _learn(action: Learn) -> bytes:
    head = struct.pack(
        "!HHHQHBxHH",
        action.idle_timeout_s,
        action.hard_timeout_s,
        action.priority,
        action.cookie,
        0,
        action.table_id,
        0,
        0,
    )
    parts: tuple[LearnMatch | LearnLoad, ...] = (*action.matches, *action.loads)
    return nicira_bytes(Nx.LEARN, head + b"".join(map(_learn_part, parts)))


_LEARN_HEAD_BYTES = struct.calcsize("!HHHQHBxHH")


def _read_learn(body: bytes) -> Action:
    idle, hard, priority, cookie, flags, table_id, fin_idle, fin_hard = unpack("!HHHQHBxHH", body)
    if flags or fin_idle or fin_hard:
        raise WireError(f"a learn with flags {flags:#x} or fin timeouts is none that Armor uses")
    matches: list[LearnMatch] = []
    loads: list[LearnLoad] = []
    rest = body[_LEARN_HEAD_BYTES:]
    while len(rest) >= 2 and rest[:2] != b"\0\0":
        part, rest = _read_learn_part(rest)
        if isinstance(part, LearnMatch):
            matches.append(part)
        else:
            loads.append(part)
    return Learn(table_id, priority, cookie, tuple(matches), tuple(loads), idle, hard)


def _read_learn_part(rest: bytes) -> tuple[LearnMatch | LearnLoad, bytes]:
    (head,) = unpack("!H", rest)
    n_bits = head & _LEARN_BITS
    kind = head & ~_LEARN_BITS
    if kind not in (_LEARN_CONSTANT | _LEARN_MATCH, _LEARN_CONSTANT | _LEARN_LOAD):
        raise WireError(f"a learn part of header {head:#06x} is none that Armor uses")
    field_at = 2 + (n_bits + 15) // 16 * 2
    end = field_at + 6
    if len(rest) < end:
        raise WireError("a learn action is truncated inside a part")
    value = int.from_bytes(rest[2:field_at], "big")
    name = decode_subfield(rest[field_at : field_at + 4])
    first_bit = int.from_bytes(rest[field_at + 4 : end], "big")
    made = LearnMatch if kind == _LEARN_CONSTANT | _LEARN_MATCH else LearnLoad
    return made(name, first_bit, n_bits, value), rest[end:]


_ENCODERS: dict[type, Callable[[Any], bytes]] = {
    Output: _output,
    Group: _group,
    SetField: _set_field,
    Load: _load,
    Move: _move,
    PushVlan: _push_vlan,
    PopVlan: _pop_vlan,
    PushMpls: _push_mpls,
    PopMpls: _pop_mpls,
    SetQueue: _set_queue,
    Resubmit: _resubmit,
    Recirculate: _recirculate,
    Controller: _controller,
    Multipath: _multipath,
    Learn: _learn,
}
_DECODERS: dict[int, Callable[[bytes], Action]] = {
    Kind.OUTPUT: _read_output,
    Kind.GROUP: _read_group,
    Kind.SET_FIELD: _read_set_field,
    Kind.PUSH_VLAN: _read_push_vlan,
    Kind.POP_VLAN: _read_pop_vlan,
    Kind.PUSH_MPLS: _read_push_mpls,
    Kind.POP_MPLS: _read_pop_mpls,
    Kind.SET_QUEUE: _read_set_queue,
}
_NICIRA_DECODERS: dict[int, Callable[[bytes], Action]] = {
    Nx.REG_LOAD: _read_load,
    Nx.REG_MOVE: _read_move,
    Nx.RESUBMIT_TABLE: _read_resubmit,
    Nx.CLONE: _read_recirculate,
    Nx.CONTROLLER: _read_controller,
    Nx.MULTIPATH: _read_multipath,
    Nx.LEARN: _read_learn,
}


@lru_cache(maxsize=1 << 16)
def encode_action(action: Action) -> bytes:
    """Bytes of one action, padded to 8.

    Raises
    ------
    WireError
        A field, bit range or value that the wire cannot carry.
    """
    try:
        return _ENCODERS[type(action)](action)
    except struct.error as error:
        raise WireError(f"{action} does not fit its action on the wire: {error}") from error


def encode_actions(actions: tuple[Action, ...]) -> bytes:
    """Bytes of an action list."""
    return b"".join(encode_action(action) for action in actions)


@lru_cache(maxsize=1 << 16)
def decode_actions(body: bytes) -> tuple[Action, ...]:
    """Actions from the bytes of an action list.

    Raises
    ------
    WireError
        Cut off, or an action that Armor does not use.
    """
    actions: list[Action] = []
    at = 0
    while at < len(body):
        kind, length = unpack("!HH", body[at:])
        if length < 8 or length % 8 or at + length > len(body):
            raise WireError(f"action type {kind} has length {length}, which does not fit its list")
        actions.append(_decode_action(kind, body[at + 4 : at + length]))
        at += length
    return tuple(actions)


def _decode_action(kind: int, body: bytes) -> Action:
    if kind != Kind.EXPERIMENTER:
        decoder = _DECODERS.get(kind)
        if decoder is None:
            raise WireError(f"action type {kind} is none that Armor uses")
        return decoder(body)
    experimenter, subtype = unpack("!IH", body)
    decoder = _NICIRA_DECODERS.get(subtype) if experimenter == NX_EXPERIMENTER else None
    if decoder is None:
        raise WireError(f"experimenter action {experimenter:#x}/{subtype} is none that Armor uses")
    return decoder(body[6:])
