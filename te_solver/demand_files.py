"""Demand files: CSV with a header, or a JSON list; every complaint names the line or entry."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from pathlib import PurePath
from typing import Any

from mininet_topos.errors import BadInputError
from mininet_topos.input_files import is_file, parse_json, read_text
from mininet_topos.topology import Topology
from te_solver.demands import check_demand, generate_demands, is_demand_spec
from te_solver.values import DEFAULT_PRIORITY, Demand

REQUIRED = ("src", "dst", "demand_mbps")
COLUMNS = (*REQUIRED, "priority")
MOST_BYTES = 200_000_000  # all pairs of the largest topology

Record = tuple[str, dict[str, object]]


def load_demands(text: str, topology: Topology, seed: int) -> tuple[Demand, ...]:
    """Demands of a generator's specification, or of a CSV or JSON file.

    Raises
    ------
    BadInputError
        Neither, or one that cannot be used.
    """
    is_named_as_file = PurePath(text).suffix.lower() in (".csv", ".json")
    if not is_named_as_file or (is_demand_spec(text) and not is_file(text)):
        return generate_demands(text, topology, seed)  # says what can be written
    return parse_demands(read_text(text, f"demand file {text!r}", MOST_BYTES), text, topology)


def parse_demands(text: str, name: str, topology: Topology) -> tuple[Demand, ...]:
    """Demands of a file's text.

    Parameters
    ----------
    text
        CSV with the header `src,dst,demand_mbps[,priority]`, or a JSON list of objects with these keys.
    name
        Name of the file; it tells the kind (.json or .csv) and stands first in every message.
    topology
        Its nodes are the ones that a demand may name.

    Raises
    ------
    BadInputError
        Anything that cannot be used, with the line (CSV) or entry (JSON).
    """
    records = _json_records(text, name) if name.lower().endswith(".json") else _csv_records(text, name)
    demands: list[Demand] = []
    seen: dict[tuple[str, str, int], str] = {}
    for place, record in records:
        try:
            demand = _to_demand(record)
            check_demand(demand, topology)
        except BadInputError as error:
            raise BadInputError(f"{name}, {place}: {error}") from None
        key = demand.src, demand.dst, demand.priority
        if key in seen:
            raise BadInputError(
                f"{name}, {place}: {demand.src} to {demand.dst} stands already in {seen[key]}; "
                "add the volumes up, or give another priority"
            )
        seen[key] = place
        demands.append(demand)
    return tuple(demands)


def _csv_records(text: str, name: str) -> Iterator[Record]:
    rows = csv.reader(io.StringIO(text))
    lines = _readable(rows, name)
    header = [cell.strip() for cell in next(lines, [])]
    missing = [column for column in REQUIRED if column not in header]
    if missing:
        raise BadInputError(
            f"{name}, line 1: the header has no {missing[0]!r}; make the first line {','.join(REQUIRED)}[,priority]"
        )
    _check_keys(header, f"{name}, line 1")
    for row in lines:
        place = f"line {rows.line_num}"
        if not any(cell.strip() for cell in row):
            continue
        if len(row) != len(header):
            raise BadInputError(f"{name}, {place}: {len(row)} values under {len(header)} headings; give one for each")
        yield place, {key: cell.strip() for key, cell in zip(header, row, strict=True)}


def _readable(rows: Any, name: str) -> Iterator[list[str]]:
    """Lines of a CSV reader; what it cannot read (a carriage return alone, a huge cell) is refused."""
    try:
        yield from rows
    except csv.Error as error:
        raise BadInputError(f"{name}, line {rows.line_num + 1}: {error}; write it as plain CSV") from error


def _json_records(text: str, name: str) -> Iterator[Record]:
    try:
        value = parse_json(text)
    except BadInputError as error:
        raise BadInputError(f"{name}: {error}") from None
    if not isinstance(value, list):
        raise BadInputError(f"{name}: the file holds no list; write [{{src, dst, demand_mbps}}, ...]")
    for number, entry in enumerate(value, start=1):
        place = f"entry {number}"
        if not isinstance(entry, dict):
            raise BadInputError(f"{name}, {place}: {entry!r} is no object; write {{src, dst, demand_mbps}}")
        missing = [key for key in REQUIRED if key not in entry]
        if missing:
            raise BadInputError(f"{name}, {place}: {missing[0]!r} is missing; add it")
        _check_keys(list(entry), f"{name}, {place}")
        yield place, entry


def _check_keys(keys: list[str], place: str) -> None:
    for key in keys:
        if key not in COLUMNS:
            raise BadInputError(f"{place}: {key!r} is not known; use {', '.join(COLUMNS)}")
        if keys.count(key) > 1:
            raise BadInputError(f"{place}: {key!r} stands twice; remove one")


def _to_demand(record: dict[str, object]) -> Demand:
    for key in ("src", "dst"):
        if not isinstance(record[key], str):
            raise BadInputError(f"{key} is {record[key]!r}; give the name of a node")
    priority = record.get("priority", DEFAULT_PRIORITY)
    volume_mbps = _number("demand_mbps", record["demand_mbps"])
    return Demand(
        str(record["src"]),
        str(record["dst"]),
        volume_mbps,
        DEFAULT_PRIORITY if priority == "" else _whole("priority", priority),
    )


def _number(name: str, value: object) -> float:
    if isinstance(value, int | float | str) and not isinstance(value, bool):
        try:
            return float(value)
        except (ValueError, OverflowError):
            pass
    raise BadInputError(f"{name} is {value!r}; give a number of at least 0")


def _whole(name: str, value: object) -> int:
    number = _number(name, value)
    if not number.is_integer():
        raise BadInputError(f"{name} is {value!r}; give a whole number")
    return int(number)
