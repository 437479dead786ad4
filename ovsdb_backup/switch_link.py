"""One OpenFlow connection to the bridge's management socket: bytes in, bytes out, and again after a break."""

from __future__ import annotations

import errno
import socket
import time
from typing import Any

from mininet_topos.errors import BadInputError
from ryu_apps.openflow.wire import WireError, split_messages

FIRST_RETRY_S, MAX_RETRY_S = 0.05, 0.5  # a local socket: trying costs nothing, and a restarted switch is empty
PROVED_AFTER_S = 1.0  # a switch that refuses what the agent needs does so at once, each time anew
_READ_BYTES = 1 << 16
_SEND_BUFFER_BYTES = 1 << 22  # a bundle of a thousand rows leaves at once, as far as the kernel allows


class SwitchLink:
    """A connection that is opened again, with increasing pauses, whenever it breaks.

    Parameters
    ----------
    address
        "unix:PATH" of the management socket (Open vSwitch makes one for every bridge: BRIDGE.mgmt).

    Raises
    ------
    BadInputError
        Another kind of address.
    """

    def __init__(self, address: str) -> None:
        if not address.startswith("unix:") or len(address) == len("unix:"):
            raise BadInputError(f"{address!r} is no management socket; write unix:PATH, for example unix:/run/s1.mgmt")
        self._path = address.removeprefix("unix:")
        self._socket: socket.socket | None = None
        self._received = b""
        self._unsent = bytearray()
        self._retry_s = FIRST_RETRY_S
        self._settled_s: float | None = None
        self.next_try_s = 0.0

    @property
    def is_open(self) -> bool:
        """Whether there is a connection."""
        return self._socket is not None

    @property
    def has_unsent(self) -> bool:
        """Whether the socket has not taken everything yet."""
        return bool(self._unsent)

    def open(self, now_s: float) -> bool:
        """Try to connect; whether it worked. The next try is due at `next_try_s`."""
        candidate = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            candidate.connect(self._path)
        except OSError:
            candidate.close()
            self._back_off(now_s)
            return False
        candidate.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _SEND_BUFFER_BYTES)
        candidate.setblocking(False)
        self._socket = candidate
        return True

    def settled(self, now_s: float) -> None:
        """The switch has been read; if the connection then lasts `PROVED_AFTER_S`, the pauses start again."""
        self._settled_s = now_s

    def close(self, now_s: float) -> None:
        """Break the connection; the next try is due after a pause."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None
        self._received = b""
        self._unsent.clear()
        if self._settled_s is not None and now_s - self._settled_s >= PROVED_AFTER_S:
            self._retry_s = FIRST_RETRY_S
        self._settled_s = None
        self._back_off(now_s)

    def _back_off(self, now_s: float) -> None:
        self.next_try_s = now_s + self._retry_s
        self._retry_s = min(2 * self._retry_s, MAX_RETRY_S)

    def send(self, data: bytes) -> None:
        """Send now what the socket takes, and the rest when it takes more (`ConnectionError`: it broke)."""
        if self._unsent:
            self._unsent += data
        else:
            self._unsent += data[self._write(data) :]

    def flush(self) -> None:
        """Send more of what is left (raises as `send`)."""
        if self._unsent:
            del self._unsent[: self._write(bytes(self._unsent))]

    def _write(self, data: bytes) -> int:
        """Number of bytes that the socket took."""
        if self._socket is None:
            raise ConnectionError("not connected")
        sent = 0
        view = memoryview(data)
        try:
            while sent < len(data):
                sent += self._socket.send(view[sent:])
        except BlockingIOError:
            return sent
        return sent

    def receive(self) -> list[bytes]:
        """Whole messages that are there (`ConnectionError`: the connection broke, or speaks no OpenFlow)."""
        if self._socket is None:
            return []
        messages: list[bytes] = []
        while True:
            try:
                data = self._socket.recv(_READ_BYTES)
            except BlockingIOError:
                return messages
            if not data:
                raise ConnectionResetError(errno.ECONNRESET, "the switch closed the connection")
            try:
                found, self._received = split_messages(self._received + data)
            except WireError as error:
                raise ConnectionAbortedError(errno.EPROTO, str(error)) from error
            messages += found
            if len(data) < _READ_BYTES:
                return messages

    def register(self, poller: Any) -> None:
        """Wake the poller (ovs.poller) when there is something to do here."""
        if self._socket is None:
            poller.timer_wait(max(1, int((self.next_try_s - time.monotonic()) * 1000) + 1))
            return
        poller.fd_wait(self._socket.fileno(), _POLLIN | (_POLLOUT if self._unsent else 0))


_POLLIN, _POLLOUT = 0x001, 0x004  # ovs.poller's numbers
