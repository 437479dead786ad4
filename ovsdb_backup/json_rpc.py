"""A blocking JSON-RPC client for ovsdb-server (RFC 7047), with a limit on silence in every call.

It stands on the stream and poller of the `ovs` package, but parses with the standard library: the
package's own parser reads 2.6 MB a second, which is too slow for whole plans.
"""

from __future__ import annotations

import errno
import json
import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from mininet_topos.errors import ArmorError, MissingRequirementError

_READ_BYTES = 1 << 16
_SEND_BYTES = 1 << 16
_IMPORT_LOCK = threading.Lock()
_QUIET_S = 0.005  # a message that stopped arriving for this long is tried again, whatever its length


class JsonRpcError(ArmorError):
    """The server is out of reach, broke off, refused a request, or did not answer in time.

    `kind` is the word that the server gave for a refusal (RFC 7047), else empty.
    """

    def __init__(self, text: str, kind: str = "") -> None:
        super().__init__(text)
        self.kind = kind


class JsonRpcClient:
    """One connection to an ovsdb-server.

    Parameters
    ----------
    remote : str
        "unix:PATH" or "tcp:HOST:PORT".
    timeout_s : float
        Limit for connecting, and for silence during a call.

    Raises
    ------
    JsonRpcError
        Nobody listens there.
    MissingRequirementError
        Python's `ovs` package is not installed.
    """

    def __init__(self, remote: str, timeout_s: float = 10.0) -> None:
        ovs = _import_ovs()
        self.remote = remote
        self.timeout_s = timeout_s
        self._poller = ovs.poller
        self._received = bytearray()
        self._open_braces = 0
        self._is_quiet = False
        self._next_id = 0
        self._deadline_s = 0.0
        if not ovs.stream.Stream.is_valid_name(remote):
            raise JsonRpcError(f"{remote!r} is no database address; write unix:PATH or tcp:HOST:PORT")
        opened = ovs.stream.Stream.open(remote)
        error_number, self._stream = ovs.stream.Stream.open_block(opened, int(timeout_s * 1000))
        if error_number:
            raise JsonRpcError(
                f"no ovsdb-server answers at {remote} ({os.strerror(error_number)}); start it or correct the address"
            )

    def close(self) -> None:
        """Close the connection."""
        self._stream.close()

    def call(self, method: str, params: list[Any]) -> Any:
        """Result of one request.

        Raises
        ------
        JsonRpcError
            An error reply, a broken connection, or silence for the time limit. After the last two the
            server may or may not have done what was asked.
        """
        try:
            return self._call(method, params)
        except TimeoutError as error:
            raise JsonRpcError(
                f"{self.remote} was silent for {self.timeout_s:g} s during {method}; check that it is not overloaded"
            ) from error

    def _call(self, method: str, params: list[Any]) -> Any:
        self._next_id += 1
        self._progress()
        self._send({"id": self._next_id, "method": method, "params": params})
        while True:
            message = self._receive()
            if not isinstance(message, dict):
                raise JsonRpcError(f"{self.remote} sent {message!r}, which is no JSON-RPC message")
            if message.get("method") == "echo":  # the server's probe of an idle client
                self._send({"id": message["id"], "result": message["params"], "error": None})
            elif message.get("id") == self._next_id and "method" not in message:
                if message["error"] is not None:
                    error = message["error"]
                    kind = str(error.get("error", "")) if isinstance(error, dict) else ""
                    raise JsonRpcError(f"{self.remote} refused {method}: {describe_error(error)}", kind)
                return message["result"]

    def _send(self, message: Any) -> None:
        data = json.dumps(message).encode("ascii")
        sent = 0
        while sent < len(data):
            is_over = self._is_over()
            count = self._stream.send(data[sent : sent + _SEND_BYTES])
            if count >= 0:
                sent += count
                self._progress()
            elif count == -errno.EAGAIN:
                if is_over:
                    raise TimeoutError
                self._wait(self._deadline_s, to_send=True)
            else:
                raise JsonRpcError(f"{self.remote} broke off ({os.strerror(-count)}); try again")

    def _receive(self) -> Any:
        """Next message.

        JSON-RPC over a stream has no frames: a message ends where its JSON does. Parsing the beginning of a
        long message over and over would cost its length squared, so it is tried when the braces balance; those
        inside strings may upset the count, so also when nothing more comes for a moment.
        """
        while True:
            if self._received and (self._open_braces == 0 or self._is_quiet):
                message = self._parse()
                if message is not None:
                    return message
            self._read()

    def _parse(self) -> Any:
        try:
            text = self._received.decode("utf-8").lstrip()
            message, end = json.JSONDecoder().raw_decode(text)
        except ValueError:
            return None
        self._received, self._open_braces = bytearray(), 0
        self._keep(text[end:].encode("utf-8"))
        return message

    def _progress(self) -> None:
        """Something was sent or received: the time limit counts from here, however long the message."""
        self._deadline_s = time.monotonic() + self.timeout_s

    def _is_over(self) -> bool:
        """Whether the limit is over; asked before the stream is, since what came while this process slept counts."""
        return time.monotonic() >= self._deadline_s

    def _keep(self, data: bytes) -> None:
        self._received += data
        self._open_braces += data.count(b"{") - data.count(b"}")

    def _read(self) -> None:
        """Read some bytes, or note that none came for a moment while a message stands half received."""
        while True:
            is_over = self._is_over()
            error_number, data = self._stream.recv(_READ_BYTES)
            if error_number == errno.EAGAIN:
                if self._received and not self._is_quiet:
                    self._is_quiet = not self._wait(time.monotonic() + _QUIET_S)
                    return
                if is_over:
                    raise TimeoutError
                self._wait(self._deadline_s)
            elif error_number or not data:
                reason = os.strerror(error_number) if error_number else "connection closed"
                raise JsonRpcError(f"{self.remote} broke off ({reason}); try again")
            else:
                self._keep(data)
                self._progress()
                self._is_quiet = False
                return

    def _wait(self, deadline_s: float, *, to_send: bool = False) -> bool:
        """Wait until the stream is ready; whether it may be before the deadline."""
        left_s = deadline_s - time.monotonic()
        if left_s <= 0:
            return False
        poller = self._poller.Poller()
        register = self._stream.send_wait if to_send else self._stream.recv_wait
        register(poller)
        poller.timer_wait(max(1, int(left_s * 1000)))
        poller.block()
        return time.monotonic() < deadline_s


def _import_ovs() -> Any:
    """The package `ovs`, imported when it is first needed, and without eventlet unless that is there already.

    Its poller asks eventlet whether it has patched this process, and imports it for that. That makes a second copy of
    `threading`, which takes the thread that imports for the main one: joining it then waits for ever.

    Raises
    ------
    MissingRequirementError
        It is not installed.
    """
    with _IMPORT_LOCK:
        hidden = [name for name in ("eventlet", "gevent") if name not in sys.modules]
        sys.modules.update(dict.fromkeys(hidden))
        try:
            import ovs.poller
            import ovs.stream
        except ImportError as error:
            raise MissingRequirementError(
                "the Python package ovs is not installed; pip install '.[agent]' in Armor's folder"
            ) from error
        finally:
            for name in hidden:
                del sys.modules[name]
    return ovs


def describe_error(error: Any) -> str:
    """One line for an error object of RFC 7047 section 3.1 (`error` and `details`), or of anything else."""
    if isinstance(error, dict):
        return ": ".join(str(error[key]) for key in ("error", "details") if error.get(key))
    return str(error)


@contextmanager
def connected(remote: str, timeout_s: float) -> Iterator[JsonRpcClient]:
    """A client that is closed at the end of the block."""
    client = JsonRpcClient(remote, timeout_s)
    try:
        yield client
    finally:
        client.close()
