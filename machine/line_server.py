"""A server of requests that are one line of JSON each, for many clients at once: none keeps the others waiting."""

from __future__ import annotations

import asyncio
import json
import os
import ssl
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from machine.tls import HANDSHAKE_S, tls_context
from mininet_topos.endpoints import host_and_port

MAX_CLIENTS = 64
MAX_LINE_BYTES = 1 << 20
SILENCE_S = 10.0  # for a whole line, and for the answer to be taken

Json = Any
Say = Callable[[dict[str, Any]], None]
_BROKEN = (OSError, ValueError, RecursionError, asyncio.TimeoutError)


class LineServer:
    """A server of one address.

    Parameters
    ----------
    answer
        What to send for a request.
    say
        Takes the events: `ready` once it listens, `dropped` for a client whose connection it closes.
    """

    def __init__(self, answer: Callable[[Json], Json], say: Say) -> None:
        self._answer, self._say = answer, say
        self._clients = 0

    async def run(self, address: str) -> None:
        """Listen at "unix:PATH", "ssl:HOST:PORT" or "HOST:PORT", and answer until the task is cancelled.

        Raises
        ------
        BadInputError
            No such address, or TLS without an identity.
        OSError
            It cannot listen there.
        """
        unix = address.removeprefix("unix:") if address.startswith("unix:") else None
        server = await (self._tcp(address) if unix is None else self._unix(unix))
        try:
            place = server.sockets[0].getsockname()
            said = address if unix is not None else f"{place[0]}:{place[1]}"
            self._say({"event": "ready", "listen": said})
            await server.serve_forever()
        finally:
            server.close()
            if unix is not None:
                Path(unix).unlink(missing_ok=True)

    async def _tcp(self, address: str) -> asyncio.Server:
        context: ssl.SSLContext | None = None
        if address.startswith("ssl:"):
            context = tls_context(address, is_server=True)
        host, port = host_and_port(address.removeprefix("ssl:"), "--listen", least_port=0)
        limits = {"ssl_handshake_timeout": HANDSHAKE_S} if context else {}
        return await asyncio.start_server(self._serve, host, port, limit=MAX_LINE_BYTES, ssl=context, **limits)

    async def _unix(self, path: str) -> asyncio.Server:
        """A socket that its owner alone may use."""
        mask = os.umask(0o177)
        try:
            return await asyncio.start_unix_server(self._serve, path, limit=MAX_LINE_BYTES)
        finally:
            os.umask(mask)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._clients += 1
        try:
            if self._clients > MAX_CLIENTS:
                raise OSError(f"{MAX_CLIENTS} clients are connected already")
            while line := await asyncio.wait_for(reader.readline(), SILENCE_S):
                writer.write(json.dumps(self._answer(json.loads(line))).encode() + b"\n")
                await asyncio.wait_for(writer.drain(), SILENCE_S)
        except _BROKEN as error:
            self._say({"event": "dropped", "reason": str(error) or f"silent for {SILENCE_S:g} s"})
        finally:
            self._clients -= 1
            writer.close()
            with suppress(*_BROKEN):
                await asyncio.wait_for(writer.wait_closed(), SILENCE_S)
