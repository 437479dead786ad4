"""Ask Open vSwitch over its Unix sockets: one JSON-RPC call (RFC 7047 section 4), no program started."""

from __future__ import annotations

import json
import socket
from pathlib import Path
from typing import Any

from mininet_topos.errors import ArmorError

_CHUNK_BYTES = 1 << 16


class SwitchQueryError(ArmorError):
    """A daemon does not answer, or answers with an error."""


def listens(socket_path: Path) -> bool:
    """Whether somebody accepts connections: the file of a socket is there before its owner listens."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        return probe.connect_ex(str(socket_path)) == 0


def call(socket_path: Path, method: str, parameters: list[Any], timeout_s: float = 5.0) -> Any:
    """Result of one JSON-RPC request.

    Parameters
    ----------
    socket_path : Path
        Unix socket of ovsdb-server, or the control socket of a daemon.
    method : str
        For example "transact", or the command of `ovs-appctl`.
    parameters : list
    timeout_s : float

    Raises
    ------
    SwitchQueryError
        No connection, no answer in time, or an error as the answer.
    """
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.settimeout(timeout_s)
            connection.connect(str(socket_path))
            request = {"id": 0, "method": method, "params": parameters}
            connection.sendall(json.dumps(request).encode())
            reply = _read_reply(connection)
    except (OSError, ValueError) as error:
        raise SwitchQueryError(f"{socket_path} does not answer {method!r}: {error}") from error
    if reply.get("error") is not None:
        raise SwitchQueryError(f"{socket_path} refuses {method!r}: {reply['error']}")
    return reply["result"]


def _read_reply(connection: socket.socket) -> dict[str, Any]:
    decoder, buffer = json.JSONDecoder(), b""
    while True:
        chunk = connection.recv(_CHUNK_BYTES)
        if not chunk:
            raise ValueError("connection closed before the answer was complete")
        buffer += chunk
        # A request of the peer's own ("echo") may come first; only our answer has this id and a result.
        text = buffer.decode(errors="strict") if chunk.rstrip().endswith(b"}") else ""
        while text.strip():
            try:
                message, end = decoder.raw_decode(text.lstrip())
            except json.JSONDecodeError:
                break
            if "result" in message and message.get("id") == 0:
                return dict(message)
            text = text.lstrip()[end:]


def transact(socket_path: Path, database: str, operations: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Results of the operations of one OVSDB transaction (RFC 7047 section 4.1.3).

    Raises
    ------
    SwitchQueryError
        As `call`, or the transaction was refused.
    """
    results = call(socket_path, "transact", [database, *operations])
    for result in results:
        if result and result.get("error"):
            raise SwitchQueryError(f"{database} refuses a transaction: {result['error']} {result.get('details', '')}")
    return list(results)


def map_column(value: list[Any]) -> dict[str, Any]:
    """A map column of a row as a dictionary (RFC 7047 section 5.1: ["map", [[key, value], ...]])."""
    return dict(value[1])
