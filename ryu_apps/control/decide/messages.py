"""Flow and group messages of commands."""

from __future__ import annotations

from ryu_apps.openflow import encode
from ryu_apps.plan.diff import Command, Operation
from ryu_apps.plan.rows import FlowRow

_FLOW_ENCODERS = {
    Operation.ADD: encode.flow_add,
    Operation.MODIFY: encode.flow_modify,
    Operation.DELETE: encode.flow_delete,
}


def message_of(command: Command) -> bytes:
    """The OpenFlow message that carries out a command."""
    row = command.row
    if isinstance(row, FlowRow):
        return _FLOW_ENCODERS[command.operation](row)
    if command.operation is Operation.DELETE:
        return encode.group_delete(row.group_id)
    return encode.group_add(row) if command.operation is Operation.ADD else encode.group_modify(row)
