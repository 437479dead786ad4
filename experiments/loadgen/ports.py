"""TCP ports for the controllers of measurements and tests that run side by side."""

from __future__ import annotations

import os
import socket
from collections import deque
from itertools import chain

from mininet_topos.errors import ArmorError

ROW = 16  # a controller with classes of connections listens on ports in a row
_FIRSTS = range(10_000, 30_000, ROW)  # below the ports that the kernel gives to clients, which may come in between
_MOST_CLAIMS = 64
_CLAIM = "\0armor-ports-"

_claims: deque[socket.socket] = deque()


def free_port() -> int:
    """First of `ROW` ports in a row that nobody uses; no other process of this machine is given them meanwhile.

    Between this and the listening of the controller lie seconds. Names of abstract Unix sockets belong to one process
    at a time and go with it, in the same network namespace as the ports; so they are what is claimed. Of the rows
    given to one process the newest 64 stay claimed.

    Raises
    ------
    ArmorError
        There are none.
    """
    at = os.getpid() * 7919 % len(_FIRSTS)  # processes of neighbouring numbers begin far from each other
    for first in chain(_FIRSTS[at:], _FIRSTS[:at]):
        claim = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        if _binds(claim, f"{_CLAIM}{first}") and all(map(_is_free, range(first, first + ROW))):
            _claims.append(claim)
            if len(_claims) > _MOST_CLAIMS:
                _claims.popleft().close()
            return first
        claim.close()
    raise ArmorError(f"there are no {ROW} free TCP ports in a row on this machine; stop some program")


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        return _binds(probe, ("0.0.0.0", port))


def _binds(made: socket.socket, address: str | tuple[str, int]) -> bool:
    try:
        made.bind(address)
    except OSError:
        return False
    return True
