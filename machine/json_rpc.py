"""A blocking JSON-RPC client (RFC 7047 section 4) for ovsdb-server and the control sockets of Open vSwitch's daemons.

It limits silence in every call. `ovs.jsonrpc` of the `ovs` package does not: it waits as long as it takes, and its
parser reads 2.6 MB a second, which is too slow for whole plans.
"""

from __future__ import annotations

import json
import re
import select
import socket
import ssl
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from machine.tls import handshake_error, tls_context
from mininet_topos.errors import ArmorError

_READ_BYTES = 1 << 16
_SEND_BYTES = 1 << 16
_NOT_READY = (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError)
_QUIET_S = 0.005  # a message that stopped arriving for this long is tried again, whatever its length
_PATIENCE = 2  # a try that failed is repeated only after a pause of so many times what it took
MOST_BYTES = 1 << 28  # of one message: several times the plan of a large switch
SMALL_BYTES = 1 << 22  # where answers are short, of a server that may be hostile
_MOST_ECHOES = 1000  # during one call: a server probes an idle client every few seconds


class JsonRpcError(ArmorError):
    """The server is out of reach, broke off, refused a request, or did not answer in time.

    `kind` is the word that the server gave for a refusal (RFC 7047), else empty.
    """

    def __init__(self, text: str, kind: str = "") -> None:
        super().__init__(text)
        self.kind = kind


class NoServerError(JsonRpcError):
    """Nobody listens there: nothing was asked."""


class JsonRpcClient:
    """One connection to an ovsdb-server.

    Parameters
    ----------
    remote
        "unix:PATH", "tcp:HOST:PORT", or "ssl:HOST:PORT" with the identity of this process.
    timeout_s
        Limit for connecting, and for silence during a call.
    most_bytes
        Limit for one message of the server.

    Raises
    ------
    JsonRpcError
        Nobody listens there, or the two ends do not accept each other's certificates.
    BadInputError
        TLS without an identity.
    """

    def __init__(self, remote: str, timeout_s: float = 10.0, most_bytes: int = MOST_BYTES) -> None:
        self.remote = remote
        self.timeout_s = timeout_s
        self.most_bytes = most_bytes
        self._received = bytearray()
        self._try_from_bytes = 0
        self._open_braces = 0
        self._is_quiet = False
        self._quiet_s = _QUIET_S
        self._next_id = 0
        self._deadline_s = 0.0
        self._socket = _connected_socket(remote, timeout_s)

    def close(self) -> None:
        """Close the connection."""
        self._socket.close()

    def call(self, method: str, params: list[Any]) -> Any:
        """Result of one request.

        Raises
        ------
        JsonRpcError
            An error reply, a broken connection, silence for the time limit, or what is no JSON-RPC. After all but the
            first the server may or may not have done what was asked.
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
        for _ in range(_MOST_ECHOES):
            message = self._receive()
            if message.get("method") == "echo":  # the server's probe of an idle client
                self._send({"id": message.get("id"), "result": message.get("params"), "error": None})
            elif message.get("id") == self._next_id and "method" not in message:
                if message.get("error") is not None:
                    error = message["error"]
                    kind = str(error.get("error", "")) if isinstance(error, dict) else ""
                    raise JsonRpcError(f"{self.remote} refused {method}: {describe_error(error)}", kind)
                return message.get("result")
        raise JsonRpcError(f"{self.remote} sent {_MOST_ECHOES} other messages during {method}, and no answer")

    def _send(self, message: Any) -> None:
        data = json.dumps(message).encode("ascii")
        sent = 0
        while sent < len(data):
            is_over = self._is_over()
            try:
                sent += self._socket.send(data[sent : sent + _SEND_BYTES])
                self._progress()
            except _NOT_READY:
                if is_over:
                    raise TimeoutError from None
                self._wait(self._deadline_s, to_send=True)
            except OSError as error:
                raise self._broken_off(error) from error

    def _receive(self) -> dict[str, Any]:
        """Next message, which is an object.

        JSON-RPC over a stream has no frames: a message ends where its JSON does. Parsing the beginning of a
        long message over and over would cost its length squared, so it is tried when the braces balance, and then not
        before it is twice as long. Braces inside strings may upset the count, so it is also tried when nothing more
        comes for a moment; a server that sends a byte at a time does not have it tried all the time.
        """
        while True:
            is_balanced = self._open_braces == 0 and len(self._received) >= self._try_from_bytes
            if self._received and (is_balanced or self._is_quiet):
                message = self._parse()
                if message is not None:
                    return message
            self._read()

    def _parse(self) -> dict[str, Any] | None:
        """The first message of what was received; None when it has not come to its end."""
        began_s = time.monotonic()
        try:
            text = self._received.decode("utf-8").lstrip()
            if text[:1] not in ("", "{"):
                raise JsonRpcError(f"{self.remote} sent {text[:60]!r}, which is no JSON-RPC message")
            message, end = json.JSONDecoder().raw_decode(text)
        except RecursionError as error:
            raise JsonRpcError(f"{self.remote} sent a message with too many brackets in brackets") from error
        except ValueError:
            self._try_from_bytes = 2 * len(self._received)
            self._quiet_s = max(_QUIET_S, _PATIENCE * (time.monotonic() - began_s))
            return None
        self._received, self._open_braces, self._try_from_bytes, self._quiet_s = bytearray(), 0, 0, _QUIET_S
        self._keep(text[end:].encode("utf-8"))
        found: dict[str, Any] = message
        return found

    def _progress(self) -> None:
        """Something was sent or received: the time limit counts from here, however long the message."""
        self._deadline_s = time.monotonic() + self.timeout_s

    def _is_over(self) -> bool:
        """Whether the limit is over; asked before the stream is, since what came while this process slept counts."""
        return time.monotonic() >= self._deadline_s

    def _keep(self, data: bytes) -> None:
        if len(self._received) + len(data) > self.most_bytes:
            raise JsonRpcError(f"{self.remote} sent a message of more than {self.most_bytes:,} bytes")
        self._received += data
        self._open_braces += data.count(b"{") - data.count(b"}")

    def _read(self) -> None:
        """Read some bytes, or note that none came for a moment while a message stands half received."""
        while True:
            is_over = self._is_over()
            try:
                data = self._socket.recv(_READ_BYTES)
            except _NOT_READY:
                if self._received and not self._is_quiet:
                    self._is_quiet = not self._wait(min(self._deadline_s, time.monotonic() + self._quiet_s))
                    return
                if is_over:
                    raise TimeoutError from None
                self._wait(self._deadline_s)
                continue
            except OSError as error:
                raise self._broken_off(error) from error
            if not data:
                if not self._received or self._is_quiet:
                    raise self._broken_off("connection closed")
                self._is_quiet = True
                return
            self._keep(data)
            self._progress()
            self._is_quiet = False
            return

    def _broken_off(self, why: OSError | str) -> JsonRpcError:
        if isinstance(why, ssl.SSLError):
            why = handshake_error(why)  # with TLS 1.3 a server refuses a certificate after the handshake
        return JsonRpcError(f"{self.remote} broke off ({why}); try again")

    def _wait(self, deadline_s: float, *, to_send: bool = False) -> bool:
        """Wait until the connection is ready; whether it may be before the deadline."""
        left_s = deadline_s - time.monotonic()
        if left_s <= 0:
            return False
        reading, writing = ([], [self._socket]) if to_send else ([self._socket], [])
        select.select(reading, writing, [], left_s)
        return time.monotonic() < deadline_s


def _connected_socket(remote: str, timeout_s: float) -> socket.socket:
    """A connection that does not block, to an address as `JsonRpcClient` has them."""
    unix = re.fullmatch(r"unix:(.+)", remote)
    network = re.fullmatch(r"(tcp|ssl):\[?([^\[\]]+?)\]?:([0-9]{1,5})", remote)
    try:
        if unix:
            connection = _unix_socket(unix[1], timeout_s)
        elif network:
            context = tls_context(remote) if network[1] == "ssl" else None
            connection = socket.create_connection((network[2], int(network[3])), timeout_s)
            if context is not None:
                connection = context.wrap_socket(connection)  # which closes it when there is no TLS
        else:
            raise JsonRpcError(f"{remote!r} is no database address; write unix:PATH, tcp:HOST:PORT or ssl:HOST:PORT")
    except ssl.SSLError as error:
        raise JsonRpcError(f"no TLS with {remote}: {handshake_error(error)}") from error
    except (OSError, OverflowError) as error:
        repair = "start it or correct the address"
        if unix and isinstance(error, PermissionError):
            repair = "run this as the user of the socket, or give a tcp: or ssl: address of the server"
        raise NoServerError(f"no server answers at {remote} ({error}); {repair}") from error
    connection.setblocking(False)
    return connection


def _unix_socket(path: str, timeout_s: float) -> socket.socket:
    connection = socket.socket(socket.AF_UNIX)
    try:
        connection.settimeout(timeout_s)
        connection.connect(path)
    except BaseException:
        connection.close()
        raise
    return connection


def describe_error(error: Any) -> str:
    """One line for an error object of RFC 7047 section 3.1 (`error` and `details`), or of anything else."""
    if isinstance(error, dict):
        return ": ".join(str(error[key]) for key in ("error", "details") if error.get(key))
    return str(error)


@contextmanager
def connected(remote: str, timeout_s: float, most_bytes: int = MOST_BYTES) -> Iterator[JsonRpcClient]:
    """A client that is closed at the end of the block."""
    client = JsonRpcClient(remote, timeout_s, most_bytes)
    try:
        yield client
    finally:
        client.close()


def call(socket_path: Path, method: str, params: list[Any], timeout_s: float = 5.0) -> Any:
    """Result of one request over a connection of its own.

    Parameters
    ----------
    socket_path
        Unix socket of ovsdb-server, or the control socket of a daemon.
    method
        For example "list_dbs", or the command of `ovs-appctl`.

    Raises
    ------
    JsonRpcError
        No connection, no answer in time, or an error as the answer.
    """
    with connected(f"unix:{socket_path}", timeout_s) as client:
        return client.call(method, params)


def transact(client: JsonRpcClient, database: str, operations: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Results of the operations of one transaction (RFC 7047 section 4.1.3).

    Raises
    ------
    JsonRpcError
        As `JsonRpcClient.call`, or the transaction was refused.
    """
    results: list[dict[str, Any]] = client.call("transact", [database, *operations])
    if not isinstance(results, list) or not all(isinstance(each, dict | None) for each in results):
        raise JsonRpcError(f"{client.remote} answers a transaction with {str(results)[:60]!r}, which are no results")
    for result in results:
        if result and result.get("error"):
            raise JsonRpcError(f"{client.remote} refuses a transaction: {describe_error(result)}")
    return results


def read_tables(socket_path: Path, database: str, *selects: dict[str, Any]) -> list[list[dict[str, Any]]]:
    """Rows of several tables at one moment (raises as `transact`)."""
    with connected(f"unix:{socket_path}", 5.0) as client:
        return [result["rows"] for result in transact(client, database, list(selects))]


def listens(socket_path: Path) -> bool:
    """Whether somebody accepts connections: the file of a socket is there before its owner listens."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        return probe.connect_ex(str(socket_path)) == 0
