"""Operations and column values of OVSDB as JSON has them (RFC 7047 sections 5.1 and 5.2)."""

from __future__ import annotations

from typing import Any


def select(table: str, *columns: str) -> dict[str, Any]:
    """The operation that reads columns of all rows of a table."""
    return {"op": "select", "table": table, "where": [], "columns": list(columns)}


def map_column(value: list[Any]) -> dict[Any, Any]:
    """A map as a dictionary.

    Examples
    --------
    >>> map_column(["map", [["state", "up"], ["flap_count", "3"]]])
    {'state': 'up', 'flap_count': '3'}
    """
    return dict(value[1])


def optional_column(value: Any) -> Any:
    """A column of at most one element: that element, or None."""
    return None if isinstance(value, list) and value[:1] == ["set"] else value


def uuids_column(value: list[Any]) -> list[str]:
    """References to rows: a set of them, or one, which stands for itself.

    Examples
    --------
    >>> uuids_column(["uuid", "a"]), uuids_column(["set", [["uuid", "a"], ["uuid", "b"]]])
    (['a'], ['a', 'b'])
    """
    atoms = value[1] if value[0] == "set" else [value]
    return [atom[1] for atom in atoms]
