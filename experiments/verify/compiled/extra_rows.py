"""Rows that a failure brings (learned, or moved in by an agent), compiled."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from experiments.verify.compiled.matches import Codes, Matches, NotCompilableError, Term
from experiments.verify.compiled.programs import Programs
from experiments.verify.growable_arrays import Bools, GrowableArray, Ints
from ryu_apps.plan.rows import FlowRow, Learn
from ryu_apps.plan.walk import knowledge_of


class ExtraRow(NamedTuple):
    """One row: where it stands, which packets meet it, what makes it unique, its program, and how much it knows."""

    table_id: int
    priority: int
    dst: int
    src: int
    tci_mask: int
    tci_value: int
    key: int
    program: int
    knowledge: int


class ExtraColumns(NamedTuple):
    """`ExtraRow`s by columns."""

    table_id: Ints
    priority: Ints
    dst: Ints
    src: Ints
    tci_mask: Ints
    tci_value: Ints
    key: Ints
    program: Ints
    knowledge: Ints

    def meets(self, src: Ints, dst: Ints, tci: Ints) -> Bools:
        """Whether each packet's header meets the match of the row beside it."""
        there: Bools = (self.dst == dst) & ((self.src == 0) | (self.src == src))
        there &= (tci & self.tci_mask) == self.tci_value
        return there


class ExtraRows:
    """Rows that may come later, by number.

    Attributes
    ----------
    programs : Programs
        Where their actions (and all others) are compiled to.
    """

    def __init__(self, codes: Codes) -> None:
        self.matches = Matches(codes)
        self.programs = Programs(self.learned)
        self._new: list[ExtraRow] = []
        self._rows = GrowableArray(np.int64, columns=len(ExtraRow._fields))
        self._number_of: dict[object, int] = {}
        self._key_of: dict[object, int] = {}

    def number(self, row: FlowRow) -> int:
        """Number of a row.

        Raises
        ------
        NotCompilableError
            It names no destination, or uses what cannot be compiled.
        """
        found = self._number_of.get(row)
        if found is None:
            if row.write_actions:
                raise NotCompilableError(f"no compiled form of {row!r}")
            program = self.programs.add(row.apply_actions, row.goto_table)
            terms = self.matches.one(row.match)
            found = self._add(row, row.table_id, row.priority, terms, (program, knowledge_of(row)))
        return found

    def learned(self, action: Learn) -> int:
        """Number of the row that a `learn` action adds (see `ryu_apps.plan.interpret.learned_row`)."""
        matches = tuple([(each.field, each.first_bit, each.n_bits, each.value) for each in action.matches])
        loads = tuple([(each.field, each.first_bit, each.n_bits, each.value) for each in action.loads])
        content = action.table_id, action.priority, matches, loads, action.cookie
        found = self._number_of.get(content)
        if found is None:
            terms = self.matches.bits(matches)
            ops = [self.programs.write(field, first_bit, n_bits) for field, first_bit, n_bits, _ in loads]
            program = self.programs.add_ops(ops, [value for _, _, _, value in loads])
            found = self._add(content, action.table_id, action.priority, terms, (program, 0))
        return found

    def columns(self, numbers: Ints) -> ExtraColumns:
        """Columns of the given rows."""
        return ExtraColumns(*self._table()[numbers].T)

    def column(self, name: str, numbers: Ints) -> Ints:
        """One column of the given rows."""
        found: Ints = self._table()[numbers, ExtraRow._fields.index(name)]
        return found

    def _table(self) -> Ints:
        if self._new:
            self._rows.extend(np.array(self._new, dtype=np.int64))
            self._new.clear()
        return self._rows.values

    def _add(
        self,
        content: object,
        table_id: int,
        priority: int,
        compiled: tuple[tuple[Term, ...], list[int]] | None,
        program_and_knowledge: tuple[int, int],
    ) -> int:
        if compiled is None:
            raise NotCompilableError(f"no packet of ours can meet the row {content!r}")
        match = _header(*compiled)
        key = self._key_of.setdefault((table_id, priority, match), len(self._key_of))
        self._new.append(ExtraRow(table_id, priority, *match, key, *program_and_knowledge))
        number = self._number_of[content] = len(self._rows) + len(self._new) - 1
        return number


def _header(terms: tuple[Term, ...], values: list[int]) -> tuple[int, int, int, int]:
    """Destination, source (0: any), mask and value of the TCI."""
    dst = src = mask = tci = 0
    for term, value in zip(terms, values, strict=True):
        if term.column == "vlan_tci":
            mask, tci = mask | term.mask, tci | value
        elif term.column == "ipv4_dst":
            dst = value
        elif term.column == "ipv4_src":
            src = value
        else:
            raise NotCompilableError(f"no compiled form of a later row that matches on {term.column}")
    if not dst:
        raise NotCompilableError("no compiled form of a later row that names no destination")
    return dst, src, mask, tci
