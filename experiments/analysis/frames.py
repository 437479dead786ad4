"""Captured frames as values: classic pcap bytes in, IPv4 frames with their 802.1Q tag out; MPLS labels are passed over.

The format is that of tcpdump's `-w` (savefile, pcap-savefile(5)): a 24-byte header, then records. A capture
that was killed ends inside a record; what is whole is used.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from mininet_topos.errors import ArmorError
from ryu_apps.plan.fields import ETH_IPV4, ETH_MPLS, ETH_VLAN
from ryu_apps.plan.notification import is_notification

NANOSECOND_MAGIC, MICROSECOND_MAGIC = 0xA1B23C4D, 0xA1B2C3D4
ETHERNET_LINK_TYPE = 1
ETH_QINQ = 0x88A8
_LABEL_BYTES, _LAST_LABEL, _IPV4_VERSION = 4, 0x100, 4
UDP, ICMP = 17, 1
FILE_HEADER_BYTES, _RECORD_HEADER_BYTES = 24, 16


class CaptureError(ArmorError):
    """A capture file cannot be read."""


@dataclass(frozen=True, slots=True)
class Frame:
    """One IPv4 frame as a tap saw it.

    Attributes
    ----------
    t_ns
        Stamp of the capture's own clock (CLOCK_REALTIME), nanoseconds.
    vlan_tci
        Tag control information: PCP (3 bits), CFI, VLAN id (12 bits); None without a tag.
    source, destination
        IPv4 addresses.
    protocol
        IP protocol number.
    payload
        Transport header and data, as far as they were captured.
    """

    t_ns: int
    vlan_tci: int | None
    source: int
    destination: int
    protocol: int
    payload: bytes

    @property
    def priority_code(self) -> int | None:
        """PCP of the tag; None without a tag."""
        return None if self.vlan_tci is None else self.vlan_tci >> 13

    @property
    def notifies(self) -> bool:
        """Whether it is a notification of failed links (SD-FAST): for the switches, and no packet of its flow."""
        return self.vlan_tci is not None and is_notification(self.vlan_tci)


class PcapRecord(NamedTuple):
    """One frame of a capture, of whatever protocol.

    Attributes
    ----------
    t_ns
        Stamp of the capture's own clock (CLOCK_REALTIME), nanoseconds.
    data
        The frame as far as it was captured.
    length
        Its length on the wire, bytes.
    """

    t_ns: int
    data: bytes
    length: int


def parse_pcap(data: bytes) -> Iterator[Frame]:
    """Yield the IPv4 frames of a capture, in file order; other frames are passed over.

    Parameters
    ----------
    data
        A whole pcap file, nanosecond or microsecond, of either byte order. Empty: no frames.

    Raises
    ------
    CaptureError
        Not a pcap file, or not of an Ethernet device.
    """
    for record in pcap_records(data):
        frame = _parse_frame(record.data, record.t_ns)
        if frame is not None:
            yield frame


def pcap_records(data: bytes) -> Iterator[PcapRecord]:
    """Yield the frames of a capture, in file order.

    Parameters
    ----------
    data
        As for `parse_pcap`.

    Raises
    ------
    CaptureError
        Not a pcap file, or not of an Ethernet device.
    """
    if not data:
        return
    if len(data) < FILE_HEADER_BYTES:
        raise CaptureError(f"a capture of {len(data)} bytes is no pcap file; tcpdump did not start")
    order, unit_ns = _byte_order(data)
    (link_type,) = struct.unpack_from(order + "I", data, 20)
    if link_type & 0xFFFF != ETHERNET_LINK_TYPE:
        raise CaptureError(f"the capture has link type {link_type & 0xFFFF}; capture on an Ethernet device")
    header = struct.Struct(order + "IIII")
    offset = FILE_HEADER_BYTES
    while offset + _RECORD_HEADER_BYTES <= len(data):
        seconds, fraction, kept, length = header.unpack_from(data, offset)
        offset += _RECORD_HEADER_BYTES
        if offset + kept > len(data):
            return  # the writer was killed inside this record
        yield PcapRecord(seconds * 1_000_000_000 + fraction * unit_ns, data[offset : offset + kept], length)
        offset += kept


def _byte_order(data: bytes) -> tuple[str, int]:
    for order in "<>":
        (magic,) = struct.unpack_from(order + "I", data)
        if magic == NANOSECOND_MAGIC:
            return order, 1
        if magic == MICROSECOND_MAGIC:
            return order, 1000
    raise CaptureError(f"the capture begins with {data[:4].hex()}, which is no pcap magic; write it with tcpdump -w")


def _parse_frame(frame: bytes, t_ns: int) -> Frame | None:
    if len(frame) < 14:
        return None
    (ether_type,) = struct.unpack_from(">H", frame, 12)
    start, vlan_tci = 14, None
    if ether_type in (ETH_VLAN, ETH_QINQ):
        if len(frame) < 18:
            return None
        vlan_tci, ether_type = struct.unpack_from(">HH", frame, 14)
        start = 18
    if ether_type == ETH_MPLS:
        ether_type, start = _behind_labels(frame, start)
    if ether_type != ETH_IPV4 or len(frame) < start + 20:
        return None
    header_bytes = (frame[start] & 0x0F) * 4
    (fragment,) = struct.unpack_from(">H", frame, start + 6)
    if header_bytes < 20 or fragment & 0x1FFF:
        return None  # later fragments have no transport header
    source, destination = struct.unpack_from(">II", frame, start + 12)
    return Frame(t_ns, vlan_tci, source, destination, frame[start + 9], frame[start + header_bytes :])


def _behind_labels(frame: bytes, start: int) -> tuple[int, int]:
    """What follows the label stack that begins at `start` (IPv4, or 0: nothing we know), and where (RFC 3032)."""
    while len(frame) > start + _LABEL_BYTES:
        (entry,) = struct.unpack_from(">I", frame, start)
        start += _LABEL_BYTES
        if entry & _LAST_LABEL:
            return ETH_IPV4 if frame[start] >> 4 == _IPV4_VERSION else 0, start
    return 0, start
