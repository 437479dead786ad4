"""Many packets through their switches in lockstep: the compiled form of `interpret_switch`.

Every packet of a batch is one position in a set of columns. A step of a program acts on
all packets that run it. Property tests hold this file to `ryu_apps.plan.interpret`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from experiments.verify.compiled.extra_rows import ExtraRows
from experiments.verify.compiled.lookup import Tables
from experiments.verify.compiled.matches import Codes, NotCompilableError
from experiments.verify.compiled.programs import Op, Programs
from experiments.verify.growable_arrays import Bools, Ints, concatenated
from mininet_topos.errors import PlanError
from ryu_apps.plan.ids import OFPP_IN_PORT, VLAN_PRESENT
from ryu_apps.plan.interpret import MAX_DEPTH
from ryu_apps.plan.rows import Bucket, GroupRow, RulePlan

_MAX_BUCKETS = 16
_NO_PORT = 0
_NO_PROGRAM = -1


@dataclass
class VectorWalk:
    """Packets on their way through their switches.

    Attributes
    ----------
    request
        Which request each packet serves (a group copies packets).
    node, context, arrived_at
        Switch, switch with its failed ports, and the port that the packet came in by.
    columns
        Header fields, registers and the (writable) in_port, by name; a register that is missing is 0 everywhere.
    extras
        Rows that came since, -1 for none; earlier columns win ties.
    """

    request: Ints
    node: Ints
    context: Ints
    arrived_at: Ints
    columns: dict[str, Ints]
    extras: list[Ints]

    def take(self, at: Ints) -> VectorWalk:
        """Copies of some packets."""
        return VectorWalk(
            self.request[at],
            self.node[at],
            self.context[at],
            self.arrived_at[at],
            {name: column[at] for name, column in self.columns.items()},
            [column[at] for column in self.extras],
        )


class Emitted(NamedTuple):
    """What left the switches, ordered by request and then by time.

    Attributes
    ----------
    request, port
        For punts `port` holds the controller id, for learned rows the row.
    src, dst, tci
        The packet as it left.
    """

    request: Ints
    port: Ints
    src: Ints
    dst: Ints
    tci: Ints

    def followed_by(self, other: Emitted) -> Emitted:
        """Both, the other's later."""
        both = [np.concatenate(pair) for pair in zip(self, other, strict=True)]
        order = np.argsort(both[0], kind="stable")
        return Emitted(*(column[order] for column in both))


class Effects(NamedTuple):
    """What packets caused at their switches; a notification starts with the failed set that its TCI names."""

    outputs: Emitted
    punts: Emitted
    learned: Emitted
    notified: Emitted


class CompiledNetwork:
    """Rule plans compiled to arrays.

    Parameters
    ----------
    plans
        By node position.
    codes
        Numbers of addresses.

    Raises
    ------
    NotCompilableError
        A row or group uses what cannot be compiled.
    """

    def __init__(self, plans: list[RulePlan], codes: Codes) -> None:
        self.plans = plans
        self.extra_rows = ExtraRows(codes)
        self.programs = self.extra_rows.programs
        self.tables = Tables(plans, self.extra_rows)
        self.groups = Groups(plans, self.programs)
        self.forgets_in_port = self.tables.forgets_in_port()

    def run(self, packets: VectorWalk, live: Bools) -> Effects:
        """Walk every packet through its switch.

        Parameters
        ----------
        packets
            `columns` holds in_port, ipv4_src, ipv4_dst and vlan_tci.
        live : bool array, shape (contexts, ports)

        """
        run = _Run(self, live)
        run.table(0, packets, np.arange(len(packets.request)), 0)
        return Effects(*(each.emitted() for each in (run.outputs, run.punts, run.learned, run.notified)))


class Groups:
    """Groups of all switches: for each, its type and the programs and watches of its buckets."""

    def __init__(self, plans: list[RulePlan], programs: Programs) -> None:
        keys, kinds, rows = [], [], []
        for node, plan in enumerate(plans):
            by_id = {group.group_id: group for group in plan.groups}
            for group in plan.groups:
                if group.group_type not in ("all", "indirect", "ff") or len(group.buckets) > _MAX_BUCKETS:
                    raise NotCompilableError(f"no compiled form of {group!r}")
                keys.append(node << 32 | group.group_id)
                kinds.append(group.group_type == "ff")
                rows.append([(programs.add(each.actions), _watched(each, by_id)) for each in group.buckets])
        order = np.argsort(np.array(keys, dtype=np.int64))
        width = max([len(each) for each in rows], default=0)
        self.keys = np.array(keys, dtype=np.int64)[order]
        self.is_ff = np.array(kinds, dtype=bool)[order]
        self.size = np.array([len(each) for each in rows], dtype=np.int64)[order]
        filled = [each + [(0, _NO_PORT)] * (width - len(each)) for each in rows]
        table = np.array(filled, dtype=np.int64).reshape(len(rows), width, 2)[order]
        self.program, self.watch = table[..., 0], table[..., 1]

    def find(self, node: Ints, group_id: Ints) -> Ints:
        """Position of each packet's group.

        Raises
        ------
        PlanError
            A packet's group is not planned.
        """
        keys = node << 32 | group_id
        place = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1) if len(self.keys) else None
        if place is None or (self.keys[place] != keys).any():
            raise PlanError(f"one of the groups {sorted(set(group_id.tolist()))} is used but not planned; add its row")
        return place


def _watched(bucket: Bucket, by_id: dict[int, GroupRow]) -> int:
    """Port that a bucket watches; `_NO_PORT` when it is always live (also by way of an unconditional group)."""
    port, group_id = bucket.watch_port, bucket.watch_group
    if group_id is None:
        return _NO_PORT if port is None else port
    inner = by_id.get(group_id)
    always = inner is not None and any(each.watch_port is each.watch_group is None for each in inner.buckets)
    if not always:
        raise NotCompilableError(f"no compiled form of a bucket that watches group {group_id}")
    return _NO_PORT


class Collected:
    """Emissions of one kind, in the order in which they happen."""

    def __init__(self) -> None:
        self._parts: list[tuple[Ints, ...]] = []

    def add(self, packets: VectorWalk, at: Ints, ports: Ints) -> None:
        """Add what some packets emit now."""
        columns = packets.columns
        self._parts.append(
            (packets.request[at], ports, columns["ipv4_src"][at], columns["ipv4_dst"][at], columns["vlan_tci"][at])
        )

    def emitted(self) -> Emitted:
        """All emissions so far."""
        columns = [concatenated(part[index] for part in self._parts) for index in range(5)]
        order = np.argsort(columns[0], kind="stable")
        return Emitted(*(column[order] for column in columns))


class _Run:
    """One batch on its way; collects what comes out."""

    def __init__(self, network: CompiledNetwork, live: Bools) -> None:
        self.network, self.live = network, live
        self.outputs, self.punts, self.learned, self.notified = (Collected() for _ in range(4))

    def table(self, table_id: int, packets: VectorWalk, at: Ints, depth: int) -> None:
        """Look packets up in a table and run the rows that they meet."""
        node = packets.node[at]
        columns = {name: column[at] for name, column in packets.columns.items()}
        row, priority = self.network.tables.find(table_id, node, columns)
        program = np.full(len(at), _NO_PROGRAM)
        for extras in reversed(packets.extras):
            self._prefer_extra(table_id, extras[at], columns, program, priority)
        planned = (program == _NO_PROGRAM) & (priority >= 0)
        program[planned] = self.network.tables.programs_of(row[planned])
        hit = priority >= 0
        self.programs(program[hit], packets, at[hit], depth)

    def _prefer_extra(
        self, table_id: int, extras: Ints, columns: dict[str, Ints], program: Ints, priority: Ints
    ) -> None:
        """Where a row that came since matches and does not stand below the row found so far, take it."""
        there = np.flatnonzero(extras >= 0)
        if not len(there):
            return
        row = self.network.extra_rows.columns(extras[there])
        met = row.meets(columns["ipv4_src"][there], columns["ipv4_dst"][there], columns["vlan_tci"][there])
        wins = met & (row.table_id == table_id) & (row.priority >= priority[there])
        program[there[wins]], priority[there[wins]] = row.program[wins], row.priority[wins]

    def programs(self, program: Ints, packets: VectorWalk, at: Ints, depth: int) -> None:
        """Run each packet's program."""
        if not len(at):
            return
        if depth > MAX_DEPTH:
            raise PlanError(f"more than {MAX_DEPTH} nested resubmits and groups; flatten the plan")
        programs = self.network.programs
        shape_of, params = programs.shape_of[program], programs.params
        for shape in np.unique(shape_of).tolist():
            chosen = shape_of == shape
            packets_at, numbers = at[chosen], params[program[chosen]]
            for column, op in enumerate(programs.shapes[shape]):
                _STEPS[op.kind](self, op, numbers[:, column], packets, packets_at, depth)

    def write(self, op: Op, values: Ints, packets: VectorWalk, at: Ints, _depth: int) -> None:
        if op.field not in packets.columns:
            packets.columns[op.field] = np.zeros(len(packets.request), dtype=np.int64)
        column = packets.columns[op.field]
        mask = (1 << op.n_bits) - 1 << op.first_bit
        written = column[at] & ~mask | values << op.first_bit
        if op.field == "vlan_tci":
            written[written & VLAN_PRESENT == 0] = 0
        column[at] = written

    def output(self, _op: Op, ports: Ints, packets: VectorWalk, at: Ints, _depth: int) -> None:
        back = ports == OFPP_IN_PORT
        if self.network.forgets_in_port and back.any():
            raise NotCompilableError("no compiled form of a plan that forgets in-ports and uses them")
        leaves = back | (ports != packets.columns["in_port"][at])  # never back by the port it came from, unless asked
        ports = np.where(back, packets.arrived_at[at], ports)
        self.outputs.add(packets, at[leaves], ports[leaves])

    def punt(self, _op: Op, controllers: Ints, packets: VectorWalk, at: Ints, _depth: int) -> None:
        self.punts.add(packets, at, controllers)

    def learn(self, _op: Op, rows: Ints, packets: VectorWalk, at: Ints, _depth: int) -> None:
        self.learned.add(packets, at, rows)

    def notify(self, _op: Op, values: Ints, packets: VectorWalk, at: Ints, _depth: int) -> None:
        self.notified.add(packets, at, values)

    def resubmit(self, op: Op, _values: Ints, packets: VectorWalk, at: Ints, depth: int) -> None:
        self.table(op.table_id, packets, at, depth + 1)

    def group(self, _op: Op, group_ids: Ints, packets: VectorWalk, at: Ints, depth: int) -> None:
        """Run the chosen buckets on copies of the packets."""
        groups = self.network.groups
        group = groups.find(packets.node[at], group_ids)
        waiting = np.ones(len(at), dtype=bool)
        for position in range(groups.program.shape[1]):
            watch = groups.watch[group, position]
            live = (watch == _NO_PORT) | self._lives(packets.context[at], watch)
            chosen = waiting & (position < groups.size[group]) & (live | ~groups.is_ff[group])
            copies = packets.take(at[chosen])
            self.programs(groups.program[group[chosen], position], copies, np.arange(len(copies.request)), depth + 1)
            waiting &= ~(chosen & groups.is_ff[group])

    def _lives(self, context: Ints, port: Ints) -> Bools:
        inside = port < self.live.shape[1]
        lives: Bools = inside & self.live[context, np.where(inside, port, 0)]
        return lives


_STEPS: dict[str, Callable[[_Run, Op, Ints, VectorWalk, Ints, int], None]] = {
    "write": _Run.write,
    "output": _Run.output,
    "punt": _Run.punt,
    "learn": _Run.learn,
    "notify": _Run.notify,
    "table": _Run.resubmit,
    "group": _Run.group,
}
