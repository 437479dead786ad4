"""Which switches returns go on without: those that held up several in a row (docs/security.md, "Threats")."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

ATTEMPTS = 2
WITHOUT_S = 60.0


@dataclass(frozen=True)
class HeldUp:
    """Switches that held up returns.

    Attributes
    ----------
    in_a_row
        How many of the latest attempts each switch held up.
    until_s
        Until when attempts go on without a switch.
    """

    in_a_row: Mapping[str, int] = field(default_factory=dict)
    until_s: Mapping[str, float] = field(default_factory=dict)

    def without(self, now_s: float) -> frozenset[str]:
        """Switches without which an attempt goes on now."""
        return frozenset(node for node, until_s in self.until_s.items() if now_s < until_s)

    def after(self, asked: Iterable[str], by: Collection[str], now_s: float) -> HeldUp:
        """An attempt that asked these switches is over; some of them held it up, or none did.

        A switch that was left out is asked again later, and left out again after one more attempt that it holds up.
        """
        in_a_row = dict(self.in_a_row)
        for node in asked:
            in_a_row[node] = in_a_row.get(node, 0) + 1 if node in by else 0
        again = {node: now_s + WITHOUT_S for node in by if in_a_row[node] >= ATTEMPTS}
        return HeldUp(in_a_row, {**self.until_s, **again})
