"""A few lines of OpenFlow client for tests: a Unix socket, our codec, replies by transaction id."""

from __future__ import annotations

import socket

from ryu_apps.openflow import decode, encode, messages
from ryu_apps.openflow.wire import MsgType, header, split_messages


class OpenFlowClient:
    """A connection to a bridge's management socket."""

    def __init__(self, target: str) -> None:
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.settimeout(20)
        self._socket.connect(target.removeprefix("unix:"))
        self._rest = b""
        self._waiting: list[bytes] = []
        self._xid = 0
        self.others: list[bytes] = []
        self.send(encode.hello())

    def __enter__(self) -> OpenFlowClient:
        return self

    def __exit__(self, *_exception: object) -> None:
        self._socket.close()

    def send(self, message: bytes) -> None:
        """Send bytes."""
        self._socket.sendall(message)

    def barrier(self) -> list[messages.ErrorMessage]:
        """Wait until everything before is done; errors that came meanwhile."""
        self._xid += 1
        self.send(encode.barrier_request(self._xid))
        errors = []
        while True:
            message = self._read()
            kind = header(message)
            if kind.msg_type == MsgType.BARRIER_REPLY and kind.xid == self._xid:
                return errors
            if kind.msg_type == MsgType.ERROR:
                errors.append(decode.decode_error(message))
            else:
                self.others.append(message)

    def flows(self, **filters: int) -> list[messages.FlowStat]:
        """All flows of a dump."""
        return self._dump(encode.flow_stats_request, decode.decode_flow_stats, **filters)

    def groups(self) -> list[messages.GroupStat]:
        """All groups of a dump."""
        return self._dump(encode.group_desc_request, decode.decode_group_desc)

    def ports(self) -> list[messages.PortDesc]:
        """All ports."""
        return self._dump(encode.port_desc_request, decode.decode_port_desc)

    def port_stats(self) -> list[messages.PortStat]:
        """Counters of all ports."""
        return self._dump(encode.port_stats_request, decode.decode_port_stats)

    def features(self) -> messages.Features:
        """Who the switch is."""
        self._xid += 1
        self.send(encode.features_request(self._xid))
        return decode.decode_features(self._reply())

    def _dump(self, request, decoder, **filters):
        self._xid += 1
        self.send(request(**filters, xid=self._xid))
        values, more = [], True
        while more:
            part, more = decoder(self._reply())
            values += part
        return values

    def _reply(self) -> bytes:
        while True:
            message = self._read()
            if header(message).xid == self._xid and header(message).msg_type != MsgType.HELLO:
                return message
            self.others.append(message)

    def _read(self) -> bytes:
        while True:
            if not self._waiting:
                self._waiting, self._rest = split_messages(self._rest)
            if self._waiting:
                first = self._waiting.pop(0)
                if header(first).msg_type == MsgType.ECHO_REQUEST:
                    self.send(encode.echo_reply(first))
                    continue
                return first
            chunk = self._socket.recv(1 << 16)
            if not chunk:
                raise ConnectionError("the switch closed the connection")
            self._rest += chunk
