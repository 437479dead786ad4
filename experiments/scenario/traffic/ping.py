"""ICMP echo requests at a steady pace."""

from __future__ import annotations

import json
import struct
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from experiments.scenario.stream import ProbedTraffic, Programs, WireNumber

PACED_PING = Path(__file__).resolve().parents[2] / "testbed" / "instruments" / "paced_ping.py"
_ICMP, _ICMP_HEADER_BYTES = 1, 8
_ECHO_REPLY, _ECHO_REQUEST = 0, 8
_LAST_ANSWER_S = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Ping(ProbedTraffic):
    """`{from: h1, to: h2, kind: ping}`."""

    kind: ClassVar[str] = "ping"
    output: ClassVar[str] = "txt"
    sequence_bits: ClassVar[int] = 16
    counts_copies: ClassVar[bool] = False
    awaits_answers: ClassVar[bool] = True

    def programs(self, address: str, seconds: float, _number: int) -> Programs:
        """Command line of Armor's own ping, which keeps its pace where that of iputils does not."""
        interval_s = self.interval_ms / 1000
        count, payload_bytes = max(1, round(seconds / interval_s)), self.size_bytes - _ICMP_HEADER_BYTES
        words = [sys.executable, "-I", "-S", str(PACED_PING), address, f"{interval_s:g}", str(count)]
        return Programs(None, (*words, str(_LAST_ANSWER_S), str(payload_bytes)))

    @staticmethod
    def number_of(protocol: int, payload: bytes) -> WireNumber | None:
        """Sequence number of an echo request or reply."""
        if protocol != _ICMP or len(payload) < _ICMP_HEADER_BYTES:
            return None
        kind, _, _, _, sequence = struct.unpack_from(">BBHHH", payload)
        return WireNumber(kind == _ECHO_REPLY, sequence) if kind in (_ECHO_REQUEST, _ECHO_REPLY) else None

    @staticmethod
    def own_counts(output: str) -> tuple[int, int] | None:
        """The line of counts."""
        words = next((line.split() for line in output.splitlines() if "packets transmitted" in line), None)
        return None if words is None else (int(words[0]), int(words[3]))

    @staticmethod
    def latest_ms(output: str) -> float:
        """How late the latest request left, from the whole output: more than a little when the machine stood still."""
        return float(output.splitlines()[-2].split()[-3])

    @staticmethod
    def unanswered(output: str) -> tuple[tuple[int, float], ...]:
        """Number of each request without an answer, and when it was sent (CLOCK_MONOTONIC, s), of the whole output."""
        return tuple((int(number), float(sent_s)) for number, sent_s in json.loads(output.splitlines()[-1]))
