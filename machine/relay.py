"""A relay of TCP connections: what comes to a listener goes to an address, and the answers back.

The listener may stand in another network namespace than the address, which is what the relay is for.
"""

from __future__ import annotations

import select
import socket
import threading
from contextlib import suppress

_READ_BYTES = 65536
_POLL_S = 0.5
_CONNECT_S = 5.0


class Relay:
    """Relays connections of a listener until it is closed; a connection whose target does not answer is closed.

    Parameters
    ----------
    listener
        Is closed with the relay.
    target
        Host and port.
    """

    def __init__(self, listener: socket.socket, target: tuple[str, int]) -> None:
        self._listener, self._target = listener, target
        self._ended = threading.Event()
        self._threads: list[threading.Thread] = []
        listener.settimeout(_POLL_S)
        self._start(self._accept)

    def __enter__(self) -> Relay:
        return self

    def __exit__(self, *_exception: object) -> None:
        self._ended.set()
        for thread in self._threads:
            thread.join()
        self._listener.close()

    def _start(self, run: object, *arguments: object) -> None:
        thread = threading.Thread(target=run, args=arguments, name="relay", daemon=True)  # type: ignore[arg-type]
        self._threads = [each for each in self._threads if each.is_alive()] + [thread]
        thread.start()

    def _accept(self) -> None:
        while not self._ended.is_set():
            try:
                connection, _address = self._listener.accept()
            except TimeoutError:
                continue
            self._start(self._serve, connection)

    def _serve(self, near: socket.socket) -> None:
        with near, suppress(OSError), socket.create_connection(self._target, _CONNECT_S) as far:
            for each in (near, far):
                each.settimeout(None)
                each.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            other = {near: far, far: near}
            while not self._ended.is_set():
                for ready in select.select([near, far], [], [], _POLL_S)[0]:
                    data = ready.recv(_READ_BYTES)
                    if not data:
                        return
                    other[ready].sendall(data)
