"""Correspondences: which action values follow from which match fields ("in_port = 1 corresponds to outport = 2").

These are the functional dependencies between the match columns and the action columns of a logical table; Kuijia's
section 4.3 finds them by eye, this finds all.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from itertools import combinations
from typing import NamedTuple

from ryu_apps.plan.decompose.logical import LogicalTable, Parts, logical_table
from ryu_apps.plan.rows import FlowRow


class Correspondence(NamedTuple):
    """An action column, and a smallest set of match columns that decides it.

    Attributes
    ----------
    action
        "Output", "SetQueue", "SetField mpls_tc", ...
    fields
        Empty when every row has the same; a part of a field is written with its mask.
    """

    action: str
    fields: tuple[str, ...]


def find_correspondences(flows: Iterable[FlowRow], parts: Parts | None = None) -> tuple[Correspondence, ...]:
    """Every smallest set of match columns that decides an action, by action.

    Parameters
    ----------
    flows
        Rows of one table. What all columns together decide is no correspondence and is left out.
    parts : mapping of str to int, optional
        As `logical.logical_table` takes them.

    Examples
    --------
    >>> from ryu_apps.plan.rows import Output, SetQueue, match
    >>> rows = [
    ...     FlowRow(6, 1, match(eth_type=0x8847, in_port=port, mpls_tc=tc), (SetQueue(tc), Output(3 - port)))
    ...     for port in (1, 2)
    ...     for tc in (0, 1)
    ... ]
    >>> for each in find_correspondences(rows):
    ...     print(each.action, "<-", *each.fields)
    SetQueue <- mpls_tc
    Output <- in_port
    """
    table = logical_table(flows, parts)
    return tuple(
        Correspondence(_action_name(key), tuple(_column_name(table, column) for column in columns))
        for index, key in enumerate(table.actions)
        for columns in _deciding(table, index)
    )


def _deciding(table: LogicalTable, action: int) -> Iterator[tuple[int, ...]]:
    found: list[tuple[int, ...]] = []
    for size in range(len(table.columns)):
        for columns in combinations(range(len(table.columns)), size):
            if not any(set(known) <= set(columns) for known in found) and _decides(table, columns, action):
                found.append(columns)
                yield columns


def _decides(table: LogicalTable, columns: Sequence[int], action: int) -> bool:
    known: dict[tuple[object, ...], object] = {}
    for row in table.rows:
        key = tuple(row.terms[index] for index in columns)
        if known.setdefault(key, row.steps[action]) != row.steps[action]:
            return False
    return True


def _action_name(key: Hashable) -> str:
    kind, *what = key if isinstance(key, tuple) else (key,)
    return " ".join(str(part) for part in (kind, *what[:-1]))


def _column_name(table: LogicalTable, index: int) -> str:
    column = table.columns[index]
    own_parts = [name for each in table.columns for name, _ in each]
    return "+".join(name if own_parts.count(name) == 1 else f"{name}/{mask:#x}" for name, mask in column)
