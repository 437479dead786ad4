"""Pcapng bytes from values: a section header, a block for each interface, a block for each packet with its comments.

The format is that of the IETF draft draft-ietf-opsawg-pcapng, in little-endian order; stamps are nanoseconds.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from experiments.analysis.frames import ETHERNET_LINK_TYPE

SECTION_HEADER, INTERFACE_DESCRIPTION, ENHANCED_PACKET = 0x0A0D0D0A, 1, 6
BYTE_ORDER_MAGIC = 0x1A2B3C4D
_VERSION = (1, 0)
_LENGTH_UNKNOWN = -1
END_OF_OPTIONS, COMMENT = 0, 1
USER_APPLICATION = 4  # of a section header
INTERFACE_NAME, INTERFACE_DESCRIPTION_TEXT, TIME_RESOLUTION = 2, 3, 9  # of an interface
_NANOSECONDS = 9  # stamps count units of 10 to the power of -9 seconds
_LONGEST_OPTION = 0xFFFF
_APPLICATION = "Armor"


@dataclass(frozen=True, slots=True)
class Interface:
    """An Ethernet device on which packets were captured."""

    name: str
    description: str = ""


@dataclass(frozen=True, slots=True)
class Packet:
    """A captured packet.

    Attributes
    ----------
    interface
        Number of its interface, from 0.
    t_ns
        Nanoseconds since 1970 (UTC).
    data
        The packet as far as it was captured.
    length
        Its length on the wire, bytes.
    comments
        Each becomes a packet comment of its own.
    """

    interface: int
    t_ns: int
    data: bytes
    length: int
    comments: tuple[str, ...] = ()


def pcapng(
    interfaces: Sequence[Interface], packets: Iterable[Packet], *, snap_bytes: int, comment: str = ""
) -> Iterator[bytes]:
    """Yield the blocks of a pcapng file.

    Parameters
    ----------
    interfaces
        Packets name them by their place in this sequence.
    packets
        In the order of the file.
    snap_bytes
        So much of a packet was captured at most.
    comment
        Of the whole file.

    Notes
    -----
    Texts are UTF-8. The format holds 65,535 bytes of each; what is longer is shortened at a whole character.
    """
    yield _section(comment)
    for interface in interfaces:
        yield _interface(interface, snap_bytes)
    for packet in packets:
        yield _packet(packet)


def _section(comment: str) -> bytes:
    head = struct.pack("<IHHq", BYTE_ORDER_MAGIC, *_VERSION, _LENGTH_UNKNOWN)
    return _block(SECTION_HEADER, head, [(COMMENT, _text(comment)), (USER_APPLICATION, _text(_APPLICATION))])


def _interface(interface: Interface, snap_bytes: int) -> bytes:
    options = [
        (INTERFACE_NAME, _text(interface.name)),
        (INTERFACE_DESCRIPTION_TEXT, _text(interface.description)),
        (TIME_RESOLUTION, bytes([_NANOSECONDS])),
    ]
    return _block(INTERFACE_DESCRIPTION, struct.pack("<HHI", ETHERNET_LINK_TYPE, 0, snap_bytes), options)


def _packet(packet: Packet) -> bytes:
    high, low = divmod(packet.t_ns, 1 << 32)
    head = struct.pack("<IIIII", packet.interface, high, low, len(packet.data), packet.length)
    return _block(ENHANCED_PACKET, head + _padded(packet.data), [(COMMENT, _text(text)) for text in packet.comments])


def _block(kind: int, body: bytes, options: Iterable[tuple[int, bytes]]) -> bytes:
    """A block; options without a value are left out."""
    written = b"".join(_option(code, value) for code, value in options if value)
    if written:
        written += _option(END_OF_OPTIONS, b"")
    length = 12 + len(body) + len(written)
    return struct.pack("<II", kind, length) + body + written + struct.pack("<I", length)


def _option(code: int, value: bytes) -> bytes:
    return struct.pack("<HH", code, len(value)) + _padded(value)


def _padded(data: bytes) -> bytes:
    """Data up to a multiple of 32 bits."""
    return data + bytes(-len(data) % 4)


def _text(text: str) -> bytes:
    return text.encode()[:_LONGEST_OPTION].decode(errors="ignore").encode()
