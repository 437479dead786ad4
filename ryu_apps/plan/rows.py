"""The rows of a rule plan: what one switch must hold, as plain values that compare and hash.

Nothing here is an OpenFlow message object: two equal messages of a controller library are not
equal values. Fields carry the names of OpenFlow 1.3 (OXM) and of the Nicira extensions.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

Match = tuple[tuple[str, int, int | None], ...]
"""Sorted (field, value, mask); mask None = exact. MAC addresses are integers too."""


@dataclass(frozen=True, slots=True)
class Output:
    """Send to a port (`ids.OFPP_IN_PORT`: back where it came from)."""

    port_no: int


@dataclass(frozen=True, slots=True)
class Group:
    """Process by a group."""

    group_id: int


@dataclass(frozen=True, slots=True)
class SetField:
    """Write a whole header field (OXM set-field)."""

    field: str
    value: int


@dataclass(frozen=True, slots=True)
class Load:
    """Write bits `first_bit`..`first_bit + n_bits - 1` of a field (NXAST_REG_LOAD).

    `vlan_tci` of an untagged packet written with bit 12 set pushes an 802.1Q tag; 0 pops it.
    `in_port` set to 0 lets a packet leave by the port it came from.
    """

    field: str
    first_bit: int
    n_bits: int
    value: int


@dataclass(frozen=True, slots=True)
class Move:
    """Copy `n_bits` from one field to another (NXAST_REG_MOVE)."""

    src: str
    src_first_bit: int
    dst: str
    dst_first_bit: int
    n_bits: int


@dataclass(frozen=True, slots=True)
class PushVlan:
    """Push an 802.1Q tag (vid 0, PCP 0)."""


@dataclass(frozen=True, slots=True)
class PopVlan:
    """Remove the outer 802.1Q tag."""


@dataclass(frozen=True, slots=True)
class PushMpls:
    """Push an MPLS label stack entry."""


@dataclass(frozen=True, slots=True)
class PopMpls:
    """Pop an MPLS label stack entry; `eth_type` says what is below."""

    eth_type: int


@dataclass(frozen=True, slots=True)
class SetQueue:
    """Choose the queue for following outputs."""

    queue_id: int


@dataclass(frozen=True, slots=True)
class Resubmit:
    """Look the packet up in another table, then go on here (NXAST_RESUBMIT_TABLE)."""

    table_id: int


@dataclass(frozen=True, slots=True)
class Recirculate:
    """Run a copy of the packet through another table in a pass of its own, then go on here (NXAST_CLONE of NXAST_CT).

    Open vSwitch caches what it decided for each pass alone, so only a packet takes the second pass: translating a
    cached flow anew, as after a failure, ends where the copy is made. The match must say that packets are IP.
    """

    table_id: int


@dataclass(frozen=True, slots=True)
class Controller:
    """Send the whole packet to the controller connection with this id (NXAST_CONTROLLER)."""

    controller_id: int


@dataclass(frozen=True, slots=True)
class Multipath:
    """Hash the flow to a slot 0..`n_slots`-1 and write it to a register (NXAST_MULTIPATH)."""

    fields: str
    basis: int
    algorithm: str
    n_slots: int
    dst: str


@dataclass(frozen=True, slots=True)
class LearnMatch:
    """A learned rule's match: bits of `field` equal the constant `value`."""

    field: str
    first_bit: int
    n_bits: int
    value: int


@dataclass(frozen=True, slots=True)
class LearnLoad:
    """A learned rule's action: load the constant `value` into bits of `field`."""

    field: str
    first_bit: int
    n_bits: int
    value: int


@dataclass(frozen=True, slots=True)
class Learn:
    """Add or refresh a flow when a packet passes (NXAST_LEARN)."""

    table_id: int
    priority: int
    cookie: int
    matches: tuple[LearnMatch, ...]
    loads: tuple[LearnLoad, ...]
    idle_timeout_s: int = 0
    hard_timeout_s: int = 0


Action = (
    Output
    | Group
    | SetField
    | Load
    | Move
    | PushVlan
    | PopVlan
    | PushMpls
    | PopMpls
    | SetQueue
    | Resubmit
    | Recirculate
    | Controller
    | Multipath
    | Learn
)


@dataclass(frozen=True, slots=True)
class FlowRow:
    """One flow entry. An empty action set with no goto drops the packet."""

    table_id: int
    priority: int
    match: Match
    apply_actions: tuple[Action, ...] = ()
    write_actions: tuple[Action, ...] = ()
    goto_table: int | None = None
    cookie: int = 0
    hard_timeout_s: int = 0
    send_flow_removed: bool = False

    @property
    def key(self) -> tuple[int, int, Match]:
        """What makes a flow entry unique in a switch."""
        return self.table_id, self.priority, self.match


@dataclass(frozen=True, slots=True)
class Bucket:
    """One bucket; fast-failover buckets watch a port or a group."""

    actions: tuple[Action, ...]
    watch_port: int | None = None
    watch_group: int | None = None
    weight: int = 0


GROUP_TYPES = ("all", "select", "indirect", "ff")
"""In the order of their numbers (OpenFlow 1.3 section 5.6.1)."""


@dataclass(frozen=True, slots=True)
class GroupRow:
    """One group; `group_type` is one of `GROUP_TYPES`."""

    group_id: int
    group_type: str
    buckets: tuple[Bucket, ...]


@dataclass(frozen=True, slots=True)
class QueueRow:
    """One queue of a port; queues live in OVSDB or in tc, never in OpenFlow 1.3."""

    port_no: int
    queue_id: int
    priority: int
    min_rate_mbps: float | None = None
    max_rate_mbps: float | None = None


@dataclass(frozen=True, slots=True)
class BackupRow:
    """What the switch-local agent needs to know about one (commodity, set of failed links).

    Attributes
    ----------
    destination
        IPv4 destination address.
    source
        IPv4 source address (pair planner), None when the row serves every source.
    tag_id
        Id of the set of failed links; 0 = no failure, i.e. this is the primary.
    out_port
        Port towards the next hop without those links.
    status
        `ids.Status` that the packet gets; 0 for a primary.
    crosses
        Whether this switch's own primary path crosses a link of the set, so that untagged packets
        must take this row once the set is known here.
    replaces
        Tag ids of smaller sets whose path from this switch crosses the rest of this set: packets
        that know only of those take this row too, which ends backtracking after a second failure.
    path
        Numbers of the links that a packet of this row crosses, in order, from this switch on; empty where agents
        are not notified of failures.
    """

    destination: int
    source: int | None
    tag_id: int
    out_port: int
    status: int
    crosses: bool
    replaces: tuple[int, ...] = ()
    path: tuple[int, ...] = ()

    @property
    def key(self) -> tuple[int, int | None, int]:
        """What makes a backup row unique in a switch."""
        return self.destination, self.source, self.tag_id


@dataclass(frozen=True, slots=True)
class ExtensionRow:
    """A packet that knows of set `tag_id` (0: none) and meets failed port `port_no` now knows of `new_tag_id`."""

    tag_id: int
    port_no: int
    new_tag_id: int


@dataclass(frozen=True, slots=True)
class ChannelRow:
    """A controller connection: its class name and the DSCP that its packets carry."""

    name: str
    dscp: int


@dataclass(frozen=True)
class RulePlan:
    """The whole wanted state of one switch.

    `local_ipv4` are the addresses of the hosts behind it; `tag_space` is (links, max_failures), which
    fixes what each tag id means (failure_sets.FailureSets). Rows are sorted where order has no meaning, so that
    equal plans are equal values.
    """

    dpid: int
    node: str
    flows: tuple[FlowRow, ...] = ()
    groups: tuple[GroupRow, ...] = ()
    queues: tuple[QueueRow, ...] = ()
    backups: tuple[BackupRow, ...] = ()
    extensions: tuple[ExtensionRow, ...] = ()
    local_ipv4: tuple[int, ...] = ()
    tag_space: tuple[int, int] = (0, 0)


def match(**fields: int | tuple[int, int]) -> Match:
    """Match value from keyword arguments; a tuple is (value, mask).

    Examples
    --------
    >>> match(ipv4_dst=10, eth_type=0x800)
    (('eth_type', 2048, None), ('ipv4_dst', 10, None))
    """
    return tuple(
        sorted((name, *given) if isinstance(given, tuple) else (name, given, None) for name, given in fields.items())
    )


def sorted_flows(flows: Iterable[FlowRow]) -> tuple[FlowRow, ...]:
    """Flows in canonical order: by table, highest priority first, then match."""
    return tuple(
        sorted(
            flows,
            key=lambda row: (
                row.table_id,
                -row.priority,
                tuple((name, value, -1 if mask is None else mask) for name, value, mask in row.match),
            ),
        )
    )
