"""Frames into a switch port and out of another: batches sent with one system call, arrivals counted by the kernel.

All sockets must be opened inside the network namespace of the ports.
"""

from __future__ import annotations

import ctypes
import os
import select
import socket
import struct
import time
from contextlib import ExitStack
from ipaddress import IPv4Address
from types import TracebackType

from mininet_topos.errors import ArmorError
from ryu_apps.plan.fields import ETH_IPV4, ETH_VLAN
from ryu_apps.plan.interpret import Packet

FRAME_BYTES = 98  # without a tag: as a ping of 56 bytes
_ETH_P_ALL = 0x0003
_SOL_PACKET, _PACKET_STATISTICS = 263, 6
_SO_TIMESTAMPNS = 35
_UDP_PORT = 5001
_LIBC = ctypes.CDLL(None, use_errno=True)


def frame_of(packet: Packet) -> bytes:
    """Ethernet frame (UDP) with the addresses and the tag of a packet; a tag makes it 4 bytes longer."""
    tag = struct.pack("!HH", ETH_VLAN, packet.vlan_tci & 0xEFFF) if packet.vlan_tci else b""
    addresses = IPv4Address(packet.ipv4_src).packed + IPv4Address(packet.ipv4_dst).packed
    ip_bytes = FRAME_BYTES - 14
    head = struct.pack("!BBHHHBBH", 0x45, 0, ip_bytes, 0, 0, 64, 17, 0) + addresses
    head = head[:10] + struct.pack("!H", _checksum(head)) + head[12:]
    udp = struct.pack("!HHHH", _UDP_PORT, _UDP_PORT, ip_bytes - 20, 0)
    macs = bytes.fromhex("020000000002020000000001")
    return (macs + tag + struct.pack("!H", ETH_IPV4) + head + udp).ljust(FRAME_BYTES + len(tag), b"\0")


def _checksum(header: bytes) -> int:
    """Internet checksum (RFC 1071) of a header whose checksum field is zero."""
    total: int = sum(word for (word,) in struct.iter_unpack("!H", header))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


class _Vector(ctypes.Structure):
    _fields_ = (("base", ctypes.c_void_p), ("length", ctypes.c_size_t))


class _Message(ctypes.Structure):
    """`struct mmsghdr` of sendmmsg(2)."""

    _fields_ = (
        ("name", ctypes.c_void_p),
        ("name_length", ctypes.c_uint32),
        ("vectors", ctypes.c_void_p),
        ("n_vectors", ctypes.c_size_t),
        ("control", ctypes.c_void_p),
        ("control_length", ctypes.c_size_t),
        ("flags", ctypes.c_int),
        ("sent_bytes", ctypes.c_uint),
    )


class Wire:
    """One frame into one interface, and what arrives at another; a context manager that closes its sockets.

    Parameters
    ----------
    into, out_of
        Far ends of the switch's ports: frames are sent into the first, and expected from the second.
    most
        Most frames that one `send` can send.
    """

    def __init__(self, frame: bytes, into: str, out_of: str, most: int) -> None:
        self._frame = ctypes.create_string_buffer(frame, len(frame))
        self._vector = _Vector(ctypes.addressof(self._frame), len(frame))
        vectors = ctypes.addressof(self._vector)
        self._messages = (_Message * most)(*[_Message(None, 0, vectors, 1, None, 0, 0, 0) for _ in range(most)])
        with ExitStack() as stack:
            self._sender = stack.enter_context(_packet_socket(into, 0))
            self._counter = stack.enter_context(_packet_socket(out_of, _ETH_P_ALL, buffer_bytes=1))
            self._reader = stack.enter_context(_packet_socket(out_of, _ETH_P_ALL))
            self._reader.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)
            self._stack = stack.pop_all()
        self.arrived()

    def __enter__(self) -> Wire:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def send(self, count: int) -> None:
        """Send the frame `count` times.

        Raises
        ------
        ArmorError
            The kernel took fewer.
        """
        sent = 0
        while sent < count:
            rest = ctypes.byref(self._messages, sent * ctypes.sizeof(_Message))
            done = _LIBC.sendmmsg(self._sender.fileno(), rest, count - sent, 0)
            if done <= 0:
                raise ArmorError(f"the kernel took {sent} of {count} frames: {os.strerror(ctypes.get_errno())}")
            sent += done

    def arrived(self) -> int:
        """Frames that have arrived since the last call; the kernel counts those too that nobody reads."""
        packets, _ = struct.unpack("II", self._counter.getsockopt(_SOL_PACKET, _PACKET_STATISTICS, 8))
        return int(packets)

    def await_arrivals(self, count: int, timeout_s: float) -> int:
        """Wait until `count` frames have arrived; returns how many have, fewer only when the time is over."""
        deadline, arrived = time.monotonic() + timeout_s, self.arrived()
        while arrived < count and time.monotonic() < deadline:
            time.sleep(5e-5)
            arrived += self.arrived()
        return arrived

    def forget(self) -> None:
        """Throw away what has arrived so far."""
        while select.select([self._reader], [], [], 0)[0]:
            self._reader.recv(1)
        self.arrived()

    def delay_us(self, timeout_s: float) -> float:
        """Send one frame and return the microseconds until the kernel stamped its arrival.

        Raises
        ------
        ArmorError
            It did not arrive.
        """
        began_ns = time.clock_gettime_ns(time.CLOCK_REALTIME)  # what the kernel stamps with
        self.send(1)
        if not select.select([self._reader], [], [], timeout_s)[0]:
            raise ArmorError(f"a frame did not arrive within {timeout_s:g} s")
        _, control, _, _ = self._reader.recvmsg(1, 64)
        stamps = [data for level, kind, data in control if (level, kind) == (socket.SOL_SOCKET, _SO_TIMESTAMPNS)]
        if not stamps:
            raise ArmorError("the kernel does not stamp arriving frames; packet sockets need SO_TIMESTAMPNS")
        seconds, nanoseconds = struct.unpack("qq", stamps[0])
        return float(seconds * 10**9 + nanoseconds - began_ns) / 1e3


def _packet_socket(interface: str, protocol: int, buffer_bytes: int | None = None) -> socket.socket:
    opened = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
    try:
        if buffer_bytes is not None:
            opened.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer_bytes)
        opened.bind((interface, protocol))
    except OSError as error:
        opened.close()
        raise ArmorError(f"cannot open a packet socket on {interface}: {error.strerror}") from error
    return opened
