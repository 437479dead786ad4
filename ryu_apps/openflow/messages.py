"""What OpenFlow 1.3 messages say, as values."""

from __future__ import annotations

from dataclasses import dataclass

from ryu_apps.openflow.wire import MsgType
from ryu_apps.plan.rows import FlowRow, GroupRow, Match

_LINK_DOWN, _LIVE = 1, 4  # ofp_port_state


@dataclass(frozen=True, slots=True)
class Features:
    """Who the switch is."""

    dpid: int
    n_tables: int


@dataclass(frozen=True, slots=True)
class FlowStat:
    """One flow of a dump; `row` is None, with a reason, when it is in words that Armor does not speak."""

    row: FlowRow | None
    table_id: int
    priority: int
    cookie: int
    match_bytes: bytes
    n_packets: int
    n_bytes: int
    duration_s: float
    idle_timeout_s: int
    reason: str = ""


@dataclass(frozen=True, slots=True)
class GroupStat:
    """One group of a dump; `row` is None, with a reason, when it is in words that Armor does not speak."""

    group_id: int
    row: GroupRow | None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class PortDesc:
    """A port and its state."""

    port_no: int
    hw_addr: int
    name: str
    config: int
    state: int

    @property
    def live(self) -> bool:
        """Whether the switch would send by it (OFPPS_LIVE: carrier, and BFD where it runs)."""
        return bool(self.state & _LIVE)

    @property
    def link_down(self) -> bool:
        """Whether it has no carrier (OFPPS_LINK_DOWN)."""
        return bool(self.state & _LINK_DOWN)


@dataclass(frozen=True, slots=True)
class PortStat:
    """Counters of a port since the switch started."""

    port_no: int
    rx_packets: int
    tx_packets: int
    rx_bytes: int
    tx_bytes: int
    rx_dropped: int
    tx_dropped: int
    rx_errors: int
    tx_errors: int
    duration_s: float


@dataclass(frozen=True, slots=True)
class PortStatus:
    """A port was added (0), deleted (1) or changed (2)."""

    reason: int
    port: PortDesc

    @property
    def is_deleted(self) -> bool:
        """Whether there is no such port any more (OFPPR_DELETE)."""
        return self.reason == 1

    @property
    def is_live(self) -> bool:
        """Whether the port is live after the change."""
        return self.port.live and not self.is_deleted


@dataclass(frozen=True, slots=True)
class PacketIn:
    """A packet that a row sent to the controller."""

    reason: int
    table_id: int
    cookie: int
    in_port: int
    match: Match
    data: bytes


@dataclass(frozen=True, slots=True)
class FlowRemoved:
    """A flow is gone: idle timeout (0), hard timeout (1), deleted (2), its group deleted (3)."""

    cookie: int
    priority: int
    reason: int
    table_id: int
    match: Match
    n_packets: int
    n_bytes: int


@dataclass(frozen=True, slots=True)
class ErrorMessage:
    """The switch refused a message; `xid` is that message's, `data` its beginning."""

    type: int
    code: int
    xid: int
    data: bytes

    def __str__(self) -> str:
        refused = f"message type {self.data[1]}" if len(self.data) > 1 else "a message"
        return f"the switch refused {refused} (xid {self.xid}): error type {self.type}, code {self.code}"


Entry = FlowStat | GroupStat | PortDesc | PortStat


@dataclass(frozen=True, slots=True)
class DumpPart:
    """One part of a multipart reply; without entries when its kind (`wire.Multipart`) is none that Armor asks for."""

    kind: int
    entries: tuple[Entry, ...]
    more: bool


@dataclass(frozen=True, slots=True)
class Received:
    """A message of a switch, decoded; `value` is None where header and type say everything that Armor uses."""

    kind: int
    xid: int
    value: PacketIn | PortStatus | ErrorMessage | DumpPart | None
    n_bytes: int = 0

    @property
    def ends_request(self) -> bool:
        """Whether nothing more follows to the request of this transaction id."""
        if isinstance(self.value, DumpPart):
            return not self.value.more
        # A refused dump has no reply; a refused flow still gets its barrier reply.
        if isinstance(self.value, ErrorMessage):
            return self.value.data[1:2] == bytes([MsgType.MULTIPART_REQUEST])
        return self.kind == MsgType.BARRIER_REPLY
