"""Reads what many programs print, line by line, and stamps each line when it comes."""

from __future__ import annotations

import os
import selectors
import threading
import time
from collections import defaultdict
from typing import IO

_CHUNK_BYTES = 1 << 16
_LOOK_S = 0.2


class LineReader:
    """A thread that reads pipes until it is closed; every pipe has a name.

    Stamps are CLOCK_MONOTONIC, taken after the read: never early, late by what the machine makes the thread wait.
    """

    def __init__(self) -> None:
        self._lines: dict[str, list[tuple[float, str]]] = defaultdict(list)
        self._rest: dict[str, bytes] = defaultdict(bytes)
        self._waiting = selectors.DefaultSelector()
        self._lock = threading.Lock()
        self._closed = False
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def add(self, name: str, pipe: IO[bytes]) -> None:
        """Read a pipe from now on."""
        os.set_blocking(pipe.fileno(), False)
        with self._lock:
            self._waiting.register(pipe, selectors.EVENT_READ, name)

    def lines(self, name: str) -> tuple[tuple[float, str], ...]:
        """(stamp, line) of everything that a pipe has said so far."""
        with self._lock:
            return tuple(self._lines[name])

    def close(self) -> None:
        """Stop reading."""
        self._closed = True
        self._thread.join()
        self._waiting.close()

    def _read(self) -> None:
        while not self._closed:
            ready = self._waiting.select(_LOOK_S)
            if not ready and not self._waiting.get_map():
                time.sleep(_LOOK_S)
            for key, _ in ready:
                self._take(key)

    def _take(self, key: selectors.SelectorKey) -> None:
        data = os.read(key.fd, _CHUNK_BYTES)
        now_s = time.monotonic()
        with self._lock:
            if not data:
                self._waiting.unregister(key.fileobj)
                return
            *whole, self._rest[key.data] = (self._rest[key.data] + data).split(b"\n")
            self._lines[key.data] += [(now_s, line.decode("utf-8", "replace")) for line in whole]
