"""What match fields need of each other: implied fields are added, contradictions are named.

OpenFlow 1.3.5 section 7.2.3.8: a match must hold the prerequisites of its fields. Rules may leave out
what follows (udp_dst says ip_proto 17); what does not (IPv4 or IPv6) stays open.
"""

from __future__ import annotations

from ryu_apps.plan.ids import VLAN_PRESENT
from ryu_apps.plan.rows import Match
from ryu_apps.pmt.fields import PMT_FIELDS


class ContradictionError(ValueError):
    """No packet can meet this match."""


def with_prerequisites(match: Match) -> Match:
    """The match with every field that follows from the others.

    Raises
    ------
    ContradictionError
        Two fields can never meet in one packet; the sentence names both.

    Examples
    --------
    >>> with_prerequisites((("udp_dst", 20000, None),))
    (('ip_proto', 17, None), ('udp_dst', 20000, None))
    """
    held = {name: (value, mask) for name, value, mask in match}
    for needed in ("eth_type", "ip_proto"):
        allowed = _allowed(needed, held)
        if allowed is not None and len(allowed) == 1:
            held[needed] = (next(iter(allowed)), None)
    if "vlan_pcp" in held and "vlan_vid" not in held:
        held["vlan_vid"] = (VLAN_PRESENT, VLAN_PRESENT)
    return tuple(sorted((name, *pair) for name, pair in held.items()))


def _allowed(needed: str, held: dict[str, tuple[int, int | None]]) -> set[int] | None:
    """Values of a field that all the others allow; None: any."""
    allowed = {held[needed][0]} if needed in held else None
    said_by = f"{needed} {held[needed][0]:#x}" if needed in held else ""
    for name in sorted(held):
        for field, values in PMT_FIELDS[name].needs:
            if field != needed:
                continue
            if allowed is not None and not allowed & set(values):
                wanted = " or ".join(f"{value:#x}" if needed == "eth_type" else str(value) for value in values)
                raise ContradictionError(
                    f"no packet has both {said_by} and {name} (which needs {needed} {wanted}); "
                    "use one of them, or two rules"
                )
            narrower = set(values) if allowed is None else allowed & set(values)
            if allowed is None or narrower != allowed:
                said_by = name
            allowed = narrower
    return allowed


def covers(general: Match, special: Match) -> bool:
    """Whether every packet that meets `special` meets `general`: field by field (prerequisites added to both)."""
    held = {name: (value, mask) for name, value, mask in special}
    for name, value, mask in general:
        if name not in held:
            return False
        full = PMT_FIELDS[name].full_mask
        own_value, own_mask = held[name]
        wanted = full if mask is None else mask
        if wanted & ~(full if own_mask is None else own_mask) or own_value & wanted != value:
            return False
    return True
