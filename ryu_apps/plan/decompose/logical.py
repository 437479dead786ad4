"""The logical table: rows as a relation of columns, which is what decomposition takes apart and puts together.

A match column is a field, a part of a field, or several fields that only make sense together; an action column is a
kind of action with what it writes. Every row has a term in every match column (perhaps "any") and an action or
nothing in every action column.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise

from mininet_topos.errors import PlanError
from ryu_apps.plan.decompose.count import needs_of, needs_of_actions
from ryu_apps.plan.decompose.effects import GoTo, Step
from ryu_apps.plan.fields import FIELDS
from ryu_apps.plan.ids import KIND_MASK, SCHEME_MASK
from ryu_apps.plan.rows import Action, FlowRow, Load, Match, Move, Multipath, SetField

Part = tuple[str, int]
"""A field and those of its bits that belong to the column."""
Term = tuple[tuple[int, int], ...]
"""(value, mask) for every part of a column; mask 0 = any."""
Parts = Mapping[str, int]
"""Field or register -> how many of its low bits mean something of their own."""
_TAG_FIELDS = frozenset({"vlan_vid", "vlan_pcp", "vlan_tci"})
# Where a row has them all, they name one thing, a tunnel (kuijia.tunnel_field), as a label does.
_TUNNEL_FIELDS = frozenset({"ipv4_src", "ipv4_dst", "ip_dscp"})


@dataclass(frozen=True, slots=True)
class Row:
    """One row of a logical table: a term for each match column, a step or None for each action column."""

    priority: int
    terms: tuple[Term, ...]
    steps: tuple[Step | None, ...]
    cookies: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class LogicalTable:
    """Rows by columns.

    Attributes
    ----------
    actions
        What each action column holds, in the order in which the steps run.
    context : tuple of (str, int)
        Fields that every row pins to one value because others need them (`eth_type`).
    """

    columns: tuple[tuple[Part, ...], ...]
    actions: tuple[Hashable, ...]
    rows: tuple[Row, ...]
    context: tuple[tuple[str, int], ...] = ()


def logical_table(flows: Iterable[FlowRow], parts: Parts | None = None) -> LogicalTable:
    """The rows of one table as a relation.

    Parameters
    ----------
    flows
        Rows of one table.
    parts : mapping of str to int, optional
        Fields whose low bits are a column of their own: `{"reg1": 3}` when the low three bits of a register are a
        class. Loads of such a register are split alike.

    Raises
    ------
    PlanError
        Rows of several tables or owners, write-actions or timeouts (none of which this takes apart), or no rows.
    """
    rows = tuple(flows)
    _refuse(rows)
    low_bits_of = dict(parts or {})
    lists = [_steps(row, low_bits_of) for row in rows]
    keys = _action_order(lists)
    context = _context(rows)
    columns = _columns(rows, low_bits_of, frozenset(name for name, _ in context))
    made = tuple(
        Row(
            row.priority,
            tuple(_term(row, column) for column in columns),
            _aligned(steps, keys),
            frozenset({row.cookie}),
        )
        for row, steps in zip(rows, lists, strict=True)
    )
    return LogicalTable(columns, keys, made, context)


def _refuse(rows: Sequence[FlowRow]) -> None:
    tables = sorted({row.table_id for row in rows})
    if len(tables) != 1:
        raise PlanError(f"a logical table has the rows of one table, not of tables {tables}; give them table by table")
    owners = {row.cookie & (SCHEME_MASK | KIND_MASK) for row in rows}
    if len(owners) > 1:
        raise PlanError(f"table {tables[0]} has rows of {len(owners)} owners; leave it as it is")
    for row in rows:
        if row.write_actions or row.hard_timeout_s or row.send_flow_removed:
            raise PlanError(f"the row {row} has write-actions or a timeout; leave its table as it is")


def _steps(row: FlowRow, low_bits_of: Parts) -> tuple[Step, ...]:
    """Actions in order, the goto last; a load over two parts of a field is two loads."""
    actions = tuple(step for action in row.apply_actions for step in _split_load(action, low_bits_of))
    return actions if row.goto_table is None else (*actions, GoTo(row.goto_table))


def _split_load(action: Action, low_bits_of: Parts) -> tuple[Action, ...]:
    if not isinstance(action, Load) or action.field not in low_bits_of:
        return (action,)
    low_bits = low_bits_of[action.field] - action.first_bit
    if not 0 < low_bits < action.n_bits:
        return (action,)
    low = replace(action, n_bits=low_bits, value=action.value & (1 << low_bits) - 1)
    high = replace(
        action, first_bit=low_bits_of[action.field], n_bits=action.n_bits - low_bits, value=action.value >> low_bits
    )
    return low, high


def _keyed(steps: Sequence[Step]) -> list[Hashable]:
    """What each step is: its kind and what it writes, and the how-manieth of that."""
    keys: list[Hashable] = []
    for step in steps:
        kind: tuple[Hashable, ...] = (type(step).__name__,)
        if isinstance(step, SetField):
            kind += (step.field,)
        elif isinstance(step, Load):
            kind += (step.field, step.first_bit)
        elif isinstance(step, Move | Multipath):
            kind += (step.dst,)
        keys.append((*kind, sum(key[: len(kind)] == kind for key in keys if isinstance(key, tuple))))
    return keys


def _action_order(lists: Sequence[Sequence[Step]]) -> tuple[Hashable, ...]:
    """Action columns in an order that agrees with every row."""
    sorter: TopologicalSorter[Hashable] = TopologicalSorter()
    for keys in dict.fromkeys(tuple(_keyed(steps)) for steps in lists):
        for key in keys:
            sorter.add(key)
        for first, second in pairwise(keys):
            sorter.add(second, first)
    try:
        return tuple(sorter.static_order())
    except CycleError as error:
        raise PlanError(
            f"two rows run the same actions in another order ({error.args[1]}); make the order one"
        ) from None


def _aligned(steps: Sequence[Step], keys: Sequence[Hashable]) -> tuple[Step | None, ...]:
    held = dict(zip(_keyed(steps), steps, strict=True))
    return tuple(held.get(key) for key in keys)


def _needed_names(rows: Sequence[FlowRow]) -> frozenset[str]:
    """Fields that other fields or actions of the rows need."""
    fields = {name for row in rows for name, _, _ in row.match}
    by_actions = {name for row in rows for name in needs_of_actions(row.apply_actions)}
    return frozenset(name for field in fields for name, _ in needs_of(field)) | by_actions


def _context(rows: Sequence[FlowRow]) -> tuple[tuple[str, int], ...]:
    needed = _needed_names(rows)
    common = set.intersection(*(set(row.match) for row in rows))
    return tuple((name, value) for name, value, mask in sorted(common, key=str) if mask is None and name in needed)


def _columns(rows: Sequence[FlowRow], low_bits_of: Parts, context: frozenset[str]) -> tuple[tuple[Part, ...], ...]:
    """Columns in the order of FIELDS; fields that cannot be matched one without the other share one."""
    used = {name for row in rows for name, _, _ in row.match} - context
    groups: list[set[str]] = []
    for name in (name for name in FIELDS if name in used):
        bound = {name} | {need for need, _ in needs_of(name) if need in used}
        bound |= _TAG_FIELDS & used if name in _TAG_FIELDS else set()
        bound |= _TUNNEL_FIELDS if name in _TUNNEL_FIELDS <= used else set()
        touching = [group for group in groups if group & bound]
        groups = [group for group in groups if not group & bound] + [bound.union(*touching)]
    columns: list[tuple[Part, ...]] = []
    for group in groups:
        names = [name for name in FIELDS if name in group]
        low = (1 << low_bits_of.get(names[0], 0)) - 1
        if len(names) == 1 and low:
            columns += [((names[0], low),), ((names[0], FIELDS[names[0]].full_mask & ~low),)]
        else:
            columns.append(tuple((name, FIELDS[name].full_mask) for name in names))
    return tuple(columns)


def _term(row: FlowRow, column: Sequence[Part]) -> Term:
    given = {name: (value, FIELDS[name].full_mask if mask is None else mask) for name, value, mask in row.match}
    found = []
    for name, bits in column:
        value, mask = given.get(name, (0, 0))
        found.append((value & mask & bits, mask & bits))
    return tuple(found)


def match_of(columns: Sequence[Sequence[Part]], terms: Sequence[Term]) -> Match:
    """Terms as the match of a row; parts of a field come together again."""
    joined: dict[str, tuple[int, int]] = {}
    for column, term in zip(columns, terms, strict=True):
        for (name, _), (value, mask) in zip(column, term, strict=True):
            held_value, held_mask = joined.get(name, (0, 0))
            joined[name] = (held_value | value, held_mask | mask)
    return tuple(
        (name, value, None if mask == FIELDS[name].full_mask else mask)
        for name, (value, mask) in sorted(joined.items())
        if mask
    )
