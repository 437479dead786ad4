"""Settings of the app of reactive paths, and the check of what the user gave; the topology's are those of all apps."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from mininet_topos.errors import BadInputError
from ryu_apps.control.decide.reactive import Options

PREFIX = "ARMOR_REACTIVE_"
MAX_IDLE_S = 0xFFFF
_PATHS = {"whole": True, "hop": False}
_SWITCH = {"on": True, "off": False}
_NAMES = ("PATH", "CONFIRM", "IDLE_S")
Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class ReactiveSettings:
    """Options of the app, and how long a rule without packets stays (s; 0: for ever)."""

    options: Options = field(default_factory=Options)
    idle_timeout_s: int = 10


def read_reactive_settings(environment: Mapping[str, str]) -> ReactiveSettings:
    """Settings from the environment: ARMOR_REACTIVE_PATH, _CONFIRM and _IDLE_S.

    Raises
    ------
    BadInputError
        A name or a value cannot be used.
    """
    for name in environment:
        if name.startswith(PREFIX) and name.removeprefix(PREFIX) not in _NAMES:
            known = ", ".join(PREFIX + each for each in _NAMES)
            raise BadInputError(f"{name} is no setting of ryu_apps/reactive.py; known: {known}")
    given = {name: environment.get(PREFIX + name, "").strip() for name in _NAMES}
    idle = given["IDLE_S"] or "10"
    if not re.fullmatch(r"[0-9]{1,9}", idle) or int(idle) > MAX_IDLE_S:
        raise BadInputError(f"{PREFIX}IDLE_S is {idle!r}; give whole seconds from 0 (for ever) to {MAX_IDLE_S}")
    whole_path = _one_of("PATH", given["PATH"] or "whole", _PATHS)
    confirm = _one_of("CONFIRM", given["CONFIRM"] or "off", _SWITCH)
    return ReactiveSettings(Options(whole_path, confirm), int(idle))


def _one_of(name: str, text: str, values: Mapping[str, Value]) -> Value:
    if text not in values:
        raise BadInputError(f"{PREFIX}{name} is {text!r}; use {' or '.join(values)}")
    return values[text]
