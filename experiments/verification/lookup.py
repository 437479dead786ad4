"""Flow tables of a whole network as sorted keys: one binary search finds the row of many packets."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

import numpy as np

from experiments.verification.extra_rows import ExtraRows
from experiments.verification.growing import Ints, concatenated
from experiments.verification.matches import NotCompilableError, Term
from ryu_apps.plan.rows import RulePlan

_KEY_BITS = 62


class Subtable:
    """Rows of one table that match on the same bits, of all switches.

    Parameters
    ----------
    terms : tuple of Term
        What the rows match on.
    entries : int array, shape (rows, 3 + terms)
        Columns: switch, priority, program, and the value of each term.
    """

    def __init__(self, terms: tuple[Term, ...], entries: Ints) -> None:
        self._terms, self._values, self.programs = terms, entries[:, 3:], entries[:, 2]
        node, priority, program, values = entries[:, 0], entries[:, 1], self.programs, self._values
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
        self._keys, self._priority, self._program = keys[first], priority[order][first], program[order][first]
        self.best_priority = int(priority.max())

    def values_of(self, column: str) -> set[int]:
        """All values that the rows match a column with (-1 when masked)."""
        found: set[int] = set()
        for term, values in zip(self._terms, self._values.T, strict=True):
            if term.column == column:
                found |= set(np.unique(values).tolist()) if term.mask == -1 else {-1}
        return found

    def find(self, node: Ints, columns: Mapping[str, Ints]) -> tuple[Ints, Ints]:
        """Program and priority of each packet's row; priority -1 where none matches."""
        keys, fits = node, np.ones(len(node), dtype=bool)
        for term, width, largest in zip(self._terms, self._widths, self._largest, strict=True):
            value = (columns[term.column] & term.mask) >> term.shift
            fits &= value <= largest
            keys = keys << width | value
        place = np.minimum(np.searchsorted(self._keys, keys), len(self._keys) - 1)
        fits &= self._keys[place] == keys
        return self._program[place], np.where(fits, self._priority[place], -1)


class Tables:
    """All flow tables of a network.

    Parameters
    ----------
    plans : list of RulePlan
        By node position.
    rows : ExtraRows
        Where matches and actions are compiled.

    Raises
    ------
    NotCompilableError
        A row uses what cannot be compiled.
    """

    def __init__(self, plans: list[RulePlan], rows: ExtraRows) -> None:
        entries: dict[tuple[int, tuple[Term, ...]], list[list[int]]] = defaultdict(list)
        for node, plan in enumerate(plans):
            for row in plan.flows:
                compiled = rows.matches.compiled(row.match)
                if compiled is None:
                    continue
                if row.write_actions:
                    raise NotCompilableError("no compiled form of write actions")
                program = rows.programs.add(row.apply_actions, row.goto_table)
                entries[row.table_id, compiled[0]].append([node, row.priority, program, *compiled[1]])
        self._subtables: dict[int, list[Subtable]] = defaultdict(list)
        for (table_id, terms), held in entries.items():
            self._subtables[table_id].append(Subtable(terms, np.array(held, dtype=np.int64)))

    def find(self, table_id: int, node: Ints, columns: Mapping[str, Ints]) -> tuple[Ints, Ints]:
        """Program and priority of each packet's row in a table; priority -1 where none matches."""
        program = np.zeros(len(node), dtype=np.int64)
        priority = np.full(len(node), -1, dtype=np.int64)
        for subtable in self._subtables[table_id]:
            found, found_priority = subtable.find(node, columns)
            better = found_priority > priority
            program[better], priority[better] = found[better], found_priority[better]
        return program, priority

    def values_of(self, column: str) -> set[int]:
        """All values that rows of any table match a column with (-1 for masked ones)."""
        found: set[int] = set()
        for subtables in self._subtables.values():
            for subtable in subtables:
                found |= subtable.values_of(column)
        return found

    def programs_of(self, table_id: int) -> Ints:
        """Programs of all rows of a table."""
        return concatenated(subtable.programs for subtable in self._subtables[table_id])
