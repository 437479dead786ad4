"""What a plan does to one packet: the readable oracle, itself held to Open vSwitch's `ofproto/trace`.

The interpreter never re-implements Open vSwitch's hashes: the slot that `multipath` or a select
group would choose is an argument. An `output` to a failed port is still an output here; the network
walk (walk.py) knows which links carry nothing. What is not modelled: meters, timeouts, TTL, what ARP says.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any

from mininet_topos.errors import PlanError
from ryu_apps.plan import rows as row_types
from ryu_apps.plan.ids import OFPP_IN_PORT, VLAN_PRESENT
from ryu_apps.plan.rows import Action, FlowRow, GroupRow, Match, RulePlan

MAX_DEPTH = 64  # Open vSwitch's limit on nested resubmits and groups
ETH_TYPE_MPLS = 0x8847
_PCP_SHIFT, _VID_BITS = 13, 0x1FFF
_PORT_FIELDS = {"tcp": 6, "udp": 17, "sctp": 132}


@dataclass(frozen=True, slots=True)
class Packet:
    """Header fields of a packet. `vlan_tci` 0 = untagged; `mpls` is ((label, tc), ...), top first."""

    ipv4_src: int = 0
    ipv4_dst: int = 0
    eth_type: int = 0x0800
    ip_proto: int = 17
    l4_src: int = 0
    l4_dst: int = 0
    vlan_tci: int = 0
    mpls: tuple[tuple[int, int], ...] = ()
    eth_dst: int = 0
    ip_dscp: int = 0
    ip_ecn: int = 0


@dataclass(frozen=True, slots=True)
class SwitchResult:
    """What one switch does with one packet.

    Attributes
    ----------
    outputs : tuple of (port_no, Packet, queue_id)
    punts : tuple of (controller_id, Packet)
    learned
        Rows that `learn` actions added or refreshed, in order.
    rules
        Rows that matched, in order.
    """

    outputs: tuple[tuple[int, Packet, int], ...]
    punts: tuple[tuple[int, Packet], ...]
    learned: tuple[FlowRow, ...]
    rules: tuple[FlowRow, ...]

    @property
    def is_drop(self) -> bool:
        """Nothing left the switch, not even to a controller."""
        return not self.outputs and not self.punts


class SwitchModel:
    """The planned rows of one switch, indexed for look-up.

    Rows are grouped by what bits they match on (as Open vSwitch's classifier does), so that a
    look-up costs one dictionary access per group of rows.
    """

    def __init__(self, plan: RulePlan) -> None:
        self.plan = plan
        self.groups: dict[int, GroupRow] = {group.group_id: group for group in plan.groups}
        self._tables: dict[int, list[_Subtable]] = {}
        for row in plan.flows:
            self._subtable(row).add(row)
        for subtables in self._tables.values():
            subtables.sort(key=lambda subtable: -subtable.best_priority)

    def lookup(self, table_id: int, fields: _Fields, extra_rows: tuple[FlowRow, ...] = ()) -> FlowRow | None:
        """Highest-priority row of a table that matches, or None (table miss); extra rows win ties."""
        best: FlowRow | None = None
        for row in extra_rows:
            better = best is None or row.priority > best.priority
            if row.table_id == table_id and better and fields.meets(row.match):
                best = row
        for subtable in self._tables.get(table_id, ()):
            if best is not None and best.priority >= subtable.best_priority:
                break
            found = subtable.find(fields)
            if found is not None and (best is None or found.priority > best.priority):
                best = found
        return best

    def _subtable(self, row: FlowRow) -> _Subtable:
        signature = tuple((name, mask) for name, _, mask in row.match)
        subtables = self._tables.setdefault(row.table_id, [])
        for subtable in subtables:
            if subtable.signature == signature:
                return subtable
        subtables.append(_Subtable(signature))
        return subtables[-1]


def interpret_switch(
    model: SwitchModel,
    packet: Packet,
    in_port: int,
    live_ports: frozenset[int],
    extra_rows: tuple[FlowRow, ...] = (),
    *,
    slot: int = 0,
) -> SwitchResult:
    """Walk one packet through one switch.

    Parameters
    ----------
    in_port
        Port that the packet came in by.
    live_ports
        Ports that fast-failover buckets see as live.
    extra_rows
        Rows that came since (learned, or moved in by the agent), beside the plan's.
    slot
        Hash slot for `multipath` (0..n_slots-1) and for select groups (index into the live buckets, weighted).

    Raises
    ------
    PlanError
        The plan nests deeper than Open vSwitch follows, or names a group that does not exist.
    """
    run = _Run(model, live_ports, extra_rows, slot)
    fields = _Fields(packet, in_port, in_port)
    run.table(0, fields, 0)
    run.actions(run.action_set, fields, 0)
    return SwitchResult(tuple(run.outputs), tuple(run.punts), tuple(chain.from_iterable(run.passes)), tuple(run.rules))


@dataclass(slots=True)
class _Fields:
    """Header fields and registers while a packet is on its way through the tables."""

    packet: Packet
    in_port: int
    true_in_port: int
    queue_id: int = 0
    registers: dict[str, int] = field(default_factory=dict)

    def copy(self) -> _Fields:
        return _Fields(self.packet, self.in_port, self.true_in_port, self.queue_id, dict(self.registers))

    def meets(self, match: Match) -> bool:
        return all(self.read(name) & (-1 if mask is None else mask) == value for name, value, mask in match)

    def read(self, name: str) -> int:
        packet = self.packet
        if name == "in_port":
            return self.in_port
        if name == "vlan_vid":
            return packet.vlan_tci & _VID_BITS if packet.vlan_tci & VLAN_PRESENT else 0
        if name == "vlan_pcp":
            return packet.vlan_tci >> _PCP_SHIFT
        if name == "eth_type":
            return ETH_TYPE_MPLS if packet.mpls else packet.eth_type
        if name in ("mpls_label", "mpls_tc"):
            return packet.mpls[0][name == "mpls_tc"] if packet.mpls else 0
        if name == "mpls_bos":
            return len(packet.mpls) == 1
        if name.startswith("reg"):
            return self.registers.get(name, 0)
        if name.startswith("arp_"):
            return 0  # fields that no packet of this model has; the EtherType beside them decides
        protocol, _, end = name.partition("_")
        if protocol in _PORT_FIELDS and end in ("src", "dst"):
            return packet.l4_dst if end == "dst" else packet.l4_src
        return int(getattr(packet, name))

    def write(self, name: str, value: int) -> None:
        packet = self.packet
        if name == "in_port":
            self.in_port = value
        elif name.startswith("reg"):
            self.registers[name] = value
        elif name == "vlan_vid":
            self.packet = replace(packet, vlan_tci=packet.vlan_tci & ~_VID_BITS | VLAN_PRESENT | value & 0xFFF)
        elif name == "vlan_pcp":
            self.packet = replace(packet, vlan_tci=packet.vlan_tci & _VID_BITS | value << _PCP_SHIFT)
        elif name == "vlan_tci":
            self.packet = replace(packet, vlan_tci=value if value & VLAN_PRESENT else 0)
        elif name in ("mpls_label", "mpls_tc"):
            label, traffic_class = packet.mpls[0]
            top = (value, traffic_class) if name == "mpls_label" else (label, value)
            self.packet = replace(packet, mpls=(top, *packet.mpls[1:]))
        else:
            changed: dict[str, Any] = {name: value}
            self.packet = replace(packet, **changed)


class _Subtable:
    """Rows of one table that match on the same bits: one dictionary look-up finds the best."""

    def __init__(self, signature: tuple[tuple[str, int | None], ...]) -> None:
        self.signature = signature
        self.best_priority = -1
        self._rows: dict[tuple[int, ...], FlowRow] = {}

    def add(self, row: FlowRow) -> None:
        key = tuple(value if mask is None else value & mask for _, value, mask in row.match)
        held = self._rows.get(key)
        if held is None or row.priority > held.priority:
            self._rows[key] = row
        self.best_priority = max(self.best_priority, row.priority)

    def find(self, fields: _Fields) -> FlowRow | None:
        key = tuple([fields.read(name) if mask is None else fields.read(name) & mask for name, mask in self.signature])
        return self._rows.get(key)


class _Run:
    """One packet's way through one switch; collects what comes out."""

    def __init__(
        self, model: SwitchModel, live_ports: frozenset[int], extra_rows: tuple[FlowRow, ...], slot: int
    ) -> None:
        self.model, self.live_ports, self.extra_rows, self.slot = model, live_ports, extra_rows, slot
        self.action_set: tuple[Action, ...] = ()
        self.outputs: list[tuple[int, Packet, int]] = []
        self.punts: list[tuple[int, Packet]] = []
        self.learned: list[FlowRow] = []
        self.passes = [self.learned]
        self.rules: list[FlowRow] = []

    def table(self, table_id: int, fields: _Fields, depth: int) -> None:
        """Run a table and those it goes on to."""
        self._check_depth(depth)
        following: int | None = table_id
        while following is not None:
            row = self.model.lookup(following, fields, self.extra_rows)
            if row is None:
                return
            self.rules.append(row)
            self.actions(row.apply_actions, fields, depth)
            self.action_set = merge_action_set(self.action_set, row.write_actions)
            following = row.goto_table

    def actions(self, actions: Iterable[Action], fields: _Fields, depth: int) -> None:
        for action in actions:
            self._action(action, fields, depth)

    def _action(self, action: Action, fields: _Fields, depth: int) -> None:
        if isinstance(action, row_types.Output):
            self._output(action.port_no, fields)
        elif isinstance(action, row_types.Group):
            self._group(action.group_id, fields, depth + 1)
        elif isinstance(action, row_types.Resubmit):
            self.table(action.table_id, fields, depth + 1)
        elif isinstance(action, row_types.Recirculate):
            self._recirculate(action.table_id, fields.copy())
        elif isinstance(action, row_types.Learn):
            self.learned.append(learned_row(action))
        elif isinstance(action, row_types.Controller):
            self.punts.append((action.controller_id, fields.packet))
        elif isinstance(action, row_types.SetQueue):
            fields.queue_id = action.queue_id
        elif isinstance(action, row_types.Multipath):
            name, _, _ = action.dst.partition("[")
            fields.write(name, self.slot % action.n_slots)
        else:
            _rewrite(action, fields)

    def _recirculate(self, table_id: int, copy: _Fields) -> None:
        """Take a pass; what it learns comes after what the passes before it do, each of which is translated whole."""
        action_set, learned = self.action_set, self.learned
        self.action_set, self.learned = (), []
        self.passes.append(self.learned)
        self.table(table_id, copy, 0)
        self.actions(self.action_set, copy, 0)
        self.action_set, self.learned = action_set, learned

    def _output(self, port_no: int, fields: _Fields) -> None:
        if port_no == OFPP_IN_PORT:
            self.outputs.append((fields.true_in_port, fields.packet, fields.queue_id))
        elif port_no != fields.in_port:  # never back by the port it came from, unless that was forgotten
            self.outputs.append((port_no, fields.packet, fields.queue_id))

    def _group(self, group_id: int, fields: _Fields, depth: int) -> None:
        self._check_depth(depth)
        for bucket in self._chosen_buckets(self._find_group(group_id)):
            self.actions(bucket.actions, fields.copy(), depth)

    def _chosen_buckets(self, group: GroupRow) -> Iterator[row_types.Bucket]:
        if group.group_type in ("all", "indirect"):
            yield from group.buckets
            return
        live = [bucket for bucket in group.buckets if self._is_live(bucket)]
        if group.group_type == "ff":
            yield from live[:1]
        elif live:
            spread = [bucket for bucket in live for _ in range(bucket.weight)]
            yield spread[self.slot % len(spread)]

    def _is_live(self, bucket: row_types.Bucket) -> bool:
        """OpenFlow 1.3 section 6.5.1: a bucket is live while what it watches is."""
        if bucket.watch_port is not None and bucket.watch_port in self.live_ports:
            return True
        if bucket.watch_group is not None:
            return any(self._is_live(inner) for inner in self._find_group(bucket.watch_group).buckets)
        return bucket.watch_port is None

    def _find_group(self, group_id: int) -> GroupRow:
        group = self.model.groups.get(group_id)
        if group is None:
            raise PlanError(f"{self.model.plan.node}: group {group_id} is used but not planned; add its row")
        return group

    def _check_depth(self, depth: int) -> None:
        if depth > MAX_DEPTH:
            raise PlanError(
                f"{self.model.plan.node}: more than {MAX_DEPTH} nested resubmits and groups; flatten the plan"
            )


def learned_row(action: row_types.Learn) -> FlowRow:
    """The flow entry that a `learn` action adds (or refreshes)."""
    fields = []
    for part in action.matches:
        full = part.first_bit == 0 and part.n_bits == FIELD_BITS.get(part.field, 32)
        bits = (1 << part.n_bits) - 1
        fields.append((part.field, part.value << part.first_bit, None if full else bits << part.first_bit))
    return FlowRow(
        action.table_id,
        action.priority,
        tuple(sorted(fields, key=lambda each: each[0])),
        tuple(row_types.Load(part.field, part.first_bit, part.n_bits, part.value) for part in action.loads),
        cookie=action.cookie,
        hard_timeout_s=action.hard_timeout_s,
    )


def merge_action_set(held: tuple[Action, ...], written: tuple[Action, ...]) -> tuple[Action, ...]:
    """Action set after write-actions: one action a kind, executed in the order of OpenFlow 1.3 section 5.10."""
    if not written:
        return held
    chosen = {(type(action), getattr(action, "field", None)): action for action in (*held, *written)}
    return tuple(sorted(chosen.values(), key=lambda action: _ACTION_SET_ORDER.index(type(action))))


FIELD_BITS = {"eth_type": 16, "vlan_tci": 16, "ipv4_dst": 32, "ipv4_src": 32, "in_port": 16}
_ACTION_SET_ORDER = (
    row_types.PopVlan,
    row_types.PopMpls,
    row_types.PushMpls,
    row_types.PushVlan,
    row_types.SetField,
    row_types.Load,
    row_types.SetQueue,
    row_types.Group,
    row_types.Output,
)


def _rewrite(action: Action, fields: _Fields) -> None:
    """Actions that change the packet or a register."""
    packet = fields.packet
    if isinstance(action, row_types.SetField):
        fields.write(action.field, action.value)
    elif isinstance(action, row_types.Load):
        mask = (1 << action.n_bits) - 1 << action.first_bit
        fields.write(action.field, _read_for_load(fields, action.field) & ~mask | action.value << action.first_bit)
    elif isinstance(action, row_types.Move):
        value = fields.read(action.src) >> action.src_first_bit & (1 << action.n_bits) - 1
        mask = (1 << action.n_bits) - 1 << action.dst_first_bit
        fields.write(action.dst, _read_for_load(fields, action.dst) & ~mask | value << action.dst_first_bit)
    elif isinstance(action, row_types.PushVlan):
        fields.packet = replace(packet, vlan_tci=VLAN_PRESENT)
    elif isinstance(action, row_types.PopVlan):
        fields.packet = replace(packet, vlan_tci=0)
    elif isinstance(action, row_types.PushMpls):
        fields.packet = replace(packet, mpls=((0, 0), *packet.mpls))
    elif isinstance(action, row_types.PopMpls):
        below = packet.eth_type if packet.mpls[1:] else action.eth_type
        fields.packet = replace(packet, mpls=packet.mpls[1:], eth_type=below)
    else:
        raise PlanError(f"the interpreter does not know the action {action!r}; teach it before planning with it")


def _read_for_load(fields: _Fields, name: str) -> int:
    return fields.packet.vlan_tci if name == "vlan_tci" else fields.read(name)


def packet_meets(packet: Packet, match: Match) -> bool:
    """Whether a packet's header meets a match, as far as the header decides (in_port and registers aside)."""
    header = tuple(part for part in match if part[0] != "in_port" and not part[0].startswith("reg"))
    return _Fields(packet, 0, 0).meets(header)
