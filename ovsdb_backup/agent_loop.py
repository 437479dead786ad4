"""The agent's loop: gives `decide.agent.step` what comes from switch, databases and clock; does what that decides."""

from __future__ import annotations

import gc
import socket
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from machine.event_log import EventLog
from mininet_topos.errors import ArmorError
from ovsdb_backup.agent_journal import Journal
from ovsdb_backup.decide.agent import next_deadline_s, step
from ovsdb_backup.decide.agent_batch import in_one_go
from ovsdb_backup.decide.agent_ports import is_foreseen
from ovsdb_backup.decide.agent_types import (
    Actions,
    AgentAction,
    AgentState,
    ChangeRows,
    Disconnected,
    Event,
    FlowsRemoved,
    Log,
    PacketIn,
    PlanLoaded,
    PortStatus,
    ReadSwitch,
    Refill,
    ReleasePacket,
    SecondSource,
    SecondSourceLost,
    Tick,
)
from ovsdb_backup.decide.agent_wire import (
    RELEASE_XID,
    Reading,
    bytes_of,
    event_of,
    greeting,
    note_port,
    read_further,
    read_requests,
)
from ovsdb_backup.decide.backup_index import BackupIndex
from ovsdb_backup.decide.packet import PacketFields
from ovsdb_backup.decide.preparation import Preparation, Prepared
from ovsdb_backup.switch_link import SwitchLink
from ovsdb_backup.urgency import Urgency
from ryu_apps.control.decide.allowance import Allowance, Rate
from ryu_apps.openflow import decode, encode
from ryu_apps.openflow.wire import MsgType, WireError, header
from ryu_apps.plan.damping import DEFAULT_WAIT_S, Damping
from ryu_apps.plan.recovery_rows import tag_tci
from ryu_apps.plan.rows import FlowRow

if TYPE_CHECKING:
    from ovsdb_backup.database_watch import PlanId, PlanWatch, PortWatch

STORE_TIMEOUT_S = 2.0  # the agent is deaf while it reads a plan: a server that hangs must not keep it long
FIRST_STORE_TIMEOUT_S = 10.0  # without a plan there is nothing that it could miss
STORE_RETRY_S = 1.0
PREPARE_AFTER_S = 0.5  # quiet time before failures are worked out in advance: other agents may be busy
COLLECT_INTERVAL_S = 60.0
PUNTED_PACKETS = Rate(per_s=2000, at_once=500)  # Open vSwitch does not limit the packet-ins of a management connection
_LAST_XID = 0xFFFFFFFF


@dataclass(frozen=True)
class AgentOptions:
    """Options of an agent's command line."""

    node: str
    bridge: str
    database: str
    management: str
    second_source: str
    wait_to_restore_s: float = DEFAULT_WAIT_S
    hard_timeout_s: int = 0
    realtime: bool = False
    metrics: tuple[str, int] | None = None


class Agent:
    """One agent for one bridge; `run` returns after `stop`."""

    def __init__(self, options: AgentOptions, plans: PlanWatch, ports: PortWatch, events: EventLog) -> None:
        self._options = options
        self._plans = plans
        self._ports = ports
        self._journal = Journal(events, options.node)
        damping = Damping.of_wait(options.wait_to_restore_s)
        self.state = AgentState(damping, options.hard_timeout_s)
        self._link = SwitchLink(options.management)
        self._reading: Reading | None = None
        self._held_back: list[bytes] = []
        self._removed: list[FlowRow] = []
        self._burst_type: int | None = None
        self._answers: list[AgentAction] = []
        self._prepared: dict[int, Prepared] = {}
        self._preparation: Preparation | None = None
        self._prepare_at_s = self._collect_at_s = self._next_load_s = 0.0
        self._punted_packets = Allowance(PUNTED_PACKETS, time.monotonic())
        self._xid = self._read_xid = RELEASE_XID
        self._lost = ""
        self._stored: PlanId | None = None
        self._stopping = False
        self._urgency = Urgency(options.realtime)
        self._wake_up, self._waker = socket.socketpair()
        for end in (self._wake_up, self._waker):
            end.setblocking(False)

    def stop(self, *_signal: object) -> None:
        """End `run` soon; safe in a signal handler."""
        self._stopping = True
        self._waker.send(b"x")

    def run(self) -> None:
        """Serve until `stop`. The agent's rows stay in the switch: failures outlive it."""
        import ovs.poller

        gc.disable()  # a collection in the middle of a failure would cost milliseconds
        while not self._stopping:
            self._serve_switch()
            self._serve_database()
            self._serve_clock()
            if not self._prepare_more():
                self._collect_garbage()
                poller = ovs.poller.Poller()
                self._register(poller)
                self._urgency.set(self.state.is_connected and self._reading is None)
                poller.block()
        self._journal.report(time.monotonic())
        self._link.close(time.monotonic())
        for open_end in (self._plans, self._ports, self._journal, self._wake_up, self._waker):
            open_end.close()

    def _register(self, poller: Any) -> None:
        self._link.register(poller)
        self._plans.register(poller)
        self._ports.register(poller)
        poller.fd_wait(self._wake_up.fileno(), 0x001)
        now_s = time.monotonic()
        deadlines = [next_deadline_s(self.state), self._journal.report_due_s]
        deadlines += [at_s for at_s in (self._next_load_s, self._prepare_at_s) if at_s > now_s]
        for deadline_s in deadlines:
            if deadline_s is not None:
                poller.timer_wait(max(0, int((deadline_s - now_s) * 1000) + 1))

    # ---- the switch

    def _serve_switch(self) -> None:
        now_s = time.monotonic()
        try:
            if not self._link.is_open:
                if now_s < self._link.next_try_s or not self._link.open(now_s):
                    return
                self._send(greeting())
                self._begin_reading()
            self._flush()
            messages = self._link.receive()
            self._journal.received_s = time.monotonic()
            for message in messages:
                self._hear(message)
            self._finish_burst()
        except OSError as error:
            self._lost = str(error)
        except WireError as error:
            self._break_off(str(error), "error")
        if self._lost:
            self._break_off(self._lost)

    def _flush(self) -> None:
        """Send what is left; what waited for it to be sent goes into the event log now."""
        self._link.flush()
        if not self._link.has_unsent:
            self._journal.sent()

    def _send(self, data: bytes) -> None:
        """Send; a connection that breaks meanwhile is noticed by `_serve_switch`, for any sender."""
        try:
            self._link.send(data)
        except OSError as error:
            self._lost = str(error)

    def _break_off(self, reason: str, event: str = "disconnect") -> None:
        """Forget the connection; the next one reads the switch again, so nothing has to be guessed."""
        self._journal.write(event, reason=reason)
        self._link.close(time.monotonic())
        self._lost = ""
        self._reading = None
        self._held_back.clear()
        self._journal.forget_unsent()
        self._removed.clear()
        self._answers.clear()
        self._act_on(Disconnected())

    def _begin_reading(self) -> None:
        self._urgency.set(False)  # until the switch is known: that takes long
        self._reading = Reading()
        self._read_xid = self._next_xid()
        self._send(read_requests(self._read_xid))

    def _hear(self, message: bytes) -> None:
        head = header(message)
        if head.msg_type != self._burst_type:
            self._finish_burst()
            self._burst_type = head.msg_type
        if head.msg_type == MsgType.PORT_STATUS:
            self._hear_port(message)
        elif head.msg_type == MsgType.ECHO_REQUEST:
            self._send(encode.echo_reply(message))
        elif head.msg_type == MsgType.ERROR:
            self._hear_error(message)
        elif head.msg_type == MsgType.MULTIPART_REPLY and head.xid == self._read_xid and self._reading is not None:
            self._reading = read_further(self._reading, message)
            self._finish_reading()
        elif self._reading is not None and not self.state.is_connected:
            self._held_back.append(message)  # nothing can be said about rows before they are known
        else:
            self._hear_event(message)

    def _hear_port(self, message: bytes) -> None:
        event = event_of(message)
        if not isinstance(event, PortStatus):
            return
        if self._reading is not None:
            self._reading = note_port(self._reading, event)
        self._act_on_port(event)

    def _hear_event(self, message: bytes) -> None:
        if header(message).msg_type == MsgType.PACKET_IN and not self._punted_packets.admits(time.monotonic()):
            self._journal.count("packet_dropped", "too many at once")
            return
        event = event_of(message)
        if isinstance(event, FlowsRemoved):
            self._removed += event.rows
        elif isinstance(event, PacketIn):
            self._answers += self._decide(event)
        elif event is not None:
            self._act_on(event)

    def _finish_burst(self) -> None:
        """Packets and removal notices come in bursts: act once on each."""
        if self._answers:
            answers, self._answers = in_one_go(self._answers), []
            self._do(answers)
        if self._removed:
            removed, self._removed = tuple(self._removed), []
            self._act_on(FlowsRemoved(removed))

    def _hear_error(self, message: bytes) -> None:
        error = decode.decode_error(message)
        if error.xid == RELEASE_XID:
            self._journal.count("packet_dropped", str(error))
            return
        # A refused change means that rows are not what the agent believes: start afresh from what is there.
        raise WireError(str(error))

    def _finish_reading(self) -> None:
        event = self._reading.event if self._reading is not None else None
        if event is None:
            return
        self._reading = None
        self._link.settled(time.monotonic())
        self._act_on(event)
        self._rehearse()
        held_back, self._held_back = self._held_back, []
        for message in held_back:
            self._hear(message)
        self._finish_burst()

    # ---- decisions and deeds

    def _act_on(self, event: Event) -> None:
        self._do(self._decide(event))

    def _act_on_port(self, event: PortStatus | SecondSource) -> None:
        """As `_act_on`; what is prepared for a failure is sent before `step` is asked, which takes longer than that."""
        prepared = self._prepared.get(event.port_no) if not event.live else None
        if prepared is not None and is_foreseen(self.state, event.port_no, prepared.failure):
            self._send(prepared.data)
            sent_s = time.monotonic()
            self._do(self._decide(replace(event, prepared=prepared.failure)), prepared.change, sent_s)
        else:
            self._act_on(event)

    def _decide(self, event: Event) -> Actions:
        now_s = time.monotonic()
        self.state, actions = step(self.state, event, now_s)
        self._prepare_at_s = now_s + PREPARE_AFTER_S
        return actions

    def _do(self, actions: Actions, sent: ChangeRows | None = None, sent_s: float | None = None) -> None:
        """Send what was not `sent` already (at `sent_s`), then write into the event log what was done."""
        sendable = [action for action in actions if isinstance(action, ChangeRows | Refill | ReleasePacket)]
        if unsent := [action for action in sendable if action != sent]:
            self._send(b"".join(bytes_of(action, self._next_xid()) for action in unsent))
        is_outdated = self._reading is not None and any(isinstance(action, ChangeRows) for action in actions)
        if is_outdated or any(isinstance(action, ReadSwitch) for action in actions):
            self._begin_reading()  # what is being read may be from before this change
        for action in actions:
            if isinstance(action, Log):
                self._journal.note(action, is_sent=not self._link.has_unsent, sent_s=sent_s)

    def _rehearse(self) -> None:
        """Decide on a punted packet, encode what that asks for, and forget it all.

        The first real packet would otherwise pay for every index and cache that is filled on first use.
        """
        row = next((row for row in self.state.index.backups if row.tag_id), None)
        if row is not None:
            packet = PacketFields(tag_tci(row.tag_id, row.status), row.source or 0, row.destination)
            _state, actions = step(self.state, PacketIn(packet, b""), time.monotonic())
            for action in actions:
                if isinstance(action, ChangeRows | ReleasePacket):
                    bytes_of(action, self._next_xid())

    def _next_xid(self) -> int:
        self._xid = RELEASE_XID + 1 if self._xid == _LAST_XID else self._xid + 1
        return self._xid

    def _prepare_more(self) -> bool:
        """Do one slice of the preparation for the failures that may come; whether there was any to do.

        Not in the middle of events, though: while a failure is being met every processor is wanted elsewhere.
        """
        if not self.state.is_connected or self._reading is not None or time.monotonic() < self._prepare_at_s:
            return False
        if self._preparation is None or self._preparation.version != self.state.version:
            port_no = self._next_unprepared()
            if port_no is None:
                return False
            self._preparation = Preparation(self.state, port_no, self._next_xid())
        self._urgency.set(False)
        prepared = self._preparation.advance()
        self._urgency.set(True)
        if prepared is not None:
            self._prepared[self._preparation.port_no] = prepared
            self._preparation = None
        return True

    def _next_unprepared(self) -> int | None:
        """A port that is up and whose failure is not worked out for the present state."""
        for port_no in self.state.index.primaries:
            known = self._prepared.get(port_no)
            health = self.state.ports.get(port_no)
            if health is not None and health.is_up and (known is None or known.failure.version != self.state.version):
                return port_no
        return None

    def _collect_garbage(self) -> None:
        """Now and then, when there is nothing else to do."""
        now_s = time.monotonic()
        if now_s >= self._collect_at_s and now_s >= self._prepare_at_s:
            self._urgency.set(False)
            gc.collect()
            self._collect_at_s = now_s + COLLECT_INTERVAL_S

    # ---- the databases and the clock

    def _serve_database(self) -> None:
        news = list(self._ports.news())
        self._journal.received_s = time.monotonic()
        for port_no, live in news:
            self._act_on_port(SecondSource(port_no, live))
        if self._ports.is_lost:
            self._act_on(SecondSourceLost())
        stored = self._plans.stored()
        if complaint := self._plans.complaint(stored, time.monotonic()):
            self._journal.write("error", reason=complaint)
        if stored is not None and stored != self._stored and time.monotonic() >= self._next_load_s:
            self._urgency.set(False)
            self._load_plan(stored)

    def _load_plan(self, wanted: PlanId) -> None:
        from ryu_apps.backup_database.store import BackupStore

        try:
            timeout_s = STORE_TIMEOUT_S if self.state.index.backups else FIRST_STORE_TIMEOUT_S
            stored = BackupStore(self._options.database, timeout_s).read_plan(self._options.bridge)
        except ArmorError as error:
            self._next_load_s = time.monotonic() + STORE_RETRY_S
            self._journal.write("error", reason=str(error))
            return
        self._stored = wanted  # what was read may be newer; then it is read once more
        index = BackupIndex.from_plan(stored.plan, stored.ports) if stored is not None else BackupIndex()
        self._act_on(PlanLoaded(index))
        gc.collect()
        gc.freeze()  # what was just loaded lives long: later collections leave it out

    def _serve_clock(self) -> None:
        now_s = time.monotonic()
        deadline_s = next_deadline_s(self.state)
        if deadline_s is not None and deadline_s <= now_s:
            self._journal.received_s = now_s
            self._act_on(Tick())
        if (due_s := self._journal.report_due_s) is not None and due_s <= now_s:
            self._journal.report(now_s)
