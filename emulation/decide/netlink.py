"""Netlink messages as bytes (linux/netlink.h): framing, attributes, acknowledgements."""

from __future__ import annotations

import struct

NLM_F_REQUEST, NLM_F_ACK, NLM_F_EXCL, NLM_F_CREATE = 0x1, 0x4, 0x200, 0x400
_NLMSG_ERROR = 2
_RTM_NEWLINK = 16
_IFF_UP = 1
_HEADER = struct.Struct("=IHHII")
_IFINFO = struct.Struct("=BBHiII")


def message(kind: int, flags: int, sequence: int, body: bytes) -> bytes:
    """One netlink message; `body` is padded to four bytes already."""
    return _HEADER.pack(_HEADER.size + len(body), kind, flags, sequence, 0) + body


def attribute(kind: int, value: bytes) -> bytes:
    """One attribute (type, length, value), padded to four bytes."""
    return (struct.pack("=HH", 4 + len(value), kind) + value).ljust(-(-(4 + len(value)) // 4) * 4, b"\0")


def carrier_message(interface_index: int, up: bool) -> bytes:
    """Route-netlink message that sets an interface up or down; the peer of a veth loses its carrier with it."""
    flags = _IFF_UP if up else 0
    return message(_RTM_NEWLINK, NLM_F_REQUEST | NLM_F_ACK, 1, _IFINFO.pack(0, 0, 0, interface_index, flags, _IFF_UP))


def read_errors(reply: bytes) -> list[int]:
    """Error numbers of the acknowledgements in a netlink reply (0: done).

    Raises
    ------
    ValueError
        The reply is truncated.
    """
    errors, at = [], 0
    while at < len(reply):
        if len(reply) - at < _HEADER.size:
            raise ValueError(f"netlink reply ends after {len(reply) - at} bytes of a header")
        length, kind, _flags, _sequence, _pid = _HEADER.unpack_from(reply, at)
        if length < _HEADER.size or at + length > len(reply):
            raise ValueError(f"netlink message claims {length} bytes of {len(reply) - at}")
        if kind == _NLMSG_ERROR:
            if length < _HEADER.size + 4:
                raise ValueError(f"netlink acknowledgement of {length} bytes has no error number")
            errors.append(-struct.unpack_from("=i", reply, at + _HEADER.size)[0])
        at += -(-length // 4) * 4
    return errors
