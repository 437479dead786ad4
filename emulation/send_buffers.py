"""Widen the send buffer of a running ovs-vswitchd, so that full queues of some ports cost no packets of others.

The userspace datapath sends through one packet socket of the kernel's default size, which only a setting of the
whole machine (net.core.wmem_default) changes. So the socket is widened from outside: pidfd_getfd (Linux 5.6) gives a
second handle of it.
"""

from __future__ import annotations

import ctypes
import os
import socket
import time
from pathlib import Path

from mininet_topos.errors import ArmorError

_PIDFD_GETFD = 438  # the same number on every architecture
_SO_SNDBUFFORCE = 32
_POLL_S = 0.02
_LIBC = ctypes.CDLL(None, use_errno=True)


class SendBufferError(ArmorError):
    """A send buffer cannot be widened; full queues may then cost packets of other ports."""


def can_widen_send_buffers() -> bool:
    """Whether this kernel lets us (tried on a socket of our own)."""
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as own, _borrow(os.getpid(), own.fileno()) as borrowed:
            borrowed.setsockopt(socket.SOL_SOCKET, _SO_SNDBUFFORCE, 1 << 16)
    except OSError:
        return False
    return True


def widen_send_buffer(pid: int, wanted_bytes: int, timeout_s: float = 10.0) -> int:
    """Make the sending packet socket of a process hold at least so much, as soon as the process has one.

    Parameters
    ----------
    pid
        ovs-vswitchd; it opens the socket when it sends its first packet.
    wanted_bytes
        As the kernel counts it, with what each packet costs beside its own bytes.

    Returns
    -------
    Bytes that it holds now.

    Raises
    ------
    SendBufferError
        There is no such socket in time, or the system refuses.
    """
    deadline = time.monotonic() + timeout_s
    while (descriptor := _sending_socket(pid)) is None:
        if time.monotonic() > deadline:
            raise SendBufferError(f"process {pid} has no packet socket to send by after {timeout_s:g} s")
        time.sleep(_POLL_S)
    try:
        with _borrow(pid, descriptor) as sender:
            if sender.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF) < wanted_bytes:
                sender.setsockopt(socket.SOL_SOCKET, _SO_SNDBUFFORCE, (wanted_bytes + 1) // 2)  # the kernel doubles it
            return sender.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF)
    except OSError as error:
        raise SendBufferError(f"the send buffer of process {pid} cannot be widened: {error.strerror}") from error


def _sending_socket(pid: int) -> int | None:
    """Descriptor of the packet socket that is bound to no interface and no protocol: the one that only sends."""
    try:
        lines = Path(f"/proc/{pid}/net/packet").read_text(encoding="ascii").splitlines()[1:]
        # sk RefCnt Type Proto Iface R Rmem User Inode
        rows = [line.split() for line in lines]
        names = {f"socket:[{row[8]}]" for row in rows if int(row[3], 16) == 0 and row[4] == "0"}
        found = [int(link.name) for link in Path(f"/proc/{pid}/fd").iterdir() if _target(link) in names]
    except OSError:
        return None  # the process has ended
    return min(found, default=None)


def _target(link: Path) -> str:
    try:
        return os.readlink(link)
    except OSError:
        return ""  # closed meanwhile


def _borrow(pid: int, descriptor: int) -> socket.socket:
    """A second handle of another process's socket."""
    handle = os.pidfd_open(pid)
    try:
        copy = _LIBC.syscall(_PIDFD_GETFD, handle, descriptor, 0)
        if copy < 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number))
    finally:
        os.close(handle)
    return socket.socket(fileno=copy)
