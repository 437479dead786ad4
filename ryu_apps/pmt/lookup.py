"""The first rule that a packet meets, in time that grows with the kinds of rules and not with their number.

Rules that look at the same bits form one dictionary (tuple space search, as Open vSwitch's classifier does it).
"""

from __future__ import annotations

from collections.abc import Sequence

from ryu_apps.plan.rows import Match
from ryu_apps.pmt.fields import PMT_FIELDS
from ryu_apps.pmt.frame import Fields

_Signature = tuple[tuple[str, int], ...]


class RuleLookup:
    """Numbered matches, ready for packets.

    Parameters
    ----------
    numbered : sequence of (int, Match)
        Rule numbers in increasing order, each with its match.
    """

    def __init__(self, numbered: Sequence[tuple[int, Match]]) -> None:
        subtables: dict[_Signature, dict[tuple[int, ...], int]] = {}
        for number, match in numbered:
            signature = tuple((name, PMT_FIELDS[name].full_mask if mask is None else mask) for name, _, mask in match)
            subtables.setdefault(signature, {}).setdefault(tuple(value for _, value, _ in match), number)
        # In the order of their first rules: dictionaries keep it, and numbers grow.
        self._subtables = [(next(iter(found.values())), signature, found) for signature, found in subtables.items()]

    def first(self, packet: Fields) -> int | None:
        """Number of the first rule whose match the packet meets."""
        best: int | None = None
        for smallest, signature, numbers in self._subtables:
            if best is not None and best < smallest:
                break
            try:
                key = tuple([packet[name] & mask for name, mask in signature])
            except KeyError:  # the packet lacks a field that these rules look at
                continue
            number = numbers.get(key)
            if number is not None and (best is None or number < best):
                best = number
        return best
