"""What Armor sends and never reads, as values: flow-mods, group-mods, and answers of an emulated switch to bundles."""

from __future__ import annotations

from dataclasses import dataclass

from ryu_apps.openflow import decode
from ryu_apps.openflow.fields import decode_match
from ryu_apps.openflow.wire import (
    ONF_BUNDLE_CONTROL,
    ONF_EXPERIMENTER,
    BundleControl,
    FlowCommand,
    GroupCommand,
    MsgType,
    expect,
)
from ryu_apps.plan.rows import GROUP_TYPES, FlowRow, GroupRow


@dataclass(frozen=True, slots=True)
class FlowMod:
    """A flow-mod as it stands on the wire."""

    command: FlowCommand
    row: FlowRow
    cookie_mask: int


@dataclass(frozen=True, slots=True)
class GroupMod:
    """A group-mod as it stands on the wire (a delete has no buckets)."""

    command: GroupCommand
    row: GroupRow


def decode_flow_mod(given: bytes) -> FlowMod:
    """Flow-mod."""
    body = expect(given, MsgType.FLOW_MOD)
    cookie, cookie_mask, table_id, command, _idle, hard, priority, _buffer, _port, _group, flags = decode._unpack(
        "!QQBBHHHIIIHxx", body
    )
    match, at = decode_match(body, 40)
    row = decode._flow_row(table_id, priority, match, body[at:], (cookie, hard, flags))
    return FlowMod(FlowCommand(command), row, cookie_mask)


def decode_group_mod(given: bytes) -> GroupMod:
    """Group-mod."""
    body = expect(given, MsgType.GROUP_MOD)
    command, kind, group_id = decode._unpack("!HBxI", body)
    return GroupMod(GroupCommand(command), GroupRow(group_id, GROUP_TYPES[kind], decode._buckets(body[8:])))


def decode_bundle_reply(given: bytes) -> BundleControl:
    """What is answered to a bundle control message."""
    experimenter, kind, _bundle_id, control = decode._unpack("!IIIH", expect(given, MsgType.EXPERIMENTER))
    assert (experimenter, kind) == (ONF_EXPERIMENTER, ONF_BUNDLE_CONTROL)
    return BundleControl(control)
