"""Rule plans as JSON values and back: `plan_from_json(plan_to_json(plan)) == plan` for every plan.

Used by the backup database, by `armor plan --json` and by digests. Cookies are hexadecimal strings, since
many JSON readers lose bits of a 64-bit number. A row is an object with the names of its fields; an action
carries its class in `action`; a match is an object of field -> value or [value, mask].
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields
from functools import cache
from typing import Any, TypeVar, get_args

from mininet_topos.errors import BadInputError
from ryu_apps.plan.rows import (
    Action,
    BackupRow,
    Bucket,
    ExtensionRow,
    FlowRow,
    GroupRow,
    LearnLoad,
    LearnMatch,
    Match,
    QueueRow,
    RulePlan,
)

Json = Any  # what the json module reads and writes; narrowed by the checks below
Row = TypeVar("Row")
Check = Callable[[Json], Any]

ACTION_TYPES: dict[str, type] = {kind.__name__: kind for kind in get_args(Action)}


class SerialError(BadInputError):
    """A JSON value is not what a row looks like."""


def flow_to_json(row: FlowRow) -> Json:
    """JSON object of a flow."""
    return _to_json(row)


def group_to_json(row: GroupRow) -> Json:
    """JSON object of a group."""
    return _to_json(row)


def plan_to_json(plan: RulePlan) -> Json:
    """JSON object of a whole plan."""
    return _to_json(plan)


def flow_from_json(value: Json) -> FlowRow:
    """Flow of a JSON object made by `flow_to_json`.

    Raises
    ------
    SerialError
        Not an object, an unknown or missing field, or a value of the wrong kind.
    """
    return _row(FlowRow, value)


def group_from_json(value: Json) -> GroupRow:
    """Group of a JSON object made by `group_to_json` (raises as `flow_from_json`)."""
    return _row(GroupRow, value)


def plan_from_json(value: Json) -> RulePlan:
    """Plan of a JSON object made by `plan_to_json` (raises as `flow_from_json`)."""
    return _row(RulePlan, value)


def canonical_text(value: Json) -> str:
    """The one text of a JSON value: keys sorted, no blanks, ASCII."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


def canonical_row(row: FlowRow | GroupRow) -> str:
    """Canonical text of a row, as the backup database keeps it."""
    return canonical_text(_to_json(row))


def parse_text(text: str) -> Json:
    """JSON value of a text.

    Raises
    ------
    SerialError
        Not JSON.
    """
    try:
        return json.loads(text)
    except ValueError as error:
        raise SerialError(f"{text[:60]!r} is not JSON ({error}); write the row again") from error


def _to_json(value: Json) -> Json:
    """Row, or a part of one, as JSON; the value's own type decides."""
    if isinstance(value, tuple):
        return [_to_json(item) for item in value]
    if not hasattr(value, "__dataclass_fields__"):
        return int(value) if isinstance(value, int) and not isinstance(value, bool) else value
    shown: dict[str, Json] = {"action": type(value).__name__} if type(value).__name__ in ACTION_TYPES else {}
    kind: Any = type(value)
    for name in _names(kind):
        item = getattr(value, name)
        if name == "path" and not item:
            continue  # plans from before there were notifications keep their digests
        if name == "match":
            shown[name] = {key: number if mask is None else [number, mask] for key, number, mask in item}
        else:
            shown[name] = f"{item:#x}" if name == "cookie" else _to_json(item)
    return shown


@cache
def _names(kind: Any) -> tuple[str, ...]:
    return tuple(item.name for item in fields(kind))


def _int(value: Json) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise SerialError(f"{value!r} is not a whole number; write the row again")
    return value


def _optional_int(value: Json) -> int | None:
    return None if value is None else _int(value)


def _optional_number(value: Json) -> float | None:
    if value is None or (isinstance(value, (int, float)) and not isinstance(value, bool)):
        return value
    raise SerialError(f"{value!r} is neither a number nor null; write the row again")


def _str(value: Json) -> str:
    if not isinstance(value, str):
        raise SerialError(f"{value!r} is not a string; write the row again")
    return value


def _bool(value: Json) -> bool:
    if not isinstance(value, bool):
        raise SerialError(f"{value!r} is neither true nor false; write the row again")
    return value


def _cookie(value: Json) -> int:
    try:
        return int(_str(value), 16)
    except ValueError as error:
        raise SerialError(f"cookie {value!r} is not a hexadecimal string like 0x2; write the row again") from error


def _match(value: Json) -> Match:
    if not isinstance(value, dict):
        raise SerialError(f"match {value!r} is not an object of field and value; write the row again")
    found: list[tuple[str, int, int | None]] = []
    for name, given in value.items():
        if isinstance(given, list) and len(given) == 2:
            found.append((name, _int(given[0]), _int(given[1])))
        else:
            found.append((name, _int(given), None))
    return tuple(sorted(found, key=lambda entry: entry[0]))


def _tuple_of(check: Check) -> Check:
    def read(value: Json) -> tuple[Any, ...]:
        if not isinstance(value, list):
            raise SerialError(f"{value!r} is not a list; write the row again")
        return tuple(check(item) for item in value)

    return read


def _row_of(kind: type[Row]) -> Callable[[Json], Row]:
    return lambda value: _row(kind, value)


def _action(value: Json) -> Action:
    name = value.get("action") if isinstance(value, dict) else None
    if not isinstance(name, str) or name not in ACTION_TYPES:
        raise SerialError(f"action {value!r} is none of {', '.join(ACTION_TYPES)}; write the row again")
    found: Action = _row(ACTION_TYPES[name], {key: item for key, item in value.items() if key != "action"})
    return found


def _row(kind: type[Row], value: Json) -> Row:
    """Dataclass value of a JSON object, each field read by the check for its annotation."""
    shape: Any = kind  # the cached look-ups below take any hashable
    checks = _checks(shape)
    if not isinstance(value, dict):
        raise SerialError(f"{value!r} is not an object, which a {kind.__name__} is; write the row again")
    unknown = sorted(set(value) - set(checks))
    if unknown:
        raise SerialError(f"{kind.__name__} has no field {unknown[0]!r} (it has {', '.join(checks)}); rename it")
    missing = [name for name in _required(shape) if name not in value]
    if missing:
        raise SerialError(f"{kind.__name__} lacks field {missing[0]!r}; add it")
    return kind(**{name: checks[name](item) for name, item in value.items()})


@cache
def _required(kind: Any) -> tuple[str, ...]:
    return tuple(item.name for item in fields(kind) if item.default is MISSING)


_CHECKS: Mapping[str, Check] = {
    "int": _int,
    "int | None": _optional_int,
    "float | None": _optional_number,
    "str": _str,
    "bool": _bool,
    "Match": _match,
    "tuple[int, ...]": _tuple_of(_int),
    "tuple[int, int]": _tuple_of(_int),
    "tuple[Action, ...]": _tuple_of(_action),
    "tuple[Bucket, ...]": _tuple_of(_row_of(Bucket)),
    "tuple[LearnMatch, ...]": _tuple_of(_row_of(LearnMatch)),
    "tuple[LearnLoad, ...]": _tuple_of(_row_of(LearnLoad)),
    "tuple[FlowRow, ...]": _tuple_of(_row_of(FlowRow)),
    "tuple[GroupRow, ...]": _tuple_of(_row_of(GroupRow)),
    "tuple[QueueRow, ...]": _tuple_of(_row_of(QueueRow)),
    "tuple[BackupRow, ...]": _tuple_of(_row_of(BackupRow)),
    "tuple[ExtensionRow, ...]": _tuple_of(_row_of(ExtensionRow)),
}


@cache
def _checks(kind: Any) -> dict[str, Check]:
    """Check of every field; rows.py's annotations are strings, so a new kind of field fails loudly here."""
    return {item.name: _cookie if item.name == "cookie" else _CHECKS[str(item.type)] for item in fields(kind)}
