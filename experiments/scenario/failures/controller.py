"""Failure of the control network: all control links fail silently."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from experiments.scenario.failure import TIMES, Act, Failure
from experiments.scenario.fields import shown
from experiments.scenario.keys import Key, NetworkContext
from mininet_topos.lines import Line


def _true(context: NetworkContext, line: Line, name: str) -> bool:
    if line.value is not True:
        raise context.error(line, f"{name} is {shown(line)}; write '{name}: true'")
    return True


@dataclass(frozen=True, slots=True)
class Controller(Failure):
    """`{controller: true, at_s: 5}`."""

    controller: bool = True

    kind: ClassVar[str] = "controller"
    target: ClassVar[str] = "controller"
    keys: ClassVar[tuple[Key, ...]] = (Key("controller", _true), *TIMES)

    @property
    def what(self) -> str:
        """ "controller"."""
        return "controller"

    @property
    def fail(self) -> Act:
        """Drop what is sent at all control links."""
        return Act("emulation.failure_injection:FailureInjection.controller", ())

    @property
    def takes_controller(self) -> bool:
        """It does."""
        return True
