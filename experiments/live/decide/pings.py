"""Output of `ping -D -O` as packets: when sent, and how long the answer took."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from experiments.live.decide.document import SeriesView

MOST_PACKETS = 2000
"""The oldest are forgotten."""
_ANSWER = re.compile(r"\[(?P<at>[0-9.]+)\] .*icmp_seq=(?P<number>[0-9]+) .*time=(?P<ms>[0-9.]+) ms")
_NO_ANSWER = re.compile(r"\[(?P<at>[0-9.]+)\] no answer yet for icmp_seq=(?P<number>[0-9]+)")
_NUMBERS = 1 << 16  # the sequence number on the wire


@dataclass
class Pings:
    """Packets of one running ping.

    Parameters
    ----------
    zero_s
        The page's zero on the clock of the lines (seconds since the epoch).
    interval_s
        Between two packets: a packet without an answer was sent so long before ping says so.
    """

    zero_s: float
    interval_s: float
    packets: dict[int, tuple[float, float | None]] = field(default_factory=dict)
    lost: int = 0
    _last: int = 0

    def read(self, line: str) -> None:
        """One line of output; those that are no packet are passed over."""
        found = _ANSWER.match(line)
        if found is not None:
            delay_ms = float(found["ms"])
            self._note(found, 1000 * (float(found["at"]) - self.zero_s) - delay_ms, delay_ms)
            return
        found = _NO_ANSWER.match(line)
        if found is not None:
            self._note(found, 1000 * (float(found["at"]) - self.zero_s - self.interval_s), None)

    def _note(self, found: re.Match[str], sent_ms: float, delay_ms: float | None) -> None:
        number = self._unwrapped(int(found["number"]))
        before = self.packets.get(number)
        if before is not None and before[1] is None and delay_ms is not None:
            self.lost -= 1  # a late answer
        if before is None and delay_ms is None:
            self.lost += 1
        if before is None or delay_ms is not None:
            self.packets[number] = (sent_ms, delay_ms)
        while len(self.packets) > MOST_PACKETS:
            self.packets.pop(next(iter(self.packets)))

    def _unwrapped(self, number: int) -> int:
        """The number counted on beyond 65535."""
        ahead = (number - self._last + _NUMBERS // 2) % _NUMBERS - _NUMBERS // 2
        self._last = max(self._last, self._last + ahead)
        return self._last if ahead >= 0 else self._last + ahead

    def series(self, source: str, destination: str) -> SeriesView:
        """What the page charts: round-trip times."""
        packets = [self.packets[number] for number in sorted(self.packets)]
        return SeriesView(
            source=source,
            destination=destination,
            kind="ping",
            way="out",
            sent_ms=tuple(sent for sent, _ in packets),
            delay_ms=tuple(delay for _, delay in packets),
            captured=(),
            is_thinned=False,
            counts={"sent": len(self.packets), "lost": self.lost},
        )
