"""A switch's tunnel agent: `python -m ovsdb_backup.tunnel_agent --configuration s1.json --management unix:s1.mgmt`.

A shell around `decide.tunnel_agent.step` with one OpenFlow connection to the bridge's management socket, and no other:
no controller, no database. The agent configuration is a file of the switch's own (docs/agent.md); SIGHUP reads it
again.
"""

from __future__ import annotations

import signal

if __name__ == "__main__" and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C during the imports ends the process, and not in a traceback

import argparse
import gc
import os
import socket
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from machine.arguments import OneLineParser
from machine.event_log import EventLog
from mininet_topos.errors import ArmorError, BadInputError
from mininet_topos.input_files import parse_json, read_bytes
from ovsdb_backup.agent import add_metrics_option, check_wait, event_log_of, metrics_address, without_eventlet
from ovsdb_backup.decide.agent_types import PortStatus
from ovsdb_backup.decide.agent_wire import Reading, event_of, greeting, note_port, read_further, read_requests
from ovsdb_backup.decide.link_down import ldi_frame, read_ldi
from ovsdb_backup.decide.tunnel_agent import (
    ChangeRows,
    Event,
    LdisHeard,
    PortsChanged,
    SendLdis,
    SwitchRead,
    Tick,
    TunnelState,
    next_deadline_s,
    prepared_for,
    step,
)
from ovsdb_backup.switch_link import SwitchLink
from ovsdb_backup.urgency import Urgency
from ryu_apps.openflow import decode, encode
from ryu_apps.openflow.wire import MsgType, WireError, header
from ryu_apps.plan.damping import DEFAULT_WAIT_S, Damping
from ryu_apps.plan.ids import Kind, split_cookie
from ryu_apps.plan.kuijia.agent_configuration import AgentConfiguration, configuration_from_json
from ryu_apps.plan.rows import Output
from ryu_apps.schemes import find_tunnel_scheme

_READ_XID, _CHANGE_XID, _LDI_XID = 1, 2, 3
_POLLIN = 0x001


@dataclass(frozen=True)
class TunnelAgentOptions:
    """Options of an agent's command line."""

    configuration: Path
    management: str
    wait_to_restore_s: float = DEFAULT_WAIT_S
    realtime: bool = False
    metrics: tuple[str, int] | None = None


def parse_options(arguments: Sequence[str]) -> TunnelAgentOptions:
    """Options of a command line.

    Raises
    ------
    BadInputError
        A missing, unknown or impossible option.
    """
    parser = OneLineParser(prog="python -m ovsdb_backup.tunnel_agent", description=__doc__.partition("\n")[0])
    parser.add_argument(
        "--configuration", required=True, type=Path, help="what this switch has to know about tunnels (JSON)"
    )
    parser.add_argument("--management", required=True, help="management socket of the bridge: unix:PATH")
    parser.add_argument(
        "--wait-to-restore-s", type=float, default=DEFAULT_WAIT_S, help="how long a tunnel must be up before it is used"
    )
    parser.add_argument(
        "--realtime", action="store_true", help="meet failures with real-time priority, where the system permits it"
    )
    add_metrics_option(parser)
    given: argparse.Namespace = parser.parse_args(arguments)
    check_wait(given.wait_to_restore_s)
    metrics = metrics_address(given.metrics)
    return TunnelAgentOptions(given.configuration, given.management, given.wait_to_restore_s, given.realtime, metrics)


def read_configuration(path: Path) -> AgentConfiguration:
    """Agent configuration of a file.

    Raises
    ------
    BadInputError
        It cannot be read, or is no agent configuration.
    """
    content = read_bytes(path, f"the agent configuration {path}")
    try:
        return configuration_from_json(parse_json(content), find_tunnel_scheme)
    except BadInputError as error:
        raise BadInputError(f"the agent configuration {path}: {error}") from error


class TunnelAgent:
    """One agent for one bridge; `run` returns after `stop`."""

    def __init__(self, options: TunnelAgentOptions, events: EventLog) -> None:
        self._options, self._events = options, events
        self._link = SwitchLink(options.management)
        self._reading: Reading | None = None
        self._urgency = Urgency(options.realtime)
        self._stopping = self._reloading = False
        self._heard_s = 0.0
        self._wake_up, self._waker = socket.socketpair()
        for end in (self._wake_up, self._waker):
            end.setblocking(False)
        self._load()

    def _load(self) -> None:
        configuration = read_configuration(self._options.configuration)
        self._tc = configuration.setup.ldi.tc
        self.state = TunnelState(
            configuration, Damping.of_wait(self._options.wait_to_restore_s), prepared_for(configuration)
        )

    def _load_again(self) -> None:
        """Take the agent configuration as it is now; one that cannot be used changes nothing."""
        try:
            self._load()
        except ArmorError as error:
            print(
                f"armor tunnel agent: {error}; the agent configuration read before stays in force",
                file=sys.stderr,
                flush=True,
            )
            self._write("error", reason=str(error))
        else:
            self._break_off("a new agent configuration")

    def stop(self, *_signal: object) -> None:
        """End `run` soon; safe in a signal handler."""
        self._stopping = True
        self._waker.send(b"x")

    def reload(self, *_signal: object) -> None:
        """Read the agent configuration again soon; safe in a signal handler."""
        self._reloading = True
        self._waker.send(b"x")

    def run(self) -> None:
        """Serve until `stop`. Rows stay in the switch: failures outlive the agent."""
        import ovs.poller

        gc.disable()  # a collection in the middle of a failure would cost milliseconds
        while not self._stopping:
            if self._reloading:
                self._reloading = False
                self._load_again()
            self._serve()
            poller = ovs.poller.Poller()
            self._register(poller)
            self._urgency.set(self._link.is_open and self._reading is None)
            poller.block()
            self._drain()
        self._link.close(time.monotonic())
        for open_end in (self._wake_up, self._waker, self._events):
            open_end.close()

    def _register(self, poller: Any) -> None:
        self._link.register(poller)
        poller.fd_wait(self._wake_up.fileno(), _POLLIN)
        deadline_s = next_deadline_s(self.state) if self._link.is_open and self._reading is None else None
        if deadline_s is not None:
            poller.timer_wait(max(0, int((deadline_s - time.monotonic()) * 1000) + 1))

    def _drain(self) -> None:
        try:
            self._wake_up.recv(64)
        except BlockingIOError:
            return

    def _serve(self) -> None:
        now_s = time.monotonic()
        try:
            if not self._link.is_open:
                if now_s < self._link.next_try_s or not self._link.open(now_s):
                    return
                self._urgency.set(False)  # until the switch is known: that takes long
                self._reading = Reading()
                self._link.send(greeting() + read_requests(_READ_XID))
            self._link.flush()
            messages = self._link.receive()
            self._heard_s = time.monotonic()
            for event in self._events_of(messages):
                self._act_on(event)
            if self._reading is None:
                self._act_on(Tick())
        except (OSError, WireError) as error:
            self._break_off(str(error))

    def _events_of(self, messages: list[bytes]) -> list[Event]:
        """What messages that came together say: ports first, then all LDIs as one, so that one failure is one."""
        ports: dict[int, bool] = {}
        labels: set[int] = set()
        read: list[Event] = []
        for message in messages:
            head = header(message)
            if head.msg_type == MsgType.ECHO_REQUEST:
                self._link.send(encode.echo_reply(message))
            elif head.msg_type == MsgType.ERROR:
                raise WireError(str(decode.decode_error(message)))
            elif head.msg_type == MsgType.PORT_STATUS:
                self._note_port(message, ports)
            elif head.msg_type == MsgType.PACKET_IN:
                label = read_ldi(decode.decode_packet_in(message).data, self._tc)
                labels |= set() if label is None else {label}
            elif head.msg_type == MsgType.MULTIPART_REPLY and self._reading is not None:
                read += self._read_further(message)
        if self._reading is not None:
            return []  # ports are noted in the reading, and LDIs come again
        found: list[Event] = [*read]
        found += [PortsChanged(ports)] if ports else []
        return [*found, LdisHeard(frozenset(labels))] if labels else found

    def _note_port(self, message: bytes, ports: dict[int, bool]) -> None:
        status = event_of(message)
        if isinstance(status, PortStatus):
            if self._reading is not None:
                self._reading = note_port(self._reading, status)
            ports[status.port_no] = status.live

    def _read_further(self, message: bytes) -> list[Event]:
        if self._reading is None:
            return []
        self._reading = read_further(self._reading, message)
        done = self._reading.event
        if done is None:
            return []
        self._reading = None
        self._link.settled(time.monotonic())
        own = self.state.configuration.owner
        rows = tuple(row for row in done.flows if split_cookie(row.cookie)[:2] == (own, Kind.AGENT))
        self._write("reconnect", rows=len(rows))
        return [SwitchRead(done.live_ports, rows)]

    def _act_on(self, event: Event) -> None:
        down, failed_tunnels = self.state.failed_ports, self.state.failed_tunnels
        self.state, actions = step(self.state, event, time.monotonic())
        ldis = 0
        for action in actions:
            if isinstance(action, ChangeRows):
                # Without deletions nothing needs to happen at one instant: the base rows stay below.
                sent = b"".join(action.messages)
                self._link.send(encode.bundle(_CHANGE_XID, list(action.messages)) if action.delete else sent)
            elif isinstance(action, SendLdis):
                ldis = len(action.ldis)
                frames = (
                    encode.packet_out(ldi_frame(label, self._tc), (Output(port_no),), xid=_LDI_XID)
                    for label, port_no in action.ldis
                )
                self._link.send(b"".join(frames))
        # The event log waits until the bytes are sent.
        for port_no in self.state.failed_ports.keys() ^ down.keys():
            self._write("port_status", port_no=port_no, live=port_no not in self.state.failed_ports)
        for action in actions:
            if isinstance(action, ChangeRows):
                self._write("agent_install", rows=len(action.install), deleted=len(action.delete))
        if self.state.failed_tunnels != failed_tunnels:
            count = sum(len(event) for events in self.state.failed_tunnels.values() for event in events)
            self._write("tunnels_failed", tunnels=count)
        if ldis and self.state.failed_ports.keys() != down.keys():
            self._write("ldis_sent", ldis=ldis)

    def _break_off(self, reason: str) -> None:
        """Forget the connection; the next one reads the switch again, so nothing has to be guessed."""
        self._write("disconnect", reason=reason)
        self._link.close(time.monotonic())
        self._reading = None
        self.state = replace(self.state, rows={}, foreign=(), sorted_out_s=None)

    def _write(self, event: str, **fields: str | int | float | bool) -> None:
        self._events.write(
            event, None, **{"node": self.state.configuration.node, "t_received_s": self._heard_s, **fields}
        )


def main(arguments: Sequence[str] | None = None) -> int:
    """Run an agent until SIGTERM or SIGINT; exit code 0, or 2 for options that cannot be used."""
    try:
        options = parse_options(sys.argv[1:] if arguments is None else arguments)
        without_eventlet()
        agent = TunnelAgent(options, event_log_of(read_configuration(options.configuration).node, options.metrics))
    except ArmorError as error:
        print(f"armor tunnel agent: {error}", file=sys.stderr)
        return error.exit_code
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, agent.stop)
    signal.signal(signal.SIGHUP, agent.reload)
    agent.run()
    return os.EX_OK


if __name__ == "__main__":
    sys.exit(main())
