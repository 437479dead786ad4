"""Rows and requests as OpenFlow 1.3 messages: pure functions to bytes.

Pieces (actions, match fields) are encoded once and kept, so a plan of tens of thousands of rows costs
a few microseconds a row. Bundles are those of the ONF extension 230, which Open vSwitch speaks in 1.3.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable

from ryu_apps.openflow.actions import encode_actions
from ryu_apps.openflow.fields import encode_match
from ryu_apps.openflow.wire import (
    HEADER_BYTES,
    NO_BUFFER,
    NX_EXPERIMENTER,
    NXT_SET_CONTROLLER_ID,
    OFPG_ANY,
    OFPP_ANY,
    OFPTT_ALL,
    ONF_BUNDLE_ADD,
    ONF_BUNDLE_CONTROL,
    ONF_EXPERIMENTER,
    BundleControl,
    FlowCommand,
    GroupCommand,
    MsgType,
    Multipart,
    WireError,
    header,
    message,
    with_xid,
)
from ryu_apps.plan.ids import OFPP_CONTROLLER
from ryu_apps.plan.rows import GROUP_TYPES, Action, Bucket, FlowRow, GroupRow, Match

BUNDLE_ATOMIC, BUNDLE_ORDERED = 1, 2
SEND_FLOW_REMOVED = 1
_GOTO_TABLE, _WRITE_ACTIONS, _APPLY_ACTIONS = 1, 3, 4
_EXACT_COOKIE = 0xFFFFFFFFFFFFFFFF


def hello(xid: int = 0) -> bytes:
    """Hello with a version bitmap that offers OpenFlow 1.3 alone."""
    return message(MsgType.HELLO, struct.pack("!HHI", 1, 8, 1 << 4), xid)


def echo_request(data: bytes = b"", xid: int = 0) -> bytes:
    """Echo request."""
    return message(MsgType.ECHO_REQUEST, data, xid)


def echo_reply(request: bytes) -> bytes:
    """Reply to an echo request: its data and its transaction id."""
    return message(MsgType.ECHO_REPLY, bytes(request[HEADER_BYTES:]), header(request).xid)


def features_request(xid: int = 0) -> bytes:
    """Ask for the datapath id."""
    return message(MsgType.FEATURES_REQUEST, b"", xid)


def barrier_request(xid: int = 0) -> bytes:
    """Ask for a reply once everything before is done."""
    return message(MsgType.BARRIER_REQUEST, b"", xid)


def set_config(miss_send_len: int = 0xFFFF, flags: int = 0, xid: int = 0) -> bytes:
    """Set fragment handling and miss_send_len.

    A connection to Open vSwitch's management socket hears nothing asynchronous before this, with miss_send_len
    above 0.
    """
    return message(MsgType.SET_CONFIG, struct.pack("!HH", flags, miss_send_len), xid)


def set_controller_id(controller_id: int, xid: int = 0) -> bytes:
    """Name this connection (NXT_SET_CONTROLLER_ID): `Controller(controller_id)` rows send to it alone."""
    body = struct.pack("!II6xH", NX_EXPERIMENTER, NXT_SET_CONTROLLER_ID, controller_id)
    return message(MsgType.EXPERIMENTER, body, xid)


def flow_add(row: FlowRow, xid: int = 0, idle_timeout_s: int = 0) -> bytes:
    """Add a flow; an existing one of the same table, priority and match is replaced, cookie and counters too.

    `idle_timeout_s` is no part of a row: plans hold what stays. 0: the flow does not end for want of packets.
    """
    return _flow_mod(FlowCommand.ADD, row, xid, idle_timeout_s)


def flow_modify(row: FlowRow, xid: int = 0) -> bytes:
    """Give the flow of exactly this table, priority and match new instructions; without one nothing happens."""
    return _flow_mod(FlowCommand.MODIFY_STRICT, row, xid)


def flow_delete(row: FlowRow, xid: int = 0) -> bytes:
    """Delete the flow of exactly this table, priority, match and cookie."""
    head = (row.cookie, _EXACT_COOKIE, row.table_id, FlowCommand.DELETE_STRICT, 0, 0, row.priority)
    return _flow_message(head, OFPP_ANY, 0, encode_match(row.match), b"", xid=xid)


def flow_delete_raw(table_id: int, priority: int, cookie: int, match_bytes: bytes, xid: int = 0) -> bytes:
    """Delete one flow whose match is known only as bytes (`FlowStat.match_bytes`)."""
    head = (cookie, _EXACT_COOKIE, table_id, FlowCommand.DELETE_STRICT, 0, 0, priority)
    return _flow_message(head, OFPP_ANY, 0, match_bytes, b"", xid=xid)


def flows_delete_by_cookie(
    cookie: int,
    cookie_mask: int,
    table_id: int = OFPTT_ALL,
    out_port: int = OFPP_ANY,
    match: Match = (),
    *,
    xid: int = 0,
) -> bytes:
    """Delete every flow whose cookie agrees under the mask (and that outputs to `out_port`, and is inside `match`)."""
    head = (cookie & cookie_mask, cookie_mask, table_id, FlowCommand.DELETE, 0, 0, 0)
    return _flow_message(head, out_port, 0, encode_match(match), b"", xid=xid)


def _flow_mod(command: FlowCommand, row: FlowRow, xid: int, idle_timeout_s: int = 0) -> bytes:
    head = (row.cookie, 0, row.table_id, command, idle_timeout_s, row.hard_timeout_s, row.priority)
    flags = SEND_FLOW_REMOVED if row.send_flow_removed else 0
    return _flow_message(head, OFPP_ANY, flags, encode_match(row.match), encode_instructions(row), xid=xid)


def _flow_message(
    head: tuple[int, ...], out_port: int, flags: int, match_bytes: bytes, instructions: bytes, *, xid: int
) -> bytes:
    """`struct ofp_flow_mod`; `head` is cookie, cookie mask, table, command, idle and hard timeout, priority."""
    try:
        body = struct.pack("!QQBBHHHIIIHxx", *head, NO_BUFFER, out_port, OFPG_ANY, flags)
    except struct.error as error:
        raise WireError(f"flow of table {head[2]}, priority {head[6]} does not fit the wire: {error}") from error
    return message(MsgType.FLOW_MOD, body + match_bytes + instructions, xid)


def encode_instructions(row: FlowRow) -> bytes:
    """Instructions of a flow: apply, write, goto, in the order in which a switch carries them out."""
    parts: list[bytes] = []
    for kind, actions in ((_APPLY_ACTIONS, row.apply_actions), (_WRITE_ACTIONS, row.write_actions)):
        if actions:
            body = encode_actions(actions)
            parts.append(struct.pack("!HH4x", kind, 8 + len(body)) + body)
    if row.goto_table is not None:
        parts.append(struct.pack("!HHB3x", _GOTO_TABLE, 8, row.goto_table))
    return b"".join(parts)


def group_add(row: GroupRow, xid: int = 0) -> bytes:
    """Add a group; the switch refuses an id that exists."""
    return _group_mod(GroupCommand.ADD, row, xid)


def group_modify(row: GroupRow, xid: int = 0) -> bytes:
    """Replace type and buckets of an existing group."""
    return _group_mod(GroupCommand.MODIFY, row, xid)


def group_delete(group_id: int, xid: int = 0) -> bytes:
    """Delete a group, and with it every flow that uses it (OpenFlow 1.3.5 section 6.7)."""
    return message(MsgType.GROUP_MOD, struct.pack("!HBxI", GroupCommand.DELETE, 0, group_id), xid)


def _group_mod(command: GroupCommand, row: GroupRow, xid: int) -> bytes:
    if row.group_type not in GROUP_TYPES:
        raise WireError(f"group {row.group_id} has type {row.group_type!r}; use one of {', '.join(GROUP_TYPES)}")
    head = struct.pack("!HBxI", command, GROUP_TYPES.index(row.group_type), row.group_id)
    return message(MsgType.GROUP_MOD, head + b"".join(map(_bucket, row.buckets)), xid)


def _bucket(bucket: Bucket) -> bytes:
    actions = encode_actions(bucket.actions)
    watch_port = OFPP_ANY if bucket.watch_port is None else bucket.watch_port
    watch_group = OFPG_ANY if bucket.watch_group is None else bucket.watch_group
    return struct.pack("!HHII4x", 16 + len(actions), bucket.weight, watch_port, watch_group) + actions


def packet_out(data: bytes, actions: tuple[Action, ...], in_port: int = OFPP_CONTROLLER, xid: int = 0) -> bytes:
    """Send a packet from the controller through a list of actions."""
    encoded = encode_actions(actions)
    head = struct.pack("!IIH6x", NO_BUFFER, in_port, len(encoded))
    return message(MsgType.PACKET_OUT, head + encoded + data, xid)


def bundle_control(bundle_id: int, kind: BundleControl, flags: int, xid: int = 0) -> bytes:
    """Open, commit or discard a bundle (ONF extension 230)."""
    body = struct.pack("!IIIHH", ONF_EXPERIMENTER, ONF_BUNDLE_CONTROL, bundle_id, kind, flags)
    return message(MsgType.EXPERIMENTER, body, xid)


def bundle_open(bundle_id: int, flags: int = BUNDLE_ATOMIC | BUNDLE_ORDERED, xid: int = 0) -> bytes:
    """Open a bundle: what is added to it becomes visible all at once, or not at all."""
    return bundle_control(bundle_id, BundleControl.OPEN_REQUEST, flags, xid)


def bundle_add(bundle_id: int, inner: bytes, flags: int = BUNDLE_ATOMIC | BUNDLE_ORDERED, xid: int = 0) -> bytes:
    """Put a message into a bundle; inner and outer transaction id must be the same."""
    head = struct.pack("!IIIHH", ONF_EXPERIMENTER, ONF_BUNDLE_ADD, bundle_id, 0, flags)
    return message(MsgType.EXPERIMENTER, head + with_xid(inner, xid), xid)


def bundle_commit(bundle_id: int, flags: int = BUNDLE_ATOMIC | BUNDLE_ORDERED, xid: int = 0) -> bytes:
    """Make the messages of a bundle effective."""
    return bundle_control(bundle_id, BundleControl.COMMIT_REQUEST, flags, xid)


def bundle(
    bundle_id: int, messages: Iterable[bytes], flags: int = BUNDLE_ATOMIC | BUNDLE_ORDERED, xid: int = 0
) -> bytes:
    """A whole bundle in one buffer: open, the messages, commit. The switch answers open and commit, each by `xid`."""
    parts = [bundle_open(bundle_id, flags, xid)]
    parts += [bundle_add(bundle_id, inner, flags, xid) for inner in messages]
    parts.append(bundle_commit(bundle_id, flags, xid))
    return b"".join(parts)


def _multipart(kind: Multipart, body: bytes, xid: int) -> bytes:
    return message(MsgType.MULTIPART_REQUEST, struct.pack("!HH4x", kind, 0) + body, xid)


def flow_stats_request(cookie: int = 0, cookie_mask: int = 0, table_id: int = OFPTT_ALL, xid: int = 0) -> bytes:
    """Ask for the flows whose cookie agrees under the mask, with counters."""
    head = struct.pack("!B3xII4xQQ", table_id, OFPP_ANY, OFPG_ANY, cookie, cookie_mask)
    return _multipart(Multipart.FLOW, head + encode_match(()), xid)


def group_desc_request(xid: int = 0) -> bytes:
    """Ask for all groups."""
    return _multipart(Multipart.GROUP_DESC, b"", xid)


def port_desc_request(xid: int = 0) -> bytes:
    """Ask for all ports and their state."""
    return _multipart(Multipart.PORT_DESC, b"", xid)


def port_stats_request(port_no: int = OFPP_ANY, xid: int = 0) -> bytes:
    """Ask for the counters of one port, or of all."""
    return _multipart(Multipart.PORT_STATS, struct.pack("!I4x", port_no), xid)
