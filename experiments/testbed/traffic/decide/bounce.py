"""Packets that go to the controller and back: which they are, how they are turned, what came of them."""

from __future__ import annotations

import struct
from collections.abc import Sequence

from experiments.campaign.kinds.in_band import ClassColumns

HIGH_PORT, LOW_PORT = UDP_PORTS = (20_000, 20_001)
_ETH, _ETHERTYPE_AT, _IHL_AT, _PROTOCOL_AT, _IP_AT, _UDP_AT = 6, 12, 14, 23, 26, 34
_PLAIN_IHL, _UDP = 0x45, 17


def turned(frame: bytes) -> bytes | None:
    """A UDP packet on its way back: addresses and ports swapped, which no checksum notices; None: no such packet.

    Parameters
    ----------
    frame
        Ethernet frame, untagged, IPv4 without options.
    """
    if len(frame) < _UDP_AT + 4 or frame[_ETHERTYPE_AT:_IHL_AT] != b"\x08\x00":
        return None
    if frame[_IHL_AT] != _PLAIN_IHL or frame[_PROTOCOL_AT] != _UDP:
        return None
    (udp_dst,) = struct.unpack_from("!H", frame, _UDP_AT + 2)
    if udp_dst not in UDP_PORTS:
        return None
    head = frame[_ETH : 2 * _ETH] + frame[:_ETH] + frame[2 * _ETH : _IP_AT]
    addresses = frame[_IP_AT + 4 : _UDP_AT] + frame[_IP_AT : _IP_AT + 4]
    return head + addresses + frame[_UDP_AT + 2 : _UDP_AT + 4] + frame[_UDP_AT : _UDP_AT + 2] + frame[_UDP_AT + 4 :]


def class_columns(sent: int, delays_ms: Sequence[float]) -> ClassColumns:
    """Columns of a class: what was sent and answered, the loss, and delays (ms; None without an answer)."""
    ordered = sorted(delays_ms)
    return ClassColumns(
        offered=sent,
        answered=len(ordered),
        lost_percent=100.0 * (sent - len(ordered)) / sent if sent else None,
        mean_ms=sum(ordered) / len(ordered) if ordered else None,
        p99_ms=ordered[min(len(ordered) - 1, int(0.99 * len(ordered)))] if ordered else None,
    )
