"""The words of the switch-local agent: what happens to it (events), what it does (actions), what it knows (state)."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from enum import Enum

from ovsdb_backup.decide.backup_index import BackupIndex
from ovsdb_backup.decide.liveness import DOWN, HELD, NEW, UP, Health
from ovsdb_backup.decide.packet import PacketFields
from ryu_apps.plan.damping import Damping
from ryu_apps.plan.rows import Action, FlowRow, GroupRow
from te_solver.commodity import Commodity

OUTDATED_TAG_TIMEOUT_S = 2  # a switch that keeps sending such packets is asked again this often


class PacketStatus(Enum):
    """Status of a packet (SD-FAST section III.B), read from its tag."""

    REGULAR = "regular"
    CRANKBACK = "crankback"
    RECOVERED = "recovered"


# ---- events


@dataclass(frozen=True)
class PlanLoaded:
    """The backup database has a (new) plan for this switch; an empty index when it has none any more."""

    index: BackupIndex


@dataclass(frozen=True)
class SwitchRead:
    """The switch is connected and was read: liveness of its ports, its flows and its groups."""

    live_ports: Mapping[int, bool]
    flows: tuple[FlowRow, ...] = ()
    group_ids: frozenset[int] = frozenset()


@dataclass(frozen=True)
class Disconnected:
    """The connection to the switch is gone; its ports and rows are unknown until the next SwitchRead."""


@dataclass(frozen=True)
class PortStatus:
    """The switch says whether a port is live (OFPPS_LIVE). `prepared`: what was worked out beforehand, if anything."""

    port_no: int
    live: bool
    prepared: PreparedFailure | None = None


@dataclass(frozen=True)
class SecondSource:
    """OVSDB says whether a port is live (`bfd_status`, `link_state`); `prepared` as in `PortStatus`."""

    port_no: int
    live: bool
    prepared: PreparedFailure | None = None


@dataclass(frozen=True)
class SecondSourceLost:
    """The OVSDB session is gone: what it said about ports counts no more."""


@dataclass(frozen=True)
class PacketIn:
    """A row sent a packet to the agent. `handle` is whatever the shell needs to release it."""

    packet: PacketFields | None
    handle: object = None


@dataclass(frozen=True)
class FlowsRemoved:
    """Rows of the agent are gone from the switch: deleted by anybody, or timed out."""

    rows: tuple[FlowRow, ...]


@dataclass(frozen=True)
class Tick:
    """Nothing but time has passed."""


Event = (
    PlanLoaded
    | SwitchRead
    | Disconnected
    | PortStatus
    | SecondSource
    | SecondSourceLost
    | PacketIn
    | FlowsRemoved
    | Tick
)

# ---- actions


@dataclass(frozen=True)
class ReadSwitch:
    """Read ports, flows and groups, then report SwitchRead."""


@dataclass(frozen=True)
class Refill:
    """Put planned rows back into a switch that has lost them all."""

    groups: tuple[GroupRow, ...]
    flows: tuple[FlowRow, ...]


@dataclass(frozen=True)
class ChangeRows:
    """Install and delete rows, all at one instant (one bundle)."""

    install: tuple[FlowRow, ...]
    delete: tuple[FlowRow, ...] = ()


@dataclass(frozen=True)
class ReleasePacket:
    """Send a punted packet on by these actions."""

    handle: object
    actions: tuple[Action, ...]


@dataclass(frozen=True)
class Log:
    """Something worth a line in the event log."""

    event: str
    fields: Mapping[str, str | int | bool]


AgentAction = ReadSwitch | Refill | ChangeRows | ReleasePacket | Log
Actions = tuple[AgentAction, ...]

# ---- state


class PortEvent(Enum):
    """What may happen to a port; the value is the cause in the event log."""

    FAILED = "local failure"  # a liveness source says that it is not live
    LIVE = "port up"  # both liveness sources say that it is live
    AVOIDED = "own rows avoid its link"  # found in a switch that the agent has just read
    WAIT_OVER = "wait-to-restore is over"
    ROWS_REMOVED = "rows removed"  # of a failed set that holds its link, by somebody else


FAILED, LIVE, AVOIDED, WAIT_OVER, ROWS_REMOVED = PortEvent


@dataclass(frozen=True, slots=True)
class PortHealth(Health):
    """What is known of a port.

    Attributes
    ----------
    switch_live, second_source_live
        What OpenFlow and OVSDB say. Either can fail a port; both are needed to trust it again.
    """

    switch_live: bool = False
    second_source_live: bool = True

    @property
    def is_up(self) -> bool:
        """Whether both liveness sources say that it is live."""
        return self.switch_live and self.second_source_live

    @property
    def event(self) -> PortEvent:
        """What the sources say together."""
        return LIVE if self.is_up else FAILED


_NONE: frozenset[int] = frozenset()
_NOT_LIVE = DOWN, NEW

Rules = Mapping[Commodity, Mapping[int, FlowRow]]
"""Rows of the agent in the switch: by commodity, and by the tag id that the row matches (0: untagged)."""


@dataclass(frozen=True)
class AgentState:
    """All that the agent knows.

    Attributes
    ----------
    damping
        How long a port must be up before it is trusted.
    hard_timeout_s
        Life of the agent's rows (0: until removed).
    index
        The plan; empty until one is loaded.
    is_connected
        Whether the switch is connected.
    known
        S of Algorithm 2, per commodity and failed set: tags that punted packets carried and that were acted
        upon. A commodity to a local host stands for flows whose reverse path was looked after.
    outdated
        Tags that name a link of this switch which is up: such packets are passed on for a while, nothing more.
    removing
        Removal notices to expect for rows that the agent deleted itself, by (commodity, tag id, cookie).
    version
        Changes with everything that a port's failure would depend on.
    """

    damping: Damping = field(default_factory=Damping)
    hard_timeout_s: int = 0
    index: BackupIndex = field(default_factory=BackupIndex)
    is_connected: bool = False
    ports: Mapping[int, PortHealth] = field(default_factory=dict)
    known: Mapping[Commodity, frozenset[int]] = field(default_factory=dict)
    outdated: Mapping[Commodity, frozenset[int]] = field(default_factory=dict)
    rules: Rules = field(default_factory=dict)
    removing: Mapping[tuple[Commodity, int, int], int] = field(default_factory=dict)
    version: int = 0

    @property
    def down_ports(self) -> frozenset[int]:
        """Ports that are not live."""
        return frozenset(number for number, health in self.ports.items() if health.state in _NOT_LIVE)

    @property
    def unused_ports(self) -> frozenset[int]:
        """Ports that are not live or wait to be trusted again."""
        return frozenset(number for number, health in self.ports.items() if health.state is not UP)

    @property
    def held_ports(self) -> frozenset[int]:
        """Ports that are live but wait to be trusted again."""
        return frozenset(number for number, health in self.ports.items() if health.state is HELD)

    def ports_of(self, tag_ids: AbstractSet[int]) -> dict[int, PortHealth]:
        """Known ports whose links are in one of these failed sets."""
        tags_of_port = self.index.tags_of_port
        return {number: health for number, health in self.ports.items() if tags_of_port.get(number, _NONE) & tag_ids}


@dataclass(frozen=True)
class PreparedFailure:
    """What the failure of a port would change, worked out before it fails (valid for one state version)."""

    version: int
    port_no: int
    changed: Rules


Result = tuple[AgentState, Actions]
