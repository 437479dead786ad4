"""Rule plans as rows of the backup database and back, and the transactions that replace one: pure.

Rows carry the generation of the plan they belong to, so a plan of any size is written in several
transactions under a new generation that nobody reads yet; one last transaction makes it current and
removes the older ones. `position` keeps the order of the plan's rows (RFC 7047 tables have none).
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from mininet_topos.errors import ArmorError, BadInputError
from ryu_apps.plan.rows import BackupRow, ExtensionRow, FlowRow, RulePlan
from ryu_apps.plan.serial import (
    canonical_row,
    canonical_text,
    flow_from_json,
    flow_to_json,
    group_from_json,
    parse_text,
    plan_to_json,
)

Row = dict[str, Any]
Operation = dict[str, Any]

PLAN_TABLES = ("Backup", "Extension", "Flow", "Group")
_REPAIR = "delete its row of table Bridge, and the controller writes the plan again when the switch connects next"
# With durable, the server has the transaction on disk before it answers (ovsdb-server(7) section 4.1.5).
COMMIT: Operation = {"op": "commit", "durable": True}


class BackupDataError(ArmorError):
    """The backup database holds rows that do not make the plan whose digest it names."""


@dataclass(frozen=True)
class StoredPlan:
    """A plan as the database holds it: its generation, the plan, and which link each port leads to."""

    generation: int
    plan: RulePlan
    ports: Mapping[int, str]


def plan_rows(plan: RulePlan) -> dict[str, list[Row]]:
    """Rows of every table for a plan, without bridge and generation.

    Raises
    ------
    BadInputError
        `replaces` of a backup row or `local_ipv4` is not ascending: a database set keeps no order. A name that the
        database cannot hold.
    """
    _check_ascending("local_ipv4 of the plan", plan.local_ipv4)
    check_text(plan.node)
    tables = {
        "Backup": [_backup(row) for row in plan.backups],
        "Extension": [
            {"tag_id": row.tag_id, "port_no": row.port_no, "new_tag_id": row.new_tag_id} for row in plan.extensions
        ],
        "Flow": [_flow(row) for row in plan.flows],
        "Group": [{"group_id": row.group_id, "row": canonical_row(row)} for row in plan.groups],
    }
    for rows in tables.values():
        for position, row in enumerate(rows):
            row["position"] = position
    return tables


def check_text(text: str) -> None:
    """Refuse a string that OVSDB's JSON cannot carry: a zero character, or half of a surrogate pair.

    Raises
    ------
    BadInputError
        Such a string.
    """
    if any(character == "\0" or "\ud800" <= character <= "\udfff" for character in text):
        raise BadInputError(f"{text!r} cannot be kept in the backup database; use printable characters")


def _check_ascending(what: str, values: tuple[int, ...]) -> None:
    if tuple(sorted(set(values))) != values:
        raise BadInputError(f"{what} is {values}; list each number once, ascending")


def _backup(row: BackupRow) -> Row:
    _check_ascending(f"`replaces` of backup row {row.key}", row.replaces)
    # The column is left out where it says nothing, so that a database of schema 2.0 takes such plans.
    path = {"path": " ".join(map(str, row.path))} if row.path else {}
    return {
        **path,
        "destination": row.destination,
        "source": ["set", [] if row.source is None else [row.source]],
        "tag_id": row.tag_id,
        "out_port": row.out_port,
        "status": int(row.status),
        "crosses": row.crosses,
        "replaces": ["set", list(row.replaces)],
    }


def _flow(row: FlowRow) -> Row:
    shown = flow_to_json(row)
    return {
        "table_id": int(row.table_id),
        "priority": int(row.priority),
        "match": canonical_text(shown["match"]),
        "row": canonical_text(shown),
    }


def bridge_row(plan: RulePlan, ports: Mapping[int, str]) -> Row:
    """The columns of a Bridge row that describe the plan itself (`BadInputError`: see `check_text`)."""
    for link in ports.values():
        check_text(link)
    return {
        "dpid": f"{plan.dpid:#x}",
        "node": plan.node,
        "digest": stored_digest(plan, ports),
        "local_ipv4": ["set", list(plan.local_ipv4)],
        "n_links": plan.tag_space[0],
        "max_failures": plan.tag_space[1],
        "ports": ["map", [[number, link] for number, link in sorted(ports.items())]],
    }


def stored_digest(plan: RulePlan, ports: Mapping[int, str]) -> str:
    """Digest of all that the database holds for a bridge: queues are not among it, no agent can set them."""
    linked = [[number, link] for number, link in sorted(ports.items())]
    text = canonical_text({"plan": plan_to_json(replace(plan, queues=())), "ports": linked})
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def plan_of_rows(bridge: Row, tables: Mapping[str, Sequence[Row]]) -> StoredPlan:
    """Plan of selected rows: the inverse of `bridge_row` and `plan_rows`.

    Raises
    ------
    BackupDataError
        A row that says nothing; or the rows do not add up to the digest in the Bridge row: somebody edited them, or
        some are missing.
    """
    name = bridge["name"]
    rows = {
        table: tuple(
            _read(name, table, row, read) for row in sorted(tables[table], key=lambda row: int(row["position"]))
        )
        for table, read in _READERS.items()
    }
    plan, ports = _read(name, "Bridge", bridge, lambda _row: (_plan_of(bridge, rows), dict(bridge["ports"][1])))
    if stored_digest(plan, ports) != bridge["digest"]:
        raise BackupDataError(
            f"the rows of bridge {bridge['name']}, generation {bridge['generation']}, do not make the plan that was "
            f"written; {_REPAIR}"
        )
    return StoredPlan(bridge["generation"], plan, ports)


def _plan_of(bridge: Row, rows: Mapping[str, tuple[Any, ...]]) -> RulePlan:
    return RulePlan(
        dpid=int(bridge["dpid"], 16),
        node=bridge["node"],
        flows=rows["Flow"],
        groups=rows["Group"],
        backups=rows["Backup"],
        extensions=rows["Extension"],
        local_ipv4=_set(bridge["local_ipv4"]),
        tag_space=(bridge["n_links"], bridge["max_failures"]),
    )


def _read(bridge: str, table: str, row: Row, read: Callable[[Row], Any]) -> Any:
    """What a row says; the complaint about one that says nothing names it."""
    try:
        return read(row)
    except (ArmorError, LookupError, TypeError, ValueError, RecursionError) as error:
        place = f"row {row['position']} of table {table}" if "position" in row else f"the row of table {table}"
        raise BackupDataError(f"{place} of bridge {bridge} cannot be read ({error}); {_REPAIR}") from error


def _backup_of(row: Row) -> BackupRow:
    source = _set(row["source"])
    return BackupRow(
        row["destination"],
        source[0] if source else None,
        row["tag_id"],
        row["out_port"],
        row["status"],
        row["crosses"],
        _set(row["replaces"]),
        tuple(map(int, row.get("path", "").split())),
    )


def _set(value: Any) -> tuple[int, ...]:
    """Members of a set column, ascending (RFC 7047 5.1: a set of one may stand as the bare atom)."""
    if isinstance(value, list):
        return tuple(sorted(value[1]))
    return (value,)


# How a row of each table of PLAN_TABLES is read.
_READERS: dict[str, Callable[[Row], Any]] = {
    "Backup": _backup_of,
    "Extension": lambda row: ExtensionRow(row["tag_id"], row["port_no"], row["new_tag_id"]),
    "Flow": lambda row: flow_from_json(parse_text(row["row"])),
    "Group": lambda row: group_from_json(parse_text(row["row"])),
}


def claim_operations(bridge: str, found: Row | None) -> tuple[list[Operation], int]:
    """Operations that reserve a generation number for one writer, and the number.

    `found` is the Bridge row as last read, None when there is none; the transaction fails when another writer has
    changed it meanwhile. Rows of writes that were broken off go: a writer that still writes such rows has lost,
    because only the writer that claimed last can make its generation current (`swap_operations`).
    """
    if found is None:
        empty = {
            "name": bridge,
            "dpid": "0x0",
            "node": "",
            "generation": 0,
            "next_generation": 2,
            "digest": "",
            "n_links": 0,
            "max_failures": 0,
        }
        insert = {"op": "insert", "table": "Bridge", "row": empty}
        return [insert, *_remove_others(bridge, 0), COMMIT], 1
    current, mine = int(found["generation"]), int(found["next_generation"])
    wait = _unless_changed(bridge, {"generation": current, "next_generation": mine})
    update = {"op": "update", "table": "Bridge", "where": _named(bridge), "row": {"next_generation": mine + 1}}
    return [wait, update, *_remove_others(bridge, current), COMMIT], mine


def write_operations(
    bridge: str, generation: int, tables: Mapping[str, Sequence[Row]], chunk_rows: int
) -> Iterator[list[Operation]]:
    """Transactions that write the rows of a generation, at most `chunk_rows` rows each."""
    chunk: list[Operation] = []
    for name in PLAN_TABLES:
        for row in tables[name]:
            chunk.append({"op": "insert", "table": name, "row": {**row, "bridge": bridge, "generation": generation}})
            if len(chunk) == chunk_rows:
                yield [*chunk, COMMIT]
                chunk = []
    if chunk:
        yield [*chunk, COMMIT]


def swap_operations(bridge: str, old: int, new: int, columns: Row) -> list[Operation]:
    """The transaction that makes generation `new` current and removes all others.

    It fails unless `old` is still current and no other writer has claimed a number after `new`.
    """
    wait = _unless_changed(bridge, {"generation": old, "next_generation": new + 1})
    update = {"op": "update", "table": "Bridge", "where": _named(bridge), "row": {**columns, "generation": new}}
    return [wait, update, *_remove_others(bridge, new), COMMIT]


def discard_operations(bridge: str, generation: int) -> list[Operation]:
    """The transaction that removes the rows of a generation that did not become current."""
    return [*_remove_rows(bridge, "==", generation), COMMIT]


def bridge_operations(bridge: str) -> list[Operation]:
    """The transaction that reads a Bridge row."""
    return [{"op": "select", "table": "Bridge", "where": _named(bridge)}]


def read_operations(bridge: str, generation: int) -> list[Operation]:
    """The transaction that reads a whole generation at one instant, if it is still current."""
    where = [["bridge", "==", bridge], ["generation", "==", generation]]
    selects = [{"op": "select", "table": name, "where": where} for name in PLAN_TABLES]
    return [_unless_changed(bridge, {"generation": generation}), *bridge_operations(bridge), *selects]


def _named(bridge: str) -> list[list[str]]:
    return [["name", "==", bridge]]


def _unless_changed(bridge: str, expected: Row) -> Operation:
    """Compare and swap: the transaction fails unless the Bridge row still says what was read."""
    columns = list(expected)
    return {
        "op": "wait",
        "timeout": 0,
        "table": "Bridge",
        "where": _named(bridge),
        "columns": columns,
        "until": "==",
        "rows": [expected],
    }


def _remove_others(bridge: str, generation: int) -> list[Operation]:
    """Remove what is not of a generation; 0, of which no row can be, stands for none."""
    return _remove_rows(bridge, "!=", generation) if generation else _remove_rows(bridge, ">=", 1)


def _remove_rows(bridge: str, relation: str, generation: int) -> list[Operation]:
    where: list[Iterable[Any]] = [["bridge", "==", bridge], ["generation", relation, generation]]
    return [{"op": "delete", "table": name, "where": where} for name in PLAN_TABLES]
