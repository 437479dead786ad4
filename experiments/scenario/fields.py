"""Readers of single scenario fields: each takes a line and a name, and returns a checked value or complains."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from experiments.scenario.suggest import suggest
from mininet_topos.errors import BadInputError
from mininet_topos.lines import Line
from ryu_apps.plan.choices import OFF

Value = TypeVar("Value")
Reader = Callable[["Context", Line, str], Value]


@dataclass(frozen=True)
class Context:
    """The file that is being read, for messages."""

    file_name: str

    def error(self, line: Line | int, message: str) -> BadInputError:
        """An error that begins with FILE:LINE."""
        number = line if isinstance(line, int) else line.number
        return BadInputError(f"{self.file_name}:{number}: {message}")


def shown(line: Line) -> str:
    """A value as a message shows it."""
    if isinstance(line.value, dict):
        return "a mapping"
    if isinstance(line.value, tuple):
        return "a list"
    return repr(line.value)


def mapping(context: Context, line: Line, name: str) -> dict[str, Line]:
    """A mapping."""
    if not isinstance(line.value, dict):
        raise context.error(line, f"{name} must be a mapping of keys to values; it is {shown(line)}")
    return line.value


def sequence(context: Context, line: Line, name: str) -> tuple[Line, ...]:
    """A list."""
    if not isinstance(line.value, tuple):
        raise context.error(line, f"{name} must be a list (one '- ' an entry); it is {shown(line)}")
    return line.value


def known_keys(context: Context, fields: Mapping[str, Line], known: Sequence[str], name: str) -> None:
    """Refuse keys that nobody reads."""
    for key, line in fields.items():
        if key not in known:
            raise context.error(line, f"{name} has no key {key!r}; {suggest(key, known)}")


def stated(fields: Mapping[str, Line]) -> dict[str, Line]:
    """The keys with a value; one that is null means the same as one that is absent."""
    return {key: line for key, line in fields.items() if line.value is not None}


def word(context: Context, line: Line, name: str) -> str:
    """A non-empty word; a bare number is taken as it was written, so node 4 may be called 4."""
    if isinstance(line.value, bool) or not isinstance(line.value, str | int) or line.value == "":
        raise context.error(line, f"{name} must be a word; it is {shown(line)}")
    if not str(line.value).isprintable():
        raise context.error(line, f"{name} is {shown(line)}, with characters that cannot be shown; leave them out")
    return str(line.value)


def one_of(choices: Sequence[str]) -> Reader[str]:
    """A word out of `choices`; YAML reads a bare `off` as false."""

    def read(context: Context, line: Line, name: str) -> str:
        given = OFF if line.value is False and OFF in choices else word(context, line, name)
        if given not in choices:
            raise context.error(line, f"{name} {given!r} is not known; {suggest(given, choices)}")
        return given

    return read


def yes_or_no(context: Context, line: Line, name: str) -> bool:
    """`true` or `false`."""
    if not isinstance(line.value, bool):
        raise context.error(line, f"{name} must be true or false; it is {shown(line)}")
    return line.value


def number(lowest: float, *, exclusive: bool = False, highest: float = math.inf) -> Reader[float]:
    """A finite number of at least (exclusive: above) `lowest`."""

    def read(context: Context, line: Line, name: str) -> float:
        value = line.value
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise context.error(line, f"{name} must be a number; it is {shown(line)}")
        too_low = value <= lowest if exclusive else value < lowest
        if not math.isfinite(value) or too_low or value > highest:
            bound = f"above {lowest:g}" if exclusive else f"of at least {lowest:g}"
            bound += f" and at most {highest:g}" if highest < math.inf else ""
            raise context.error(line, f"{name} is {value}; give a number {bound}")
        return float(value)

    return read


MAX_SECONDS = 24 * 3600.0
# What programs can send and links can be shaped to.
MIN_RATE_MBPS, MAX_RATE_MBPS = 1e-3, 1e6
seconds = number(0, highest=MAX_SECONDS)
rate_mbps = number(MIN_RATE_MBPS, highest=MAX_RATE_MBPS)


def whole_number(lowest: int, highest: int = 2**31 - 1) -> Reader[int]:
    """A whole number in lowest..highest."""

    def read(context: Context, line: Line, name: str) -> int:
        value = line.value
        if isinstance(value, bool) or not isinstance(value, int) or not lowest <= value <= highest:
            raise context.error(line, f"{name} is {shown(line)}; give a whole number from {lowest} to {highest}")
        return value

    return read


def optional(fields: Mapping[str, Line], key: str, reader: Reader[Value], context: Context) -> Value | None:
    """The value of a key, None when the key is absent or null."""
    line = fields.get(key)
    return None if line is None or line.value is None else reader(context, line, key)


def with_default(
    fields: Mapping[str, Line], key: str, reader: Reader[Value], context: Context, default: Value
) -> Value:
    """The value of a key, `default` when it is absent or null."""
    value = optional(fields, key, reader, context)
    return default if value is None else value
