"""One reader for the settings of all apps: names, defaults, checks, and where each value comes from.

`ryu-manager --config-file FILE` gives settings in a group of the file; an environment variable, the group's prefix and
the setting's name in capitals, wins over it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, TypeVar

from mininet_topos.errors import BadInputError
from ryu_apps.control.decide.texts import check_template, whole_number

Value = TypeVar("Value")
Read = Callable[[str, str], Any]
_FLAGS = {"true": True, "yes": True, "on": True, "1": True, "false": False, "no": False, "off": False, "0": False}


class Setting(NamedTuple):
    """One setting: its name, how its text is read, its default as text (None: required), and its meaning."""

    name: str
    read: Read
    default: str | None
    meaning: str


@dataclass(frozen=True, slots=True)
class SettingGroup(Generic[Value]):
    """The settings of an app.

    Attributes
    ----------
    name
        Of the group in the configuration file.
    prefix
        Of environment variables.
    settings
        All of them, in the order of the documentation.
    make
        The app's value of all settings, which are given by name.
    owns_prefix
        Whether a variable with the prefix that is no setting is refused; "ARMOR_" begins others, too.
    """

    name: str
    prefix: str
    settings: Sequence[Setting]
    make: Callable[..., Value]
    owns_prefix: bool = True

    @property
    def meanings(self) -> dict[str, str]:
        """What each setting is, by its name."""
        return {each.name: each.meaning for each in self.settings}

    def environment_name(self, setting: str) -> str:
        """Environment variable of a setting."""
        return self.prefix + setting.upper()

    def read(self, configured: Mapping[str, str | None], environment: Mapping[str, str]) -> Value:
        """Settings from the configuration file's texts and the environment.

        Parameters
        ----------
        configured
            By setting name; None or missing: not given.

        Raises
        ------
        BadInputError
            A name is unknown, a required setting is missing, or a value cannot be used.
        """
        self._refuse_unknown(environment)
        texts = {each: self._text(each, configured, environment) for each in self.settings}
        return self.make(**{each.name: each.read(each.name, given) for each, given in texts.items()})

    def read_one(self, name: str, configured: Mapping[str, str | None], environment: Mapping[str, str]) -> Any:
        """One setting, whatever the others are.

        Parameters
        ----------
        configured
            As for `read`.

        Raises
        ------
        BadInputError
            It is required and missing, or its value cannot be used.
        """
        (setting,) = (each for each in self.settings if each.name == name)
        return setting.read(name, self._text(setting, configured, environment))

    def _text(self, setting: Setting, configured: Mapping[str, str | None], environment: Mapping[str, str]) -> str:
        variable = self.environment_name(setting.name)
        given = (environment.get(variable), configured.get(setting.name))
        text = next((each.strip() for each in given if each is not None and each.strip()), setting.default)
        if text is None:
            raise BadInputError(
                f"no {setting.name} given; set {variable}, or {setting.name} in the group "
                f"[{self.name}] of a file for ryu-manager --config-file: {setting.meaning}"
            )
        return text

    def _refuse_unknown(self, environment: Mapping[str, str]) -> None:
        known = [self.environment_name(each.name) for each in self.settings]
        for name in environment if self.owns_prefix else ():
            if name.startswith(self.prefix) and name not in known:
                raise BadInputError(f"{name} is no setting of {self.name}; known: {', '.join(known)}")


def text(_name: str, value: str) -> str:
    """Any text."""
    return value


def flag(name: str, value: str) -> bool:
    """On or off, or another word for it."""
    if value.lower() not in _FLAGS:
        raise BadInputError(f"setting {name} = {value!r} is neither on nor off; write one of them")
    return _FLAGS[value.lower()]


def seconds(name: str, value: str) -> float:
    """Seconds, at least 0."""
    try:
        found = float(value)
    except ValueError:
        found = -1.0
    if not 0 <= found < 1e9:
        raise BadInputError(f"setting {name} = {value!r} is no time in seconds; give a number of at least 0")
    return found


def positive(name: str, value: str) -> float:
    """A number above 0."""
    try:
        number = float(value)
    except ValueError:
        number = -1.0
    if not 0 < number < float("inf"):
        raise BadInputError(f"setting {name} = {value!r} cannot be used; give a number above 0, or nothing")
    return number


def whole(name: str, value: str) -> int:
    """A whole number, at least 0."""
    return whole_number(name, value)


def port(name: str, value: str) -> int:
    """A TCP port; 0: none."""
    return whole_number(name, value, 65535)


def whole_between(lowest: int, highest: int) -> Read:
    """Reader of whole numbers in a range."""
    return lambda name, value: whole_number(name, value, highest, lowest)


def one_of(values: Mapping[str, Any]) -> Read:
    """Reader of words that each mean a value."""

    def read(name: str, value: str) -> Any:
        if value not in values:
            raise BadInputError(f"setting {name} = {value!r} is not known; use {', '.join(values)}")
        return values[value]

    return read


def maybe(read: Read) -> Read:
    """Reader of what may be missing: None without a text."""
    return lambda name, value: read(name, value) if value else None


def database_of(*fields: str) -> Read:
    """Reader of a database's address, in which `{field}` stands for what each switch has; empty: none."""

    def read(name: str, value: str) -> str:
        filled = check_template(name, value, fields)
        if filled and not filled.startswith(("unix:", "tcp:", "ssl:")):
            raise BadInputError(
                f"setting {name} = {value!r} is no database; write unix:PATH, tcp:HOST:PORT or ssl:HOST:PORT"
            )
        return value

    return read
