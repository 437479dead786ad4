"""A controller that asks for features and ports, answers nothing, and keeps every byte of every connection."""

from __future__ import annotations

import selectors
import socket
import threading
from contextlib import suppress

from ryu_apps.openflow import encode


class RecordingServer:
    """Listens on a port of loopback; entered and left as a context."""

    def __init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self.received: list[bytearray] = []
        self.sources: list[str] = []
        self.closed = 0
        self._open: list[socket.socket] = []
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._serve)

    def __enter__(self) -> RecordingServer:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()
        for each in (*self._open, self._listener):
            each.close()

    @property
    def all_bytes(self) -> bytes:
        """Everything that came, connection by connection."""
        return b"".join(map(bytes, list(self.received)))

    def hang_up(self, place: int) -> None:
        """End the connection whose bytes stand at a place of `received`."""
        self._open[place].shutdown(socket.SHUT_RDWR)

    def _serve(self) -> None:
        with selectors.DefaultSelector() as selector:
            selector.register(self._listener, selectors.EVENT_READ, None)
            while not self._stop.is_set():
                for key, _ in selector.select(0.02):
                    if key.data is None:
                        self._accept(selector)
                    else:
                        self._read(selector, key)

    def _accept(self, selector: selectors.BaseSelector) -> None:
        link, (source, _) = self._listener.accept()
        self._open.append(link)
        self.sources.append(source)
        self.received.append(bytearray())
        selector.register(link, selectors.EVENT_READ, self.received[-1])
        with suppress(OSError):
            link.sendall(encode.hello() + encode.features_request(1) + encode.port_desc_request(xid=2))

    def _read(self, selector: selectors.BaseSelector, key: selectors.SelectorKey) -> None:
        link = key.fileobj
        assert isinstance(link, socket.socket)
        try:
            data = link.recv(1 << 16)
        except ConnectionResetError:
            data = b""
        key.data.extend(data)
        if not data:
            self.closed += 1
            selector.unregister(link)
