"""Hash ranges that do not tile: slots of a commodity that no base row takes, so that some of its flows are dropped.

Slots that two rows take are overlapping rows, which check_overlap.py finds.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator

from ryu_apps.plan.ids import Priority, Table
from ryu_apps.plan.rows import FlowRow, Match, Multipath

_SLOT = "reg0"


def range_gaps(flows: Iterable[FlowRow]) -> Iterator[tuple[Match, int, int]]:
    """Commodities of which slots belong to nobody.

    Parameters
    ----------
    flows
        A switch's rows. Rows of table TE_HASH in the band PRIMARY are held to the slots that its `multipath` gives;
        rows of failures lie over them and need not tile. A table whose rows go on to other tables is decomposed:
        it means what its logical table means, which is what to check.

    Yields
    ------
    (Match, int, int)
        What the rows match beside the slot, the number of slots that they take, and the number of slots.
    """
    rows = list(flows)
    if any(row.table_id == Table.TE_HASH and row.goto_table is not None for row in rows):
        return
    spreads = [action.n_slots for row in rows for action in row.apply_actions if isinstance(action, Multipath)]
    n_slots = max(spreads, default=0)
    taken: dict[Match, set[int]] = defaultdict(set)
    for row in rows if n_slots else ():
        if row.table_id == Table.TE_HASH and row.priority == Priority.PRIMARY:
            rest = tuple(part for part in row.match if part[0] != _SLOT)
            taken[rest].update(slot for slot in _slots_of(row, n_slots) if slot < n_slots)
    yield from ((rest, len(slots), n_slots) for rest, slots in taken.items() if len(slots) < n_slots)


def _slots_of(row: FlowRow, n_slots: int) -> Iterator[int]:
    """Slots that a row takes: every way to fill the bits that its mask leaves open."""
    value, mask = next(((value, mask) for name, value, mask in row.match if name == _SLOT), (0, 0))
    open_bits = 0 if mask is None else (1 << (n_slots - 1).bit_length()) - 1 & ~mask
    filled = open_bits
    while True:
        yield value | filled
        if not filled:
            return
        filled = filled - 1 & open_bits
