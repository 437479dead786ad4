"""TCP ports for the servers of tests that run side by side."""

from __future__ import annotations

import itertools
import os
import socket

ROW = 16  # a controller with classes of connections listens on ports in a row
_FIRST, _LAST = 10_000, 20_000  # below the ports that the kernel gives to clients, which may come in between
_WORKERS = 8
_calls = itertools.count(os.getpid())


def free_port() -> int:
    """First of `ROW` ports in a row that nobody listens on; no other worker of this run is given them."""
    worker = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")) % _WORKERS
    rows = (_LAST - _FIRST) // _WORKERS // ROW
    first_of_worker = _FIRST + worker * rows * ROW
    for call in itertools.islice(_calls, rows):
        first = first_of_worker + call % rows * ROW
        if all(map(_is_free, range(first, first + ROW))):
            return first
    raise AssertionError(f"no {ROW} TCP ports in a row are free from {first_of_worker} on; stop what listens there")


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind(("0.0.0.0", port))
        except OSError:
            return False
        return True
