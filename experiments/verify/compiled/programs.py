"""Actions compiled to programs: a shape, which many rows share, and one number for each of its steps.

Rows whose actions differ only in their numbers run together. What cannot be compiled (hash slots,
MPLS, writes to fields that no walk depends on) raises `NotCompilableError`; the caller then lets
the interpreter do it, packet by packet.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from experiments.verify.compiled.matches import TCI_BITS, NotCompilableError
from experiments.verify.growable_arrays import GrowableArray, Ints
from ryu_apps.plan import rows as row_types
from ryu_apps.plan.ids import VLAN_PRESENT, Table
from ryu_apps.plan.rows import Action, Learn


class Op(NamedTuple):
    """One step of a program; its number comes beside it."""

    kind: str
    field: str
    first_bit: int
    n_bits: int
    table_id: int


class Programs:
    """All programs of a network by number, as arrays.

    Parameters
    ----------
    learned
        Gives the number of the row that a `learn` action adds.
    """

    def __init__(self, learned: Callable[[Learn], int]) -> None:
        self.shapes: list[tuple[Op, ...]] = []
        self._shape_ids: dict[tuple[int, ...], int] = {}
        self._ops: list[Op] = []
        self._op_ids: dict[tuple[str, str, int, int, int], int] = {}
        self._new_shapes: list[int] = []
        self._new_params: list[list[int]] = []
        self._shape_of, self._params = GrowableArray(np.int64), GrowableArray(np.int64, columns=1)
        output, group, punt, learn = (self._op(kind) for kind in ("output", "group", "punt", "learn"))
        tag = self.write("vlan_tci", 0, TCI_BITS)
        self._compilers: dict[type, Callable[[Any], tuple[int, int]]] = {
            row_types.Output: lambda action: (output, action.port_no),
            row_types.Group: lambda action: (group, action.group_id),
            row_types.Controller: lambda action: (punt, action.controller_id),
            row_types.Learn: lambda action: (learn, learned(action)),
            row_types.Resubmit: lambda action: (self._op("table", table_id=action.table_id), 0),
            row_types.Recirculate: self._recirculate,
            row_types.PushVlan: lambda _action: (tag, VLAN_PRESENT),
            row_types.PopVlan: lambda _action: (tag, 0),
            row_types.Load: lambda action: (
                self.write(action.field, action.first_bit, action.n_bits),
                action.value,
            ),
            row_types.SetField: self._set_field,
        }

    def add(self, actions: tuple[Action, ...], goto_table: int | None = None) -> int:
        """Compile actions; returns the number of the program.

        Raises
        ------
        NotCompilableError
            An action has no compiled form.
        """
        ops, params = [], []
        for action in actions:
            compiler = self._compilers.get(type(action))
            if compiler is None:
                raise NotCompilableError(f"no compiled form of {action!r}")
            op, param = compiler(action)
            ops.append(op)
            params.append(param)
        if goto_table is not None:
            ops.append(self._op("table", table_id=goto_table))
            params.append(0)
        return self.add_ops(ops, params)

    def add_ops(self, ops: list[int], params: list[int]) -> int:
        """Add a program by its steps."""
        shape = tuple(ops)
        found = self._shape_ids.get(shape)
        if found is None:
            found = self._shape_ids[shape] = len(self.shapes)
            self.shapes.append(tuple([self._ops[op] for op in shape]))
        self._new_shapes.append(found)
        self._new_params.append(params)
        return len(self._shape_of) + len(self._new_shapes) - 1

    @property
    def shape_of(self) -> Ints:
        """Shape of every program."""
        self._synchronise()
        return self._shape_of.values

    @property
    def params(self) -> Ints:
        """Numbers of every program's steps, shape (programs, longest program)."""
        self._synchronise()
        return self._params.values

    def write(self, field: str, first_bit: int, n_bits: int) -> int:
        """Number of the step that writes bits of a field.

        Raises
        ------
        NotCompilableError
            The field has no compiled form.
        """
        found = self._op_ids.get(("write", field, first_bit, n_bits, 0))
        if found is not None:
            return found
        if field not in ("vlan_tci", "in_port") and not field.startswith("reg"):
            raise NotCompilableError(f"no compiled form of a write to {field}")
        return self._op("write", field, first_bit, n_bits)

    def _op(self, kind: str, field: str = "", first_bit: int = 0, n_bits: int = 0, table_id: int = 0) -> int:
        """Number of a step."""
        op = kind, field, first_bit, n_bits, table_id
        found = self._op_ids.get(op)
        if found is None:
            found = self._op_ids[op] = len(self._ops)
            self._ops.append(Op(*op))
        return found

    def _recirculate(self, action: row_types.Recirculate) -> tuple[int, int]:
        """Notifications are no packets: that one starts is noted, and its rows are not walked."""
        return self._op("notify") if action.table_id == Table.NOTIFY else self._op("table", table_id=action.table_id), 0

    def _set_field(self, action: row_types.SetField) -> tuple[int, int]:
        if action.field == "vlan_vid":
            return self.write("vlan_tci", 0, 13), action.value & 0xFFF | VLAN_PRESENT
        if action.field == "vlan_pcp":
            return self.write("vlan_tci", 13, 3), action.value
        return self.write(action.field, 0, TCI_BITS if action.field == "vlan_tci" else 32), action.value

    def _synchronise(self) -> None:
        """Move what was added since into the arrays."""
        if not self._new_shapes:
            return
        width = max(1, *map(len, self._new_params))
        table = np.zeros((len(self._new_params), width), dtype=np.int64)
        lengths = np.fromiter(map(len, self._new_params), dtype=np.int64, count=len(self._new_params))
        table[np.arange(width) < lengths[:, None]] = [param for params in self._new_params for param in params]
        self._shape_of.extend(np.array(self._new_shapes, dtype=np.int64))
        self._params.extend(table)
        self._new_shapes.clear()
        self._new_params.clear()
