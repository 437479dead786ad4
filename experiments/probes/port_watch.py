"""Watches the port states of switches and writes every change to the event log.

    ARMOR_EVENTS=events.jsonl python -m experiments.probes.port_watch s3=/run/s3/s3.mgmt s7=/run/s7/s7.mgmt

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
from dataclasses import dataclass, field

from mininet_topos.errors import BadInputError
from mininet_topos.event_log import EventLog
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

    def connect(self) -> bool:
        """Try to connect and to ask for port states."""
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            connection.connect(self.path)
            # Without a miss_send_len the management socket sends no asynchronous message at all.
            connection.sendall(encode.hello() + encode.set_config() + encode.port_desc_request())
        except OSError:
            connection.close()
            return False
        self.connection, self.rest = connection, b""
        return True

    def disconnect(self) -> None:
        """Drop the connection."""
        if self.connection is not None:
            self.connection.close()
            self.connection = None


def watch(watched: list[Watched], log: EventLog) -> None:
    """Watch until the process is told to end. A switch that goes away is tried again."""
    selector = selectors.DefaultSelector()
    while True:
        for switch in watched:
            if switch.connection is None and switch.connect():
                selector.register(switch.connection, selectors.EVENT_READ, switch)
        all_connected = all(switch.connection for switch in watched)
        for key, _ in selector.select(None if all_connected else RETRY_S):
            t_s = time.monotonic()
            switch = key.data
            if not _receive(switch, t_s, log):
                selector.unregister(key.fileobj)
                switch.disconnect()


def _receive(switch: Watched, t_s: float, log: EventLog) -> bool:
    """Handle what has arrived; False when the switch has closed the connection."""
    if switch.connection is None:
        return False
    try:
        data = switch.connection.recv(_RECEIVE_BYTES)
        messages, switch.rest = split_messages(switch.rest + data)
        for message in messages:
            _handle(switch, message, t_s, log)
    except OSError:
        return False
    return bool(data)


def _handle(switch: Watched, message: bytes, t_s: float, log: EventLog) -> None:
    kind = header(message).msg_type
    if kind == MsgType.ECHO_REQUEST and switch.connection is not None:
        switch.connection.sendall(encode.echo_reply(message))
    elif kind == MsgType.PORT_STATUS:
        status = decode.decode_port_status(message)
        _note(switch, status.port.port_no, status.port.live, t_s, log)
    elif kind == MsgType.MULTIPART_REPLY:
        ports, _ = decode.decode_port_desc(message)
        for port in ports:
            _note(switch, port.port_no, port.live, t_s, log)


def _note(switch: Watched, port_no: int, live: bool, t_s: float, log: EventLog) -> None:
    """Log a state that differs from the last known one; reserved ports (the bridge's own) have none."""
    if port_no > MAX_PORT_NO:
        return
    if switch.live.get(port_no) != live:
        is_first = port_no not in switch.live
        switch.live[port_no] = live
        log.write("port_status", t_s, node=switch.node, port_no=port_no, live=live, is_first=is_first)


def main(argv: list[str]) -> int:
    """Entry point of the process."""
    watched = []
    for entry in argv:
        node, separator, path = entry.partition("=")
        if not separator:
            raise BadInputError(f"{entry!r} names no socket; write NODE=PATH")
        watched.append(Watched(node, path))
    with contextlib.suppress(KeyboardInterrupt):
        watch(watched, EventLog("watcher"))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
