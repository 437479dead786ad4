"""A port's failure, worked out and encoded in small slices before it happens.

The agent prepares while it has nothing else to do. A slice is short, so that an event that comes meanwhile
does not wait for the rest; when the event changes what is prepared for, the preparation starts again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ovsdb_backup.decide.agent_rules import apply_rules, fail_port, touched_by, wanted_rules
from ovsdb_backup.decide.agent_types import AgentState, ChangeRows, PreparedFailure
from ryu_apps.openflow import encode
from ryu_apps.plan.rows import FlowRow
from te_solver.commodity import Commodity

SLICE_COMMODITIES = 16


@dataclass(frozen=True)
class Prepared:
    """What to do when a port fails: the rows, and the bundle that changes them as bytes (none when no row changes)."""

    failure: PreparedFailure
    change: ChangeRows
    data: bytes


class Preparation:
    """The preparation of one port's failure, for one version of the state.

    Parameters
    ----------
    xid
        Transaction and bundle id of the messages.
    """

    def __init__(self, state: AgentState, port_no: int, xid: int) -> None:
        self.port_no = port_no
        self.version = state.version
        self._xid = xid
        self._state = fail_port(state, port_no)
        self._waiting = list(touched_by(self._state, port_no))
        self._changed: dict[Commodity, Mapping[int, FlowRow]] = {}
        self._install: list[FlowRow] = []
        self._delete: list[FlowRow] = []
        self._added: list[bytes] = []

    def advance(self) -> Prepared | None:
        """Do one slice; the result with the last one."""
        slice_, self._waiting = self._waiting[:SLICE_COMMODITIES], self._waiting[SLICE_COMMODITIES:]
        wanted = {commodity: wanted_rules(self._state, commodity) for commodity in slice_}
        self._changed |= wanted
        _after, change = apply_rules(self._state, wanted)
        if change is not None:
            self._install += change.install
            self._delete += change.delete
            self._added += map(self._in_bundle, map(encode.flow_add, change.install))
        return None if self._waiting else self._result()

    def _result(self) -> Prepared:
        change = ChangeRows(tuple(self._install), tuple(self._delete))
        if change == ChangeRows(()):
            return Prepared(PreparedFailure(self.version, self.port_no, self._changed), change, b"")
        deleted = map(self._in_bundle, map(encode.flow_delete, change.delete))
        ends = encode.bundle_open(self._xid, xid=self._xid), encode.bundle_commit(self._xid, xid=self._xid)
        data = b"".join((ends[0], *deleted, *self._added, ends[1]))
        return Prepared(PreparedFailure(self.version, self.port_no, self._changed), change, data)

    def _in_bundle(self, message: bytes) -> bytes:
        return encode.bundle_add(self._xid, message, xid=self._xid)
