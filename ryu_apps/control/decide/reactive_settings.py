"""Settings of the app of reactive paths (group [reactive], ARMOR_REACTIVE_<NAME>), beside those of all apps."""

from __future__ import annotations

from dataclasses import dataclass, field

from ryu_apps.control.decide.allowance import Rate
from ryu_apps.control.decide.reactive import Options
from ryu_apps.control.decide.setting_group import Setting, SettingGroup, one_of, whole_between

MAX_IDLE_S = 0xFFFF
_SECONDS_AT_ONCE = 2
PACKET_INS = Rate(per_s=500, at_once=_SECONDS_AT_ONCE * 500)


@dataclass(frozen=True, slots=True)
class ReactiveSettings:
    """Options of the app.

    Attributes
    ----------
    idle_timeout_s
        How long a rule without packets stays; 0: for ever.
    packet_ins
        Of one switch that are answered: each may give every switch of a path a rule.
    """

    options: Options = field(default_factory=Options)
    idle_timeout_s: int = 10
    packet_ins: Rate = PACKET_INS


def _made(path: bool, confirm: bool, idle_s: int, packet_ins_per_s: int) -> ReactiveSettings:
    packet_ins = Rate(packet_ins_per_s, _SECONDS_AT_ONCE * packet_ins_per_s)
    return ReactiveSettings(Options(path, confirm), idle_s, packet_ins)


REACTIVE = SettingGroup(
    "reactive",
    "ARMOR_REACTIVE_",
    (
        Setting("path", one_of({"whole": True, "hop": False}), "whole", "whole: rules of the whole path at once; hop"),
        Setting("confirm", one_of({"on": True, "off": False}), "off", "on: the first packet waits for the rules"),
        Setting("idle_s", whole_between(0, MAX_IDLE_S), "10", "life of a rule without packets; 0: for ever"),
        Setting("packet_ins_per_s", whole_between(1, 1_000_000), "500", "packet-ins of one switch that are answered"),
    ),
    _made,
)
