"""Rows that a failure brings (learned, or moved in by an agent), compiled."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from experiments.verification.growing import Bools, GrowingArray, Ints
from experiments.verification.matches import Codes, Matches, NotCompilableError
from experiments.verification.programs import Programs
from ryu_apps.plan.interpret import learned_row
from ryu_apps.plan.rows import FlowRow, Learn


class ExtraRow(NamedTuple):
    """One row: where it stands, which packets meet it, what makes it unique, and its program."""

    table_id: int
    priority: int
    dst: int
    src: int
    tci_mask: int
    tci_value: int
    key: int
    program: int


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

    def meets(self, src: Ints, dst: Ints, tci: Ints) -> Bools:
        """Whether each packet's header meets the match of the row beside it."""
        return (self.dst == dst) & ((self.src == 0) | (self.src == src)) & ((tci & self.tci_mask) == self.tci_value)


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
        self._rows = GrowingArray(np.int64, columns=len(ExtraRow._fields))
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
        return self._add(row, row) if found is None else found

    def learned(self, action: Learn) -> int:
        """Number of the row that a `learn` action adds."""
        matches = tuple([(each.field, each.first_bit, each.n_bits, each.value) for each in action.matches])
        loads = tuple([(each.field, each.first_bit, each.n_bits, each.value) for each in action.loads])
        content = action.table_id, action.priority, matches, loads, action.cookie
        found = self._number_of.get(content)
        return self._add(content, learned_row(action)) if found is None else found

    def columns(self, numbers: Ints) -> ExtraColumns:
        """Columns of the given rows."""
        if self._new:
            self._rows.extend(np.array(self._new, dtype=np.int64))
            self._new.clear()
        return ExtraColumns(*self._rows.values[numbers].T)

    def _add(self, content: object, row: FlowRow) -> int:
        match = self._match(row)
        key = self._key_of.setdefault((row.table_id, row.priority, match), len(self._key_of))
        program = self.programs.add(row.apply_actions, row.goto_table)
        self._new.append(ExtraRow(row.table_id, row.priority, *match, key, program))
        self._number_of[content] = len(self._rows) + len(self._new) - 1
        return self._number_of[content]

    def _match(self, row: FlowRow) -> tuple[int, int, int, int]:
        """Destination, source (0: any), mask and value of the TCI."""
        compiled = self.matches.compiled(row.match)
        if compiled is None or row.write_actions:
            raise NotCompilableError(f"no compiled form of {row!r}")
        found = {"ipv4_dst": 0, "ipv4_src": 0, "mask": 0, "vlan_tci": 0}
        for term, value in zip(*compiled, strict=True):
            if term.column not in found:
                raise NotCompilableError(f"no compiled form of {row!r}")
            found[term.column] |= value
            found["mask"] |= term.mask if term.column == "vlan_tci" else 0
        if not found["ipv4_dst"]:
            raise NotCompilableError(f"no compiled form of {row!r}")
        return found["ipv4_dst"], found["ipv4_src"], found["mask"], found["vlan_tci"]
