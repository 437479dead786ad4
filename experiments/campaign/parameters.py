"""What a trial's own parameters have in common, whatever its kind."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Any, NamedTuple, NoReturn, TypeVar, get_args, get_origin, get_type_hints

from mininet_topos.errors import BadInputError

Value = TypeVar("Value")
Own = TypeVar("Own", bound="Parameters")
Reader = Callable[[Any, str], Any]
"""(JSON value, what a complaint calls it) -> value (`BadInputError`)."""


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
    places, needed = _fields_of(kind)  # type: ignore[arg-type]
    for name in sorted((value.keys() - places.keys()) | (needed - value.keys())):
        what = "has no" if name in value else "needs a"
        raise BadInputError(f"{kind.__name__} {what} {name!r}; use the version that wrote it")
    return kind(**{places[name].field: places[name].read(each, places[name].called) for name, each in value.items()})


def typed_part(kind: type[Value], value: Mapping[str, Any]) -> Value:
    """As `typed`, of an object that holds more."""
    return typed(kind, {name: value[name] for name in _fields_of(kind)[0] if name in value})  # type: ignore[arg-type]


class _Place(NamedTuple):
    """Where the value of a JSON key goes, how it is read, and what a complaint calls it."""

    field: str
    read: Reader
    called: str


@cache
def _fields_of(kind: type[Any]) -> tuple[dict[str, _Place], frozenset[str]]:
    """Fields by their JSON keys, and the keys of those without a default."""
    needed = (_key(each) for each in fields(kind) if each.default is each.default_factory is MISSING)
    hints = get_type_hints(kind)
    places = {
        _key(each): _Place(each.name, _reader(hints[each.name]), f"{kind.__name__}.{_key(each)}")
        for each in fields(kind)
    }
    return places, frozenset(needed)


def _key(field: Field[Any]) -> str:
    return str(field.metadata.get("key", field.name))


@cache
def _reader(hint: Any) -> Reader:
    """What reads a type that an annotation names: what JSON has, None, frozen values, tuples and objects of these.

    A campaign has a hundred thousand values of a dozen types: each type is taken apart once.
    """
    origin, inner = get_origin(hint), get_args(hint)
    if hint is Any:
        return lambda value, _called: value
    if origin is UnionType:
        return _reader_or_none(*(each for each in inner if each is not NoneType))
    if origin is tuple:
        return _tuple_reader(hint, inner)
    if origin is dict:
        return _object_reader(hint, _reader(inner[1]))
    if is_dataclass(hint) and isinstance(hint, type):
        return lambda value, called: typed(hint, value) if isinstance(value, Mapping) else _refuse(hint, value, called)
    return _plain_reader(hint)


def _reader_or_none(hint: Any) -> Reader:
    read = _reader(hint)
    return lambda value, called: None if value is None else read(value, called)


def _tuple_reader(hint: Any, inner: tuple[Any, ...]) -> Reader:
    if inner[1:] == (...,):
        one = _reader(inner[0])
        return lambda value, called: (
            tuple([one(each, called) for each in value]) if isinstance(value, list) else _refuse(hint, value, called)
        )
    readers = [_reader(each) for each in inner]

    def read(value: Any, called: str) -> Any:
        if not isinstance(value, list) or len(value) != len(readers):
            _refuse(hint, value, called)
        return tuple([one(each, called) for one, each in zip(readers, value, strict=True)])

    return read


def _object_reader(hint: Any, one: Reader) -> Reader:
    return lambda value, called: (
        {key: one(each, called) for key, each in value.items()}
        if isinstance(value, Mapping)
        else _refuse(hint, value, called)
    )


def _plain_reader(hint: Any) -> Reader:
    accepted = (int, float) if hint is float else hint

    def read(value: Any, called: str) -> Any:
        if isinstance(value, accepted) and (value is not True or hint is bool):
            return value
        return _refuse(hint, value, called)

    return read


def _refuse(hint: Any, value: Any, called: str) -> NoReturn:
    raise BadInputError(f"{called} is {value!r}, not a {getattr(hint, '__name__', hint)}")
