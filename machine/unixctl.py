"""One persistent connection to a daemon's control socket (what ovs-appctl opens anew for every command)."""

from __future__ import annotations

import codecs
import json
import socket
from pathlib import Path
from types import TracebackType

from mininet_topos.errors import ArmorError

# A daemon answers at most this many requests of one connection in a turn of its main loop (lib/unixctl.c).
REQUESTS_PER_TURN = 10
_CHUNK_BYTES = 1 << 16


class UnixCtl:
    """JSON-RPC client (`unixctl(5)`); a context manager that closes its socket.

    Parameters
    ----------
    path
        The daemon's control socket.
    timeout_s
        Longest wait for one answer.

    Raises
    ------
    ArmorError
        Nobody listens at `path`.
    """

    def __init__(self, path: Path, timeout_s: float = 30.0) -> None:
        self.path = path
        self._decoder = json.JSONDecoder()
        self._utf8 = codecs.getincrementaldecoder("utf-8")()  # an answer may be cut inside a character
        self._buffer = ""
        self._next_id = 0
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.settimeout(timeout_s)
        try:
            self._socket.connect(str(path))
        except OSError as error:
            self._socket.close()
            raise ArmorError(f"no daemon answers at {path}: {error}") from error

    def __enter__(self) -> UnixCtl:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._socket.close()

    def run(self, command: str, *arguments: str) -> str:
        """Text that a command prints.

        Raises
        ------
        ArmorError
            The daemon refused the command, closed the connection, or did not answer in time.
        """
        self._next_id += 1
        request = {"id": self._next_id, "method": command, "params": arguments}
        try:
            self._socket.sendall(json.dumps(request).encode())
            answer = self._receive()
        except OSError as error:
            raise ArmorError(f"{self.path} did not answer {command!r}: {error}") from error
        if answer["error"] is not None:
            raise ArmorError(f"{command} {' '.join(arguments)} was refused: {str(answer['error']).strip()}")
        return str(answer["result"] or "")

    def settle(self, turns: int = 3) -> None:
        """Return when the daemon's main loop has turned at least `turns` times since the call.

        What a command changes (a port's state, say) reaches the forwarding code in the next turns. A turn
        answers at most `REQUESTS_PER_TURN` requests, so that many empty ones and one more span a turn.
        """
        for _ in range(turns * REQUESTS_PER_TURN + 1):
            self.run("version")

    def _receive(self) -> dict[str, object]:
        while True:
            try:
                answer, end = self._decoder.raw_decode(self._buffer)
            except ValueError:
                chunk = self._socket.recv(_CHUNK_BYTES)
                if not chunk:
                    raise ConnectionResetError("the connection was closed") from None
                self._buffer = (self._buffer + self._utf8.decode(chunk)).lstrip()
                continue
            self._buffer = self._buffer[end:]
            return dict(answer)
