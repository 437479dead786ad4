"""Probes of irtt: isochronous UDP, stamped both ways."""

from __future__ import annotations

import json
import struct
from dataclasses import dataclass
from typing import ClassVar

from experiments.scenario.stream import ProbedTraffic, Programs, WireNumber

PORT = 2112
_UDP, _UDP_HEADER_BYTES = 17, 8
_MAGIC = b"\x14\xa7\x5b"
# irtt protocol 1: magic (3), flags (1), connection token (8), sequence number (4, little endian).
_OPEN, _REPLY, _CLOSE, _HMAC = 1, 2, 4, 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe(ProbedTraffic):
    """`{from: h1, to: h2, interval_ms: 2}`."""

    kind: ClassVar[str] = "probe"

    def programs(self, address: str, seconds: float, _number: int) -> Programs:
        """Command lines of irtt; its server's own lower limit on intervals is 10 ms, and `-i 0` lifts it."""
        server = ("irtt", "server", "-i", "0", "-b", f"{address}:{PORT}")
        words = ["irtt", "client", "-i", f"{self.interval_ms * 1000:.0f}us", "-d", f"{seconds * 1000:.0f}ms"]
        words += ["-l", str(self.size_bytes), "-Q", "--wait=1s", "-o", "-", f"{address}:{PORT}"]
        return Programs(server, tuple(words), PORT)

    @staticmethod
    def number_of(protocol: int, payload: bytes) -> WireNumber | None:
        """Sequence number of irtt; None also for its own open and close."""
        if protocol != _UDP or len(payload) < _UDP_HEADER_BYTES + 16 or payload[8:11] != _MAGIC:
            return None
        source_port, destination_port = struct.unpack_from(">HH", payload)
        flags = payload[11]
        is_reply = bool(flags & _REPLY)
        if (source_port if is_reply else destination_port) != PORT or flags & (_OPEN | _CLOSE | _HMAC):
            return None
        return WireNumber(is_reply, struct.unpack_from("<I", payload, _UDP_HEADER_BYTES + 12)[0])

    @staticmethod
    def own_counts(output: str) -> tuple[int, int] | None:
        """What irtt's JSON sums up."""
        if not output.startswith("{"):
            return None
        stats = json.loads(output)["stats"]
        return int(stats["packets_sent"]), int(stats["packets_received"])
