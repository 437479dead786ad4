"""Overlapping rows: two rows of one table and priority that one packet can match, with different instructions.

OpenFlow leaves open which of the two a switch uses. Rows are grouped by signature (which fields, which masks);
two signatures are compared by joining their rows on the bits that both pin, so a plan of n rows with s
signatures a band costs about n * s steps, not n * n.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import combinations

from ryu_apps.plan.fields import FIELDS
from ryu_apps.plan.rows import Action, FlowRow

_Signature = tuple[tuple[str, int], ...]
_Instructions = tuple[tuple[Action, ...], tuple[Action, ...], int | None]
_Key = tuple[int, ...]


def overlaps(flows: Iterable[FlowRow]) -> Iterator[tuple[FlowRow, FlowRow]]:
    """Pairs of rows that contradict each other, one pair for each way in which two signatures do.

    Parameters
    ----------
    flows
        Rows whose fields are known. Rows with one key are not overlapping but duplicate: not reported here.
    """
    bands: dict[tuple[int, int], dict[_Signature, list[FlowRow]]] = defaultdict(lambda: defaultdict(list))
    for row in flows:
        bands[row.table_id, row.priority][_signature(row)].append(row)
    for band in bands.values():
        for first, second in combinations(sorted(band), 2):
            yield from _contradictions(_common_bits(first, second), band[first], band[second])


def _signature(row: FlowRow) -> _Signature:
    return tuple((name, FIELDS[name].full_mask if mask is None else mask) for name, _, mask in row.match)


def _common_bits(first: _Signature, second: _Signature) -> dict[str, int]:
    masks = dict(second)
    return {name: mask & masks[name] for name, mask in first if mask & masks.get(name, 0)}


def _project(row: FlowRow, common: dict[str, int]) -> _Key:
    return tuple(value & common[name] for name, value, _ in row.match if name in common)


def _contradictions(
    common: dict[str, int], first: list[FlowRow], second: list[FlowRow]
) -> Iterator[tuple[FlowRow, FlowRow]]:
    """One pair for each value of the common bits under which rows of both lists say different things."""
    said: dict[_Key, dict[_Instructions, FlowRow]] = defaultdict(dict)
    for row in first:
        said[_project(row, common)].setdefault(_instructions(row), row)
    reported: set[_Key] = set()
    for row in second:
        key = _project(row, common)
        other = next((other for what, other in said.get(key, {}).items() if what != _instructions(row)), None)
        if other is not None and key not in reported:
            reported.add(key)
            yield other, row


def _instructions(row: FlowRow) -> _Instructions:
    return row.apply_actions, row.write_actions, row.goto_table
