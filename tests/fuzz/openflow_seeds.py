"""Messages to begin fuzzing with: what a switch says, and what PSO rewrites on the way to and from a switch."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator

from experiments.loadgen.decide.switch import Part, multipart_reply
from ryu_apps.control.priority.decide.channels import controller_ids
from ryu_apps.control.priority.decide.divert import MISS_TABLE, divert, sorting_rows
from ryu_apps.openflow import encode
from ryu_apps.openflow.fields import encode_match
from ryu_apps.openflow.wire import MsgType, message
from ryu_apps.plan.ids import OFPP_CONTROLLER, Kind, cookie
from ryu_apps.plan.recovery_rows import OWNER
from ryu_apps.plan.rows import Controller, FlowRow, GroupRow, Output
from ryu_apps.pmt.rules import PolicyMapTable
from tests.openflow.decode_sent import decode_flow_mod
from tests.pmt.messages import valid_messages

# Types that a switch sends (OpenFlow 1.3.5 section 7.1.1).
_OF_A_SWITCH = frozenset((0, 1, 2, 3, 4, 6, 8, 10, 11, 12, 19, 21, 23, 25, 27))
_ASKING = (
    FlowRow(2, 0, (), (Output(OFPP_CONTROLLER),), cookie=7),
    FlowRow(0, 9, (("eth_type", 0x0806, None),), (Output(3), Output(OFPP_CONTROLLER))),
    FlowRow(0, 0, (), (Controller(0),), goto_table=1),
)


def of_a_switch(flows: Iterable[FlowRow], groups: Iterable[GroupRow]) -> Iterator[bytes]:
    """One message of each type that a switch sends, statistics of rows, and the removal of a row of an agent."""
    yield from (each for each in valid_messages() if each[1] in _OF_A_SWITCH)
    yield _flow_stats(flows)
    yield multipart_reply(Part.GROUP_DESC, b"".join(map(_group, groups)))
    yield multipart_reply(Part.PORT_STATS, struct.pack("!I4x12QII", 1, *range(12), 3, 4))
    numbers = struct.pack("!QHBBIIHHQQ", cookie(OWNER, Kind.AGENT), 5, 0, 0, 1, 0, 0, 0, 7, 700)
    yield message(MsgType.FLOW_REMOVED, numbers + encode_match((("in_port", 1, None),)))


def of_pso(table: PolicyMapTable) -> Iterator[bytes]:
    """Messages of every type, rows by which an app asks for packets, and what comes back once they are diverted."""
    yield from valid_messages()
    for row in _ASKING:
        asking = encode.flow_add(row)
        yield from (asking, encode.bundle_add(3, asking))
    diverted = [decode_flow_mod(divert(encode.flow_add(row))[0]).row for row in _ASKING]
    sorting = sorting_rows(table, controller_ids(table, (2, 3)))
    yield _flow_stats((*sorting, *diverted))
    plain = next(each for each in valid_messages() if each[1] == MsgType.PACKET_IN)
    yield plain[:15] + bytes([MISS_TABLE]) + sorting[0].cookie.to_bytes(8, "big") + plain[24:]


def _flow_stats(rows: Iterable[FlowRow]) -> bytes:
    return multipart_reply(Part.FLOW, b"".join(map(_flow, rows)))


def _flow(row: FlowRow) -> bytes:
    """A flow as a switch lists it: the flow-mod's match and instructions behind numbers of its own."""
    rest = encode.flow_add(row)[48:]
    numbers = (48 + len(rest), row.table_id, 1, 0, row.priority, 0, 0, 0, row.cookie, 7, 700)
    return struct.pack("!HBxIIHHHH4xQQQ", *numbers) + rest


def _group(row: GroupRow) -> bytes:
    """A group as a switch lists it: its length, then the group-mod's type, id and buckets."""
    rest = encode.group_add(row)[10:]
    return struct.pack("!H", 2 + len(rest)) + rest
