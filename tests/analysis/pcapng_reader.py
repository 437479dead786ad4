"""A small reader of pcapng files, from the format's description alone; what it does not know fails."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass, field

SECTION, INTERFACE, PACKET = 0x0A0D0D0A, 1, 6
ETHERNET, NANOSECONDS = 1, 9


@dataclass
class PcapngFile:
    """What a file holds: its texts, (name, description, snap length) of interfaces, packets in order."""

    comments: list[str] = field(default_factory=list)
    application: str = ""
    interfaces: list[tuple[str, str, int]] = field(default_factory=list)
    packets: list[tuple[int, int, bytes, int, tuple[str, ...]]] = field(default_factory=list)

    @property
    def commented(self) -> list[tuple[int, int, bytes, int, tuple[str, ...]]]:
        """Packets with a comment."""
        return [packet for packet in self.packets if packet[4]]


def read_pcapng(data: bytes) -> PcapngFile:
    """Read a file of one section in little-endian order."""
    file = PcapngFile()
    for number, (kind, body) in enumerate(blocks(data)):
        assert (number == 0) == (kind == SECTION)
        if kind == SECTION:
            _section(file, body)
        elif kind == INTERFACE:
            _interface(file, body)
        else:
            assert kind == PACKET
            _packet(file, body)
    return file


def blocks(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Type and body of each block; both lengths of a block agree and are multiples of 4."""
    start = 0
    while start < len(data):
        kind, length = struct.unpack_from("<II", data, start)
        assert length % 4 == 0
        assert length >= 12
        assert struct.unpack_from("<I", data, start + length - 4) == (length,)
        yield kind, data[start + 8 : start + length - 4]
        start += length
    assert start == len(data)


def options(data: bytes) -> list[tuple[int, bytes]]:
    """Options up to the end mark, behind which there is nothing; no options have no end mark."""
    found, start = [], 0
    while start < len(data):
        code, length = struct.unpack_from("<HH", data, start)
        value = data[start + 4 : start + 4 + length]
        assert len(value) == length
        start += 4 + length + -length % 4
        if code == 0:
            assert (start, length) == (len(data), 0)
            return found
        found.append((code, value))
    assert found == []
    return found


def _section(file: PcapngFile, body: bytes) -> None:
    assert struct.unpack_from("<IHHq", body) == (0x1A2B3C4D, 1, 0, -1)
    for code, value in options(body[16:]):
        if code == 1:
            file.comments.append(value.decode())
        else:
            assert code == 4
            file.application = value.decode()


def _interface(file: PcapngFile, body: bytes) -> None:
    link_type, reserved, snap_bytes = struct.unpack_from("<HHI", body)
    assert (link_type, reserved) == (ETHERNET, 0)
    texts = dict(options(body[8:]))
    assert texts.pop(9) == bytes([NANOSECONDS])
    file.interfaces.append((texts.pop(2).decode(), texts.pop(3, b"").decode(), snap_bytes))
    assert texts == {}


def _packet(file: PcapngFile, body: bytes) -> None:
    number, high, low, kept, length = struct.unpack_from("<IIIII", body)
    assert number < len(file.interfaces)
    end = 20 + kept
    padding = body[end : end + -kept % 4]
    assert padding == bytes(-kept % 4)
    read = options(body[end + len(padding) :])
    assert {code for code, _ in read} <= {1}
    comments = tuple(value.decode() for _, value in read)
    file.packets.append((number, high << 32 | low, body[20:end], length, comments))
