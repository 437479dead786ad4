"""What a trial's own parameters have in common, whatever its kind."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Any, NamedTuple, TypeVar, get_args, get_origin, get_type_hints

from mininet_topos.errors import BadInputError

Value = TypeVar("Value")
Own = TypeVar("Own", bound="Parameters")


@dataclass(frozen=True, slots=True)
class Parameters:
    """Everything that decides a trial's outcome besides what every trial has; a kind adds its fields."""

    @property
    def session(self) -> str:
        """What else the network of a trial depends on: trials that differ in it cannot share one."""
        return str(getattr(self, "network", ""))

    def to_json(self) -> dict[str, Any]:
        """JSON value, as campaign.json and rows keep it."""
        return {field.name: plain(getattr(self, field.name)) for field in fields(self)}

    @classmethod
    def from_json(cls: type[Own], value: Mapping[str, Any]) -> Own:
        """Read what `to_json` wrote; what an earlier version did not write has its default (`BadInputError`)."""
        return typed(cls, value)


def plain(value: Any) -> Any:
    """A value as JSON keeps it: tuples become lists, and frozen values objects.

    A field whose metadata have a `key` is called that in JSON.
    """
    if is_dataclass(value) and not isinstance(value, type):
        return {_key(field): plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {key: plain(each) for key, each in value.items()}
    return [plain(each) for each in value] if isinstance(value, tuple | list) else value


def typed(kind: type[Value], value: Mapping[str, Any]) -> Value:
    """A frozen value from the JSON object that `plain` makes of it.

    Raises
    ------
    BadInputError
        A key is missing or unknown, or has a value of another type.
    """
    hints, needed = _fields_of(kind)  # type: ignore[arg-type]
    for name in sorted((value.keys() - hints.keys()) | (needed - value.keys())):
        what = "has no" if name in value else "needs a"
        raise BadInputError(f"{kind.__name__} {what} {name!r}; use the version that wrote it")
    return kind(
        **{hints[name].field: _read(hints[name].type, each, f"{kind.__name__}.{name}") for name, each in value.items()}
    )


def typed_part(kind: type[Value], value: Mapping[str, Any]) -> Value:
    """As `typed`, of an object that holds more."""
    return typed(kind, {name: value[name] for name in _fields_of(kind)[0] if name in value})  # type: ignore[arg-type]


class _Place(NamedTuple):
    """Where the value of a JSON key goes."""

    field: str
    type: Any


@cache
def _fields_of(kind: type[Any]) -> tuple[dict[str, _Place], frozenset[str]]:
    """Fields by their JSON keys, and the keys of those without a default."""
    needed = (_key(each) for each in fields(kind) if each.default is each.default_factory is MISSING)
    hints = get_type_hints(kind)
    return {_key(each): _Place(each.name, hints[each.name]) for each in fields(kind)}, frozenset(needed)


def _key(field: Field[Any]) -> str:
    return str(field.metadata.get("key", field.name))


def _read(hint: Any, value: Any, name: str) -> Any:
    """A value of the type that an annotation names: what JSON has, None, frozen values, tuples and objects of these."""
    if hint is Any:
        return value
    if get_origin(hint) is UnionType:
        if value is None and NoneType in get_args(hint):
            return None
        (hint,) = (each for each in get_args(hint) if each is not NoneType)
    if get_origin(hint) is tuple and isinstance(value, list):
        inner = get_args(hint)
        hints = [inner[0]] * len(value) if inner[1:] == (...,) else inner
        if len(hints) == len(value):
            return tuple(_read(*each, name) for each in zip(hints, value, strict=True))
    if get_origin(hint) is dict and isinstance(value, Mapping):
        return {key: _read(get_args(hint)[1], each, name) for key, each in value.items()}
    if is_dataclass(hint) and isinstance(hint, type) and isinstance(value, Mapping):
        return typed(hint, value)
    accepted = (int, float) if hint is float else hint
    if (
        not isinstance(accepted, type | tuple)
        or not isinstance(value, accepted)
        or (value is True and hint is not bool)
    ):
        raise BadInputError(f"{name} is {value!r}, not a {getattr(hint, '__name__', hint)}")
    return value
