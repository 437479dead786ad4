"""Sockets of controller connections: their mark and their buffers."""

from __future__ import annotations

import socket
from typing import Any

_TCP_NOTSENT_LOWAT = 25  # linux/tcp.h; Python names it from 3.12 on
_UNSENT_BYTES = 16384
_CLASS_RECEIVE_BYTES = 65536  # what waits in a connection that is not read waits at the wrong end


def prepare(connection: Any) -> None:
    """Send at once, and keep little in the kernel, where no class can overtake another."""
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    connection.setsockopt(socket.IPPROTO_TCP, _TCP_NOTSENT_LOWAT, _UNSENT_BYTES)


def keep_short(connection: Any) -> None:
    """Let little wait in the kernel on the way here."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _CLASS_RECEIVE_BYTES)


def mark(connection: Any, dscp: int) -> None:
    """Mark what is sent from now on."""
    if connection.family == socket.AF_INET6:
        connection.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_TCLASS, dscp << 2)
    else:
        connection.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, dscp << 2)


def why_unsent(error: OSError) -> str:
    """What an error in sending is called among the counters.

    Parameters
    ----------
    error
        Eventlet reports that the other side takes nothing as a timeout, with TLS as an SSLError of that text.
    """
    return "not read" if isinstance(error, TimeoutError) or "timed out" in str(error) else "broken off"
