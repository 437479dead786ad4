"""Controller connections of a switch by a PMT: one a class, its mark, and which asynchronous messages it gets."""

from __future__ import annotations

import struct
from dataclasses import dataclass

from ryu_apps.openflow.wire import HEADER_BYTES, VERSION
from ryu_apps.plan.rows import ChannelRow
from ryu_apps.pmt.rules import UNMATCHED_CLASS, Carried, PmtError, PolicyMapTable, SetDscp, ToQueue, TrafficType

_SET_ASYNC = 28  # OFPT_SET_ASYNC
_MASKS = struct.Struct("!BBHI6I")

_MAX_QUEUE_CLASSES = 7


def channel_rows(table: PolicyMapTable) -> tuple[ChannelRow, ...]:
    """Controller connections that a switch needs: one a class, the unmatched class first, each with its own DSCP.

    The position of a row is its controller id. Queues have no mark of their own, so they get class selectors from CS7
    downwards in their order.

    Raises
    ------
    PmtError
        More queues than class selectors.
    """
    rows = [ChannelRow("unmatched", 0)]
    for rank, each in enumerate(table.classes):
        if rank >= _MAX_QUEUE_CLASSES and isinstance(each.action, ToQueue):
            raise PmtError(
                f"{len(table.classes)} different queues need as many marks, and class selectors CS7 to CS1 "
                f"are {_MAX_QUEUE_CLASSES}; use fewer queues"
            )
        dscp = each.action.dscp if isinstance(each.action, SetDscp) else (7 - rank) << 3
        rows.append(ChannelRow(f"class{each.class_id}", dscp))
    return tuple(rows)


@dataclass(frozen=True, slots=True)
class AsyncMask:
    """Asynchronous messages that a connection gets: one bit a reason (OpenFlow 1.3.5 sections 7.3.10 and 7.4)."""

    class_id: int
    packet_in: int
    port_status: int
    flow_removed: int


_PACKET_IN_REASONS = 0b011  # no match, action; not invalid TTL, as in the default of Open vSwitch
_PORT_STATUS_REASONS = 0b111  # add, delete, modify
_FLOW_REMOVED_REASONS = 0b1111  # idle, hard, delete, group delete


def async_masks(table: PolicyMapTable) -> tuple[AsyncMask, ...]:
    """Masks of all connections, by class id from 0.

    A packet-in finds its connection by the id in its flow entry, so every connection takes packet-ins. Port status and
    flow removed messages are state that nobody sends again, so one connection takes them: `notified_class`.
    """
    notified = notified_class(table)
    return tuple(
        AsyncMask(number, _PACKET_IN_REASONS, _PORT_STATUS_REASONS, _FLOW_REMOVED_REASONS)
        if number == notified
        else AsyncMask(number, _PACKET_IN_REASONS, 0, 0)
        for number in range(len(table.classes) + 1)
    )


def notified_class(table: PolicyMapTable) -> int:
    """Class whose connection port status and flow removed messages use, while it stands.

    It is the main connection, of whose end an app hears, unless the table lets them use the connection of traffic
    type 3.
    """
    if Carried.NOTIFICATIONS not in table.by_class:
        return main_class(table)
    rules = (rule for rule in table.rules if rule.traffic_type is TrafficType.OTHER)
    return next((table.class_ids[rule.action] for rule in rules), UNMATCHED_CLASS)


def main_class(table: PolicyMapTable) -> int:
    """Class of the main connection, which apps see: that of traffic type 1, else the most urgent one."""
    rules = (rule for rule in table.rules if rule.traffic_type is TrafficType.CONFIGURATION)
    first = table.classes[0].class_id if table.classes else UNMATCHED_CLASS
    return next((table.class_ids[rule.action] for rule in rules), first)


def set_async(mask: AsyncMask, xid: int = 0) -> bytes:
    """OFPT_SET_ASYNC message; a slave connection gets the same, but no flow removed messages, as by default."""
    pairs = (mask.packet_in, mask.packet_in, mask.port_status, mask.port_status, mask.flow_removed, 0)
    return _MASKS.pack(VERSION, _SET_ASYNC, HEADER_BYTES + 24, xid, *pairs)
