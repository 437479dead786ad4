"""A relay of TCP connections: what comes to a listener goes to an address, and the answers back.

The listener may stand in another network namespace than the address, which is what the relay is for.
"""

from __future__ import annotations

import select
import socket
import threading
from collections.abc import Callable
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
        self._open: set[socket.socket] = set()
        self._lock = threading.Lock()
        listener.settimeout(_POLL_S)
        self._start(self._accept)

    def __enter__(self) -> Relay:
        return self

    def __exit__(self, *_exception: object) -> None:
        with self._lock:
            self._ended.set()
            for each in self._open:  # ends a thread that waits for a receiver that reads nothing
                with suppress(OSError):
                    each.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join()
        self._listener.close()

    def _start(self, run: Callable[[], None]) -> None:
        thread = threading.Thread(target=run, name="relay", daemon=True)
        self._threads = [each for each in self._threads if each.is_alive()] + [thread]
        thread.start()

    def _accept(self) -> None:
        while not self._ended.is_set():
            try:
                near, _address = self._listener.accept()
            except TimeoutError:
                continue
            except OSError:  # too many open files, or the other end has gone
                self._ended.wait(_POLL_S)
                continue
            self._start(lambda near=near: self._serve(near))  # type: ignore[misc]

    def _serve(self, near: socket.socket) -> None:
        with near, suppress(OSError), socket.create_connection(self._target, _CONNECT_S) as far:
            with self._lock:
                if self._ended.is_set():
                    return
                self._open |= {near, far}
            try:
                self._exchange(near, far)
            finally:
                with self._lock:
                    self._open -= {near, far}

    def _exchange(self, near: socket.socket, far: socket.socket) -> None:
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
