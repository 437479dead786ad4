"""Settings of the app of reactive paths (group [reactive], ARMOR_REACTIVE_<NAME>), beside those of all apps."""

from __future__ import annotations

from dataclasses import dataclass, field

from ryu_apps.control.decide.reactive import Options
from ryu_apps.control.decide.setting_group import Setting, SettingGroup, one_of, whole_between

MAX_IDLE_S = 0xFFFF


@dataclass(frozen=True, slots=True)
class ReactiveSettings:
    """Options of the app, and how long a rule without packets stays (s; 0: for ever)."""

    options: Options = field(default_factory=Options)
    idle_timeout_s: int = 10


def _made(path: bool, confirm: bool, idle_s: int) -> ReactiveSettings:
    return ReactiveSettings(Options(path, confirm), idle_s)


REACTIVE = SettingGroup(
    "reactive",
    "ARMOR_REACTIVE_",
    (
        Setting("path", one_of({"whole": True, "hop": False}), "whole", "whole: rules of the whole path at once; hop"),
        Setting("confirm", one_of({"on": True, "off": False}), "off", "on: the first packet waits for the rules"),
        Setting("idle_s", whole_between(0, MAX_IDLE_S), "10", "life of a rule without packets; 0: for ever"),
    ),
    _made,
)
