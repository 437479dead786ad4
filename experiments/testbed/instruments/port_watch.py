"""Watches the port states of switches and writes every change to the event log.

    ARMOR_EVENTS=events.jsonl python -m experiments.testbed.instruments.port_watch s3=/run/s3/s3.mgmt s7=/run/s7/s7.mgmt

It holds one OpenFlow connection to the management socket of each switch, so it hears what an agent there hears:
OFPT_PORT_STATUS, in which Open vSwitch shows its BFD's verdict as OFPPS_LIVE. A process of its own, so that the
stamp is taken when the message arrives and not when a busy experiment finds the time.
"""

from __future__ import annotations

import contextlib
import selectors
import socket
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from machine.event_log import EventLog
from mininet_topos.errors import BadInputError
from mininet_topos.ports import MAX_PORT_NO
from ryu_apps.openflow import decode, encode
from ryu_apps.openflow.wire import MsgType, header, split_messages

RETRY_S = 0.05
_RECEIVE_BYTES = 1 << 16


@dataclass
class Watched:
    """One switch: its socket's path, the connection while there is one, and the last known states."""

    node: str
    path: str
    connection: socket.socket | None = None
    rest: bytes = b""
    live: dict[int, bool] = field(default_factory=dict)

    def connect(self) -> socket.socket | None:
        """Try to connect and to ask for port states; None when nobody listens."""
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            connection.connect(self.path)
            # Without a miss_send_len the management socket sends no asynchronous message at all.
            connection.sendall(encode.hello() + encode.set_config() + encode.port_desc_request())
        except OSError:
            connection.close()
            return None
        self.connection, self.rest = connection, b""
        return connection

    def disconnect(self) -> None:
        """Drop the connection."""
        if self.connection is not None:
            self.connection.close()
            self.connection = None


@dataclass(frozen=True, slots=True)
class PortChange:
    """A port whose state differs from the last known one, and when that was heard (CLOCK_MONOTONIC)."""

    node: str
    port_no: int
    live: bool
    is_first: bool
    t_s: float


class PortStates:
    """States of the ports of switches, over a connection to the management socket of each.

    Parameters
    ----------
    sockets
        Path of the management socket by node. A switch that goes away is tried again.
    """

    def __init__(self, sockets: Mapping[str, str]) -> None:
        self._switches = [Watched(node, path) for node, path in sockets.items()]
        self._selector = selectors.DefaultSelector()

    def changes(self, timeout_s: float | None) -> Iterator[PortChange]:
        """Wait for news, for so long at most, and tell what has changed."""
        for switch in self._switches:
            if switch.connection is None and (connection := switch.connect()) is not None:
                self._selector.register(connection, selectors.EVENT_READ, switch)
        if not all(switch.connection for switch in self._switches):
            timeout_s = RETRY_S if timeout_s is None else min(RETRY_S, timeout_s)
        for key, _ in self._selector.select(timeout_s):
            t_s = time.monotonic()
            switch = key.data
            try:
                yield from _received(switch, t_s)
            except OSError:
                self._selector.unregister(key.fileobj)
                switch.disconnect()

    def close(self) -> None:
        """Drop all connections."""
        self._selector.close()
        for switch in self._switches:
            switch.disconnect()


def watch(sockets: Mapping[str, str], log: EventLog) -> None:
    """Write every change to the event log until a signal ends the process."""
    states = PortStates(sockets)
    while True:
        for change in states.changes(None):
            log.write(
                "port_status",
                change.t_s,
                node=change.node,
                port_no=change.port_no,
                live=change.live,
                is_first=change.is_first,
            )


def _received(switch: Watched, t_s: float) -> Iterator[PortChange]:
    """What has arrived (`OSError`: the switch has closed the connection)."""
    if switch.connection is None:
        return
    data = switch.connection.recv(_RECEIVE_BYTES)
    if not data:
        raise ConnectionResetError(f"{switch.node} has closed the connection")
    messages, switch.rest = split_messages(switch.rest + data)
    for message in messages:
        for port_no, live in _states_in(switch, message):
            # Reserved ports (the bridge's own) have no state.
            if port_no <= MAX_PORT_NO and switch.live.get(port_no) != live:
                is_first = port_no not in switch.live
                switch.live[port_no] = live
                yield PortChange(switch.node, port_no, live, is_first, t_s)


def _states_in(switch: Watched, message: bytes) -> Sequence[tuple[int, bool]]:
    """Port numbers and states that a message tells; a question for a sign of life is answered."""
    kind = header(message).msg_type
    if kind == MsgType.ECHO_REQUEST and switch.connection is not None:
        switch.connection.sendall(encode.echo_reply(message))
    elif kind == MsgType.PORT_STATUS:
        status = decode.decode_port_status(message)
        return [(status.port.port_no, status.port.live)]
    elif kind == MsgType.MULTIPART_REPLY:
        ports, _ = decode.decode_port_desc(message)
        return [(port.port_no, port.live) for port in ports]
    return ()


def main(argv: list[str]) -> int:
    """Entry point of the process."""
    sockets = {}
    for entry in argv:
        node, separator, path = entry.partition("=")
        if not separator:
            raise BadInputError(f"{entry!r} names no socket; write NODE=PATH")
        sockets[node] = path
    with contextlib.suppress(KeyboardInterrupt):
        watch(sockets, EventLog("watcher"))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
