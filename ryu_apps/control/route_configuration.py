"""Route configuration: gives every connected switch its plan, and keeps it at that.

One `SwitchRoutes` a switch; its operations run one at a time. A switch that has connected is read first, so
that what is right is not touched, what is stale goes, and what belongs to somebody else stays.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ryu.lib import hub

from machine.event_log import EventLog
from ryu_apps.control.channel import SwitchChannel, SwitchRefusedError
from ryu_apps.control.decide.messages import message_of
from ryu_apps.control.decide.reconcile import Reconciliation, SwitchState, foreign_macs, reconcile
from ryu_apps.control.decide.restoration import RowKey, switch_commands
from ryu_apps.control.decide.returning import PUSHING_TABLES, RECOVERY_MASK, ReturnWork
from ryu_apps.control.decide.tunnel import Change
from ryu_apps.openflow import encode
from ryu_apps.openflow.messages import FlowStat, GroupStat
from ryu_apps.openflow.wire import OFPTT_ALL
from ryu_apps.plan.diff import Command, Operation, PlanDelta, diff, install_phases
from ryu_apps.plan.edge_rows import with_edge_rows
from ryu_apps.plan.ids import KIND_MASK, SCHEME_MASK, Kind, cookie, split_cookie
from ryu_apps.plan.restoration import with_rows
from ryu_apps.plan.rows import FlowRow, RulePlan

_YIELD_EVERY_ROWS = 200
_ATTEMPTS, _PAUSE_S = 3, 0.1


@dataclass
class Status:
    """What is known of a switch, for people."""

    state: str = "connecting"
    rows: int = 0
    recovery_rows: int = 0
    installed_at_s: float | None = None
    foreign: tuple[str, ...] = ()
    conflicts: tuple[str, ...] = ()


@dataclass(frozen=True)
class _There:
    """What a switch should hold: its plan, rows in place of planned ones, and foreign MAC addresses."""

    plan: RulePlan
    restored: tuple[FlowRow, ...]
    macs: Mapping[int, int]


@dataclass
class SwitchRoutes:
    """The rows of one connected switch.

    Parameters
    ----------
    plan
        The scheme's plan.
    edge, discovery
        Whether ARP, and discovery frames, go to the controller.
    restored
        Rows in place of planned ones, while links have failed (restorer.py).
    """

    plan: RulePlan
    channel: SwitchChannel
    events: EventLog
    edge: bool = True
    discovery: bool = True
    restored: tuple[FlowRow, ...] = ()
    status: Status = field(default_factory=Status)
    macs: Mapping[int, int] = field(default_factory=dict)
    _there: _There | None = None
    _doubtful: bool = False
    _planned: tuple[RulePlan, dict[RowKey, FlowRow]] | None = None
    _lock: Any = field(default_factory=hub.Semaphore)

    def wanted(self) -> RulePlan:
        """Everything that the switch has to hold: the plan, restored rows in it, and the app's own rows."""
        return self._whole(_There(self.plan, self.restored, self.macs))

    def _whole(self, parts: _There) -> RulePlan:
        return with_edge_rows(with_rows(parts.plan, parts.restored), parts.macs, self.edge, self.discovery)

    def synchronise(self) -> Reconciliation:
        """Read the switch and bring it to its plan, touching nothing that is right.

        A refused row is no fault at first: an agent may have filled a restarted switch meanwhile, and then a group
        is there that was not. So the switch is read again before it is.

        Raises
        ------
        SwitchGoneError, SwitchRefusedError, WireError
        """
        with self._lock:
            return self._synchronise(_ATTEMPTS)

    def _synchronise(self, attempts: int) -> Reconciliation:
        try:
            return self._bring_to_plan()
        except SwitchRefusedError:
            if attempts == 1:
                raise
        hub.sleep(_PAUSE_S)
        return self._synchronise(attempts - 1)

    def _bring_to_plan(self) -> Reconciliation:
        state = self.read()
        self.macs = {**foreign_macs(state), **self.macs}
        parts = _There(self.plan, self.restored, self.macs)
        wanted = self._whole(parts)
        found = reconcile(state, wanted)
        self._carry_out(found.delta)
        self.channel.apply(
            encode.flow_delete_raw(stat.table_id, stat.priority, stat.cookie, stat.match_bytes)
            for stat in found.unreadable
        )
        self._there, self._doubtful = parts, False
        self._note(wanted, found)
        return found

    def read(self) -> SwitchState:
        """A dump of the switch."""
        groups = self.channel.dump(encode.group_desc_request, GroupStat)
        flows = self.channel.dump(encode.flow_stats_request, FlowStat)
        return SwitchState(tuple(flows), tuple(groups))

    def use_macs(self, macs: Mapping[int, int]) -> None:
        """Deliver to these foreign MAC addresses (by IPv4 address) from now on."""
        with self._lock:
            changes, self.macs = macs != self.macs, macs
            if changes:
                self._catch_up()

    def use(self, plan: RulePlan, restored: tuple[FlowRow, ...]) -> None:
        """The switch has to hold another plan from now on, once it catches up."""
        self.plan, self.restored = plan, restored

    def holds_plan(self) -> bool:
        """Whether the switch has confirmed the plan that it has to hold."""
        return self._there is not None and self._there.plan is self.plan

    def catch_up(self) -> int:
        """Bring a switch from what it holds to what it has to hold, at once; number of rows changed.

        A switch that has not got its plan yet gets this one with it.

        Raises
        ------
        SwitchGoneError, SwitchRefusedError
        """
        with self._lock:
            return self._catch_up()

    def doubt(self) -> None:
        """The switch refused or did not answer: it is read before it is brought to its plan."""
        if self._there is not None:
            self._doubtful = True

    def _catch_up(self) -> int:
        if self._there is None:
            return 0
        if self._doubtful:
            return _rows_in(self._bring_to_plan().delta)
        parts = _There(self.plan, self.restored, self.macs)
        wanted = self._whole(parts)
        delta = diff(self._whole(self._there), wanted)
        self._carry_out(delta)
        self._there = parts
        self.status.rows = len(wanted.flows)
        return _rows_in(delta)

    def restore(self, rows: tuple[FlowRow, ...], prepared: Change | None = None) -> int:
        """Put these rows in place of planned ones, and back what was in place of others; number of rows changed.

        A switch that has not got its plan yet gets them with it.

        Parameters
        ----------
        prepared
            Messages that were encoded beforehand, for a switch that holds the rows from which they start.

        Raises
        ------
        SwitchGoneError, SwitchRefusedError
        """
        self.restored = rows
        with self._lock:
            if self._there is None:
                return 0
            if self._there.plan is not self.plan:
                return self._catch_up()
            there, wanted = self._there, self.restored  # sending yields, and others may want other rows meanwhile
            if prepared is not None and prepared.before is there.restored and prepared.after is wanted:
                messages = prepared.messages
            else:
                messages = self._restoring(there.restored, wanted)
            confirm = self.channel.send(messages) if messages else None
            self._there = replace(there, restored=wanted)
        if confirm is not None:  # the next change need not wait for this one
            confirm()
        return len(messages)

    def _restoring(self, there: tuple[FlowRow, ...], wanted: tuple[FlowRow, ...]) -> tuple[bytes, ...]:
        before, after = ({row.key: row for row in rows} for rows in (there, wanted))
        return tuple(map(message_of, switch_commands(self.prepare_to_restore(), before, after)))

    def prepare_to_restore(self) -> Mapping[RowKey, FlowRow]:
        """Index the plan, once: in the face of a failure, tens of thousands of rows would take too long."""
        if self._planned is None or self._planned[0] is not self.plan:
            self._planned = (self.plan, {row.key: row for row in self.plan.flows})
        return self._planned[1]

    def stop_learning(self, work: ReturnWork) -> None:
        """Replace the rows that teach about returning links by rows that only route."""
        self._change(work.silenced, work.cache, work.cache_meanwhile)

    def learn_again(self, work: ReturnWork) -> None:
        """Put the teaching rows back."""
        self._change(work.learning, work.cache_meanwhile, work.cache)

    def stop_pushing(self, work: ReturnWork) -> None:
        """Delete the recovery rows that give packets a tag about returning links, and those that drop notifications."""
        self._forget(work, PUSHING_TABLES)

    def forget(self, work: ReturnWork) -> None:
        """Delete every recovery row about returning links."""
        self._forget(work, (OFPTT_ALL,))

    def _forget(self, work: ReturnWork, table_ids: Iterable[int]) -> None:
        with self._lock:
            self.channel.apply(
                encode.flows_delete_by_cookie(value, RECOVERY_MASK, table_id)
                for table_id in table_ids
                for value in work.cookies
            )

    def remembered(self, owner: int) -> list[FlowRow]:
        """Recovery rows that the switch holds now."""
        return [stat.row for stat in self.remembered_stats(owner) if stat.row is not None]

    def remembered_stats(self, owner: int) -> list[FlowStat]:
        """The same with their counters and age."""
        mask = SCHEME_MASK | KIND_MASK
        return [
            stat
            for kind in (Kind.LEARNED, Kind.AGENT)
            for stat in self.channel.dump(
                encode.flow_stats_request, FlowStat, cookie=cookie(owner, kind), cookie_mask=mask
            )
        ]

    def _change(self, modified: Iterable[FlowRow], deleted: Iterable[FlowRow], added: Iterable[FlowRow]) -> None:
        changes = ((Operation.MODIFY, modified), (Operation.DELETE, deleted), (Operation.ADD, added))
        commands = [Command(operation, row) for operation, rows in changes for row in rows]
        if commands:
            with self._lock:
                self._apply_at_once([commands])

    def _carry_out(self, delta: PlanDelta) -> None:
        """New rows in phases; changes of a switch that carries traffic all at once, where it knows bundles."""
        phases = [phase.commands for phase in install_phases(delta)]
        if delta.modify_flows or delta.delete_flows or delta.modify_groups or delta.delete_groups:
            self._apply_at_once(phases)
        else:
            self._apply(phases)

    def _apply_at_once(self, phases: Sequence[Sequence[Command]]) -> None:
        try:
            self.channel.apply_at_once(_messages(command for phase in phases for command in phase))
        except SwitchRefusedError:
            # A switch without bundles: the order of the phases is safe too, unless tables are in a shape
            # (docs/decisions/decomposition.md). A bad row is refused again here.
            self._apply(phases)

    def _apply(self, phases: Iterable[Sequence[Command]]) -> None:
        for phase in phases:
            self.channel.apply(_messages(phase))

    def _note(self, wanted: RulePlan, found: Reconciliation) -> None:
        self.status.state = "installed"
        self.status.rows = len(wanted.flows)
        self.status.recovery_rows = len(found.recovery)
        self.status.installed_at_s = time.monotonic()
        self.status.foreign = found.foreign
        self.status.conflicts = found.conflicts
        changes = found.delta
        self.events.write(
            "plan_installed",
            dpid=wanted.dpid,
            node=wanted.node,
            rows=len(wanted.flows),
            groups=len(wanted.groups),
            added=len(changes.add_flows),
            modified=len(changes.modify_flows),
            deleted=len(changes.delete_flows) + len(found.unreadable),
            recovery_rows=len(found.recovery),
            foreign=len(found.foreign),
        )


def _rows_in(delta: PlanDelta) -> int:
    return len(delta.add_flows) + len(delta.modify_flows) + len(delta.delete_flows)


def owner_of(plan: RulePlan) -> int:
    """Who owns the rows of a plan."""
    return next(split_cookie(row.cookie).scheme for row in plan.flows)


def _messages(commands: Iterable[Command]) -> Iterator[bytes]:
    """Messages of commands, with a pause for the other switches now and then."""
    for number, command in enumerate(commands, start=1):
        if number % _YIELD_EVERY_ROWS == 0:
            hub.sleep(0)
        yield message_of(command)
