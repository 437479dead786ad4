"""Flow tables of a whole network as sorted keys: one binary search finds the row of many packets."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

import numpy as np

from experiments.verify.compiled.extra_rows import ExtraRows
from experiments.verify.compiled.matches import ALL_BITS, NotCompilableError, Term
from experiments.verify.growable_arrays import Ints
from mininet_topos.ports import HOST_PORT
from ryu_apps.plan.notification import is_for_notifications
from ryu_apps.plan.recovery_rows import FORGET_IN_PORT
from ryu_apps.plan.rows import FlowRow, Match, RulePlan

_KEY_BITS = 62
_NOT_YET = -1


class Subtable:
    """Rows of one table that match on the same bits, of all switches.

    Parameters
    ----------
    terms
        What the rows match on.
    node, priority, row : int array, shape (rows,)
        Switch, priority and number of every row.
    values : int array, shape (rows, terms)
        What each term equals.
    """

    def __init__(self, terms: tuple[Term, ...], node: Ints, priority: Ints, row: Ints, values: Ints) -> None:
        self._terms, self._values = terms, values
        self._largest = [int(column.max()) >> term.shift for term, column in zip(terms, values.T, strict=True)]
        self._widths = [largest.bit_length() for largest in self._largest]
        if int(node.max()).bit_length() + sum(self._widths) > _KEY_BITS:
            raise NotCompilableError(f"match on {terms} needs more than {_KEY_BITS} bits")
        keys = node
        for term, width, column in zip(terms, self._widths, values.T, strict=True):
            keys = keys << width | column >> term.shift
        order = np.lexsort((-priority, keys))
        keys = keys[order]
        first = np.flatnonzero(np.r_[True, keys[1:] != keys[:-1]])  # of equal matches the highest priority counts
        self._keys, self._priority, self._row = keys[first], priority[order][first], row[order][first]

    def values_of(self, column: str) -> set[int]:
        """All values that the rows match a column with; masked ones count as -1."""
        found: set[int] = set()
        for term, values in zip(self._terms, self._values.T, strict=True):
            if term.column == column:
                found |= set(np.unique(values).tolist()) if term.mask == ALL_BITS else {-1}
        return found

    def find(self, node: Ints, columns: Mapping[str, Ints]) -> tuple[Ints, Ints]:
        """Number and priority of each packet's row; priority -1 where none matches."""
        keys, fits = node, np.ones(len(node), dtype=bool)
        for term, width, largest in zip(self._terms, self._widths, self._largest, strict=True):
            column = columns.get(term.column)
            value = (column & term.mask) >> term.shift if column is not None else np.zeros_like(node)
            fits &= value <= largest
            keys = keys << width | value
        place = np.minimum(np.searchsorted(self._keys, keys), len(self._keys) - 1)
        fits &= self._keys[place] == keys
        return self._row[place], np.where(fits, self._priority[place], -1)


class Tables:
    """All flow tables of a network. Matches are compiled at once, actions when a row is first met.

    Parameters
    ----------
    plans
        By node position.
    rows
        Where matches and actions are compiled.

    Raises
    ------
    NotCompilableError
        A row matches on what cannot be compiled.
    """

    def __init__(self, plans: list[RulePlan], rows: ExtraRows) -> None:
        self._programs = rows.programs
        walked = [[row for row in plan.flows if not is_for_notifications(row)] for plan in plans]
        self._flows = [row for rows in walked for row in rows]
        self._example_of, self._kind_of = _alike(self._flows)
        self._program_of = np.full(len(self._example_of), _NOT_YET)
        self._subtables: dict[int, list[Subtable]] = defaultdict(list)
        node = np.repeat(np.arange(len(plans)), list(map(len, walked)))
        table_id = np.array([row.table_id for row in self._flows], dtype=np.int64)
        priority = np.array([row.priority for row in self._flows], dtype=np.int64)
        numbers: dict[Match, int] = {}  # switches share most matches
        match_of = np.array([numbers.setdefault(row.match, len(numbers)) for row in self._flows], dtype=np.int64)
        for terms, matches, values in rows.matches.many(list(numbers)):
            place = np.full(len(numbers), -1)
            place[matches] = np.arange(len(matches))
            place = place[match_of]
            for table in np.unique(table_id[place >= 0]).tolist():
                chosen = np.flatnonzero((place >= 0) & (table_id == table))
                held = Subtable(terms, node[chosen], priority[chosen], chosen, values[place[chosen]])
                self._subtables[table].append(held)

    def find(self, table_id: int, node: Ints, columns: Mapping[str, Ints]) -> tuple[Ints, Ints]:
        """Number and priority of each packet's row in a table; priority -1 where none matches."""
        row = np.zeros(len(node), dtype=np.int64)
        priority = np.full(len(node), -1, dtype=np.int64)
        for subtable in self._subtables[table_id]:
            found, found_priority = subtable.find(node, columns)
            better = found_priority > priority
            row[better], priority[better] = found[better], found_priority[better]
        return row, priority

    def programs_of(self, rows: Ints) -> Ints:
        """Programs of rows (`NotCompilableError` when one has none)."""
        kinds = self._kind_of[rows]
        found = self._program_of[kinds]
        if (found == _NOT_YET).any():
            for kind in np.unique(kinds[found == _NOT_YET]).tolist():
                row = self._flows[self._example_of[kind]]
                if row.write_actions:
                    raise NotCompilableError("no compiled form of write actions")
                self._program_of[kind] = self._programs.add(row.apply_actions, row.goto_table)
            found = self._program_of[kinds]
        return found

    def reads(self, column: str) -> bool:
        """Whether some row matches on a column."""
        return bool(self._values_of(column))

    def forgets_in_port(self) -> bool:
        """Whether all link ports are alike to every switch.

        So it is when no match names a link port, and every row of table 0 forgets the in-port before it acts.
        """
        entry = (row for row in self._flows if row.table_id == 0)
        return not self._values_of("in_port") - {HOST_PORT} and all(
            row.apply_actions[:1] == (FORGET_IN_PORT,) or not (row.apply_actions or row.goto_table is not None)
            for row in entry
        )

    def _values_of(self, column: str) -> set[int]:
        return set().union(*(each.values_of(column) for held in self._subtables.values() for each in held))


def _alike(flows: list[FlowRow]) -> tuple[Ints, Ints]:
    """Rows that share their actions: one row of each kind, and the kind of every row.

    Planners use one tuple for many rows, so that asking for the same object finds most without comparing any.
    """
    addresses = np.fromiter((id(row.apply_actions) for row in flows), dtype=np.int64, count=len(flows))
    others = np.fromiter(
        ((0 if row.goto_table is None else 1 + row.goto_table) << 1 | bool(row.write_actions) for row in flows),
        dtype=np.int64,
        count=len(flows),
    )
    _, example_of, kind_of = np.unique(addresses << 9 | others, return_index=True, return_inverse=True)
    return example_of, kind_of
