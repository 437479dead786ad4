"""Between the agent's words and OpenFlow bytes: pure.

Every change of rows is one bundle, so the switch goes from the old rows to the new ones at one instant.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from mininet_topos.ports import MAX_PORT_NO
from ovsdb_backup.decide.agent_types import (
    ChangeRows,
    Event,
    FlowsRemoved,
    PacketIn,
    PortStatus,
    Refill,
    ReleasePacket,
    SwitchRead,
)
from ovsdb_backup.decide.packet import read_packet
from ryu_apps.openflow import decode, encode
from ryu_apps.openflow.wire import MsgType, Multipart, WireError, header
from ryu_apps.plan.diff import dependency_levels
from ryu_apps.plan.ids import AGENT_CONTROLLER_ID, Kind, split_cookie
from ryu_apps.plan.recovery_rows import OWNER
from ryu_apps.plan.rows import FlowRow

RELEASE_XID = 1  # the others are counted up from there


def greeting() -> bytes:
    """What the agent sends on a new connection, before it reads the switch.

    Without SET_CONFIG with miss_send_len above 0 a management connection hears neither PORT_STATUS nor PACKET_IN;
    with the controller id it hears only the packets that rows send to that id.
    """
    return (
        encode.hello() + encode.features_request() + encode.set_config() + encode.set_controller_id(AGENT_CONTROLLER_ID)
    )


def read_requests(xid: int) -> bytes:
    """Requests whose answers make a SwitchRead."""
    return b"".join(
        (
            encode.port_desc_request(xid),
            encode.group_desc_request(xid),
            encode.flow_stats_request(xid=xid),
        )
    )


def bytes_of(action: ChangeRows | Refill | ReleasePacket, xid: int) -> bytes:
    """What the switch is sent for an action. Changes of rows are one bundle.

    Raises
    ------
    WireError
        A packet whose handle is not its frame as bytes.
    """
    if isinstance(action, ReleasePacket):
        if not isinstance(action.handle, bytes):
            raise WireError(f"a packet of {type(action.handle).__name__} cannot be released; keep its frame as bytes")
        return encode.packet_out(action.handle, action.actions, xid=RELEASE_XID)
    if isinstance(action, Refill):
        # Groups that others lead to come first.
        groups = [encode.group_add(group) for level in dependency_levels(action.groups) for group in level]
        return encode.bundle(xid, [*groups, *map(encode.flow_add, action.flows)], xid=xid)
    # Rows go first, so that a row may come back with another cookie.
    deletions = map(encode.flow_delete, action.delete)
    return encode.bundle(xid, [*deletions, *map(encode.flow_add, action.install)], xid=xid)


def event_of(message: bytes) -> Event | None:
    """The event that a message stands for; None when it stands for none.

    Raises
    ------
    WireError
        A message that OpenFlow 1.3 does not allow.
    """
    kind = header(message).msg_type
    if kind == MsgType.PORT_STATUS:
        status = decode.decode_port_status(message)
        if status.port.port_no > MAX_PORT_NO:  # the bridge itself, and reserved ports
            return None
        return PortStatus(status.port.port_no, status.is_live)
    if kind == MsgType.PACKET_IN:
        frame = decode.decode_packet_in(message).data
        return PacketIn(read_packet(frame), frame)
    if kind == MsgType.FLOW_REMOVED:
        removed = decode.decode_flow_removed(message)
        parts = split_cookie(removed.cookie)
        if (parts.scheme, parts.kind) != (OWNER, Kind.AGENT):
            return None  # somebody else's row
        return FlowsRemoved((FlowRow(removed.table_id, removed.priority, removed.match, cookie=removed.cookie),))
    return None


@dataclass(frozen=True)
class Reading:
    """A SwitchRead that is under way: what has been answered so far."""

    live_ports: Mapping[int, bool] = field(default_factory=dict)
    flows: tuple[FlowRow, ...] = ()
    group_ids: frozenset[int] = frozenset()
    finished: frozenset[int] = frozenset()

    @property
    def event(self) -> SwitchRead | None:
        """What was read; None while an answer is missing."""
        if not self.finished >= {Multipart.PORT_DESC, Multipart.GROUP_DESC, Multipart.FLOW}:
            return None
        return SwitchRead(self.live_ports, self.flows, self.group_ids)


def read_further(reading: Reading, message: bytes) -> Reading:
    """The reading with one more part of an answer (raises as `event_of`); foreign rows are left out."""
    kind = decode.multipart_kind(message)
    if kind == Multipart.PORT_DESC:
        ports, more = decode.decode_port_desc(message)
        found = {port.port_no: port.live for port in ports if port.port_no <= MAX_PORT_NO}
        # A PORT_STATUS that overtook the answer is newer than it.
        reading = replace(reading, live_ports={**found, **reading.live_ports})
    elif kind == Multipart.GROUP_DESC:
        groups, more = decode.decode_group_desc(message)
        reading = replace(reading, group_ids=reading.group_ids | {group.group_id for group in groups})
    elif kind == Multipart.FLOW:
        flows, more = decode.decode_flow_stats(message)
        reading = replace(reading, flows=reading.flows + tuple(flow.row for flow in flows if flow.row is not None))
    else:
        return reading
    return reading if more else replace(reading, finished=reading.finished | {kind})


def note_port(reading: Reading, status: PortStatus) -> Reading:
    """The reading with a PORT_STATUS that came meanwhile."""
    return replace(reading, live_ports={**reading.live_ports, status.port_no: status.live})
